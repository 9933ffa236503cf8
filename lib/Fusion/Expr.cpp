//===- Expr.cpp - Scalar expressions over iteration dimensions ------------===//
#include "tessera/Fusion/Expr.h"

#include "mlir/IR/BuiltinTypes.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace tessera;

bool ExprNode::dependsOn(const DimSet &set) const {
  for (const std::string &dim : dims)
    if (set.count(dim))
      return true;
  return false;
}

std::string ExprPool::freshDim(llvm::StringRef hint, SymExpr size) {
  std::string base;
  for (char c : hint)
    if (std::isalpha(static_cast<unsigned char>(c)))
      base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (base.empty())
    base = "d";
  std::string name = base;
  for (unsigned i = 1; sizes.count(name) || reserved.count(name); ++i)
    name = base + std::to_string(i);
  sizes.emplace(name, size);
  return name;
}

void ExprPool::collectDims(SymExpr e, DimSet &dims) const {
  std::set<std::string> names;
  e.collectSymbols(names);
  for (const std::string &name : names)
    if (isDim(name))
      dims.insert(name);
}

static bool same(const ExprNode &a, const ExprNode &b) {
  bool numbers = a.number == b.number ? std::signbit(a.number) == std::signbit(b.number)
                                      : std::isnan(a.number) && std::isnan(b.number);
  return a.kind == b.kind && a.type == b.type && numbers && a.index == b.index &&
         a.tensor == b.tensor && a.indices == b.indices && a.op == b.op && a.monoid == b.monoid &&
         a.over == b.over && a.isExplicit == b.isExplicit && a.isAtMostZero == b.isAtMostZero &&
         a.state == b.state && a.args == b.args;
}

Expr ExprPool::intern(ExprNode node, mlir::Value origin) {
  Expr result = intern(std::move(node));
  if (!result->origin)
    result->origin = origin;
  return result;
}

Expr ExprPool::intern(ExprNode node) {
  llvm::hash_code hash = llvm::hash_combine(
      node.kind, node.type.getAsOpaquePointer(),
      std::isnan(node.number) ? 0 : std::hash<double>()(node.number), node.index.opaque(),
      node.tensor.getAsOpaquePointer(), node.op, node.monoid, node.isExplicit, node.state,
      llvm::hash_combine_range(node.args));
  for (SymExpr e : node.indices)
    hash = llvm::hash_combine(hash, e.opaque());
  for (const std::string &dim : node.over)
    hash = llvm::hash_combine(hash, dim);
  auto &bucket = table[static_cast<size_t>(hash)];
  for (Expr existing : bucket)
    if (same(*existing, node))
      return existing;
  node.id = nodes.size();
  nodes.push_back(std::make_unique<ExprNode>(std::move(node)));
  bucket.push_back(nodes.back().get());
  return nodes.back().get();
}

Expr ExprPool::constant(double value, mlir::Type type) {
  ExprNode node(mlir::UnknownLoc::get(context));
  node.kind = ExprNode::Constant;
  node.type = type;
  node.number = value;
  return intern(std::move(node));
}

static bool isExact(int64_t value) {
  double number = static_cast<double>(value);
  return number < 0x1p63 && static_cast<int64_t>(number) == value;
}

SymExpr ExprPool::gatherSymbol(Expr value, SymExpr size) {
  // One symbol for equal values makes loads at equal indices equal.
  for (auto &[name, place] : gathers)
    if (place.value == value && place.size == size)
      return SymExpr::symbol(name);
  std::string name = "#p" + std::to_string(gathers.size());
  gathers.emplace(name, GatherIndex{name, value, size});
  return SymExpr::symbol(name);
}

std::vector<ExprPool::GatherIndex> ExprPool::gathersIn(llvm::ArrayRef<SymExpr> indices) const {
  std::set<std::string> names;
  for (SymExpr e : indices)
    e.collectSymbols(names);
  std::vector<GatherIndex> result;
  for (const std::string &name : names)
    if (auto it = gathers.find(name); it != gathers.end())
      result.push_back(it->second);
  return result;
}

