//===- TileChooser.h - What choices of tile sizes have in common *- C++ -*-===//
//
// Three shapes of kernel, by what bounds them; the chooser of a target says what each one needs.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_COSTMODEL_TILECHOOSER_H
#define TESSERA_LIB_COSTMODEL_TILECHOOSER_H

#include "tessera/CostModel/CostModel.h"

#include <algorithm>

namespace tessera {

class TileChooser {
public:
  TileChooser(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape)
      : machine(machine), facts(facts), shape(shape) {}
  virtual ~TileChooser() = default;

  void run() {
    const KernelShape::Contraction *outer = nullptr;
    bool inner = false;
    for (const KernelShape::Contraction &c : shape.contractions) {
      if (c.inner)
        inner = true;
      else if (!outer)
        outer = &c;
    }
    if (inner)
      chain();
    else if (outer && !outer->rows.empty() && !outer->columns.empty())
      product(*outer);
    else
      memoryBound();
  }

protected:
  using Dim = KernelShape::Dim;

  /// A stream that computes its elements by inner contractions, a streamed contraction alone, and
  /// everything else.
  virtual void chain() = 0;
  virtual void product(const KernelShape::Contraction &contraction) = 0;
  virtual void memoryBound() = 0;

  Dim *find(const std::string &name) {
    for (Dim &dim : shape.dims)
      if (dim.name == name)
        return &dim;
    return nullptr;
  }

  int64_t programs() const {
    int64_t count = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel)
        count *= std::max<int64_t>(1, (facts.hint(dim.size) + dim.tile - 1) / dim.tile);
    return count;
  }

  const MachineModel &machine;
  const SizeFacts &facts;
  KernelShape &shape;
};

} // namespace tessera

#endif
