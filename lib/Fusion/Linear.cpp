//===- Linear.cpp - Linear combinations of expressions --------------------===//
#include "tessera/Fusion/Linear.h"

#include <cmath>
#include <limits>

using namespace tessera;

static constexpr double inf = std::numeric_limits<double>::infinity();

void Linear::add(Expr e, double coefficient) {
  if (e->kind == ExprNode::Constant && std::isfinite(e->number)) {
    constant += coefficient * e->number;
    return;
  }
  auto [it, inserted] = terms.try_emplace(e->id, e, coefficient);
  if (inserted)
    return;
  it->second.second += coefficient;
  if (it->second.second == 0)
    terms.erase(it);
}

void Linear::add(const Linear &other, double scale) {
  for (auto &[id, term] : other.terms)
    add(term.first, term.second * scale);
  constant += other.constant * scale;
}

/// scale · e, folded into constants, products and -inf masks where it is exact enough (scale > 0
/// for masks).
static Expr scaled(ExprPool &pool, Expr e, double scale) {
  if (scale == 1)
    return e;
  if (e->kind == ExprNode::Constant)
    return pool.constant(e->number * scale, e->type);
  if (e->isMap(ScalarOp::Mul))
    for (unsigned i = 0; i < 2; ++i)
      if (e->args[i]->kind == ExprNode::Constant)
        return pool.mul(e->args[1 - i], pool.constant(e->args[i]->number * scale, e->type));
  if (e->isMap(ScalarOp::Div) && e->args[1]->kind == ExprNode::Constant)
    return pool.mul(e->args[0], pool.constant(scale / e->args[1]->number, e->type));
  if (scale > 0 && e->isMap(ScalarOp::Where))
    for (unsigned i = 1; i < 3; ++i)
      if (e->args[i]->isConstant(-inf)) {
        llvm::SmallVector<Expr, 3> args(e->args);
        args[3 - i] = scaled(pool, args[3 - i], scale);
        return pool.map(ScalarOp::Where, args, e->loc);
      }
  return pool.mul(e, pool.constant(scale, e->type));
}

Expr Linear::build(ExprPool &pool, mlir::Type type, double scale) const {
  Expr sum = nullptr;
  for (auto &[id, term] : terms) {
    Expr part = pool.cast(term.first, type, false, term.first->loc);
    part = scaled(pool, part, term.second * scale);
    sum = sum ? pool.add(sum, part) : part;
  }
  if (!sum)
    return pool.constant(constant * scale, type);
  return constant == 0 ? sum : pool.add(sum, pool.constant(constant * scale, type));
}
