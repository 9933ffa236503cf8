//===- Blocks.cpp - Which blocks of a stream count, and without masks -----===//
//
// A block may be left out if it adds nothing to any state: each contribution has a mask that is
// closed all over it. It may go without masks if all are open. Conditions on indices give ranges of
// the stream; comparisons of integer data, and conditions that leave holes in a range, are tested
// block by block.
//
//===----------------------------------------------------------------------===//
#include "Blocks.h"

#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace tessera;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {
/// Conditions that empty a contribution to a state, found where they stand: -inf added in an
/// exponent, 0 as a factor.
struct Masks {
  /// Where-node → its condition (negated nodes are left alone).
  llvm::MapVector<Expr, Expr> conditionOf;

  void inExponent(Expr e) {
    if (e->kind != ExprNode::Map)
      return;
    if (e->op == ScalarOp::Add || e->op == ScalarOp::Sub) {
      inExponent(e->args[0]);
      if (e->op == ScalarOp::Add)
        inExponent(e->args[1]);
    }
    if (e->op == ScalarOp::Where && e->args[2]->isConstant(-inf)) {
      conditionOf[e] = e->args[0];
      inExponent(e->args[1]);
    }
  }
  void inProduct(Expr e) {
    if (e->kind != ExprNode::Map)
      return;
    if (e->op == ScalarOp::Mul) {
      inProduct(e->args[0]);
      inProduct(e->args[1]);
    }
    if (e->op == ScalarOp::Div)
      inProduct(e->args[0]);
    if (e->op == ScalarOp::Exp)
      inExponent(e->args[0]);
    if (e->op == ScalarOp::Where && e->args[2]->isConstant(0)) {
      conditionOf[e] = e->args[0];
      inProduct(e->args[1]);
    }
  }
};

/// Whether the value follows an indicator of this pass: before a block is computed it is not
/// known.
bool isRunning(const KernelPlan &plan, Expr e, unsigned pass) {
  bool found = false;
  visitExprs({e}, [&](Expr x) {
    found |= x->kind == ExprNode::State && plan.states[x->state].isIndicator &&
             plan.states[x->state].pass == pass;
  });
  return found;
}

} // namespace

bool tessera::readsData(Expr e) {
  bool reads = false;
  visitExprs({e}, [&](Expr x) { reads |= x->kind == ExprNode::Load; });
  return reads;
}

bool tessera::isDecided(Expr e) {
  bool reduces = false;
  visitExprs({e}, [&](Expr x) { reduces |= x->kind == ExprNode::Reduce; });
  if (reduces || !e->type.isInteger(1))
    return false;
  if (e->kind != ExprNode::Map)
    return true;
  switch (e->op) {
  case ScalarOp::And:
  case ScalarOp::Or:
    return isDecided(e->args[0]) && isDecided(e->args[1]);
  case ScalarOp::Not:
    return isDecided(e->args[0]);
  case ScalarOp::Eq:
  case ScalarOp::Ne:
    if (e->args[0]->type.isInteger(1))
      return isDecided(e->args[0]) && isDecided(e->args[1]);
    [[fallthrough]];
  case ScalarOp::Lt:
  case ScalarOp::Le:
  case ScalarOp::Gt:
  case ScalarOp::Ge:
    return e->args[0]->type.isSignlessInteger() && !e->args[0]->type.isInteger(1);
  default:
    return false;
  }
}

/// Conditions on indices alone are solved, or tested if `testsHoles` and they leave holes.
static Blocks analyse(ExprPool &pool, const KernelPlan &plan, unsigned pass, bool testsHoles) {
  const std::string &n = plan.stream.back();
  SymExpr size = pool.dimSize(n);
  DimSet parallel;
  for (const KernelDim &dim : plan.dims)
    if (dim.role == sched::kParallel)
      parallel.insert(dim.name);
  MaskRange everything{{SymExpr(0), size}, Interval{SymExpr(0), size}};
  std::optional<Interval> live;
  MaskRange full = everything;
  Blocks blocks;
  std::set<Expr> solved, tested;
  bool allTested = true;
  auto contribution = [&](const Masks &found) {
    MaskRange mine = everything;
    std::vector<Expr> conditions;
    bool isTested = false;
    for (auto &[where, condition] : found.conditionOf) {
      MaskRange range = maskRange(pool, condition, n, size, parallel);
      mine.live = intersect(mine, range).live;
      bool isDecidable = isDecided(condition);
      if (range.full && !readsData(condition) && !(testsHoles && isDecidable && range.hasHoles)) {
        solved.insert(where);
        mine.full = intersect(mine, range).full;
        conditions.push_back(condition);
      } else if (isDecidable) {
        tested.insert(where);
        conditions.push_back(condition);
        isTested = true;
      }
    }
    allTested &= isTested;
    if (llvm::find(blocks.tests, conditions) == blocks.tests.end())
      blocks.tests.push_back(conditions);
    full = intersect(full, mine);
    live =
        live ? Interval{SymExpr::min(live->lo, mine.live.lo), SymExpr::max(live->hi, mine.live.hi)}
             : mine.live;
  };
  for (const StreamState &state : plan.states) {
    if (!state.used || state.pass != pass || state.isGauge)
      continue;
    Masks found;
    // An indicator also holds where all is masked.
    if (const StreamState *weight = plan.weightOf(state))
      found.inExponent(weight->exponent);
    if (state.monoid == ReduceOp::Sum)
      found.inProduct(state.value);
    else if (state.monoid == ReduceOp::Max)
      found.inExponent(state.value);
    found.conditionOf.remove_if([&](auto &entry) { return isRunning(plan, entry.second, pass); });
    contribution(found);
  }
  for (const KernelOutput &output : plan.outputs)
    if (output.pass == static_cast<int>(pass))
      contribution(Masks());
  blocks.live = live.value_or(everything.live);
  blocks.masks = solved;
  if (!allTested || blocks.tests.empty()) {
    if (testsHoles)
      return analyse(pool, plan, pass, /*testsHoles=*/false);
    blocks.tests.clear();
    blocks.full = *full.full;
    return blocks;
  }
  blocks.masks.insert(tested.begin(), tested.end());
  blocks.full = {SymExpr(0), size};
  return blocks;
}

Blocks tessera::analyseBlocks(ExprPool &pool, const KernelPlan &plan, unsigned pass) {
  return analyse(pool, plan, pass, plan.visit != KernelPlan::Visit::Range);
}
