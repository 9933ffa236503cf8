//===- LimitWork.cpp - Limits the code of a tile --------------------------===//
//
// The code of a thread for its elements of a tile is unrolled: a sine takes dozens of instructions
// per element. ptxas takes minutes for the longest kernels, and has no registers for their live
// values. The number of instructions is estimated. While it is too large, the expression with most
// of them gets a smaller tile along its longest side.
//
//===----------------------------------------------------------------------===//
#include "LimitWork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera;

using Dim = KernelShape::Dim;

int64_t tessera::instructionsOf(Expr e) {
  bool isWide = e->type.isF64();
  if (e->kind == ExprNode::Load)
    return 4;
  if (e->kind != ExprNode::Map)
    return 1;
  switch (e->op) {
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
  case ScalarOp::Rsqrt:
  case ScalarOp::Reciprocal:
  case ScalarOp::Fma:
    return isWide ? 8 : 2;
  case ScalarOp::Sin:
  case ScalarOp::Cos:
  case ScalarOp::Tan:
    return isWide ? 128 : 48;
  case ScalarOp::Philox:
  case ScalarOp::PhiloxUpper:
    return 32;
  default:
    return scalarOpInfo(e->op).rule != TypeRule::Float && e->op != ScalarOp::Pow ? 1
           : isWide                                                              ? 64
                                                                                 : 24;
  }
}

namespace {
/// How small a dimension's tile may get.
class Sides {
public:
  explicit Sides(const KernelShape &shape) : shape(shape) {
    threads *= shape.launch.get(LaunchField::NumWarps).value_or(1);
    isGrouped = shape.tuning.get(TuningField::Wgmma) == 1;
    if (!shape.launch.get(LaunchField::ClusterAxis))
      cluster = shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize);
  }

  bool canShrink(const Dim &dim) const { return dim.tile > least(dim); }
  /// The CTAs of a cluster split the K dimension.
  int64_t ofBlock(const Dim &dim) const { return std::max<int64_t>(1, dim.tile / sharers(dim)); }
  int64_t ofThread(int64_t elements) const { return std::max<int64_t>(1, elements / threads); }

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
  bool isGrouped = false;
};
} // namespace

void tessera::limitWork(llvm::ArrayRef<Expr> work, KernelShape &shape) {
  constexpr int64_t most = 12000;
  Sides sides(shape);
  while (true) {
    int64_t total = 0, largest = 0;
    Dim *longest = nullptr;
    for (Expr e : work) {
      int64_t elements = 1;
      Dim *mine = nullptr;
      bool isTwice = false; // for whole tiles and for what they leave
      for (Dim &dim : shape.dims) {
        if (!e->dims.count(dim.name))
          continue;
        elements *= sides.ofBlock(dim);
        isTwice |= dim.role == Dim::Stream;
        if (sides.canShrink(dim) && (!mine || dim.tile > mine->tile))
          mine = &dim;
      }
      int64_t instructions = (isTwice ? 2 : 1) * instructionsOf(e) * sides.ofThread(elements);
      total += instructions;
      if (mine && instructions > largest) {
        largest = instructions;
        longest = mine;
      }
    }
    if (total <= most || !longest)
      return;
    longest->tile /= 2;
  }
}
