//===- Pull.cpp - From graph values to element expressions ----------------===//
//
// 16-bit floating point is computed in f32: every operation's operands are widened and its result
// rounded by an implicit cast, and casts that meet cancel, so a chain of operations keeps the wider
// type until it is stored.
//
//===----------------------------------------------------------------------===//
#include "Pull.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/Joint.h"

#include <limits>

using namespace tessera;

static gir::TensorType tensorType(mlir::Value value) {
  return llvm::cast<gir::TensorType>(value.getType());
}

static bool isNarrowFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

std::optional<int64_t> tessera::rowAlignment(mlir::Value stored) {
  auto op = stored ? stored.getDefiningOp<gir::MaterializeOp>() : nullptr;
  return op ? op.getRowAlignment() : std::nullopt;
}

gir::TensorType tessera::memoryType(mlir::Value stored) {
  gir::TensorType type = tensorType(stored);
  std::optional<int64_t> alignment = rowAlignment(stored);
  if (!alignment)
    return type;
  int64_t unit =
      std::max<int64_t>(1, *alignment * 8 / type.getElementType().getIntOrFloatBitWidth());
  llvm::SmallVector<SymExpr> shape(type.getShape());
  shape.back() = shape.back().ceilDiv(SymExpr(unit)) * SymExpr(unit);
  return gir::TensorType::get(shape, type.getElementType());
}

bool tessera::isContiguous(mlir::Value tensor) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(tensor);
  if (!argument)
    return memoryType(tensor) == tensorType(tensor);
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
  if (!op || !op->getNumOperands())
    return false;
  gir::ScalarBody body = op.getScalarBody();
  // A selection only says which of two elements is wanted, and integers say where they are.
  bool isInteger = tensorType(value).getElementType().isInteger();
  bool isChoice = body.kind == gir::ScalarBody::Map &&
                  (body.op == ScalarOp::Where ||
                   (isInteger && scalarOpInfo(body.op).rule != TypeRule::Integer));
  return op.getReduction() || (body.kind != gir::ScalarBody::Identity && !isChoice);
}

/// Whether an element's number is found by a division. One of sizes alone is known before the
/// kernel runs.
static bool hasDivision(const ExprPool &pool, SymExpr e) {
  if (e.kind() == SymExpr::Kind::FloorDiv || e.kind() == SymExpr::Kind::Mod) {
    std::set<std::string> names;
    e.collectSymbols(names);
    return !pool.gathersIn(e).empty() ||
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

/// Only a reshape introduces divisions. The one nearest to the output is stored, by a kernel over
/// the dimensions of its input.
Expr Puller::needsStore(mlir::Value reshape, mlir::Type type) {
  cut = cut ? cut : Cut{reshape, "a reshape has no regular stride in its input's memory", true};
  return pool.constant(0, type);
}

/// Whether an index is the same for groups of neighbors: it has quotients of dimensions without
/// their remainders. Along the contiguous dimension there would be one division per element.
bool Puller::isOfGroups(llvm::ArrayRef<SymExpr> index) const {
  std::function<bool(SymExpr)> isQuotient = [&](SymExpr e) {
    std::set<std::string> names;
    e.collectSymbols(names);
    if (e.kind() == SymExpr::Kind::Mod || e.kind() == SymExpr::Kind::FloorDiv)
      return !hasDivision(pool, e) ||
             (e.kind() == SymExpr::Kind::FloorDiv && pool.gathersIn(e).empty() &&
              !names.count(innermost) && !hasDivision(pool, e.operands()));
    return llvm::all_of(e.operands(), isQuotient);
  };
  return hasDivision(pool, index) && llvm::all_of(index, isQuotient);
}

static bool isConstant(mlir::Value value, double number) {
  auto constant = value.getDefiningOp<gir::ConstantOp>();
  auto attr = constant ? llvm::dyn_cast<mlir::FloatAttr>(constant.getValue()) : mlir::FloatAttr();
  return attr && attr.getValueAsDouble() == number;
}

/// Whether no element of `x` is larger than the one of `bound` at its index: the bound is a maximum
/// of x along dimensions that it is broadcast to, or a constant where all of these are -inf.
static bool isMaximumOf(mlir::Value bound, mlir::Value x) {
  // Which dimension of x each dimension of the value is, -1: it has size 1.
  auto at = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(x).getRank()));
  for (mlir::Operation *op = bound.getDefiningOp(); op; op = bound.getDefiningOp()) {
    if (auto reduce = llvm::dyn_cast<gir::ReduceOp>(op)) {
      llvm::SmallVector<int64_t> kept;
      for (int64_t dim = 0; dim < tensorType(x).getRank(); ++dim)
        if (!llvm::is_contained(reduce.getDims(), dim))
          kept.push_back(dim);
      return reduce.getReduceOp() == ReduceOp::Max && reduce.getInput() == x && at == kept;
    }
    if (auto broadcast = llvm::dyn_cast<gir::BroadcastOp>(op)) {
      llvm::SmallVector<int64_t> inner;
      for (int64_t dim : broadcast.getDims())
        inner.push_back(at[dim]);
      at = inner;
    } else if (auto reshape = llvm::dyn_cast<gir::ReshapeOp>(op)) {
      auto isOne = [](SymExpr size) { return size.isConstant(1); };
      llvm::ArrayRef<SymExpr> shape = tensorType(bound).getShape();
      llvm::SmallVector<int64_t> inner;
      llvm::SmallVector<SymExpr> outerSizes, innerSizes;
      for (auto [dim, size] : llvm::zip_equal(at, shape))
        if (!isOne(size)) {
          inner.push_back(dim);
          outerSizes.push_back(size);
        }
      at.clear();
      unsigned next = 0;
      for (SymExpr size : tensorType(reshape.getInput()).getShape()) {
        if (!isOne(size))
          innerSizes.push_back(size);
        at.push_back(isOne(size) || next == inner.size() ? -1 : inner[next++]);
      }
      if (outerSizes != innerSizes)
        return false;
    } else if (auto map = llvm::dyn_cast<gir::MapOp>(op);
               map && map.getScalarOp() == ScalarOp::Where) {
      auto isEmpty = map.getOperand(0).getDefiningOp<gir::MapOp>();
      if (!isEmpty || isEmpty.getScalarOp() != ScalarOp::Eq ||
          isEmpty.getOperand(0) != map.getOperand(2) ||
          !isConstant(isEmpty.getOperand(1), -std::numeric_limits<double>::infinity()))
        return false;
      bound = map.getOperand(2);
      continue;
    } else if (!llvm::isa<gir::MaterializeOp>(op)) {
      return false;
    }
    bound = op->getOperand(0);
  }
  return false;
}

