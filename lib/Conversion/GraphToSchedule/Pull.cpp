//===- Pull.cpp - From graph values to element expressions ----------------===//
//
// 16-bit floating point is computed in f32: every operation's operands are widened and its result
// rounded by an implicit cast, and casts that meet cancel, so a chain of operations keeps the wider
// type until it is stored.
//
//===----------------------------------------------------------------------===//
#include "Pull.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

static gir::TensorType tensorType(mlir::Value value) {
  return llvm::cast<gir::TensorType>(value.getType());
}

static bool isNarrowFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

bool tessera::isContiguous(mlir::Value tensor) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(tensor);
  if (!argument)
    return true;
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  return !function || function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr) ||
         tensorType(tensor).getRank() == 0;
}

SymExpr tessera::linearIndex(llvm::ArrayRef<SymExpr> shape, llvm::ArrayRef<SymExpr> index) {
  SymExpr result(0);
  for (size_t i = 0; i < shape.size(); ++i)
    result = result * shape[i] + index[i];
  return result;
}

/// Whether finding an element takes more than an index.
static bool isComputed(mlir::Value value) {
  auto op = llvm::dyn_cast_or_null<gir::GraphOpInterface>(value.getDefiningOp());
  return op && op->getNumOperands() &&
         (op.getReduction() || op.getScalarBody().kind != gir::ScalarBody::Identity);
}

/// Whether an element's number is found by a division. One of sizes alone is known before the
/// kernel runs.
static bool hasDivision(const ExprPool &pool, SymExpr e) {
  if (e.kind() == SymExpr::Kind::FloorDiv || e.kind() == SymExpr::Kind::Mod) {
    std::set<std::string> names;
    e.collectSymbols(names);
    return !pool.placesIn(e).empty() ||
           llvm::any_of(names, [&](const std::string &name) { return pool.isDim(name); });
  }
  return llvm::any_of(e.operands(), [&](SymExpr operand) { return hasDivision(pool, operand); });
}
static bool hasDivision(const ExprPool &pool, llvm::ArrayRef<SymExpr> index) {
  return llvm::any_of(index, [&](SymExpr e) { return hasDivision(pool, e); });
}

/// c·b·floordiv(a, b) + c·mod(a, b) = c·a, as long as it applies.
static SymExpr joinDivisions(SymExpr e) {
  if (e.kind() != SymExpr::Kind::Add)
    return e;
  for (SymExpr term : e.operands()) {
    SymExpr remainder = term, coefficient(1);
    if (term.kind() == SymExpr::Kind::Mul) {
      bool found = false;
      for (SymExpr factor : term.operands())
        if (!found && factor.kind() == SymExpr::Kind::Mod) {
          remainder = factor;
          found = true;
        } else {
          coefficient = coefficient * factor;
        }
    }
    if (remainder.kind() != SymExpr::Kind::Mod)
      continue;
    SymExpr a = remainder.operands()[0], b = remainder.operands()[1];
    SymExpr other = coefficient * b * a.floorDiv(b);
    // The quotient's term must be there; then both go and coefficient·a comes.
    SymExpr rest = e - term - other;
    auto terms = [](SymExpr x) {
      return x.kind() == SymExpr::Kind::Add ? x.operands().size() : size_t(!x.isConstant(0));
    };
    if (terms(rest) < terms(e) - 1)
      return joinDivisions(rest + coefficient * a);
  }
  return e;
}

/// Only a reshape brings divisions; the one nearest to the output is stored, which walks its input
/// instead.
Expr Puller::needsStore(mlir::Value reshape, mlir::Type type) {
  cut = cut ? cut : Cut{reshape, "a reshape has no regular stride in its input's memory", true};
  return pool.constant(0, type);
}

Expr Puller::load(mlir::Value tensor, std::vector<SymExpr> index, mlir::Location loc) {
  if (hasDivision(pool, index)) {
    SymExpr linear = joinDivisions(linearIndex(tensorType(tensor).getShape(), index));
    if (!isContiguous(tensor) || hasDivision(pool, linear))
      return needsStore(reshapes.front(), tensorType(tensor).getElementType());
    index = {linear};
  }
  return pool.load(tensor, std::move(index), tensorType(tensor).getElementType(), loc);
}

