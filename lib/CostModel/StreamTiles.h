//===- StreamTiles.h - Tile sizes of streams of contractions ----*- C++ -*-===//
//
// A stream with contractions: all blocks of the streamed tensors pass by the rows of a CTA. What is
// computed of a block, the accumulators that the stream carries, and the operands that stay share
// registers and shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_COSTMODEL_STREAMTILES_H
#define TESSERA_LIB_COSTMODEL_STREAMTILES_H

#include "GpuChooser.h"

namespace tessera {

class StreamChooser : public GpuChooserBase {
public:
  using GpuChooserBase::GpuChooserBase;

protected:
  /// The elements of an operand whose fragments a warp of quad pairs has in registers.
  static constexpr int64_t ofQuadPairs = 64 * 64;

  void chain() override;
  bool shortStream() const;

private:
  const KernelShape::Contraction *reducedProduct();
  bool groupStream(int64_t depth);
  bool groupStreams(Dim &row, Dim &along);
  int64_t splitRegisters(int64_t warps);
  bool isMultiplied(const Dim &dim) const;
};

} // namespace tessera

#endif
