//===- Contraction.cpp - Products that are matrix multiplications ---------===//
#include "Contraction.h"

#include <algorithm>

using namespace tessera;

namespace {
struct Factor {
  Expr expr = nullptr; ///< null for the weight
  DimSet free;
  Expr origin = nullptr; ///< the factor of the outermost product that it is, or is a factor of
};

/// The factors of a product, and of its factors if products may be rearranged.
void collectFactors(Expr e, const DimSet &over, bool strict, std::vector<Factor> &factors,
                    Expr origin = nullptr) {
  if (e->isMap(ScalarOp::Mul) && !(strict && origin)) {
    for (Expr arg : e->args)
      collectFactors(arg, over, strict, factors, origin ? origin : arg);
    return;
  }
  if (e->isConstant(1))
    return;
  Factor factor{e, e->dims, origin};
  for (const std::string &dim : over)
    factor.free.erase(dim);
  factors.push_back(factor);
}

bool contains(const DimSet &big, const DimSet &small) {
  return std::includes(big.begin(), big.end(), small.begin(), small.end());
}

DimSet difference(const DimSet &a, const DimSet &b) {
  DimSet result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(result, result.end()));
  return result;
}
} // namespace

std::optional<Contraction> tessera::splitContraction(ExprPool &pool, Expr value, const DimSet &over,
                                                     const DimSet *weight,
                                                     const std::vector<std::string> &outputOrder) {
  std::vector<Factor> factors;
  collectFactors(value, over, pool.strict, factors);
  if (weight) {
    Factor factor{nullptr, difference(*weight, over), nullptr};
    factors.insert(factors.begin(), factor);
  }
  if (factors.size() < 2)
    return std::nullopt;

  // The widest factor leads one side; the widest that it does not cover leads the other.
  const Factor *left = &factors[0], *right = nullptr;
  for (const Factor &f : factors)
    if (f.free.size() > left->free.size())
      left = &f;
  for (const Factor &f : factors)
    if (!contains(left->free, f.free) && (!right || f.free.size() > right->free.size()))
      right = &f;
  if (!right)
    return std::nullopt;
  Contraction result;
  result.rows = difference(left->free, right->free);
  result.columns = difference(right->free, left->free);
  if (result.rows.empty() || result.columns.empty())
    return std::nullopt;

  for (auto dim = outputOrder.rbegin(); dim != outputOrder.rend(); ++dim) {
    if (result.columns.count(*dim))
      break;
    if (result.rows.count(*dim)) {
      std::swap(left, right);
      std::swap(result.rows, result.columns);
      break;
    }
  }
  bool streamed[2] = {false, false};
  auto put = [&](Expr &side, Expr e) { side = side ? pool.mul(side, e) : e; };
  for (const Factor &f : factors) {
    // An operand may be rounded: what could be a factor of either one stays with the one it was a
    // factor of.
    bool fitsLeft = contains(left->free, f.free), fitsRight = contains(right->free, f.free);
    bool isOfRight = f.origin && f.origin == right->origin && f.origin != left->origin;
    bool onLeft = &f == left || (&f != right && fitsLeft && !(fitsRight && isOfRight));
    if (!onLeft && !fitsRight)
      return std::nullopt;
    if (!f.expr)
      (onLeft ? result.weightOnLeft : result.weightOnRight) = true;
    else
      put(onLeft ? result.lhs : result.rhs, f.expr);
    streamed[onLeft] |= !f.expr || f.expr->dependsOn(over);
  }
  // Both sides have to run along the sum; a side that does not could be taken out of it.
  return streamed[0] && streamed[1] ? std::optional<Contraction>(result) : std::nullopt;
}
