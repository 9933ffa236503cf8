//===- Access.cpp - Views of loads and stores -----------------------------===//
//
// The address is a polynomial over dimensions, sizes and strides. Every mod(z, H) over dimensions
// becomes z - H*floordiv(z, H). Polynomials are canonical, so the divisions cancel where a reshape
// is contiguous. The rest must be linear in the dimensions; its coefficients are the strides of the
// view.
//
//===----------------------------------------------------------------------===//
#include "Access.h"

using namespace mlir;
using namespace tessera;

static std::vector<SymExpr> termsOf(SymExpr e) {
  return e.kind() == SymExpr::Kind::Add ? e.operands() : std::vector<SymExpr>{e};
}

/// The number of the gather index that a symbol (`#k`) stands for.
static std::optional<unsigned> gatherIndex(SymExpr e) {
  if (!e.isSymbol() || e.symbolName()[0] != '#')
    return std::nullopt;
  return std::stoul(e.symbolName().substr(1));
}

static bool usesGatherIndices(SymExpr e) {
  std::set<std::string> symbols;
  e.collectSymbols(symbols);
  return llvm::any_of(symbols, [](const std::string &name) { return name[0] == '#'; });
}

/// Whether the expression varies inside a kernel.
static bool usesDims(sched::KernelOp kernel, SymExpr e) {
  return !kernel.getDimsIn(e).empty() || usesGatherIndices(e);
}

/// floordiv with nested divisions merged: floordiv(floordiv(a, b), c) = floordiv(a, b*c).
static SymExpr mergedFloorDiv(SymExpr a, SymExpr b) {
  if (a.kind() == SymExpr::Kind::FloorDiv)
    return mergedFloorDiv(a.operands()[0], a.operands()[1] * b);
  return a.floorDiv(b);
}

/// Rewrites every mod over dimensions to floordiv.
static SymExpr expandMods(sched::KernelOp kernel, SymExpr e) {
  if (!usesDims(kernel, e) || e.isSymbol())
    return e;
  SmallVector<SymExpr> operands;
  for (SymExpr operand : e.operands())
    operands.push_back(expandMods(kernel, operand));
  switch (e.kind()) {
  case SymExpr::Kind::Add:
    return std::accumulate(operands.begin(), operands.end(), SymExpr(0), std::plus<SymExpr>());
  case SymExpr::Kind::Mul:
    return std::accumulate(operands.begin(), operands.end(), SymExpr(1),
                           std::multiplies<SymExpr>());
  case SymExpr::Kind::FloorDiv:
    return mergedFloorDiv(operands[0], operands[1]);
  case SymExpr::Kind::Mod:
    return operands[0] - operands[1] * mergedFloorDiv(operands[0], operands[1]);
  default:
    return e;
  }
}

/// A term of an address: a coefficient, times a dimension or a gather index if it has one.
struct LinearTerm {
  StringAttr dim;
  std::optional<unsigned> gathered;
  SymExpr coefficient = SymExpr(1);
};

/// Nothing if the term is not linear.
static std::optional<LinearTerm> linearTerm(sched::KernelOp kernel, SymExpr term) {
  LinearTerm result;
  std::vector<SymExpr> factors =
      term.kind() == SymExpr::Kind::Mul ? term.operands() : std::vector<SymExpr>{term};
  for (SymExpr factor : factors) {
    sched::DimAttr declared = factor.isSymbol() ? kernel.getDim(factor.symbolName()) : nullptr;
    std::optional<unsigned> gathered = gatherIndex(factor);
    if (!declared && !gathered && !usesDims(kernel, factor)) {
      result.coefficient = result.coefficient * factor;
      continue;
    }
    if ((!declared && !gathered) || result.dim || result.gathered)
      return std::nullopt;
    result.gathered = gathered;
    if (declared)
      result.dim = declared.getName();
  }
  return result;
}

static SmallVector<SymExpr> getRowMajorStrides(gir::TensorType type) {
  SmallVector<SymExpr> strides(type.getRank());
  SymExpr product(1);
  for (unsigned k = type.getRank(); k-- > 0; product = product * type.getDim(k))
    strides[k] = product;
  return strides;
}