/// Converts an index expression over gather indices to a computation.
Expr ExprPool::computedIndex(SymExpr value) {
  mlir::Type type = mlir::IntegerType::get(context, 64);
  if (gathersIn(value).empty())
    return index(value, type);
  if (value.isSymbol()) {
    const GatherIndex &place = gathers.at(value.symbolName());
    Expr number = cast(place.value, type, false, place.value->loc);
    Expr last = index(place.size - SymExpr(1), type);
    number = map(ScalarOp::Minimum, {number, last}, number->loc);
    return map(ScalarOp::Maximum, {number, constant(0, type)}, number->loc);
  }
  auto opOf = [](SymExpr::Kind kind) {
    switch (kind) {
    case SymExpr::Kind::Add:
      return ScalarOp::Add;
    case SymExpr::Kind::Mul:
      return ScalarOp::Mul;
    case SymExpr::Kind::FloorDiv:
      return ScalarOp::FloorDiv;
    case SymExpr::Kind::Mod:
      return ScalarOp::Remainder;
    case SymExpr::Kind::Min:
      return ScalarOp::Minimum;
    default:
      return ScalarOp::Maximum;
    }
  };
  if (value.kind() == SymExpr::Kind::CeilDiv) {
    SymExpr a = value.operands()[0], b = value.operands()[1];
    return computedIndex((a + b - SymExpr(1)).floorDiv(b));
  }
  Expr result = nullptr;
  for (SymExpr operand : value.operands()) {
    Expr next = computedIndex(operand);
    result = result ? map(opOf(value.kind()), {result, next}, result->loc) : next;
  }
  return result;
}

Expr ExprPool::index(SymExpr value, mlir::Type type) {
  if (!gathersIn(value).empty()) {
    Expr number = computedIndex(value);
    return cast(number, type, false, number->loc);
  }
  // Numbers that a double cannot represent stay index expressions.
  if (value.isConstant() && isExact(value.constantValue()))
    return constant(static_cast<double>(value.constantValue()), type);
  ExprNode node(mlir::UnknownLoc::get(context));
  node.kind = ExprNode::Index;
  node.type = type;
  node.index = value;
  collectDims(value, node.dims);
  return intern(std::move(node));
}

Expr ExprPool::identity(ReduceOp monoid, mlir::Type type) {
  bool isMax = monoid == ReduceOp::Max;
  if (!isMax && monoid != ReduceOp::Min)
    return constant(monoid == ReduceOp::Prod || monoid == ReduceOp::All, type);
  if (llvm::isa<mlir::FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    return constant(isMax ? -infinity : infinity, type);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger() || width == 1)
    return constant(isMax ? 0 : std::ldexp(1, width) - 1, type);
  llvm::APInt value =
      isMax ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width);
  return index(SymExpr(value.getSExtValue()), type);
}

Expr ExprPool::load(mlir::Value tensor, std::vector<SymExpr> indices, mlir::Type type,
                    mlir::Location loc) {
  ExprNode node(loc);
  node.kind = ExprNode::Load;
  node.type = type;
  node.tensor = tensor;
  for (SymExpr e : indices)
    collectDims(e, node.dims);
  for (const GatherIndex &place : gathersIn(indices)) {
    node.args.push_back(place.value);
    node.dims.insert(place.value->dims.begin(), place.value->dims.end());
  }
  node.indices = std::move(indices);
  return intern(std::move(node));
}

/// The integer expression of a node, if it has one (sizes are far from overflow).
static std::optional<SymExpr> asIndex(Expr e) {
  if (!e->type.isSignlessInteger() || e->type.isInteger(1))
    return std::nullopt;
  if (e->kind == ExprNode::Index)
    return e->index;
  if (e->kind == ExprNode::Constant && std::abs(e->number) < 1e15)
    return SymExpr(static_cast<int64_t>(e->number));
  return std::nullopt;
}