Expr Puller::pull(mlir::Value value, std::vector<SymExpr> index, bool asRoot) {
  if (!asRoot && (llvm::isa<mlir::BlockArgument>(value) || stored.contains(value)))
    return load(value, std::move(index), value.getLoc());
  auto key = std::make_pair(value.getAsOpaquePointer(), index);
  auto it = memo.find(key);
  if (it != memo.end())
    return it->second;
  if (!asRoot && isComputed(value) && ++places[value.getAsOpaquePointer()] > mostPlaces)
    cut = cut ? cut : Cut{value, "a kernel needs it at many places", true};
  if (cut)
    return pool.constant(0, tensorType(value).getElementType());
  Expr result = llvm::isa<mlir::BlockArgument>(value) ? load(value, index, value.getLoc())
                                                      : compute(value, index);
  memo.emplace(key, result);
  return result;
}

/// The index that an operand's element is.
SymExpr Puller::place(mlir::Value tensor, Expr value, SymExpr size) {
  bool reduces = false;
  visitExprs({value}, [&](Expr e) { reduces |= e->kind == ExprNode::Reduce; });
  if (reduces && !cut)
    cut = Cut{tensor, "it says where elements are read", true};
  return pool.placeSymbol(value, size);
}

Expr Puller::compute(mlir::Value value, const std::vector<SymExpr> &index) {
  mlir::Operation *op = value.getDefiningOp();
  mlir::Location loc = op->getLoc();
  mlir::Type type = tensorType(value).getElementType();
  // A reshape of a contiguous tensor keeps the element number.
  if (auto reshape = llvm::dyn_cast<gir::ReshapeOp>(op)) {
    mlir::Value input = reshape.getInput();
    while (auto outer = input.getDefiningOp<gir::ReshapeOp>()) {
      if (stored.contains(input))
        break;
      input = outer.getInput();
    }
    bool inMemory = llvm::isa<mlir::BlockArgument>(input) || stored.contains(input);
    SymExpr linear = joinDivisions(linearIndex(tensorType(value).getShape(), index));
    if (inMemory && isContiguous(input) && !hasDivision(pool, linear))
      return pool.load(input, {linear}, type, loc);
    // Quotients of quotients are never wanted.
    if (hasDivision(pool, linear))
      return needsStore(reshapes.empty() ? value : reshapes.front(), type);
  }
  auto indexed = llvm::dyn_cast<gir::GraphOpInterface>(op);
  if (!indexed) {
    cut = cut ? cut : Cut{value, "it is put together from pieces", true};
    return pool.constant(0, type);
  }

  // A scan walks a dimension of the kernel; asked for in another way, it is stored first.
  if (std::optional<unsigned> along = indexed.getScannedDim();
      along && !tensorType(value).getDim(*along).isConstant(1)) {
    SymExpr at = index[*along];
    bool isWalked = at.isSymbol() && pool.isDim(at.symbolName());
    for (unsigned i = 0; i < index.size() && isWalked; ++i) {
      std::set<std::string> names;
      index[i].collectSymbols(names);
      isWalked = i == *along || !names.count(at.symbolName());
    }
    if (!isWalked) {
      cut = cut ? cut : Cut{value, "a running join is read in another order"};
      return pool.constant(0, type);
    }
  }

  // The iteration point: the result's index, then fresh dimensions for what is reduced.
  llvm::SmallVector<SymExpr> sizes = indexed.getIterationSizes();
  unsigned reduced = indexed.getNumReduced();
  std::map<std::string, SymExpr> point;
  std::vector<std::string> over;
  bool empty = false;
  bool dropsUnits = !keepsUnits || llvm::isa<gir::ReshapeOp>(op);
  for (unsigned i = 0; i < sizes.size(); ++i) {
    SymExpr at;
    if (i < sizes.size() - reduced) {
      at = sizes[i].isConstant(1) && dropsUnits ? SymExpr(0) : index[i];
    } else if (!sizes[i].isConstant(1)) {
      empty |= sizes[i].isConstant(0);
      std::string &name = reducedDims[{op, i}];
      if (name.empty())
        name = pool.freshDim(sizes[i].isSymbol() ? sizes[i].symbolName() : "k", sizes[i]);
      over.push_back(name);
      at = SymExpr::symbol(name);
    }
    point.emplace(gir::iterationSymbol(i).symbolName(), at);
  }
  auto lookup = [&](const std::string &name) -> std::optional<SymExpr> {
    auto it = point.find(name);
    return it == point.end() ? std::nullopt : std::optional<SymExpr>(it->second);
  };

  std::optional<ReduceOp> monoid = indexed.getReduction();
  if (monoid && !pool.placesIn(index).empty()) {
    cut = cut ? cut : Cut{value, "its elements are read at computed places"};
    return pool.constant(0, type);
  }
  bool wide =
      isNarrowFloat(type) ||
      (op->getNumOperands() && isNarrowFloat(tensorType(op->getOperand(0)).getElementType()));
  mlir::Type f32 = mlir::Float32Type::get(type.getContext());
  auto widened = [&](Expr e) {
    return wide && isNarrowFloat(e->type) ? pool.cast(e, f32, false, loc) : e;
  };
  std::function<Expr(unsigned)> operand = [&](unsigned i) {
    std::vector<SymExpr> at;
    for (auto [dim, e] : llvm::enumerate(indexed.getOperandIndex(i))) {
      std::optional<unsigned> given = gir::operandOfSymbol(e);
      at.push_back(given ? place(op->getOperand(*given), operand(*given),
                                 tensorType(op->getOperand(i)).getDim(dim))
                         : e.substitute(lookup));
    }
    bool divides = hasDivision(pool, at) && !hasDivision(pool, index);
    if (divides)
      reshapes.push_back(value);
    Expr element = pull(op->getOperand(i), std::move(at));
    if (divides)
      reshapes.pop_back();
    return element;
  };

  gir::ScalarBody body = indexed.getScalarBody();
  Expr result = nullptr;
  switch (body.kind) {
  case gir::ScalarBody::Identity:
    result = operand(0);
    break;
  case gir::ScalarBody::Cast:
    return pool.cast(operand(0), type, llvm::cast<gir::CastOp>(op).getExplicit_(), loc);
  case gir::ScalarBody::Map: {
    llvm::SmallVector<Expr, 3> args;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      args.push_back(widened(operand(i)));
    result = pool.map(body.op, args, loc);
    break;
  }
  case gir::ScalarBody::Product:
    result = pool.mul(widened(operand(0)), widened(operand(1)));
    break;
  case gir::ScalarBody::Constant: {
    if (auto f = llvm::dyn_cast<mlir::FloatAttr>(body.value))
      return pool.constant(f.getValueAsDouble(), type);
    llvm::APInt number = llvm::cast<mlir::IntegerAttr>(body.value).getValue();
    bool isSigned = !type.isInteger(1) && !type.isUnsignedInteger();
    return pool.index(
        SymExpr(isSigned ? number.getSExtValue() : static_cast<int64_t>(number.getZExtValue())),
        type);
  }
  case gir::ScalarBody::Index:
    return pool.index(point.at(gir::iterationSymbol(body.dim).symbolName()), type);
  case gir::ScalarBody::Size:
    return pool.index(body.size, type);
  }
  if (std::optional<unsigned> along = indexed.getScannedDim()) {
    result = widened(result);
    if (!sizes[*along].isConstant(1)) {
      std::optional<uint64_t> keys = llvm::cast<gir::ScanOp>(op).getBelow();
      result = pool.scan(*monoid, index[*along].symbolName(), result, loc, value,
                         keys ? operand(1) : nullptr, keys.value_or(0));
    }
  } else if (monoid) {
    result = widened(result);
    if (empty)
      result = pool.unit(*monoid, result->type);
    else if (!over.empty())
      result = pool.reduce(*monoid, over, result, loc, value);
  }
  return pool.cast(result, type, false, loc);
}
