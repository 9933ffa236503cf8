//===- MaskRanges.cpp - Where a condition holds along a stream ------------===//
#include "tessera/Fusion/MaskRanges.h"

using namespace tessera;

namespace {
class Solver {
public:
  Solver(const ExprPool &pool, const std::string &stream, SymExpr size, const DimSet &parallel)
      : pool(pool), stream(stream), size(size), parallel(parallel) {}

  MaskRange unknown() const { return {{SymExpr(0), size}, std::nullopt, /*hasHoles=*/true}; }

  MaskRange solve(Expr e, bool negated) {
    if (e->kind == ExprNode::Constant) {
      bool holds = (e->number != 0) != negated;
      Interval all{SymExpr(0), size}, none{SymExpr(0), SymExpr(0)};
      return holds ? MaskRange{all, all} : MaskRange{none, none};
    }
    if (e->kind != ExprNode::Map)
      return unknown();
    switch (e->op) {
    case ScalarOp::Not:
      return solve(e->args[0], !negated);
    case ScalarOp::And:
    case ScalarOp::Mul:
      return join(solve(e->args[0], negated), solve(e->args[1], negated), negated);
    case ScalarOp::Or:
    case ScalarOp::Add:
      return join(solve(e->args[0], negated), solve(e->args[1], negated), !negated);
    case ScalarOp::Le:
    case ScalarOp::Lt:
    case ScalarOp::Ge:
    case ScalarOp::Gt:
    case ScalarOp::Eq:
    case ScalarOp::Ne:
      return compare(e, negated);
    default:
      return unknown();
    }
  }

private:
  MaskRange join(const MaskRange &a, const MaskRange &b, bool isOr) {
    if (!isOr)
      return intersect(a, b);
    MaskRange result;
    result.live = {SymExpr::min(a.live.lo, b.live.lo), SymExpr::max(a.live.hi, b.live.hi)};
    result.hasHoles =
        a.hasHoles || b.hasHoles || (a.live.lo != b.live.lo && a.live.hi != b.live.hi);
    // The union of two full intervals is one interval only if they share an end.
    if (a.full && b.full && a.full->lo == b.full->lo)
      result.full = Interval{a.full->lo, SymExpr::max(a.full->hi, b.full->hi)};
    else if (a.full && b.full && a.full->hi == b.full->hi)
      result.full = Interval{SymExpr::min(a.full->lo, b.full->lo), a.full->hi};
    else
      result.full = a.full ? a.full : b.full;
    return result;
  }

  static std::optional<SymExpr> integer(Expr e) {
    if (e->kind == ExprNode::Index)
      return e->index;
    if (e->kind == ExprNode::Constant &&
        e->number == static_cast<double>(static_cast<int64_t>(e->number)) &&
        !llvm::isa<mlir::FloatType>(e->type))
      return SymExpr(static_cast<int64_t>(e->number));
    return std::nullopt;
  }

  /// The maximum (or minimum) of an expression over the tile, if it depends on the parallel
  /// dimensions only.
  std::optional<SymExpr> extreme(SymExpr e, bool largest) {
    std::set<std::string> names;
    e.collectSymbols(names);
    for (const std::string &name : names) {
      if (!pool.isDim(name))
        continue;
      SymExpr rest;
      auto slope = coefficientOf(e, name, rest);
      if (!slope || !parallel.count(name))
        return std::nullopt;
      bool high = (*slope > 0) == largest;
      e = rest + SymExpr::symbol(name + (high ? ".hi" : ".lo")) * SymExpr(*slope);
    }
    return e;
  }

  /// f <= 0 for f = ±n + rest.
  MaskRange atMostZero(SymExpr f) {
    SymExpr rest;
    auto slope = coefficientOf(f, stream, rest);
    if (!slope || (*slope != 1 && *slope != -1))
      return unknown();
    auto least = extreme(rest, false), most = extreme(rest, true);
    if (!least || !most)
      return unknown();
    if (*slope == 1) // n <= -rest
      return {{SymExpr(0), SymExpr(1) - *least}, Interval{SymExpr(0), SymExpr(1) - *most}};
    return {{*least, size}, Interval{*most, size}}; // n >= rest
  }

