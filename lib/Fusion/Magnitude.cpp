//===- Magnitude.cpp - Bounds that hold for all inputs --------------------===//
#include "tessera/Fusion/Magnitude.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <limits>

using namespace tessera;

static constexpr double inf = std::numeric_limits<double>::infinity();

static double magnitudeBound(Expr e, llvm::DenseMap<Expr, double> &memo);

static double computeMagnitude(Expr e, llvm::DenseMap<Expr, double> &memo) {
  if (e->kind == ExprNode::Constant)
    return std::isnan(e->number) ? inf : std::abs(e->number);
  if (e->kind == ExprNode::Cast && llvm::isa<mlir::FloatType>(e->args[0]->type))
    return magnitudeBound(e->args[0], memo);
  if (e->kind != ExprNode::Map)
    return inf;
  auto bound = [&](unsigned i) { return magnitudeBound(e->args[i], memo); };
  switch (e->op) {
  case ScalarOp::Tanh:
  case ScalarOp::Sigmoid:
  case ScalarOp::Sin:
  case ScalarOp::Cos:
  case ScalarOp::Erf:
  case ScalarOp::Sign:
    return 1;
  case ScalarOp::Atan:
    return 1.6;
  case ScalarOp::Neg:
  case ScalarOp::Abs:
    return bound(0);
  case ScalarOp::Square:
    return bound(0) * bound(0);
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return bound(0) + bound(1);
  case ScalarOp::Mul: {
    double a = bound(0), b = bound(1);
    return a == 0 || b == 0 ? inf : a * b;
  }
  case ScalarOp::Div:
    return e->args[1]->kind == ExprNode::Constant && e->args[1]->number != 0
               ? bound(0) / std::abs(e->args[1]->number)
               : inf;
  default:
    return inf;
  }
}

static double magnitudeBound(Expr e, llvm::DenseMap<Expr, double> &memo) {
  if (auto it = memo.find(e); it != memo.end())
    return it->second;
  double bound = computeMagnitude(e, memo);
  memo.try_emplace(e, bound);
  return bound;
}

double tessera::magnitudeBound(Expr e) {
  llvm::DenseMap<Expr, double> memo;
  return ::magnitudeBound(e, memo);
}
