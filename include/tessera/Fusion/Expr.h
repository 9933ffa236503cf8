//===- Expr.h - Scalar expressions over iteration dimensions ---*- C++ -*-===//
//
// The representation on which fusion works: one element of a tensor as an expression of elements of
// other tensors, of indices and of reductions. Views are folded into index expressions. Expressions
// are uniqued, so that common subexpressions of a program are found by construction.
//
// An expression depends on named iteration dimensions (its free dimensions); a Reduce binds the
// dimensions it reduces over. Expressions are owned by an ExprPool.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_FUSION_EXPR_H
#define TESSERA_FUSION_EXPR_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera {

struct ExprNode;
using Expr = const ExprNode *;
using DimSet = std::set<std::string>;

struct ExprNode {
  enum Kind {
    Constant, ///< `number`
    Index,    ///< `index`, an integer expression over dimensions and sizes
    Load,   ///< the element of `tensor` at `indices`, in which `args` occur as gather index symbols
    Map,    ///< `op` of `args`
    Cast,   ///< `args[0]` in type `type`; `isExplicit` casts always round
    Reduce, ///< reduction of `args[0]` with `monoid` over the dimensions `over`
    Scan,   ///< prefix scan of `args[0]` with `monoid` along the dimension `over`, which
            /// < stays free; with `args[1]` only over elements with the same key, one of `number`
    Sort,   ///< the integers `args[0]` in ascending order along the dimension `over`, which stays
            /// < free
    State,  ///< a loop-carried value of a stream, number `state` (created by planning)
  };
  Kind kind;
  mlir::Type type;
  double number = 0;
  SymExpr index;
  mlir::Value tensor;
  std::vector<SymExpr> indices;
  ScalarOp op = ScalarOp::Add;
  ReduceOp monoid = ReduceOp::Sum;
  std::vector<std::string> over;
  bool isExplicit = false;
  bool isAtMostZero = false; ///< Map: its value is at most zero, or NaN
  unsigned state = 0;
  llvm::SmallVector<Expr, 3> args;
  DimSet dims; ///< free dimensions
  unsigned id = 0;
  /// For a Reduce, Scan or Sort: the graph value that it computes.
  mutable mlir::Value origin;
  mlir::Location loc;

  explicit ExprNode(mlir::Location loc) : loc(loc) {}

  bool isConstant(double value) const { return kind == Constant && number == value; }
  bool dependsOn(const DimSet &set) const;
  /// Whether elements along a dimension depend on each other.
  bool isAlongRow() const { return kind == Scan || kind == Sort; }
  bool isMap(ScalarOp which) const { return kind == Map && op == which; }
};

/// Creates uniqued expressions, with simplifications that preserve values exactly. In a strict pool
/// every cast rounds, and rounding operations are never reordered.
class ExprPool {
public:
  explicit ExprPool(mlir::MLIRContext *context, bool strict = false)
      : strict(strict), context(context) {}

  const bool strict;

  std::string freshDim(llvm::StringRef hint, SymExpr size);
  SymExpr dimSize(const std::string &name) const { return sizes.at(name); }
  bool isDim(const std::string &name) const { return sizes.count(name) != 0; }
  /// Names that must not be used for dimensions (sizes of the function).
  void reserve(const std::string &name) { reserved.insert(name); }

  Expr constant(double value, mlir::Type type);
  /// The identity of a monoid.
  Expr identity(ReduceOp monoid, mlir::Type type);
  Expr index(SymExpr value, mlir::Type type);
  /// The symbol for an integer in the indices of a load, clamped to 0 and `size` - 1.
  SymExpr gatherSymbol(Expr value, SymExpr size);
  struct GatherIndex {
    std::string symbol;
    Expr value;
    SymExpr size;
  };
  /// The gather index symbols that occur in indices, in a fixed order.
  std::vector<GatherIndex> gathersIn(llvm::ArrayRef<SymExpr> indices) const;
  Expr load(mlir::Value tensor, std::vector<SymExpr> indices, mlir::Type type, mlir::Location loc);
  Expr map(ScalarOp op, llvm::ArrayRef<Expr> args, mlir::Location loc);
  /// The same value, which is known to be at most zero, or NaN.
  Expr atMostZero(Expr e);
  Expr cast(Expr value, mlir::Type type, bool isExplicit, mlir::Location loc);
  Expr reduce(ReduceOp monoid, std::vector<std::string> over, Expr body, mlir::Location loc,
              mlir::Value origin);
  Expr scan(ReduceOp monoid, const std::string &along, Expr body, mlir::Location loc,
            mlir::Value origin, Expr key = nullptr, int64_t keys = 0);
  Expr sort(const std::string &along, Expr body, mlir::Location loc, mlir::Value origin);
  Expr state(unsigned number, mlir::Type type, DimSet dims);

  // Shorthands that use the operands' location and type.
  Expr add(Expr a, Expr b) { return map(ScalarOp::Add, {a, b}, a->loc); }
  Expr sub(Expr a, Expr b) { return map(ScalarOp::Sub, {a, b}, a->loc); }
  Expr mul(Expr a, Expr b) { return map(ScalarOp::Mul, {a, b}, a->loc); }
  Expr div(Expr a, Expr b) { return map(ScalarOp::Div, {a, b}, a->loc); }

  /// Rebuilds an expression with dimensions replaced by index expressions. If a reduction binds one
  /// of them, it is renamed if the replacement is another dimension; otherwise the bound dimension
  /// is kept.
  Expr substitute(Expr e, const std::map<std::string, SymExpr> &dims);
  /// Rebuilds an expression with some nodes replaced; `replace` returns null to descend.
  Expr rewrite(Expr e, const std::function<Expr(Expr)> &replace);

private:
  Expr intern(ExprNode node);
  /// The same for what a value stands for.
  Expr intern(ExprNode node, mlir::Value origin);
  Expr rebuild(Expr e, llvm::ArrayRef<Expr> args);
  Expr computedIndex(SymExpr value);
  void collectDims(SymExpr e, DimSet &dims) const;

  mlir::MLIRContext *context;
  std::map<std::string, SymExpr> sizes;
  std::map<std::string, GatherIndex> gathers;
  std::set<std::string> reserved;
  llvm::DenseMap<size_t, llvm::SmallVector<Expr, 1>> table;
  std::vector<std::unique_ptr<ExprNode>> nodes;
};

/// Calls `visit` once per node, operands first; `enter` says whether to visit a node's operands.
void visitExprs(llvm::ArrayRef<Expr> roots, const std::function<void(Expr)> &visit,
                const std::function<bool(Expr)> &enter = nullptr);

/// A short name of an expression for messages.
std::string describe(Expr e);

} // namespace tessera

#endif