SmallVector<SymExpr> tessera::getHostStrides(Value tensor) {
  auto type = cast<gir::TensorType>(tensor.getType());
  SmallVector<SymExpr> strides = getRowMajorStrides(type);
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto func = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!func || func.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr))
    return strides;
  auto unit = func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), gir::kUnitStrideAttr);
  for (unsigned k = 0; k < type.getRank(); ++k)
    strides[k] = unit && unit.getInt() == k ? SymExpr(1) : SymExpr::symbol("$" + std::to_string(k));
  return strides;
}

FailureOr<Access> tessera::analyseAccess(Operation *op, sched::KernelOp kernel, Value tensor,
                                         ArrayAttr index, ArrayRef<SymExpr> below) {
  auto type = cast<gir::TensorType>(tensor.getType());
  SmallVector<SymExpr> strides = getHostStrides(tensor), shape(type.getShape()), expressions;
  if (index.size() != type.getRank()) { // a row-major element number
    if (strides != getRowMajorStrides(type))
      return op->emitOpError("expected a contiguous tensor for a row-major element number");
    strides = {SymExpr(1)};
    shape = {type.getNumElements()};
  }
  SymExpr address;
  // One index for a tensor of another rank is a row-major element number.
  bool flat = index.size() == 1 && type.getRank() != 1;
  if (flat) {
    if (llvm::any_of(strides, [](SymExpr s) { return s.str().find('$') != std::string::npos; }))
      return op->emitOpError("expected a contiguous tensor for a row-major element number");
    strides.assign(1, SymExpr(1));
  }
  for (auto [k, text] : llvm::enumerate(index.getAsRange<StringAttr>())) {
    expressions.push_back(*SymExpr::parse(text.getValue().str()));
    address = address + expandMods(kernel, expressions.back()) * strides[k];
  }

  Access access;
  access.dims = kernel.getDimsIn(expressions);
  access.strides.assign(access.dims.size() + below.size(), SymExpr(0));
  auto position = [&](StringAttr dim) {
    return llvm::find(access.dims, dim) - access.dims.begin();
  };
  for (SymExpr term : termsOf(address)) {
    std::optional<LinearTerm> linear = linearTerm(kernel, term);
    if (!linear)
      return op->emitOpError() << "expected an address that is affine in the dimensions, got "
                               << address.str();
    SymExpr &target = linear->dim        ? access.strides[position(linear->dim)]
                      : linear->gathered ? access.strides[access.dims.size() + *linear->gathered]
                                         : access.offset;
    target = target + linear->coefficient;
  }

  // Where a dimension indexes past the end of the tensor, loads are padded.
  for (StringAttr dim : access.dims)
    access.sizes.push_back(kernel.getDim(dim).getSize());
  for (auto [k, e] : llvm::enumerate(expressions)) {
    SmallVector<StringAttr> dims = kernel.getDimsIn(e);
    if (flat || dims.size() != 1 || usesGatherIndices(e))
      continue;
    SymExpr start = e - SymExpr::symbol(dims.front().getValue());
    SymExpr &size = access.sizes[position(dims.front())], limit = shape[k] - start;
    if (usesDims(kernel, start) || (limit - size).isNonNegative())
      continue;
    size = SymExpr::min(size, limit.isNonNegative() ? limit : SymExpr::max(limit, 0));
    access.limited.push_back(dims.front());
  }
  llvm::append_range(access.sizes, below);
  return access;
}

tile::OperandViewAttr Access::getOperandView(MLIRContext *context) const {
  return tile::OperandViewAttr::get(context, offset, sizes, strides);
}

tile::ViewType Access::getViewType(Type elementType, const SizeFacts &facts) const {
  SmallVector<int64_t> shape, steps, divisors;
  auto staticOr = [](SymExpr e) {
    return e.isConstant() ? e.constantValue() : ShapedType::kDynamic;
  };
  for (auto [size, stride] : llvm::zip(sizes, strides)) {
    shape.push_back(staticOr(size));
    steps.push_back(staticOr(stride));
    divisors.push_back(facts.divisor(size));
  }
  return tile::ViewType::get(shape, elementType, steps, divisors);
}
