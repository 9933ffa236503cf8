//===- NarrowIndexTypes.cpp - Compute with positions in 32 bits -----------===//
//
// The pass follows the operands of comparisons and of casts to floating point back to where
// positions come from. The difference of two positions always fits into 32 bits, and so do its
// absolute value, and quotients and remainders by positive constants; sums and products may not,
// and stay in 64 bits. Minima and maxima of positions are computed in 32 bits, too, where the
// identities of the wide type become those of the narrow type.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Analysis/IndexWidth.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILENARROWINDEXTYPES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether every launch passes a nonnegative value for an argument of a kernel.
static bool isNonNegativeArgument(KernelOp kernel, BlockArgument argument) {
  unsigned number = llvm::count_if(kernel.getArguments().take_front(argument.getArgNumber()),
                                   [](Value before) { return before.getType().isIndex(); });
  bool isLaunched = false, isNegative = false;
  if (auto module = kernel->getParentOfType<ModuleOp>())
    module.walk([&](LaunchOp launch) {
      if (launch.getKernel() != kernel.getName())
        return;
      isLaunched = true;
      isNegative |=
          !SymExpr::parse(cast<StringAttr>(launch.getSizes()[number]).str())->isNonNegative();
    });
  return isLaunched && !isNegative;
}

/// Whether an index cannot be negative.
static bool isNonNegative(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto kernel = dyn_cast<KernelOp>(parent))
      return isNonNegativeArgument(kernel, argument);
    auto loop = dyn_cast<scf::ForOp>(parent);
    return loop && loop.getInductionVar() == index && isNonNegative(loop.getLowerBound());
  }
  Operation *op = index.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    return constant.value() >= 0;
  if (isa<ProgramIdOp, DimOp>(op))
    return true;
  if (isa<arith::MaxSIOp>(op))
    return isNonNegative(op->getOperand(0)) || isNonNegative(op->getOperand(1));
  return isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
             arith::DivUIOp, arith::RemUIOp>(op) &&
         llvm::all_of(op->getOperands(), isNonNegative);
}

namespace {
/// Whether the elements of a tile fit into 32 bits, and whether they are nonnegative.
enum class Fit { No, Signed, NonNegative };

class Narrowing {
public:
  Narrowing(Type narrow, bool hasIdentities) : narrow(narrow), hasIdentities(hasIdentities) {}

  Fit fit(Value tile) {
    auto [known, isNew] = fits.try_emplace(tile, Fit::No);
    return isNew ? fits[tile] = computeFit(tile) : known->second;
  }

  /// The tile with 32-bit elements.
  Value narrowed(Value tile) {
    Value &result = made[tile];
    if (result)
      return result;
    Operation *op = tile.getDefiningOp();
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(tile.getType()).clone(narrow);
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto number = cast<IntegerAttr>(constant.getValue()).getValue().truncSSat(32);
      result =
          ConstantOp::create(builder, op->getLoc(), type, builder.getIntegerAttr(narrow, number));
      return made[tile] = result;
    }
    IRMapping operands;
    if (!isa<IotaOp, SplatOp>(op))
      for (Value operand : op->getOperands())
        operands.map(operand,
                     getElementTypeOrSelf(operand).isInteger(1) ? operand : narrowed(operand));
    Operation *copy = builder.clone(*op, operands);
    copy->getResult(0).setType(type);
    return made[tile] = copy->getResult(0);
  }

private:
  Fit computeFit(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || !getElementTypeOrSelf(tile).isSignlessInteger(64))
      return Fit::No;
    auto position = [](Value index) {
      return isNonNegative(index) ? Fit::NonNegative : Fit::Signed;
    };
    if (auto iota = dyn_cast<IotaOp>(op))
      return position(iota.getStart());
    if (auto splat = dyn_cast<SplatOp>(op))
      return splat.getScalar().getType().isIndex() ? position(splat.getScalar()) : Fit::No;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      llvm::APInt number = cast<IntegerAttr>(constant.getValue()).getValue();
      if (hasIdentities && (number.isMaxSignedValue() || number.isMinSignedValue()))
        return Fit::Signed;
      bool hasNegation = number.isSignedIntN(32) && (-number).isSignedIntN(32);
      return !hasNegation ? Fit::No : number.isNegative() ? Fit::Signed : Fit::NonNegative;
    }
    if (isa<BroadcastOp, TransposeOp, ReshapeOp>(op))
      return fit(op->getOperand(0));
    auto map = dyn_cast<MapOp>(op);
    if (map && map.getScalarOp() == ScalarOp::Where)
      return std::min(fit(map.getInputs()[1]), fit(map.getInputs()[2]));
    if (!map || map.getInputs().size() > 2)
      return Fit::No;
    Fit first = fit(map.getInputs().front()), last = fit(map.getInputs().back());
    switch (map.getScalarOp()) {
    case ScalarOp::Sub:
      return first == Fit::NonNegative && last == Fit::NonNegative ? Fit::Signed : Fit::No;
    case ScalarOp::Minimum:
    case ScalarOp::Maximum:
      return std::min(first, last);
    case ScalarOp::Neg: // the least number of 32 bits is no difference of positions
    case ScalarOp::Abs:
      if (first == Fit::No || hasIdentities)
        return Fit::No;
      return map.getScalarOp() == ScalarOp::Abs ? Fit::NonNegative : Fit::Signed;
    case ScalarOp::FloorDiv:
      return isPositive(map.getInputs().back()) && !hasIdentities ? first : Fit::No;
    case ScalarOp::Remainder:
      return isPositive(map.getInputs().back()) && first != Fit::No && !hasIdentities
                 ? Fit::NonNegative
                 : Fit::No;
    default:
      return Fit::No;
    }
  }

  /// Whether a tile is a positive constant that fits.
  bool isPositive(Value tile) {
    auto constant = tile.getDefiningOp<ConstantOp>();
    return constant && fit(tile) == Fit::NonNegative &&
           !cast<IntegerAttr>(constant.getValue()).getValue().isZero();
  }

  Type narrow;
  bool hasIdentities;
  llvm::DenseMap<Value, Fit> fits;
  llvm::DenseMap<Value, Value> made;
};