/// Whether an operation reduces what is no product of two operands.
static bool isStatistic(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast_or_null<gir::GraphOpInterface>(op);
  return indexed && indexed.getReduction() && !indexed.getScannedDim() &&
         indexed.getScalarBody().kind != gir::ScalarBody::Product;
}

/// Whether a value is a statistic, or computed from one element by element.
static bool isOfStatistic(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return isStatistic(op) || (llvm::isa_and_nonnull<gir::MapOp, gir::CastOp>(op) &&
                             llvm::any_of(op->getOperands(), isOfStatistic));
}

Expr Puller::load(mlir::Value tensor, std::vector<SymExpr> index, mlir::Location loc) {
  if (hasDivision(pool, index) && !isContiguous(tensor))
    for (SymExpr &at : index)
      at = joinDivisions(at);
  if (hasDivision(pool, index)) {
    SymExpr linear = joinDivisions(linearIndex(tensorType(tensor).getShape(), index));
    mlir::Type indexType = mlir::IntegerType::get(loc.getContext(), 64);
    if (isContiguous(tensor) && !hasDivision(pool, linear)) {
      index = {linear};
    } else if (isOfGroups(index) && isOfStatistic(tensor)) {
      for (auto [at, size] : llvm::zip_equal(index, tensorType(tensor).getShape()))
        if (hasDivision(pool, at))
          at = pool.gatherSymbol(pool.index(at, indexType), size);
    } else {
      return needsStore(reshapes.front(), tensorType(tensor).getElementType());
    }
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
  // Storing what a group shares is less than storing what is computed from it for each element,
  // unless that is stored for other reasons.
  if (!asRoot && isStatistic(value.getDefiningOp()) && isOfGroups(index)) {
    shared = shared ? shared : Cut{value, "groups of elements share it"};
    return pool.constant(0, tensorType(value).getElementType());
  }
  if (cut)
    return pool.constant(0, tensorType(value).getElementType());
  Expr result = llvm::isa<mlir::BlockArgument>(value) ? load(value, index, value.getLoc())
                                                      : compute(value, index);
  memo.emplace(key, result);
  return result;
}

/// An element of an operand, used as an index.
SymExpr Puller::place(mlir::Value tensor, Expr value, SymExpr size) {
  bool reduces = false;
  visitExprs({value}, [&](Expr e) { reduces |= e->kind == ExprNode::Reduce; });
  if (reduces && !cut)
    cut = Cut{tensor, "it says where elements are read", true};
  return pool.gatherSymbol(value, size);
}

/// The element of a reshape that is at the same place in a contiguous tensor in memory, or what
/// stands for it where the reshape must be stored; null: neither.
Expr Puller::pullReshape(gir::ReshapeOp reshape, const std::vector<SymExpr> &index) {
  mlir::Value value = reshape.getResult(), input = reshape.getInput();
  mlir::Type type = tensorType(value).getElementType();
  while (auto outer = input.getDefiningOp<gir::ReshapeOp>()) {
    if (stored.contains(input))
      break;
    input = outer.getInput();
  }
  bool inMemory = llvm::isa<mlir::BlockArgument>(input) || stored.contains(input);
  SymExpr linear = joinDivisions(linearIndex(tensorType(value).getShape(), index));
  if (inMemory && isContiguous(input) && !hasDivision(pool, linear))
    return pool.load(input, {linear}, type, reshape.getLoc());
  // Quotients of quotients are never wanted.
  if (hasDivision(pool, linear))
    return needsStore(reshapes.empty() ? value : reshapes.front(), type);
  return nullptr;
}

/// Whether an index walks a scanned dimension in the order of the kernel's dimension.
static bool walksDim(const ExprPool &pool, const std::vector<SymExpr> &index, unsigned along) {
  SymExpr at = index[along];
  bool isWalked = at.isSymbol() && pool.isDim(at.symbolName());
  for (unsigned i = 0; i < index.size() && isWalked; ++i) {
    std::set<std::string> names;
    index[i].collectSymbols(names);
    isWalked = i == along || !names.count(at.symbolName());
  }
  return isWalked;
}

Puller::IterationPoint Puller::iterationPoint(gir::GraphOpInterface op,
                                              const std::vector<SymExpr> &index) {
  IterationPoint point;
  llvm::SmallVector<SymExpr> sizes = op.getIterationSizes();
  unsigned reduced = op.getNumReduced();
  bool dropsUnits = !keepsUnits || llvm::isa<gir::ReshapeOp>(op);
  for (unsigned i = 0; i < sizes.size(); ++i) {
    SymExpr at;
    if (i < sizes.size() - reduced) {
      at = sizes[i].isConstant(1) && dropsUnits ? SymExpr(0) : index[i];
    } else if (!sizes[i].isConstant(1)) {
      point.isEmpty |= sizes[i].isConstant(0);
      std::string &name = reducedDims[{op, i}];
      if (name.empty())
        name = pool.freshDim(sizes[i].isSymbol() ? sizes[i].symbolName() : "k", sizes[i]);
      point.over.push_back(name);
      at = SymExpr::symbol(name);
    }
    point.coordinates.emplace(gir::iterationSymbol(i).symbolName(), at);
  }
  return point;
}

/// The element of operand `number` that the operation reads at a point.
Expr Puller::pullOperand(gir::GraphOpInterface op, unsigned number, const IterationPoint &point,
                         const std::vector<SymExpr> &index) {
  auto lookup = [&](const std::string &name) -> std::optional<SymExpr> {
    auto it = point.coordinates.find(name);
    return it == point.coordinates.end() ? std::nullopt : std::optional<SymExpr>(it->second);
  };
  mlir::Value input = op->getOperand(number);
  std::vector<SymExpr> at;
  for (auto [dim, e] : llvm::enumerate(op.getOperandIndex(number))) {
    std::optional<unsigned> given = gir::operandOfSymbol(e);
    at.push_back(given ? place(op->getOperand(*given), pullOperand(op, *given, point, index),
                               tensorType(input).getDim(dim))
                       : e.substitute(lookup));
  }
  bool divides = hasDivision(pool, at) && !hasDivision(pool, index);
  if (divides)
    reshapes.push_back(op->getResult(0));
  Expr element = pull(input, std::move(at));
  if (divides)
    reshapes.pop_back();
  return element;
}

/// The value of an operation's body at a point, before it is reduced.
Expr Puller::pullBody(gir::GraphOpInterface op, const IterationPoint &point,
                      const std::vector<SymExpr> &index) {
  mlir::Location loc = op->getLoc();
  mlir::Type type = tensorType(op->getResult(0)).getElementType();
  auto operand = [&](unsigned i) { return pullOperand(op, i, point, index); };
  gir::ScalarBody body = op.getScalarBody();
  switch (body.kind) {
  case gir::ScalarBody::Identity:
    return operand(0);
  case gir::ScalarBody::Cast:
    return pool.cast(operand(0), type, llvm::cast<gir::CastOp>(op).getExplicit_(), loc);
  case gir::ScalarBody::Map: {
    llvm::SmallVector<Expr, 3> args;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      args.push_back(widened(op, operand(i)));
    Expr result = pool.map(body.op, args, loc);
    bool isRelative =
        op->hasAttr(gir::kAtMostZeroAttr) ||
        (body.op == ScalarOp::Sub && isMaximumOf(op->getOperand(1), op->getOperand(0)));
    return isRelative ? pool.atMostZero(result) : result;
  }
  case gir::ScalarBody::Product:
    return pool.mul(widened(op, operand(0)), widened(op, operand(1)));
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
    return pool.index(point.coordinates.at(gir::iterationSymbol(body.dim).symbolName()), type);
  case gir::ScalarBody::Size:
    return pool.index(body.size, type);
  }
  return nullptr;
}

/// An operand or a result of an operation that computes in f32.
Expr Puller::widened(mlir::Operation *op, Expr e) {
  mlir::Type type = tensorType(op->getResult(0)).getElementType();
  bool wide =
      isNarrowFloat(type) ||
      (op->getNumOperands() && isNarrowFloat(tensorType(op->getOperand(0)).getElementType()));
  if (!wide || !isNarrowFloat(e->type))
    return e;
  return pool.cast(e, mlir::Float32Type::get(type.getContext()), false, op->getLoc());
}

/// The tensor whose elements a view or a padding shows.
static mlir::Value shownBy(mlir::Value value) {
  while (auto op = llvm::dyn_cast_or_null<gir::GraphOpInterface>(value.getDefiningOp())) {
    gir::ScalarBody body = op.getScalarBody();
    unsigned shown = 0;
    if (body.kind == gir::ScalarBody::Map && body.op == ScalarOp::Where)
      shown = op->getOperand(1).getDefiningOp<gir::ConstantOp>() ? 2 : 1;
    else if (body.kind != gir::ScalarBody::Identity || op.getReduction() || !op->getNumOperands())
      break;
    value = op->getOperand(shown);
  }
  return value;
}

bool Puller::reduces(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || stored.contains(value))
    return false;
  auto [it, isNew] = reducing.try_emplace(value, false);
  if (!isNew)
    return it->second;
  auto indexed = llvm::dyn_cast<gir::GraphOpInterface>(op);
  bool result = (indexed && indexed.getReduction()) ||
                llvm::any_of(op->getOperands(), [&](mlir::Value each) { return reduces(each); });
  return reducing[value] = result;
}

