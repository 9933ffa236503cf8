//===- EmitIndex.cpp - Sizes, coordinates and index tiles -----------------===//
//
// The launch computes expressions over sizes and passes them as arguments. Expressions over
// coordinates become `index` arithmetic; along axes of a tile they become integer tiles. A scalar
// summand is folded into the start of a `tile.iota`, so that the common `i + T - S` is free.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace tessera;

Value Emitter::getConstant(int64_t value) {
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    constant = arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
  }
  return constant;
}

Value Emitter::getCoord(StringAttr dim) {
  return dim == pieced ? pieceCoords[piece] : findScope(dim)->coords[dim];
}

/// The first index of the current block along `dim`.
Value Emitter::getStart(StringAttr dim) {
  Value coord = getCoord(dim);
  return tileOf(dim) == 1 ? coord : fold<arith::MulIOp>(coord, getConstant(tileOf(dim)));
}

/// The dimension of `i.lo` or `i.hi`.
static sched::DimAttr boundDim(sched::KernelOp kernel, StringRef symbol) {
  auto [name, part] = symbol.rsplit('.');
  return part == "lo" || part == "hi" ? kernel.getDim(name) : sched::DimAttr();
}

bool Emitter::isSizeOnly(SymExpr e) {
  std::set<std::string> symbols;
  e.collectSymbols(symbols);
  return llvm::none_of(
      symbols, [&](StringRef symbol) { return kernel.getDim(symbol) || boundDim(kernel, symbol); });
}

/// Splits a sum or product into the part over sizes and the rest.
static std::pair<SymExpr, SmallVector<SymExpr>>
splitSizes(SymExpr e, llvm::function_ref<bool(SymExpr)> isSizeOnly) {
  bool isSum = e.kind() == SymExpr::Kind::Add;
  SymExpr sizes(isSum ? 0 : 1);
  SmallVector<SymExpr> rest;
  for (SymExpr operand : e.operands()) {
    if (!isSizeOnly(operand))
      rest.push_back(operand);
    else
      sizes = isSum ? sizes + operand : sizes * operand;
  }
  return {sizes, rest};
}

/// Whether a term has a negative constant factor.
static bool isNegated(SymExpr term) {
  if (term.isConstant())
    return term.constantValue() < 0;
  return term.kind() == SymExpr::Kind::Mul && term.operands().front().isConstant() &&
         term.operands().front().constantValue() < 0;
}

Value Emitter::emitScalar(SymExpr e) {
  if (e.isConstant())
    return getConstant(e.constantValue());
  if (isSizeOnly(e))
    return getSize(e);
  if (e.isSymbol()) {
    StringRef name = e.symbolName();
    if (sched::DimAttr dim = kernel.getDim(name))
      return getStart(dim.getName());
    sched::DimAttr dim = boundDim(kernel, name);
    Value start = getStart(dim.getName());
    if (name.ends_with(".lo"))
      return start;
    Value last = fold<arith::AddIOp>(start, getConstant(tileOf(dim.getName()) - 1));
    if (!mayBeRagged(dim))
      return last;
    return fold<arith::MinSIOp>(last, emitScalar(dim.getSize() - 1));
  }
  if (e.kind() == SymExpr::Kind::Add || e.kind() == SymExpr::Kind::Mul) {
    bool isSum = e.kind() == SymExpr::Kind::Add;
    auto [sizes, rest] = splitSizes(e, [&](SymExpr part) { return isSizeOnly(part); });
    llvm::sort(rest, [](SymExpr a, SymExpr b) {
      return std::pair(isNegated(a), a) < std::pair(isNegated(b), b);
    });
    Value result = sizes.isConstant(isSum ? 0 : 1) ? Value() : emitScalar(sizes);
    for (SymExpr part : rest) {
      bool negate = isSum && isNegated(part) && result;
      Value value = emitScalar(negate ? part * -1 : part);
      if (!result)
        result = value;
      else if (negate)
        result = fold<arith::SubIOp>(result, value);
      else
        result = isSum ? fold<arith::AddIOp>(result, value) : fold<arith::MulIOp>(result, value);
    }
    return result;
  }
  Value a = emitScalar(e.operands()[0]), b = emitScalar(e.operands()[1]);
  switch (e.kind()) {
  case SymExpr::Kind::FloorDiv:
    return fold<arith::FloorDivSIOp>(a, b);
  case SymExpr::Kind::CeilDiv:
    return fold<arith::CeilDivSIOp>(a, b);
  case SymExpr::Kind::Mod:
    return fold<arith::SubIOp>(a, fold<arith::MulIOp>(fold<arith::FloorDivSIOp>(a, b), b));
  case SymExpr::Kind::Min:
    return fold<arith::MinSIOp>(a, b);
  default:
    return fold<arith::MaxSIOp>(a, b);
  }
}