Expr ExprPool::map(ScalarOp op, llvm::ArrayRef<Expr> args, mlir::Location loc) {
  // Arithmetic of indices stays an index, so that masks remain affine conditions.
  if (args.size() == 2 && (args[0]->kind == ExprNode::Index || args[1]->kind == ExprNode::Index)) {
    auto a = asIndex(args[0]), b = asIndex(args[1]);
    if (a && b && args[0]->type.getIntOrFloatBitWidth() >= 32) {
      if (op == ScalarOp::Add)
        return index(*a + *b, args[0]->type);
      if (op == ScalarOp::Sub)
        return index(*a - *b, args[0]->type);
      if (op == ScalarOp::Mul && (a->isConstant() || b->isConstant()))
        return index(*a * *b, args[0]->type);
    }
  }
  // Commutative operands are in one order, so that equal expressions are one.
  llvm::SmallVector<Expr, 3> operands(args);
  if ((op == ScalarOp::Mul || op == ScalarOp::Add) && operands[1]->id < operands[0]->id)
    std::swap(operands[0], operands[1]);
  if (op == ScalarOp::Where && operands[1] == operands[2])
    return operands[1];
  if (op == ScalarOp::Mul) {
    if (operands[0]->isConstant(1))
      return operands[1];
    if (operands[1]->isConstant(1))
      return operands[0];
  }
  if (op == ScalarOp::Div && operands[1]->isConstant(1))
    return operands[0];

  ExprNode node(loc);
  node.kind = ExprNode::Map;
  node.op = op;
  llvm::SmallVector<mlir::Type, 3> types;
  for (Expr arg : operands) {
    types.push_back(arg->type);
    node.dims.insert(arg->dims.begin(), arg->dims.end());
  }
  node.type = scalarOpResultType(op, types);
  node.args = std::move(operands);
  return intern(std::move(node));
}

/// Whether every value of `from` is a value of `to`.
static bool isLosslessConversion(mlir::Type from, mlir::Type to) {
  if (from == to)
    return true;
  bool fromFloat = llvm::isa<mlir::FloatType>(from), toFloat = llvm::isa<mlir::FloatType>(to);
  if (fromFloat != toFloat)
    return false;
  if (!fromFloat)
    return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth() && !from.isUnsignedInteger();
  if (to.isF64())
    return true;
  return to.isF32() && !from.isF64();
}

Expr ExprPool::cast(Expr value, mlir::Type type, bool isExplicit, mlir::Location loc) {
  isExplicit |= strict;
  if (value->type == type)
    return value;
  if (value->kind == ExprNode::Constant && llvm::isa<mlir::FloatType>(type) &&
      type.getIntOrFloatBitWidth() >= 32 && !value->type.isInteger(1)) {
    double number =
        type.isF32() ? static_cast<double>(static_cast<float>(value->number)) : value->number;
    return constant(number, type);
  }
  if (auto i = asIndex(value); i && type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 32)
    return index(*i, type);
  if (value->kind == ExprNode::Cast) {
    Expr inner = value->args[0];
    // An implicit rounding may be dropped inside a kernel, which keeps the wider value.
    if (!value->isExplicit && inner->type == type && llvm::isa<mlir::FloatType>(type) &&
        isLosslessConversion(value->type, type))
      return inner;
    if (isLosslessConversion(inner->type, value->type) &&
        llvm::isa<mlir::FloatType>(type) == llvm::isa<mlir::FloatType>(inner->type))
      return cast(inner, type, isExplicit, loc);
  }
  ExprNode node(loc);
  node.kind = ExprNode::Cast;
  node.type = type;
  node.isExplicit = isExplicit;
  node.args = {value};
  node.dims = value->dims;
  return intern(std::move(node));
}

