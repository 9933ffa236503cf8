//===- KernelPlan.h - One kernel on its way to Schedule IR -----*- C++ -*-===//
//
// What planning decides about a kernel: its outputs as expressions, its dimensions and their roles,
// the states that a stream carries and in which pass, and why. Emission writes it down as a
// `sched.kernel`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_KERNELPLAN_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_KERNELPLAN_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Fusion/Expr.h"
#include "tessera/Fusion/Separation.h"

#include <optional>

namespace tessera {

/// A value carried along a stream; an ExprNode::State refers to it by number.
struct StreamState {
  bool isGauge = false;
  bool isIndicator =
      false; ///< gauge: what is relative to it counts only where the exponent is the gauge
  ReduceOp monoid = ReduceOp::Sum;
  Expr exponent = nullptr; ///< gauge: what it follows
  double scale = 1;        ///< gauge: weights are e^(scale · (exponent - gauge))
  int gauge = -1;          ///< accumulator: the gauge it is relative to
  Expr value = nullptr; ///< accumulator: what is joined (its weight left out, an indicator's gauge
                        ///< written in)
  unsigned pass = 0;
  bool used = false;
  Expr node = nullptr;
  std::optional<mlir::Location> loc; ///< of the reduction that it is for
};

struct KernelOutput {
  mlir::Value value;          ///< the graph value that is stored; null where it is checked
  mlir::Type type;            ///< of the memory that it is stored in
  std::vector<SymExpr> index; ///< where, over the dimensions
  Expr expr = nullptr;        ///< the element
  int pass = -1;              ///< the pass that stores it, -1: after the last
  Expr resolved = nullptr;    ///< the element in terms of states
  bool isSum = false;         ///< it is added to what is there, in the order of the stream
  bool isUnordered = false;   ///< a sum in any order, without a stream
  mlir::Operation *check =
      nullptr; ///< a check: its condition and, as the next output, the reported value
};

struct KernelDim {
  std::string name;
  SymExpr size;
  llvm::StringRef role;
};

struct KernelPlan {
  std::vector<KernelOutput> outputs;
  std::vector<std::string> stream; ///< stream dimensions, outermost first
  std::vector<StreamState> states;
  unsigned passes = 0;
  std::vector<KernelDim> dims; ///< canonical order
  bool padsRows = false;       ///< it copies an operand of a contraction with unaligned rows
  /// How the loop visits blocks of which data, or more than a range, decide whether they count: it
  /// tests each one, or they were found before it.
  enum class Visit : uint8_t { Tests, Range, List };
  Visit visit = Visit::Tests;
  std::vector<std::string> notes;

  /// The gauge of the exponential that weighs what the state joins, if there is one.
  const StreamState *weightOf(const StreamState &state) const {
    return state.gauge >= 0 && !states[state.gauge].isIndicator ? &states[state.gauge] : nullptr;
  }
  DimSet streamSet() const { return DimSet(stream.begin(), stream.end()); }
};

/// A graph value that has to be stored because a kernel cannot contain it, and why.
struct Cut {
  mlir::Value value;
  std::string reason;
  bool exactly = false; ///< no other value computed from it will do
};

/// Finds the stream, unifies reductions with it, and separates them into passes. On failure says
/// what to cut.
std::optional<Cut> planStreams(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                               KernelPlan &plan);

/// Whether `e` reduces over exactly the plan's stream.
bool isLevel(const KernelPlan &plan, Expr e);

/// Whether one of the expressions needs a reduction over the stream.
bool walksStream(const KernelPlan &plan, llvm::ArrayRef<Expr> exprs);

/// Whether several passes along the stream would compute one of the expressions, and each time from
/// several elements of one tensor.
bool repeatsStencil(const KernelPlan &plan, llvm::ArrayRef<Expr> exprs);

} // namespace tessera

#endif
