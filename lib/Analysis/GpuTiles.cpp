//===- GpuTiles.cpp - Tile sizes for GPUs ---------------------------------===//
//
// A program of the grid is one tile block. Its accumulators are in registers, what it streams goes through shared
// memory, and the machine wants at least one block for each multiprocessor:
// - a streamed contraction has the largest accumulator that 8 warps hold, as long as the grid fills the machine;
// - a stream with inner contractions keeps 128 rows and walks 128 columns at a time;
// - what is bound by memory takes rows whole while they fit into registers, some thousand elements for each block.
// Tiles are powers of two that may be larger than the dimension; accesses beyond it are masked.
//
//===----------------------------------------------------------------------===//
#include "GpuTiles.h"
#include "TileChooser.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

namespace {
class GpuChooser : public TileChooser {
public:
  using TileChooser::TileChooser;

private:
  /// The smallest power of two that holds the dimension, at most `cap`.
  int64_t bounded(const Dim &dim, int64_t cap) const {
    int64_t size = std::clamp<int64_t>(facts.max(dim.size), 1, cap);
    return std::min<int64_t>(llvm::PowerOf2Ceil(size), cap);
  }

  /// Halves the dimension's tile while there are fewer programs than multiprocessors.
  void spread(Dim *dim, int64_t least) {
    while (dim && dim->tile / 2 >= least && programs() < machine.cores)
      dim->tile /= 2;
  }

  void product(const KernelShape::Contraction &c) override {
    Dim *rows = find(c.rows.back()), *columns = find(c.columns.back()), *over = find(c.over.back());
    // Tensor cores take 16 bits and less at full speed; wider elements take more room for fewer products.
    bool narrow = shape.storageBytes <= 2 && shape.onTensorCores;
    int64_t room = shape.onTensorCores ? 128 : 64;
    over->tile = std::max<int64_t>(16, bounded(*over, narrow ? 64 : shape.onTensorCores ? 32 : 16));
    rows->tile = std::max<int64_t>(16, bounded(*rows, room));
    columns->tile = std::max<int64_t>(16, bounded(*columns, narrow ? 256 : room));
    spread(columns, 64);
    spread(rows, 64);
    spread(columns, 32);
    if (rows->tile * columns->tile >= 128 * 128)
      shape.hints.push_back({"warps", 8});
  }

  void chain() override {
    for (const KernelShape::Contraction &c : shape.contractions) {
      for (const std::string &name : c.over)
        if (Dim *dim = find(name))
          dim->tile = bounded(*dim, 256);
      if (!c.inner && !c.columns.empty())
        if (Dim *dim = find(c.columns.back()); dim && dim->role == Dim::Parallel)
          dim->tile = bounded(*dim, 256);
    }
    Dim *row = nullptr;
    // Products of f32 are made of three and take as much more room; others are made in registers.
    int64_t room = !shape.onTensorCores ? 32 : shape.storageBytes > 2 ? 64 : 128;
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns}) {
        Dim *dim = side->empty() ? nullptr : find(side->back());
        if (dim && dim->role == Dim::Stream)
          dim->tile = bounded(*dim, room);
        else if (dim && dim->role == Dim::Parallel && dim->tile == 1)
          (row = dim)->tile = std::max<int64_t>(16, bounded(*dim, room));
      }
    spread(row, 64);
    if (row && row->tile >= 128)
      shape.hints.push_back({"warps", 8});
  }

  void memoryBound() override {
    if (shape.dims.empty())
      return;
    constexpr int64_t elements = 4096;
    bool streams =
        std::any_of(shape.dims.begin(), shape.dims.end(), [](Dim &d) { return d.role == Dim::Stream; });
    Dim &last = shape.dims.back();
    if (!shape.otherContiguous.empty() && shape.dims.size() > 1) {
      last.tile = bounded(last, 64);
      for (const std::string &name : shape.otherContiguous)
        if (Dim *dim = find(name); dim && dim != &last)
          dim->tile = bounded(*dim, 64);
      return;
    }
    if (last.role != Dim::Parallel)
      last.tile = bounded(last, facts.max(last.size) <= machine.wholeRow ? machine.wholeRow : elements);
    else
      last.tile = bounded(last, streams ? 128 : elements / 2);
    int64_t filled = last.tile;
    for (size_t i = shape.dims.size() - 1; i-- > 0;) {
      Dim &dim = shape.dims[i];
      int64_t room = elements / 2 / filled;
      if (room <= 1)
        break;
      dim.tile = bounded(dim, llvm::PowerOf2Ceil(std::min<int64_t>(room, streams ? 32 : room)));
      filled *= dim.tile;
      if (streams)
        break;
    }
    if (last.role == Dim::Parallel)
      spread(&last, 64);
  }
};
} // namespace

void tessera::chooseGpuTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape) {
  GpuChooser(machine, facts, shape).run();
}