  /// |x| <= d or |x| < d, both sides of which are integers.
  std::optional<MaskRange> compareDistance(Expr e, bool negated) {
    bool isLess = e->op == ScalarOp::Le || e->op == ScalarOp::Lt;
    if (!isLess && e->op != ScalarOp::Ge && e->op != ScalarOp::Gt)
      return std::nullopt;
    auto isAbs = [](Expr side) { return side->kind == ExprNode::Map && side->op == ScalarOp::Abs; };
    bool isRight = !isAbs(e->args[0]);
    if (isRight && !isAbs(e->args[1]))
      return std::nullopt;
    auto x = integer(e->args[isRight]->args[0]), d = integer(e->args[!isRight]);
    if (!x || !d)
      return std::nullopt;
    // |x| > d is the negation of |x| <= d.
    bool isWithin = isLess != isRight, isStrict = e->op == ScalarOp::Lt || e->op == ScalarOp::Gt;
    SymExpr most = isStrict == isWithin ? *d - SymExpr(1) : *d;
    MaskRange below =
                  isWithin == negated ? atMostZero(most + SymExpr(1) - *x) : atMostZero(*x - most),
              above = isWithin == negated ? atMostZero(most + SymExpr(1) + *x)
                                          : atMostZero(SymExpr(0) - *x - most);
    return join(below, above, /*isOr=*/isWithin == negated);
  }

  MaskRange compare(Expr e, bool negated) {
    if (std::optional<MaskRange> range = compareDistance(e, negated))
      return *range;
    auto a = integer(e->args[0]), b = integer(e->args[1]);
    if (!a || !b)
      return unknown();
    SymExpr d = *a - *b, one(1), none(0);
    switch (e->op) {
    case ScalarOp::Le:
      return negated ? atMostZero(none - d + one) : atMostZero(d);
    case ScalarOp::Lt:
      return negated ? atMostZero(none - d) : atMostZero(d + one);
    case ScalarOp::Ge:
      return negated ? atMostZero(d + one) : atMostZero(none - d);
    case ScalarOp::Gt:
      return negated ? atMostZero(d) : atMostZero(none - d + one);
    case ScalarOp::Eq:
    case ScalarOp::Ne:
      if ((e->op == ScalarOp::Eq) != negated)
        return intersect(atMostZero(d), atMostZero(none - d));
      return unknown();
    default:
      return unknown();
    }
  }

  const ExprPool &pool;
  const std::string &stream;
  SymExpr size;
  const DimSet &parallel;
};
} // namespace

std::optional<int64_t> tessera::coefficientOf(SymExpr e, const std::string &dim, SymExpr &rest) {
  auto at = [&](int64_t value) {
    return e.substitute([&](const std::string &name) -> std::optional<SymExpr> {
      return name == dim ? std::optional<SymExpr>(SymExpr(value)) : std::nullopt;
    });
  };
  rest = at(0);
  SymExpr slope = at(1) - rest;
  if (!slope.isConstant() || e != SymExpr::symbol(dim) * slope + rest)
    return std::nullopt;
  return slope.constantValue();
}

MaskRange tessera::intersect(const MaskRange &a, const MaskRange &b) {
  MaskRange result;
  result.live = {SymExpr::max(a.live.lo, b.live.lo), SymExpr::min(a.live.hi, b.live.hi)};
  if (a.full && b.full)
    result.full =
        Interval{SymExpr::max(a.full->lo, b.full->lo), SymExpr::min(a.full->hi, b.full->hi)};
  result.hasHoles = a.hasHoles || b.hasHoles;
  return result;
}

MaskRange tessera::maskRange(const ExprPool &pool, Expr condition, const std::string &stream,
                             SymExpr size, const DimSet &parallel) {
  return Solver(pool, stream, size, parallel).solve(condition, false);
}