/// Reduces in 32 bits, and maps the identity of the narrow type to the one of the wide type.
void reduceNarrow(tile::ReduceOp reduce, Value input) {
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  Value found = tile::ReduceOp::create(builder, reduce.getReduceOp(), input, reduce.getDims());
  auto type = reduce.getType(), narrow = cast<RankedTensorType>(found.getType());
  bool isMin = reduce.getReduceOp() == tessera::ReduceOp::Min;
  auto identity = [&](RankedTensorType of, unsigned bits) -> Value {
    llvm::APInt value =
        isMin ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits);
    return ConstantOp::create(builder, of, builder.getIntegerAttr(of.getElementType(), value));
  };
  Value isIdentity = MapOp::create(builder, ScalarOp::Eq, ValueRange{found, identity(narrow, 32)});
  Value wide = tile::CastOp::create(builder, found, type.getElementType());
  reduce.getResult().replaceAllUsesWith(
      MapOp::create(builder, ScalarOp::Where, ValueRange{isIdentity, identity(type, 64), wide}));
  reduce.erase();
}

/// Says for each kernel which tensor, or which option, requires 64-bit indices.
void remarkWideIndices(ModuleOp module) {
  if (!module.getContext()->getRemarkEngine())
    return;
  std::string cause = "the option indices = \"64\" requires it";
  if (std::optional<SymExpr> size = wideTensorSize(module))
    cause = "a tensor has " + size->str() + " elements, which may exceed 2^31";
  for (auto kernel : module.getOps<KernelOp>()) {
    Operation *position = kernel;
    kernel.walk([&](IotaOp iota) {
      position = iota;
      return WalkResult::interrupt();
    });
    missed(position, "tile-narrow-index-types", "WideIndices")
        << remark::reason("index arithmetic stays in 64 bits: {0}", cause);
  }
}

struct TileNarrowIndexTypes : tile::impl::TileNarrowIndexTypesBase<TileNarrowIndexTypes> {
  void runOnOperation() override {
    if (needsWideIndices(getOperation()))
      return remarkWideIndices(getOperation());
    Type narrow = IntegerType::get(&getContext(), 32);
    Narrowing narrowing(narrow, /*hasIdentities=*/false),
        narrowingExtrema(narrow, /*hasIdentities=*/true);
    auto isNarrow = [&](Value tile) { return narrowing.fit(tile) != Fit::No; };
    getOperation()->walk([&](Operation *op) {
      auto map = dyn_cast<MapOp>(op);
      bool compares =
          map && getElementTypeOrSelf(map.getResult()).isInteger(1) && map.getInputs().size() == 2;
      bool converts = isa<CastOp>(op) && isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
      if ((compares || converts) && llvm::all_of(op->getOperands(), isNarrow))
        for (OpOperand &operand : op->getOpOperands())
          operand.set(narrowing.narrowed(operand.get()));
    });
    getOperation()->walk([&](tile::ReduceOp reduce) {
      bool isExtremum = reduce.getReduceOp() == tessera::ReduceOp::Min ||
                        reduce.getReduceOp() == tessera::ReduceOp::Max;
      if (isExtremum && narrowingExtrema.fit(reduce.getInput()) != Fit::No)
        reduceNarrow(reduce, narrowingExtrema.narrowed(reduce.getInput()));
    });
  }
};
} // namespace
