//===- LimitWork.cpp - Tiles whose work is a bounded piece of code --------===//
//
// What a thread computes of its elements of a tile is one straight piece of code: a sine takes
// dozens of instructions for each of them. NVIDIA's assembler takes minutes over the longest ones,
// and has no registers for what they have in flight. The sum of all instructions is estimated;
// while it is too large, the expression that has most of them gets a smaller tile along its longest
// side.
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
    for (const auto &[name, value] : shape.hints) {
      threads *= name == "num_warps" ? value : 1;
      cluster *= name == "cluster_size" ? value : 1;
      isGrouped |= name == "wgmma";
    }
    if (llvm::any_of(shape.hints, [](const auto &hint) { return hint.first == "cluster_axis"; }))
      cluster = 1;
  }

  bool canShrink(const Dim &dim) const { return dim.tile > least(dim); }
  /// Blocks of a cluster share what products sum over.
  int64_t ofBlock(const Dim &dim) const { return std::max<int64_t>(1, dim.tile / sharers(dim)); }
  int64_t ofThread(int64_t elements) const { return std::max<int64_t>(1, elements / threads); }

private:
  int64_t sharers(const Dim &dim) const { return dim.role == Dim::Stream ? cluster : 1; }
  int64_t least(const Dim &dim) const {
    constexpr int64_t ofTensorCores = 16, ofGroups = 32;
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns, &c.over})
        if (llvm::is_contained(*side, dim.name)) {
          // Rows of warpgroups go with their number, and steps with what copies bring at once.
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