Expr Puller::compute(mlir::Value value, const std::vector<SymExpr> &index) {
  mlir::Operation *op = value.getDefiningOp();
  mlir::Location loc = op->getLoc();
  mlir::Type type = tensorType(value).getElementType();
  // Each window would repeat the reductions of its elements.
  if (auto window = llvm::dyn_cast<gir::WindowOp>(op))
    if (mlir::Value shown = shownBy(window.getInput()); reduces(shown)) {
      cut = cut ? cut : Cut{shown, "windows of it are read", true};
      return pool.constant(0, type);
    }
  // A reshape of a contiguous tensor keeps the element number.
  if (auto reshape = llvm::dyn_cast<gir::ReshapeOp>(op))
    if (Expr element = pullReshape(reshape, index))
      return element;
  auto indexed = llvm::dyn_cast<gir::GraphOpInterface>(op);
  if (!indexed) {
    cut = cut ? cut : Cut{value, "it is put together from pieces", true};
    return pool.constant(0, type);
  }

  // A scan or sort goes along a dimension of the kernel; with another index it is stored first. The
  // first elements of a sorted row depend on all others.
  std::optional<unsigned> along = indexed.getScannedDim();
  std::optional<ReduceOp> monoid = indexed.getReduction();
  bool isScan = along && !tensorType(value).getDim(*along).isConstant(1);
  bool isWalked =
      !isScan ||
      (walksDim(pool, index, *along) &&
       (monoid || pool.dimSize(index[*along].symbolName()) == tensorType(value).getDim(*along)));
  if (!isWalked) {
    cut = cut ? cut
              : Cut{value, monoid ? "a scan is read in another order"
                                  : "a sorted row is read in another order, or in part"};
    return pool.constant(0, type);
  }
  IterationPoint point = iterationPoint(indexed, index);
  if ((along || monoid) && !pool.gathersIn(index).empty()) {
    cut = cut ? cut : Cut{value, "its elements are read at computed places"};
    return pool.constant(0, type);
  }
  Expr result = pullBody(indexed, point, index);
  if (along || monoid)
    result = widened(op, result);
  if (isScan && !monoid) {
    result = pool.sort(index[*along].symbolName(), result, loc, value);
  } else if (isScan) {
    std::optional<uint64_t> keys = llvm::cast<gir::ScanOp>(op).getBelow();
    result = pool.scan(*monoid, index[*along].symbolName(), result, loc, value,
                       keys ? pullOperand(indexed, 1, point, index) : nullptr, keys.value_or(0));
  } else if (!along && monoid) {
    if (point.isEmpty)
      result = pool.identity(*monoid, result->type);
    else if (!point.over.empty())
      result = pool.reduce(*monoid, point.over, result, loc, value);
  }
  return pool.cast(result, type, false, loc);
}