Value Emitter::emitIota(StringAttr dim, SymExpr offset, Type element) {
  SymExpr start = SymExpr::symbol(dim.getValue()) + offset;
  return atDepth(getDepth(start), [&] {
    std::tuple key(start.opaque(), element, pieceOf(getDimBits(kernel.getDimsIn(start))));
    if (Value known = top().iotas.lookup(key))
      return known;
    Value first = getStart(dim);
    if (!offset.isConstant(0))
      first = fold<arith::AddIOp>(first, emitScalar(offset));
    Value iota = create<tile::IotaOp>(tileType({dim}, element), first);
    return top().iotas[key] = iota;
  });
}

Value Emitter::emitIndex(SymExpr e, Type element, const Order &order) {
  Order own;
  for (StringAttr dim : order)
    if (llvm::is_contained(kernel.getDimsIn(e), dim))
      own.push_back(dim);
  if (own.empty())
    return fold<tile::SplatOp>(tileType(order, element), emitScalar(e));
  if (own != order)
    return broadcast(emitIndex(e, element, own), own, order);
  switch (e.kind()) {
  case SymExpr::Kind::Symbol:
    return emitIota(order.front(), 0, element);
  case SymExpr::Kind::Add:
    return emitIndexSum(e, element, order);
  case SymExpr::Kind::Mul: {
    Value result;
    for (SymExpr factor : e.operands()) {
      Value value = emitIndex(factor, element, order);
      result = result ? map(ScalarOp::Mul, {result, value}) : value;
    }
    return result;
  }
  default:
    break;
  }
  Value a = emitIndex(e.operands()[0], element, order);
  Value b = emitIndex(e.operands()[1], element, order);
  switch (e.kind()) {
  case SymExpr::Kind::FloorDiv:
    return map(ScalarOp::FloorDiv, {a, b});
  case SymExpr::Kind::CeilDiv: {
    Value down = map(ScalarOp::FloorDiv, {map(ScalarOp::Neg, a), b});
    return map(ScalarOp::Neg, down);
  }
  case SymExpr::Kind::Mod:
    return map(ScalarOp::Remainder, {a, b});
  case SymExpr::Kind::Min:
    return map(ScalarOp::Minimum, {a, b});
  default:
    return map(ScalarOp::Maximum, {a, b});
  }
}

Value Emitter::emitIndexSum(SymExpr e, Type element, const Order &order) {
  SymExpr scalar;
  SmallVector<SymExpr> terms;
  for (SymExpr term : e.operands()) {
    if (getOrder(kernel.getDimsIn(term)).empty())
      scalar = scalar + term;
    else
      terms.push_back(term);
  }
  // A plain dimension first: the scalar part is folded into its start.
  llvm::sort(terms, [](SymExpr a, SymExpr b) {
    return std::tuple(!a.isSymbol(), isNegated(a), a) < std::tuple(!b.isSymbol(), isNegated(b), b);
  });
  Value result;
  for (SymExpr term : terms) {
    if (!result && term.isSymbol()) {
      StringAttr dim = kernel.getDim(term.symbolName()).getName();
      result = broadcast(emitIota(dim, scalar, element), {dim}, order);
      scalar = 0;
      continue;
    }
    bool negate = result && isNegated(term);
    Value value = emitIndex(negate ? term * -1 : term, element, order);
    result = result ? map(negate ? ScalarOp::Sub : ScalarOp::Add, {result, value}) : value;
  }
  if (scalar.isConstant(0))
    return result;
  return map(ScalarOp::Add, {result, emitIndex(scalar, element, order)});
}

Value Emitter::emitEdge(ArrayRef<StringAttr> dims, const Order &order) {
  Value result;
  for (StringAttr dim : dims) {
    Value edge = atDepth(getDepth(getDimBits(dim)), [&] {
      std::pair key(dim, pieceOf(getDimBits(dim)));
      if (Value known = top().edges.lookup(key))
        return known;
      // Relative to the start of the block the indices are constants of 32 bits.
      auto type = tileType({dim}, builder.getI32Type());
      Value size = emitScalar(kernel.getDim(dim).getSize());
      Value inside = fold<arith::SubIOp>(size, getStart(dim));
      if (!fits(kernel.getDim(dim)))
        inside = fold<arith::MinSIOp>(inside, getConstant(tileOf(dim)));
      Value index = create<tile::IotaOp>(type, getConstant(0));
      return top().edges[key] = map(ScalarOp::Lt, {index, fold<tile::SplatOp>(type, inside)});
    });
    edge = broadcast(edge, {dim}, order);
    result = result ? map(ScalarOp::And, {result, edge}) : edge;
  }
  return result;
}
