//===- LimitWork.cpp - Limits the code of a tile --------------------------===//
//
// The code of a thread for its elements of a tile is unrolled: a sine takes dozens of instructions
// per element. ptxas and tileiras take minutes for the longest kernels, and have no registers for
// their live values. The number of instructions is estimated. While it is too large, the expression
// with most of them gets a smaller tile along its longest side.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/CostModel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera;

using Dim = KernelShape::Dim;

namespace {
constexpr int64_t warpsOfTiles = 4; ///< of a CTA in CUDA Tile IR, unless the schedule says it

/// How small a dimension's tile may get.
class Sides {
public:
  Sides(const MachineModel &machine, const KernelShape &shape)
      : shape(shape), inRegisters(machine.tilesInRegisters) {
    threads *= shape.launch.get(LaunchField::NumWarps).value_or(inRegisters ? 1 : warpsOfTiles);
    isGrouped = shape.tuning.get(TuningField::Wgmma) == 1;
    if (!shape.launch.get(LaunchField::ClusterAxis))
      cluster = shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize);
  }

  bool canShrink(const Dim &dim) const { return dim.tile > least(dim); }
  /// The CTAs of a cluster split the K dimension.
  int64_t ofBlock(const Dim &dim) const { return std::max<int64_t>(1, dim.tile / sharers(dim)); }
  int64_t ofThread(int64_t elements) const { return std::max<int64_t>(1, elements / threads); }
  /// Whether a loop has code for whole tiles and for what they leave.
  bool isTwice(const Dim &dim) const { return inRegisters && dim.role == Dim::Stream; }

private:
  int64_t sharers(const Dim &dim) const { return dim.role == Dim::Stream ? cluster : 1; }
  int64_t least(const Dim &dim) const {
    constexpr int64_t ofTensorCores = 16, ofGroups = 32;
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns, &c.over})
        if (llvm::is_contained(*side, dim.name)) {
          // The number of warpgroups determines their rows, and the copies determine the k-step.
          if (isGrouped)
            return side == &c.columns && dim.role == Dim::Parallel ? ofGroups : dim.tile;
          return ofTensorCores * sharers(dim);
        }
    return 1;
  }

  const KernelShape &shape;
  int64_t threads = 32, cluster = 1;
  bool inRegisters, isGrouped = false;
};
} // namespace

/// The instructions of a thread for some work. `longest` becomes the longest dimension of it that
/// can shrink.
static int64_t instructionsOf(const KernelShape::Work &work, const Sides &sides, KernelShape &shape,
                              Dim *&longest) {
  int64_t elements = 1;
  bool isTwice = false;
  for (Dim &dim : shape.dims) {
    if (!llvm::is_contained(work.dims, dim.name))
      continue;
    elements *= sides.ofBlock(dim);
    isTwice |= sides.isTwice(dim);
    if (sides.canShrink(dim) && (!longest || dim.tile > longest->tile))
      longest = &dim;
  }
  return (isTwice ? 2 : 1) * work.instructions * sides.ofThread(elements);
}

/// tileiras moves long elementwise code between layouts for minutes, unless a thread has one
/// element, whose layout is the same everywhere. Such code is bound by arithmetic, for which many
/// threads are as good as many elements.
static void giveEachThreadOne(KernelShape &shape) {
  constexpr int64_t longCode = 256, mostWarps = 8, lanes = 32;
  int64_t instructions = 0;
  for (const KernelShape::Work &work : shape.work)
    instructions += work.instructions;
  if (instructions <= longCode)
    return;
  auto elements = [&] {
    int64_t most = 1;
    for (const KernelShape::Work &work : shape.work) {
      int64_t here = 1;
      for (const Dim &dim : shape.dims)
        here *= llvm::is_contained(work.dims, dim.name) ? dim.tile : 1;
      most = std::max(most, here);
    }
    return most;
  };
  int64_t warps = shape.launch.get(LaunchField::NumWarps).value_or(warpsOfTiles), before = warps;
  while (elements() > lanes * warps) {
    Dim *longest = nullptr;
    for (Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && dim.tile > 1 && (!longest || dim.tile > longest->tile))
        longest = &dim;
    if (longest)
      longest->tile /= 2;
    else if (warps < mostWarps)
      warps *= 2;
    else
      break;
  }
  shape.launch.set(LaunchField::NumWarps, warps);
  if (std::optional<int64_t> ctas = shape.tuning.get(TuningField::MinCtasPerSm))
    shape.tuning.set(TuningField::MinCtasPerSm, std::max<int64_t>(1, *ctas * before / warps));
}

void tessera::limitWork(const MachineModel &machine, KernelShape &shape) {
  constexpr int64_t most = 12000;
  if (!machine.isGpu)
    return;
  if (shape.contractions.empty()) {
    if (!machine.tilesInRegisters)
      giveEachThreadOne(shape);
    return;
  }
  Sides sides(machine, shape);
  while (true) {
    int64_t total = 0, largest = 0;
    Dim *shrunk = nullptr;
    for (const KernelShape::Work &work : shape.work) {
      Dim *longest = nullptr;
      int64_t instructions = instructionsOf(work, sides, shape, longest);
      total += instructions;
      if (longest && instructions > largest) {
        largest = instructions;
        shrunk = longest;
      }
    }
    if (total <= most || !shrunk)
      return;
    shrunk->tile /= 2;
  }
}