Expr ExprPool::reduce(ReduceOp monoid, std::vector<std::string> over, Expr body, mlir::Location loc,
                      mlir::Value origin) {
  // Over dimensions that the body does not depend on, idempotent monoids do nothing, sums become
  // multiplications and products become powers.
  std::vector<std::string> needed;
  SymExpr count(1);
  for (const std::string &dim : over)
    if (body->dims.count(dim))
      needed.push_back(dim);
    else
      count = count * sizes.at(dim);
  bool isNumber = !body->type.isInteger(1);
  bool counts = monoid == ReduceOp::Sum || monoid == ReduceOp::Prod;
  if (needed.size() != over.size() && (!counts || isNumber)) {
    Expr inner = needed.empty() ? body : reduce(monoid, needed, body, loc, origin);
    if (!counts)
      return inner;
    Expr times = cast(index(count, mlir::IntegerType::get(context, 64)), body->type, false, loc);
    return map(monoid == ReduceOp::Sum ? ScalarOp::Mul : ScalarOp::Pow, {inner, times}, loc);
  }
  ExprNode node(loc);
  node.kind = ExprNode::Reduce;
  node.type = body->type;
  node.monoid = monoid;
  node.args = {body};
  node.dims = body->dims;
  for (const std::string &dim : over)
    node.dims.erase(dim);
  node.over = std::move(over);
  return intern(std::move(node), origin);
}

Expr ExprPool::scan(ReduceOp monoid, const std::string &along, Expr body, mlir::Location loc,
                    mlir::Value origin, Expr key, int64_t keys) {
  ExprNode node(loc);
  node.kind = ExprNode::Scan;
  node.type = body->type;
  node.monoid = monoid;
  node.args = {body};
  node.dims = body->dims;
  if (key) {
    node.args.push_back(key);
    node.number = double(keys);
    node.dims.insert(key->dims.begin(), key->dims.end());
  }
  node.dims.insert(along);
  node.over = {along};
  return intern(std::move(node), origin);
}

Expr ExprPool::sort(const std::string &along, Expr body, mlir::Location loc, mlir::Value origin) {
  ExprNode node(loc);
  node.kind = ExprNode::Sort;
  node.type = body->type;
  node.args = {body};
  node.dims = body->dims;
  node.dims.insert(along);
  node.over = {along};
  return intern(std::move(node), origin);
}

Expr ExprPool::state(unsigned number, mlir::Type type, DimSet dims) {
  ExprNode node(mlir::UnknownLoc::get(context));
  node.kind = ExprNode::State;
  node.type = type;
  node.state = number;
  node.dims = std::move(dims);
  return intern(std::move(node));
}

Expr ExprPool::atMostZero(Expr e) {
  if (e->kind != ExprNode::Map || e->isAtMostZero)
    return e;
  ExprNode node = *e;
  node.isAtMostZero = true;
  return intern(std::move(node));
}

Expr ExprPool::rebuild(Expr e, llvm::ArrayRef<Expr> args) {
  switch (e->kind) {
  case ExprNode::Map: {
    Expr result = map(e->op, args, e->loc);
    return e->isAtMostZero ? atMostZero(result) : result;
  }
  case ExprNode::Cast:
    return cast(args[0], e->type, e->isExplicit, e->loc);
  case ExprNode::Reduce:
    return reduce(e->monoid, e->over, args[0], e->loc, e->origin);
  case ExprNode::Load: {
    if (args.empty())
      return e;
    std::map<std::string, SymExpr> moved;
    for (auto [place, arg] : llvm::zip_equal(gathersIn(e->indices), args))
      moved.emplace(place.symbol, gatherSymbol(arg, place.size));
    std::vector<SymExpr> indices;
    for (SymExpr i : e->indices)
      indices.push_back(i.substitute([&](const std::string &name) -> std::optional<SymExpr> {
        auto it = moved.find(name);
        return it == moved.end() ? std::nullopt : std::optional<SymExpr>(it->second);
      }));
    return load(e->tensor, std::move(indices), e->type, e->loc);
  }
  case ExprNode::Scan:
    return scan(e->monoid, e->over[0], args[0], e->loc, e->origin,
                args.size() > 1 ? args[1] : nullptr, int64_t(e->number));
  case ExprNode::Sort:
    return sort(e->over[0], args[0], e->loc, e->origin);
  default:
    return e;
  }
}

Expr ExprPool::rewrite(Expr root, const std::function<Expr(Expr)> &replace) {
  llvm::DenseMap<Expr, Expr> memo;
  std::function<Expr(Expr)> go = [&](Expr e) -> Expr {
    auto it = memo.find(e);
    if (it != memo.end())
      return it->second;
    Expr result = replace(e);
    if (!result) {
      llvm::SmallVector<Expr, 3> args;
      for (Expr arg : e->args)
        args.push_back(go(arg));
      result = rebuild(e, args);
    }
    return memo[e] = result;
  };
  return go(root);
}

