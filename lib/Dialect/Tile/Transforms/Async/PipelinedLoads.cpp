//===- PipelinedLoads.cpp - Loads with several stages in flight -----------===//
#include "PipelinedLoads.h"
#include "Numerics/Zero.h"

#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Common/Remarks.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

/// Whether arithmetic of a loop's body computes a value from the induction variable and from what
/// does not change in the loop. `iterates` is set if it depends on the induction variable.
static bool isKnownAhead(scf::ForOp loop, Value value, bool &iterates) {
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  if (value == loop.getInductionVar())
    return iterates = true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == loop.getBody() &&
         (isa<arith::ArithDialect>(op->getDialect()) || isa<ElementOp>(op)) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isKnownAhead(loop, operand, iterates); });
}

bool tile::isKnownAhead(scf::ForOp loop, LoadOp load) {
  bool iterates = false;
  return llvm::all_of(
             load.getCoords(),
             [&](Value coordinate) { return ::isKnownAhead(loop, coordinate, iterates); }) &&
         iterates;
}

Value tile::atIteration(OpBuilder &builder, scf::ForOp loop, Value coordinate, Value iteration,
                        llvm::function_ref<Value(Value)> outside) {
  if (loop.isDefinedOutsideOfLoop(coordinate))
    return outside(coordinate);
  if (coordinate == loop.getInductionVar())
    return iteration;
  Operation *op = coordinate.getDefiningOp();
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, atIteration(builder, loop, operand, iteration, outside));
  return builder.clone(*op, map)->getResult(0);
}

bool tile::isSameInBoth(scf::ForOp loop, Value value, scf::ForOp other, Value otherValue) {
  if (value == loop.getInductionVar() || otherValue == other.getInductionVar())
    return value == loop.getInductionVar() && otherValue == other.getInductionVar();
  if (loop.isDefinedOutsideOfLoop(value))
    return value == otherValue;
  Operation *op = value.getDefiningOp(), *otherOp = otherValue.getDefiningOp();
  return op && otherOp && op->getName() == otherOp->getName() &&
         op->getAttrDictionary() == otherOp->getAttrDictionary() &&
         llvm::all_of_zip(op->getOperands(), otherOp->getOperands(),
                          [&](Value a, Value b) { return isSameInBoth(loop, a, other, b); });
}

/// Whether a value of a loop's body is computed from a tile that the body loads.
static bool dependsOnLoadedTile(scf::ForOp loop, Value value) {
  Operation *op = loop.isDefinedOutsideOfLoop(value) ? nullptr : value.getDefiningOp();
  return op && (isa<ExtractOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                  return dependsOnLoadedTile(loop, operand);
                }));
}

void tile::remarkLoadedIndex(scf::ForOp loop, LoadOp load, StringRef pass) {
  if (!load.getContext()->getRemarkEngine())
    return;
  for (auto [dim, coordinate] : llvm::enumerate(load.getCoords()))
    if (dependsOnLoadedTile(loop, coordinate)) {
      missed(load, pass, "LoadedIndex") << remark::reason(
          "coordinate {0} is computed from an index that the iteration loads: it is not known "
          "ahead",
          dim);
      return;
    }
}

std::optional<unsigned> tile::tmaInnerDim(LoadOp load, const Coordinates &coordinates,
                                          StringRef pass) {
  constexpr int64_t kAlignment = 16; // bytes
  auto decline = [&](StringRef name) {
    return pass.empty() ? remark::detail::InFlightRemark() : missed(load, pass, name);
  };
  ViewType view = load.getView().getType();
  if (load.getDims().empty())
    return std::nullopt;
  if (llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>)) {
    decline("ViewIsWritten") << remark::reason("the kernel writes the view that it loads");
    return std::nullopt;
  }
  if (!isZeroOrNone(load.getPad())) {
    decline("PaddingNotZero") << remark::reason("the tile is padded with {0}, and TMA pads with 0",
                                                Attribute(*load.getPad()));
    return std::nullopt;
  }
  if (view.getRank() > Box::kMostDims) {
    decline("TooManyDimensions") << remark::reason(
        "the view has {0} dimensions, and a tensor map at most {1}", view.getRank(),
        int64_t(Box::kMostDims));
    return std::nullopt;
  }
  if (int64_t alignment = coordinates.rowAlignment(load.getView()); alignment < kAlignment) {
    decline("UnalignedRows") << remark::reason(
        "rows are known to be {0}-byte aligned, and TMA needs {1}", alignment, kAlignment);
    return std::nullopt;
  }
  std::optional<unsigned> inner;
  for (unsigned dim = 0; dim < view.getRank(); ++dim) {
    const auto *position = llvm::find(load.getDims(), dim);
    bool isInner = view.hasUnitStride(dim) && position != load.getDims().end();
    if (isInner && inner) {
      decline("SeveralContiguousDimensions")
          << remark::reason("several dimensions of {0} have stride 1", view);
      return std::nullopt;
    }
    if (isInner) {
      inner = position - load.getDims().begin();
    } else if (view.hasUnitStride(dim)) {
      decline("ContiguousDimensionNotInTile")
          << remark::reason("dimension {0} is contiguous and not a dimension of the tile", dim);
      return std::nullopt;
    } else if (view.getStrides()[dim] == 0 ||
               (view.getStrides()[dim] < 0 &&
                !coordinates.hasPositiveStride(load.getView(), dim))) {
      decline("StrideNotPositive")
          << remark::reason("the stride of dimension {0} is not known to be positive", dim);
      return std::nullopt;
    }
  }
  if (!inner)
    decline("NoContiguousDimension")
        << remark::reason("no dimension of {0} is known to have stride 1", view);
  return inner;
}

/// Whether an operand of tf32 is not contiguous along its K dimension `over`.
static bool isTransposedWord(Value operand, LoadOp load, unsigned over,
                             const Coordinates &coordinates) {
  return getElementTypeOrSelf(operand).isTF32() && tmaInnerDim(load, coordinates) != over;
}

bool tile::isGroupOperand(Value operand, unsigned over, const Coordinates &coordinates) {
  LoadOp load = operandLoad(operand);
  auto loop = load ? dyn_cast<scf::ForOp>(load->getParentOp()) : scf::ForOp();
  return loop && isKnownAhead(loop, load) && tmaInnerDim(load, coordinates) &&
         !isTransposedWord(operand, load, over, coordinates);
}

void tile::remarkOperandsWithoutTma(MmaOp mma, const Coordinates &coordinates, StringRef pass) {
  auto look = [&](Value operand, unsigned over, StringRef name) {
    LoadOp load = operandLoad(operand);
    auto loop = load ? dyn_cast<scf::ForOp>(load->getParentOp()) : scf::ForOp();
    if (!loop || !isKnownAhead(loop, load))
      missed(mma, pass, "OperandNotStreamed") << remark::reason(
          "wgmma is not used: {0} is not loaded by a loop whose tiles are known ahead", name);
    else if (!tmaInnerDim(load, coordinates, pass))
      missed(mma, pass, "OperandWithoutTma")
          << remark::reason("wgmma is not used: TMA cannot load {0}", name);
    else if (isTransposedWord(operand, load, over, coordinates))
      missed(mma, pass, "TransposedTf32") << remark::reason(
          "wgmma is not used: {0} of tf32 is not contiguous along the K dimension", name);
  };
  look(mma.getLhs(), 1, "lhs");
  look(mma.getRhs(), 0, "rhs");
}
