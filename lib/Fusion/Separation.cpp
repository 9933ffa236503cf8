//===- Separation.cpp - Separation of reduction bodies --------------------===//
#include "tessera/Fusion/Separation.h"
#include "tessera/Fusion/Magnitude.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <limits>

using namespace tessera;

static bool isNarrow(mlir::Type type) { return type.getIntOrFloatBitWidth() < 32; }

static constexpr double inf = std::numeric_limits<double>::infinity();

/// x - x and x / x are not 0 and 1 for every x, so they are not simplified.
static bool isSelfInverse(Expr e) {
  return (e->isMap(ScalarOp::Sub) || e->isMap(ScalarOp::Div)) && e->args[0] == e->args[1] &&
         llvm::isa<mlir::FloatType>(e->type);
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

unsigned Separator::kindsOf(Expr e) {
  auto it = kinds.find(e);
  if (it != kinds.end())
    return it->second;
  unsigned result = 0;
  LevelKind level = e->kind == ExprNode::Reduce ? classify(e) : LevelKind::None;
  if (level == LevelKind::Statistic) {
    result = 2;
  } else if (level == LevelKind::None) {
    if (e->dependsOn(stream))
      result |= 1;
    for (Expr arg : e->args)
      result |= kindsOf(arg) & 2;
  }
  return kinds[e] = result;
}

bool Separator::hasX(Expr e) { return kindsOf(e) & 1; }
bool Separator::hasR(Expr e) { return kindsOf(e) & 2; }

/// Returns the memoized result for `e`, computing it on the first call.
template <typename Map, typename Key, typename Fn>
static typename Map::mapped_type remembered(Map &memo, const Key &key, Fn compute) {
  if (auto it = memo.find(key); it != memo.end())
    return it->second;
  auto result = compute();
  memo.try_emplace(key, result);
  return result;
}

bool Separator::hasExponential(Expr e) {
  return remembered(exponentials, e, [&] { return computeExponential(e); });
}
Linear Separator::linearOf(Expr e) {
  return remembered(linears, e, [&] { return computeLinear(e); });
}
ExpPair Separator::pairOf(Expr e) {
  return remembered(expPairs, e, [&] { return computePair(e); });
}
std::optional<Separator::Terms> Separator::separate(Expr e) {
  return remembered(termLists, e, [&] { return computeTerms(e); });
}
bool Separator::splitExponent(Expr e, double scale, Linear &alpha, Linear &beta) {
  int sign = scale > 0 ? 1 : -1;
  auto split = remembered(splits, std::make_pair(e, sign), [&] { return computeSplit(e, sign); });
  if (!split)
    return false;
  alpha.add(split->first, std::abs(scale));
  beta.add(split->second, std::abs(scale));
  return true;
}

/// Whether an exponential is a factor of the whole value, so that it can overflow. Relative to a
/// maximum that is known, it cannot.
bool Separator::computeExponential(Expr e) {
  switch (e->kind) {
  case ExprNode::Cast:
    return hasExponential(e->args[0]);
  case ExprNode::Map:
    switch (e->op) {
    case ScalarOp::Exp:
    case ScalarOp::Exp2:
      return hasX(e) && !(e->args[0]->isAtMostZero && !hasR(e));
    case ScalarOp::Mul:
    case ScalarOp::Div:
      return hasExponential(e->args[0]) || hasExponential(e->args[1]);
    case ScalarOp::Neg:
    case ScalarOp::Square:
      return hasExponential(e->args[0]);
    case ScalarOp::Where:
      return hasExponential(e->args[1]) || hasExponential(e->args[2]);
    default:
      return false;
    }
  default:
    return false;
  }
}

std::optional<Separator::Terms> Separator::fail(Expr e, const char *why) {
  if (reason.empty())
    reason = describe(e) + " " + why;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Stream-free expressions of statistics
//===----------------------------------------------------------------------===//

Linear Separator::computeLinear(Expr e) {
  Linear result;
  if (e->kind == ExprNode::Map) {
    auto isNumber = [](Expr x) {
      return x->kind == ExprNode::Constant && std::isfinite(x->number);
    };
    switch (e->op) {
    case ScalarOp::Add:
    case ScalarOp::Sub:
      if (isSelfInverse(e))
        break;
      result.add(linearOf(e->args[0]));
      result.add(linearOf(e->args[1]), e->op == ScalarOp::Add ? 1 : -1);
      return result;
    case ScalarOp::Neg:
      result.add(linearOf(e->args[0]), -1);
      return result;
    case ScalarOp::Mul:
      for (unsigned i = 0; i < 2; ++i)
        if (isNumber(e->args[i])) {
          result.add(linearOf(e->args[1 - i]), e->args[i]->number);
          return result;
        }
      break;
    case ScalarOp::Log: {
      ExpPair pair = pairOf(e->args[0]);
      result.add(pair.lambda);
      if (!pair.mu->isConstant(1))
        result.add(pool.map(ScalarOp::Log, {pair.mu}, e->loc), 1);
      return result;
    }
    default:
      break;
    }
  }
  ExpPair pair = pairOf(e);
  if (pair.lambda.isZero() && pair.mu->kind == ExprNode::Map && pair.mu != e &&
      !isSelfInverse(pair.mu) && (pair.mu->op == ScalarOp::Add || pair.mu->op == ScalarOp::Sub)) {
    // A resolved statistic may itself be a sum; its terms stay visible for cancellation.
    for (unsigned i = 0; i < 2; ++i)
      result.add(pair.mu->args[i], i == 1 && pair.mu->op == ScalarOp::Sub ? -1 : 1);
    return result;
  }
  result.add(valueOf(pair), 1);
  return result;
}

ExpPair Separator::computePair(Expr e) {
  if (e->kind == ExprNode::Reduce && classify(e) != LevelKind::None)
    return resolve(e);
  auto isResolvedStatistic = [&](Expr x) {
    return x->kind == ExprNode::Reduce && classify(x) != LevelKind::None;
  };
  if (!hasR(e)) {
    bool hasKnown = false;
    visitExprs(
        {e}, [&](Expr x) { hasKnown |= isResolvedStatistic(x); },
        [&](Expr x) { return !isResolvedStatistic(x); });
    if (!hasKnown)
      return {Linear(), e};
  }
  auto plain = [&]() -> ExpPair {
    Expr rebuilt = pool.rewrite(e, [&](Expr x) -> Expr { return x == e ? nullptr : valueOf(x); });
    return {Linear(), rebuilt};
  };
  if (e->kind == ExprNode::Cast && llvm::isa<mlir::FloatType>(e->type) &&
      llvm::isa<mlir::FloatType>(e->args[0]->type) && !e->isExplicit) {
    ExpPair inner = pairOf(e->args[0]);
    // A narrow value is rounded once, as a whole.
    if (isNarrow(e->type))
      return {Linear(), pool.cast(valueOf(inner), e->type, false, e->loc)};
    return {inner.lambda, pool.cast(inner.mu, e->type, false, e->loc)};
  }
  if (e->kind != ExprNode::Map)
    return plain();
  if (isSelfInverse(e))
    return plain();
  switch (e->op) {
  case ScalarOp::Mul:
  case ScalarOp::Div: {
    ExpPair a = pairOf(e->args[0]), b = pairOf(e->args[1]);
    bool mul = e->op == ScalarOp::Mul;
    a.lambda.add(b.lambda, mul ? 1 : -1);
    a.mu = pool.map(e->op, {a.mu, b.mu}, e->loc);
    return a;
  }
  case ScalarOp::Neg: {
    ExpPair a = pairOf(e->args[0]);
    a.mu = pool.map(ScalarOp::Neg, {a.mu}, e->loc);
    return a;
  }
  case ScalarOp::Exp:
    return {linearOf(e->args[0]), one(e)};
  case ScalarOp::Log: {
    Linear value = linearOf(e);
    return {Linear(), value.build(pool, e->type)};
  }
  case ScalarOp::Add:
  case ScalarOp::Sub: {
    ExpPair a = pairOf(e->args[0]), b = pairOf(e->args[1]);
    if (!a.lambda.isZero() && a.lambda == b.lambda)
      return {a.lambda, pool.map(e->op, {a.mu, b.mu}, e->loc)};
    Linear sum = linearOf(e);
    return {Linear(), sum.build(pool, e->type)};
  }
  default:
    return plain();
  }
}

Expr Separator::valueOf(const ExpPair &pair) {
  if (pair.lambda.isZero())
    return pair.mu;
  Expr factor = pool.map(ScalarOp::Exp, {pair.lambda.build(pool, pair.mu->type)}, pair.mu->loc);
  return pool.mul(pair.mu, factor);
}

Expr Separator::valueOf(Expr e) {
  return remembered(values, e, [&] { return computeValue(e); });
}

Expr Separator::computeValue(Expr e) {
  // Only exponents of the stream have to cancel. Elsewhere the program's own operations are kept:
  // exp(r - r) of an infinite r is NaN.
  bool hasExponent = false;
  auto isResolvedStatistic = [&](Expr x) {
    return x->kind == ExprNode::Reduce && classify(x) != LevelKind::None;
  };
  visitExprs(
      {e}, [&](Expr x) { hasExponent |= isResolvedStatistic(x) && !resolve(x).lambda.isZero(); },
      [&](Expr x) { return !isResolvedStatistic(x); });
  if (hasExponent) {
    bool cancelsHere = llvm::any_of(e->args, [&](Expr x) { return !pairOf(x).lambda.isZero(); });
    if (isResolvedStatistic(e) || cancelsHere || e->args.empty())
      return valueOf(pairOf(e));
    return pool.rewrite(e, [&](Expr x) -> Expr { return x == e ? nullptr : valueOf(x); });
  }
  return pool.rewrite(
      e, [&](Expr x) -> Expr { return isResolvedStatistic(x) ? resolve(x).mu : nullptr; });
}

//===----------------------------------------------------------------------===//
// Separation
//===----------------------------------------------------------------------===//

/// Splits `sign` · e into an X-free and an R-free part.
std::optional<Separator::Split> Separator::computeSplit(Expr e, double sign) {
  Split result;
  auto &[alpha, beta] = result;
  auto both = [&](Expr a, double scaleA, Expr b, double scaleB) -> std::optional<Split> {
    if (!splitExponent(a, scaleA, alpha, beta) || !splitExponent(b, scaleB, alpha, beta))
      return std::nullopt;
    return result;
  };
  auto only = [&](Expr a, double scale) -> std::optional<Split> {
    if (!splitExponent(a, scale, alpha, beta))
      return std::nullopt;
    return result;
  };
  if (!hasX(e)) {
    alpha.add(linearOf(e), sign);
    return result;
  }
  if (e->kind == ExprNode::Map) {
    auto isNumber = [](Expr x) {
      return x->kind == ExprNode::Constant && std::isfinite(x->number);
    };
    switch (e->op) {
    case ScalarOp::Add:
      return both(e->args[0], sign, e->args[1], sign);
    case ScalarOp::Sub:
      if (isSelfInverse(e))
        break;
      return both(e->args[0], sign, e->args[1], -sign);
    case ScalarOp::Neg:
      return only(e->args[0], -sign);
    case ScalarOp::Mul:
      for (unsigned i = 0; i < 2; ++i)
        if (isNumber(e->args[i]))
          return only(e->args[1 - i], sign * e->args[i]->number);
      break;
    case ScalarOp::Div:
      if (isNumber(e->args[1]) && e->args[1]->number != 0)
        return only(e->args[0], sign / e->args[1]->number);
      break;
    case ScalarOp::Log: {
      auto terms = separate(e->args[0]);
      if (!terms || terms->size() != 1 || terms->front().indicator)
        break;
      SeparatedTerm &t = terms->front();
      alpha.add(t.alpha, sign);
      beta.add(t.beta, sign);
      if (!t.a->isConstant(1))
        alpha.add(pool.map(ScalarOp::Log, {t.a}, e->loc), sign);
      if (!t.b->isConstant(1))
        beta.add(pool.map(ScalarOp::Log, {t.b}, e->loc), sign);
      return result;
    }
    case ScalarOp::Where:
      // where(c, u - r, -inf) with a stream condition: the mask belongs to the stream's part of the
      // exponent.
      if (hasR(e) && !hasR(e->args[0]) && sign > 0)
        for (unsigned i = 1; i < 3; ++i)
          if (e->args[i]->isConstant(-inf)) {
            Linear part;
            if (!splitExponent(e->args[3 - i], sign, alpha, part))
              return std::nullopt;
            llvm::SmallVector<Expr, 3> args(e->args);
            args[3 - i] = part.build(pool, e->type);
            beta.add(pool.map(ScalarOp::Where, args, e->loc), 1);
            return result;
          }
      break;
    default:
      break;
    }
  }
  if (e->kind == ExprNode::Cast && !e->isExplicit && llvm::isa<mlir::FloatType>(e->args[0]->type) &&
      hasR(e))
    return only(e->args[0], sign);
  if (hasR(e)) {
    fail(e, "mixes the stream and a statistic inside an exponent");
    return std::nullopt;
  }
  beta.add(e, sign);
  return result;
}

std::optional<Separator::Terms> Separator::merge(Terms terms) {
  Terms result;
  for (SeparatedTerm &t : terms) {
    if (t.a->isConstant(0) || t.b->isConstant(0))
      continue;
    bool found = false;
    for (SeparatedTerm &other : result)
      if (other.alpha == t.alpha && other.beta == t.beta && other.b == t.b) {
        other.a = pool.add(other.a, t.a);
        found = true;
        break;
      }
    if (!found)
      result.push_back(t);
  }
  if (result.size() > maxRank) {
    reason = "the body needs more than " + std::to_string(maxRank) + " carried sums";
    return std::nullopt;
  }
  return result;
}

/// A typical element of the stream's x: a sum of powers of x - h loses a factor of ((r - h) / σ)²
/// in precision, with σ the standard deviation of x and r its mean. A single element may be an
/// outlier, so the median of three is used; if an element is expensive to compute, the first one
/// is.
Expr Separator::typical(Expr x) {
  auto at = [&](auto place) {
    std::map<std::string, SymExpr> index;
    for (const std::string &dim : stream)
      index.emplace(dim, place(pool.dimSize(dim)));
    return valueOf(pool.substitute(x, index));
  };
  Expr h = at([](SymExpr) { return SymExpr(0); });
  if (!llvm::isa<mlir::FloatType>(x->type))
    return h;
  bool isDear = false;
  visitExprs({x}, [&](Expr e) { isDear |= e->kind == ExprNode::Reduce && e->dependsOn(stream); });
  if (!isDear) {
    // Sizes are positive; expressions of sizes may not be.
    auto end = [](SymExpr size) { return size.isSymbol() ? size - 1 : SymExpr::max(size - 1, 0); };
    Expr middle = at([&](SymExpr size) { return end(size).floorDiv(2); }), last = at(end);
    auto map = [&](ScalarOp op, Expr a, Expr b) { return pool.map(op, {a, b}, x->loc); };
    Expr low = map(ScalarOp::Minimum, h, middle), high = map(ScalarOp::Maximum, h, middle);
    h = map(ScalarOp::Maximum, low, map(ScalarOp::Minimum, high, last));
  }
  return pool.map(ScalarOp::Where,
                  {pool.map(ScalarOp::IsFinite, {h}, h->loc), h, pool.constant(0, h->type)},
                  h->loc);
}

/// Rewrites x - r as (x - h) - (r - h) with h a typical x of the stream.
void Separator::centre(Terms &terms) {
  bool hasStatistic = false;
  for (SeparatedTerm &t : terms) {
    if (!t.beta.isZero() || !t.alpha.isZero() || t.indicator)
      return;
    hasStatistic |= t.b->isConstant(1);
  }
  if (!hasStatistic)
    return;
  Expr shift = nullptr;
  for (SeparatedTerm &t : terms) {
    if (t.b->isConstant(1))
      continue;
    Expr h = typical(t.b);
    Expr moved = pool.mul(t.a, h);
    shift = shift ? pool.add(shift, moved) : moved;
    t.b = pool.sub(t.b, h);
  }
  if (!shift)
    return;
  for (SeparatedTerm &t : terms)
    if (t.b->isConstant(1)) {
      t.a = pool.add(t.a, shift);
      return;
    }
}

Expr Separator::indicatorOf(Expr condition) {
  if (condition->kind != ExprNode::Map || !hasX(condition) || !hasR(condition))
    return nullptr;
  if (condition->op == ScalarOp::And)
    for (unsigned i = 0; i < 2; ++i)
      if (!hasR(condition->args[1 - i]))
        return indicatorOf(condition->args[i]);
  bool isOrdered = condition->op == ScalarOp::Ge || condition->op == ScalarOp::Le;
  if (condition->op != ScalarOp::Eq && !isOrdered)
    return nullptr;
  for (unsigned i = 0; i < 2; ++i) {
    Expr m = condition->args[i];
    if (m->kind != ExprNode::Reduce || classify(m) != LevelKind::Statistic ||
        m->args[0] != condition->args[1 - i] || hasR(m->args[0]))
      continue;
    // No x exceeds its maximum: x >= m is x == m.
    bool isAbove = (condition->op == ScalarOp::Ge) == (i == 1);
    bool isMax = m->monoid == ReduceOp::Max, isMin = m->monoid == ReduceOp::Min;
    if ((isMax || isMin) && !m->type.isInteger(1) && (!isOrdered || isAbove == isMax))
      return m;
  }
  return nullptr;
}

Expr Separator::indicatorOrNanOf(Expr condition) {
  if (condition->isMap(ScalarOp::Or))
    for (unsigned i = 0; i < 2; ++i) {
      Expr m = indicatorOf(condition->args[i]), nan = condition->args[1 - i];
      if (m && condition->args[i]->isMap(ScalarOp::Eq) && nan->isMap(ScalarOp::IsNan) &&
          nan->args[0] == m->args[0])
        return m;
    }
  return nullptr;
}

/// Restricts the term to elements where x is its extremum `indicator`: there an exponent c·x is
/// c·m.
bool Separator::restrict(SeparatedTerm &term, Expr indicator) {
  if (term.indicator && term.indicator != indicator)
    return false;
  term.indicator = indicator;
  if (term.beta.isZero())
    return true;
  Linear alpha, beta, scaled;
  if (!splitExponent(indicator->args[0], 1, alpha, beta) || !alpha.isZero() || beta.terms.empty())
    return false;
  auto mine = term.beta.terms.find(beta.terms.begin()->first);
  if (mine == term.beta.terms.end())
    return false;
  double scale = mine->second.second / beta.terms.begin()->second.second;
  scaled.add(beta, scale);
  if (!(scaled == term.beta))
    return false;
  term.alpha.add(linearOf(indicator), scale);
  term.beta = Linear();
  return true;
}

std::optional<Separator::Terms> Separator::separateWhere(Expr e) {
  Expr condition = e->args[0];
  Expr indicator = indicatorOf(condition);
  if (hasX(condition) && hasR(condition) && !(indicator && e->args[2]->isConstant(0)))
    return fail(e, "chooses by a condition that mixes the stream and a statistic");
  // As a factor of a sum, an infinite choice would be multiplied by zeros.
  for (unsigned i = 1; i < 3; ++i)
    if (e->args[i]->kind == ExprNode::Constant && !std::isfinite(e->args[i]->number)) {
      if (!hasR(e))
        return Terms{{Linear(), one(e), Linear(), e}};
      return fail(e, "chooses between a statistic and an infinite value");
    }
  if (!hasX(condition))
    condition = valueOf(condition);
  Terms result;
  for (unsigned i = 1; i < 3; ++i) {
    if (e->args[i]->isConstant(0))
      continue;
    auto terms = separate(e->args[i]);
    if (!terms)
      return std::nullopt;
    auto choose = [&](Expr value, Expr otherwise) {
      return i == 1 ? pool.map(ScalarOp::Where, {condition, value, otherwise}, e->loc)
                    : pool.map(ScalarOp::Where, {condition, otherwise, value}, e->loc);
    };
    for (SeparatedTerm &t : *terms) {
      if (indicator && !restrict(t, indicator))
        return fail(e, "chooses a value of another exponent where an extremum is taken");
      // Where the extremum is NaN nothing is selected, and its effect on the factor must not
      // matter.
      if (indicator && llvm::isa<mlir::FloatType>(indicator->type) &&
          (!t.alpha.isZero() || hasR(e->args[i]))) {
        Expr m = valueOf(indicator);
        t.a = pool.map(ScalarOp::Where,
                       {pool.map(ScalarOp::Eq, {m, m}, e->loc), valueOf({t.alpha, t.a}),
                        pool.constant(0, t.a->type)},
                       e->loc);
        t.alpha = Linear();
      }
      if (!hasX(condition)) {
        t.a = choose(t.a, pool.constant(0, t.a->type));
      } else if (!t.beta.isZero()) {
        // Masked elements must not move the gauge: they are -inf in the exponent.
        Expr exponent = t.beta.build(pool, t.b->type);
        Linear masked;
        masked.add(choose(exponent, pool.constant(-inf, t.b->type)), 1);
        t.beta = masked;
      } else {
        t.b = choose(t.b, pool.constant(0, t.b->type));
      }
      result.push_back(t);
    }
  }
  return merge(std::move(result));
}

/// A conversion between floating-point types applies to both factors of each term; another one only
/// to a single factor.
std::optional<Separator::Terms> Separator::separateCast(Expr e) {
  if (Expr indicator = indicatorOf(e->args[0]))
    return Terms{{Linear(), one(e), Linear(), e, indicator}};
  if (e->isExplicit || !llvm::isa<mlir::FloatType>(e->type) ||
      !llvm::isa<mlir::FloatType>(e->args[0]->type)) {
    if (!hasR(e))
      return Terms{{Linear(), one(e), Linear(), e}};
    // A single term is converted as in the program.
    auto terms = separate(e->args[0]);
    if (!terms)
      return terms;
    SeparatedTerm &t = terms->front();
    if (terms->size() != 1 || !t.a->isConstant(1) || !t.alpha.isZero() || !t.beta.isZero())
      return fail(e, "rounds a value that mixes the stream and a statistic");
    return Terms{
        {Linear(), one(e), Linear(), pool.cast(t.b, e->type, e->isExplicit, e->loc), t.indicator}};
  }
  // The factors keep the wider type; rounding each of them would round more often than the
  // program.
  auto terms = separate(e->args[0]);
  if (terms && !isNarrow(e->type))
    for (SeparatedTerm &t : *terms) {
      t.a = pool.cast(t.a, e->type, false, e->loc);
      t.b = pool.cast(t.b, e->type, false, e->loc);
    }
  return terms;
}

/// The terms of both operands of an addition or subtraction.
std::optional<Separator::Terms> Separator::separateAddition(Expr e) {
  auto a = separate(e->args[0]), b = a ? separate(e->args[1]) : std::nullopt;
  if (!b)
    return std::nullopt;
  for (SeparatedTerm &t : *b) {
    if (e->op == ScalarOp::Sub)
      t.a = pool.map(ScalarOp::Neg, {t.a}, e->loc);
    a->push_back(t);
  }
  auto merged = merge(std::move(*a));
  if (merged)
    centre(*merged);
  return merged;
}

/// The products of all pairs of terms: (Σ s)·(Σ t) = Σ s·t.
std::optional<Separator::Terms> Separator::separateProduct(Expr e) {
  auto a = separate(e->args[0]);
  auto b = !a ? a : e->op == ScalarOp::Square ? a : separate(e->args[1]);
  if (!b)
    return std::nullopt;
  Terms product;
  for (SeparatedTerm &s : *a)
    for (SeparatedTerm &t : *b) {
      SeparatedTerm p{s.alpha, pool.mul(s.a, t.a), s.beta, pool.mul(s.b, t.b)};
      p.alpha.add(t.alpha);
      p.beta.add(t.beta);
      for (Expr indicator : {s.indicator, t.indicator})
        if (indicator && !restrict(p, indicator))
          return fail(e, "multiplies an indicator by another exponent");
      product.push_back(p);
    }
  return merge(std::move(product));
}

/// A quotient separates if the divisor is a single term.
std::optional<Separator::Terms> Separator::separateQuotient(Expr e) {
  bool div = e->op == ScalarOp::Div;
  auto a = div ? separate(e->args[0]) : Terms{{Linear(), one(e), Linear(), one(e)}};
  auto b = a ? separate(e->args[div ? 1 : 0]) : std::nullopt;
  if (!b)
    return std::nullopt;
  if (b->size() != 1 || b->front().indicator)
    return fail(e, "divides by a sum of the stream and a statistic");
  SeparatedTerm &d = b->front();
  for (SeparatedTerm &t : *a) {
    t.alpha.add(d.alpha, -1);
    t.beta.add(d.beta, -1);
    t.a = pool.div(t.a, d.a);
    t.b = pool.div(t.b, d.b);
    if (t.indicator && !restrict(t, t.indicator))
      return fail(e, "divides an indicator by another exponent");
  }
  return merge(std::move(*a));
}

/// The logarithm of a single term is the sum of the logarithms of its factors.
std::optional<Separator::Terms> Separator::separateLog(Expr e) {
  auto a = separate(e->args[0]);
  if (!a || a->size() != 1 || a->front().indicator)
    return fail(e, "takes the logarithm of a sum of the stream and a statistic");
  Linear alpha, beta;
  SeparatedTerm &t = a->front();
  alpha.add(t.alpha);
  beta.add(t.beta);
  if (!t.a->isConstant(1))
    alpha.add(pool.map(ScalarOp::Log, {t.a}, e->loc), 1);
  if (!t.b->isConstant(1))
    beta.add(pool.map(ScalarOp::Log, {t.b}, e->loc), 1);
  Terms sum;
  if (!alpha.isZero())
    sum.push_back({Linear(), alpha.build(pool, e->type), Linear(), one(e)});
  if (!beta.isZero())
    sum.push_back({Linear(), one(e), Linear(), beta.build(pool, e->type)});
  auto merged = merge(std::move(sum));
  if (merged)
    centre(*merged);
  return merged;
}

std::optional<Separator::Terms> Separator::computeTerms(Expr e) {
  if (!hasX(e)) {
    ExpPair pair = pairOf(e);
    return Terms{{pair.lambda, pair.mu, Linear(), one(e)}};
  }
  if (!hasR(e) && !hasExponential(e))
    return Terms{{Linear(), one(e), Linear(), e}};
  if (e->kind == ExprNode::Cast)
    return separateCast(e);
  if (e->kind != ExprNode::Map)
    return fail(e, "reduces a value that depends on a statistic");
  if (isSelfInverse(e)) {
    if (!hasR(e))
      return Terms{{Linear(), one(e), Linear(), e}};
    return fail(e, "has equal operands that mix the stream and a statistic");
  }
  switch (e->op) {
  case ScalarOp::Exp:
  case ScalarOp::Exp2: {
    SeparatedTerm t{Linear(), one(e), Linear(), one(e)};
    double scale = e->op == ScalarOp::Exp ? 1 : M_LN2;
    if (!splitExponent(e->args[0], scale, t.alpha, t.beta))
      return std::nullopt;
    return Terms{t};
  }
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return separateAddition(e);
  case ScalarOp::Neg: {
    auto a = separate(e->args[0]);
    if (a)
      for (SeparatedTerm &t : *a)
        t.a = pool.map(ScalarOp::Neg, {t.a}, e->loc);
    return a;
  }
  case ScalarOp::Mul:
  case ScalarOp::Square:
    return separateProduct(e);
  case ScalarOp::Div:
  case ScalarOp::Reciprocal:
    return separateQuotient(e);
  case ScalarOp::Log:
    return separateLog(e);
  case ScalarOp::Where:
    return separateWhere(e);
  default:
    if (!hasR(e))
      return Terms{{Linear(), one(e), Linear(), e}};
    return fail(e, "is not a finite sum of products of the stream and statistics");
  }
}

std::optional<std::vector<SeparatedTerm>> Separator::separateSum(Expr body) {
  reason.clear();
  // A body without statistics can always be summed as it is.
  auto unseparated = [&]() -> std::optional<Terms> {
    if (hasR(body))
      return std::nullopt;
    SeparatedTerm whole;
    whole.a = pool.constant(1, body->type);
    whole.b = body;
    return Terms{whole};
  };
  auto terms = separate(body);
  if (!terms)
    return unseparated();
  // (e^x - r)² expands to sums of powers that cancel against those of r; unlike x, an exponential
  // has no typical element that can be subtracted first.
  auto isPower = [](const SeparatedTerm &t) { return !t.beta.isZero(); };
  auto isStatistic = [](const SeparatedTerm &t) { return t.beta.isZero() && t.b->isConstant(1); };
  if (llvm::any_of(*terms, isPower) && llvm::any_of(*terms, isStatistic)) {
    reason = "powers would cancel against a statistic";
    return unseparated();
  }
  // A bounded exponent needs no gauge: it is an ordinary factor.
  for (SeparatedTerm &t : *terms)
    if (!t.beta.isZero()) {
      Expr exponent = t.beta.build(pool, t.b->type);
      if (magnitudeBound(exponent) <= 60) {
        t.b = pool.mul(pool.map(ScalarOp::Exp, {exponent}, exponent->loc), t.b);
        t.beta = Linear();
      }
    }
  auto merged = merge(std::move(*terms));
  return merged ? merged : unseparated();
}

std::optional<std::pair<Linear, Expr>> Separator::separateExtremum(Expr body) {
  reason.clear();
  if (!hasR(body))
    return std::make_pair(Linear(), body);
  // Integers wrap around: a shift does not preserve their order.
  if (!llvm::isa<mlir::FloatType>(body->type)) {
    fail(body, "shifts an integer by a statistic");
    return std::nullopt;
  }
  Linear alpha, beta;
  if (!splitExponent(body, 1, alpha, beta))
    return std::nullopt;
  return std::make_pair(alpha, beta.build(pool, body->type));
}