Expr ExprPool::substitute(Expr root, const std::map<std::string, SymExpr> &map) {
  auto lookup = [&](const std::string &name) -> std::optional<SymExpr> {
    auto it = map.find(name);
    return it == map.end() ? std::nullopt : std::optional<SymExpr>(it->second);
  };
  llvm::DenseMap<Expr, Expr> memo;
  std::function<Expr(Expr)> go = [&](Expr e) -> Expr {
    auto it = memo.find(e);
    if (it != memo.end())
      return it->second;
    Expr result;
    if (e->kind == ExprNode::Index) {
      result = index(e->index.substitute(lookup), e->type);
    } else if (e->kind == ExprNode::Load) {
      llvm::SmallVector<Expr, 3> args;
      for (Expr arg : e->args)
        args.push_back(go(arg));
      Expr moved = rebuild(e, args);
      std::vector<SymExpr> indices;
      for (SymExpr i : moved->indices)
        indices.push_back(i.substitute(lookup));
      result = load(e->tensor, std::move(indices), e->type, e->loc);
    } else if (e->kind == ExprNode::Reduce) {
      std::vector<std::string> over;
      std::map<std::string, SymExpr> free = map;
      for (const std::string &dim : e->over) {
        auto it = map.find(dim);
        bool isRenamed = it != map.end() && it->second.isSymbol() && isDim(it->second.symbolName());
        over.push_back(isRenamed ? it->second.symbolName() : dim);
        if (!isRenamed)
          free.erase(dim);
      }
      Expr body = free.size() == map.size() ? go(e->args[0]) : substitute(e->args[0], free);
      result = reduce(e->monoid, over, body, e->loc, e->origin);
    } else if (e->kind == ExprNode::Scan) {
      // Only renamings reach a scan: the result of a scan that is indexed otherwise is stored.
      auto it = map.find(e->over[0]);
      result = scan(e->monoid, it == map.end() ? e->over[0] : it->second.symbolName(),
                    go(e->args[0]), e->loc, e->origin,
                    e->args.size() > 1 ? go(e->args[1]) : nullptr, int64_t(e->number));
    } else if (e->kind == ExprNode::Sort) {
      auto it = map.find(e->over[0]);
      result = sort(it == map.end() ? e->over[0] : it->second.symbolName(), go(e->args[0]), e->loc,
                    e->origin);
    } else {
      llvm::SmallVector<Expr, 3> args;
      for (Expr arg : e->args)
        args.push_back(go(arg));
      result = rebuild(e, args);
    }
    return memo[e] = result;
  };
  return go(root);
}

void tessera::visitExprs(llvm::ArrayRef<Expr> roots, const std::function<void(Expr)> &visit,
                         const std::function<bool(Expr)> &enter) {
  llvm::DenseSet<Expr> seen;
  std::function<void(Expr)> go = [&](Expr e) {
    if (!seen.insert(e).second)
      return;
    if (!enter || enter(e))
      for (Expr arg : e->args)
        go(arg);
    visit(e);
  };
  for (Expr root : roots)
    go(root);
}

std::string tessera::describe(Expr e) {
  switch (e->kind) {
  case ExprNode::Constant:
    return std::to_string(e->number);
  case ExprNode::Index:
    return e->index.str();
  case ExprNode::Load:
    return "an element";
  case ExprNode::Map:
    return "'" + std::string(scalarOpInfo(e->op).name) + "'";
  case ExprNode::Cast:
    return "a cast";
  case ExprNode::Reduce:
    return "'" + std::string(reduceOpName(e->monoid)) + "'";
  case ExprNode::Scan:
    return "a running '" + std::string(reduceOpName(e->monoid)) + "'";
  case ExprNode::Sort:
    return "a sorted row";
  case ExprNode::State:
    return "a state";
  }
  return "";
}
