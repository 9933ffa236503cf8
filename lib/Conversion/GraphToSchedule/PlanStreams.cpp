//===- PlanStreams.cpp - From nested reductions to passes of a stream -----===//
//
// 1. Choose the stream: the dimensions of the heaviest outermost reduction. If the outputs use the same elements along
//    one of their own dimensions, that dimension is the stream (a stored row).
// 2. Unify: every other reduction whose body, renamed to the stream, meets elements that are there already, runs along
//    the stream too and is a level. What remains are inner reductions, done inside a block.
// 3. Separate each level (Separation.h). A level that cannot be separated from the statistics it uses goes to the
//    next pass; a stored element that uses statistics goes behind them.
//
//===----------------------------------------------------------------------===//
#include "KernelPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

bool tessera::isLevel(const KernelPlan &plan, Expr e) {
  return e->kind == ExprNode::Reduce && !plan.stream.empty() &&
         DimSet(e->over.begin(), e->over.end()) == plan.streamSet();
}

static std::vector<Expr> outputExprs(const KernelPlan &plan) {
  std::vector<Expr> result;
  for (const KernelOutput &output : plan.outputs)
    result.push_back(output.expr);
  return result;
}

static std::vector<Expr> allReductions(const KernelPlan &plan) {
  std::vector<Expr> result;
  visitExprs(outputExprs(plan), [&](Expr e) {
    if (e->kind == ExprNode::Reduce)
      result.push_back(e);
  });
  return result;
}

/// How many scalar steps a reduction takes, by typical sizes.
static double work(const ExprPool &pool, const SizeFacts &facts, Expr reduce) {
  double steps = 1;
  for (const std::string &dim : reduce->dims)
    steps *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  for (const std::string &dim : reduce->over)
    steps *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  return steps;
}

namespace {
/// Elements (loads and reductions) that depend on one of `dims`, over all expressions.
llvm::DenseSet<Expr> elementsAlong(llvm::ArrayRef<Expr> roots, const DimSet &dims) {
  llvm::DenseSet<Expr> result;
  visitExprs(roots, [&](Expr e) {
    if ((e->kind == ExprNode::Load || e->kind == ExprNode::Reduce) && e->dependsOn(dims))
      result.insert(e);
  });
  return result;
}

/// A renaming of `from` onto `to` by equal sizes in order, if there is one.
std::optional<std::map<std::string, SymExpr>> renaming(const ExprPool &pool, const std::vector<std::string> &from,
                                                       const std::vector<std::string> &to) {
  if (from.size() != to.size())
    return std::nullopt;
  std::map<std::string, SymExpr> map;
  for (size_t i = 0; i < from.size(); ++i) {
    if (pool.dimSize(from[i]) != pool.dimSize(to[i]))
      return std::nullopt;
    map.emplace(from[i], SymExpr::symbol(to[i]));
  }
  return map;
}

/// Whether renaming `from` to `to` inside `e` would run into a reduction that binds `to` already.
bool wouldCapture(Expr e, const DimSet &from, const DimSet &to) {
  bool found = false;
  visitExprs({e}, [&](Expr x) {
    if (x->kind == ExprNode::Reduce && x->dependsOn(from))
      for (const std::string &dim : x->over)
        found |= to.count(dim) != 0;
  });
  return found;
}

void replaceEverywhere(ExprPool &pool, KernelPlan &plan, Expr from, Expr to) {
  for (KernelOutput &output : plan.outputs)
    output.expr = pool.rewrite(output.expr, [&](Expr e) -> Expr { return e == from ? to : nullptr; });
}

void chooseStream(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan) {
  Expr primary = nullptr;
  visitExprs(
      outputExprs(plan),
      [&](Expr e) {
        if (e->kind == ExprNode::Reduce && (!primary || work(pool, facts, e) > work(pool, facts, primary)))
          primary = e;
      },
      [](Expr e) { return e->kind != ExprNode::Reduce; });
  if (!primary)
    return;
  plan.stream = primary->over;

  // A stored row: the outputs meet the reduced elements along a dimension of their own.
  if (plan.stream.size() == 1) {
    DimSet candidates;
    for (const KernelOutput &output : plan.outputs)
      candidates.insert(output.expr->dims.begin(), output.expr->dims.end());
    for (const std::string &candidate : candidates) {
      if (pool.dimSize(candidate) != pool.dimSize(plan.stream[0]) || primary->args[0]->dims.count(candidate) ||
          wouldCapture(primary->args[0], plan.streamSet(), {candidate}))
        continue;
      Expr renamed = pool.substitute(primary->args[0], {{plan.stream[0], SymExpr::symbol(candidate)}});
      auto there = elementsAlong(outputExprs(plan), {candidate});
      bool shared = false;
      for (Expr e : elementsAlong({renamed}, {candidate}))
        shared |= there.count(e);
      if (!shared)
        continue;
      plan.stream = {candidate};
      replaceEverywhere(pool, plan, primary,
                        pool.reduce(primary->monoid, plan.stream, renamed, primary->loc, primary->origin));
      break;
    }
  }
}

void unifyLevels(ExprPool &pool, KernelPlan &plan) {
  DimSet stream = plan.streamSet();
  for (bool changed = true; changed;) {
    changed = false;
    auto there = elementsAlong(outputExprs(plan), stream);
    for (Expr r : allReductions(plan)) {
      if (isLevel(plan, r) || r->dependsOn(stream) || r->args[0]->dependsOn(stream) ||
          wouldCapture(r->args[0], DimSet(r->over.begin(), r->over.end()), stream))
        continue;
      std::vector<std::string> over = r->over;
      std::sort(over.begin(), over.end());
      std::optional<std::map<std::string, SymExpr>> found;
      do {
        auto map = renaming(pool, over, plan.stream);
        if (!map)
          continue;
        Expr renamed = pool.substitute(r->args[0], *map);
        for (Expr e : elementsAlong({renamed}, stream))
          if (there.count(e)) {
            found = map;
            break;
          }
      } while (!found && std::next_permutation(over.begin(), over.end()));
      if (!found)
        continue;
      Expr body = pool.substitute(r->args[0], *found);
      replaceEverywhere(pool, plan, r, pool.reduce(r->monoid, plan.stream, body, r->loc, r->origin));
      changed = true;
      break;
    }
  }
  // One spelling of the stream for all levels.
  for (Expr r : allReductions(plan))
    if (isLevel(plan, r) && r->over != plan.stream)
      replaceEverywhere(pool, plan, r, pool.reduce(r->monoid, plan.stream, r->args[0], r->loc, r->origin));
}

bool containsReduction(Expr e) {
  bool found = false;
  visitExprs({e}, [&](Expr x) { found |= x->kind == ExprNode::Reduce; });
  return found;
}

/// How many tiles share the levels' results: those along dimensions that only outputs have.
double tilesBeside(ExprPool &pool, const SizeFacts &facts, const KernelPlan &plan, const DimSet &outputDims) {
  DimSet known = plan.streamSet();
  for (Expr r : allReductions(plan))
    if (isLevel(plan, r))
      known.insert(r->dims.begin(), r->dims.end());
  double elements = 1;
  for (const std::string &dim : outputDims)
    if (!known.count(dim))
      elements *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  return std::ceil(elements / 256);
}

/// Inner reductions must be simple, and computing them again for every tile must be worth it.
std::optional<Cut> checkInner(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan) {
  DimSet outputDims;
  for (const KernelOutput &output : plan.outputs)
    outputDims.insert(output.expr->dims.begin(), output.expr->dims.end());
  double total = 0;
  for (const KernelOutput &output : plan.outputs) {
    double elements = 8;
    for (const std::string &dim : output.expr->dims)
      elements *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
    total += elements;
  }
  std::vector<Expr> reductions = allReductions(plan);
  for (Expr r : reductions)
    total += work(pool, facts, r);
  for (auto it = reductions.rbegin(); it != reductions.rend(); ++it) {
    Expr r = *it;
    if (isLevel(plan, r)) {
      if (tilesBeside(pool, facts, plan, outputDims) * work(pool, facts, r) > 1.15 * total)
        return Cut{r->origin, "computing it again for every tile would cost more than storing it"};
      continue;
    }
    // Behind the stream it may use statistics and other reductions, if these have none of its dimensions.
    DimSet over(r->over.begin(), r->over.end());
    bool isBehind = !r->args[0]->dependsOn(plan.streamSet());
    bool nested = false;
    visitExprs(
        {r->args[0]},
        [&](Expr e) {
          if (e->kind == ExprNode::Reduce)
            nested |= e->dependsOn(over) || (!isBehind && (isLevel(plan, e) || containsReduction(e->args[0])));
        },
        [&](Expr e) { return !isLevel(plan, e); });
    if (nested)
      return Cut{r->origin, "it is a cascade of its own"};
    // How often it is computed: once per tile of every parallel dimension that it lacks.
    double repeats = 1;
    for (const std::string &dim : outputDims)
      if (!r->dims.count(dim) && !plan.streamSet().count(dim)) {
        int64_t size = std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
        repeats *= std::ceil(size / (size <= 256 ? double(size) : 128.0));
      }
    double mine = work(pool, facts, r);
    if ((repeats - 1) * mine > 0.15 * (total - mine))
      return Cut{r->origin, "computing it again for every tile would cost more than storing it"};
  }
  return std::nullopt;
}

/// Assigns passes to levels and resolves them to states.
class Levels {
public:
  Levels(ExprPool &pool, KernelPlan &plan) : pool(pool), plan(plan) {}

  std::optional<Cut> run() {
    std::vector<Expr> levels;
    for (Expr r : allReductions(plan))
      if (isLevel(plan, r))
        levels.push_back(r);
    for (Expr level : levels) {
      int pass = 0;
      visitExprs({level->args[0]}, [&](Expr e) {
        if (isLevel(plan, e))
          pass = std::max(pass, passOf[e]);
      }, [&](Expr e) { return !isLevel(plan, e); });
      if (!separateLevel(level, pass)) {
        if (!separateLevel(level, pass + 1))
          return Cut{level->origin, reason};
        plan.notes.push_back("pass " + std::to_string(pass + 1) + " starts because " + reason);
        ++pass;
      }
      passOf[level] = pass;
      plan.passes = std::max(plan.passes, static_cast<unsigned>(pass + 1));
    }
    for (KernelOutput &output : plan.outputs)
      resolveOutput(output);
    markUsed();
    return std::nullopt;
  }

private:
  Separator separator(int pass) {
    return Separator(
        pool, plan.streamSet(),
        [this, pass](Expr e) {
          if (!isLevel(plan, e))
            return Separator::LevelKind::None;
          auto it = passOf.find(e);
          bool same = it == passOf.end() || it->second >= pass;
          return same ? Separator::LevelKind::Statistic : Separator::LevelKind::Known;
        },
        [this](Expr e) { return pairs.at(e); });
  }

  bool separateLevel(Expr level, int pass) {
    Separator sep = separator(pass);
    if (level->monoid == ReduceOp::Sum) {
      auto terms = sep.separateSum(level->args[0]);
      if (!terms) {
        reason = sep.reason;
        return false;
      }
      pairs[level] = finalise(level, *terms, pass);
      return true;
    }
    if (level->monoid == ReduceOp::Max || level->monoid == ReduceOp::Min) {
      if (Expr value = extremumOfChosen(level, sep, pass)) {
        pairs[level] = {Linear(), value};
        return true;
      }
      auto parts = sep.separateExtremum(level->args[0]);
      if (!parts) {
        reason = sep.reason;
        return false;
      }
      Linear sum = parts->first;
      sum.add(accumulator(level->monoid, -1, knownResolved(parts->second, sep), pass), 1);
      pairs[level] = {Linear(), sum.build(pool, level->type)};
      return true;
    }
    if (sep.hasR(level->args[0])) {
      reason = describe(level) + " of a statistic cannot be streamed";
      return false;
    }
    pairs[level] = {Linear(), accumulator(level->monoid, -1, knownResolved(level->args[0], sep), pass)};
    return true;
  }

  /// An extremum of what is chosen where x is its own extremum m, and of `other` elsewhere; null if it is not of that form.
  Expr extremumOfChosen(Expr level, Separator &sep, int pass) {
    Expr body = level->args[0];
    if (!body->isMap(ScalarOp::Where) || level->type.isInteger(1))
      return nullptr;
    Expr condition = body->args[0], chosen = body->args[1], other = body->args[2];
    Expr m = sep.indicatorOf(condition), unit = pool.unit(level->monoid, level->type);
    if (!m || sep.hasR(chosen) || sep.hasX(other) || sep.hasR(other))
      return nullptr;
    if (other != unit && condition->isMap(ScalarOp::And))
      return nullptr;
    int gauge = indicatorFor(m, sep, pass);
    Expr value = pool.map(ScalarOp::Where, {condition, chosen, unit}, body->loc);
    Expr state = accumulator(level->monoid, gauge, relativeTo(gauge, m, value, sep), pass);
    if (other == unit)
      return state;
    // Something is not chosen unless all x are equal.
    ReduceOp opposite = m->monoid == ReduceOp::Max ? ReduceOp::Min : ReduceOp::Max;
    Expr least = accumulator(opposite, -1, knownResolved(m->args[0], sep), pass);
    Expr isMixed = pool.map(ScalarOp::Ne, {least, sep.valueOf(m)}, level->loc);
    Expr joined = pool.map(reduceOpCombiner(level->monoid), {state, sep.valueOf(other)}, level->loc);
    return pool.map(ScalarOp::Where, {isMixed, joined, state}, level->loc);
  }

  /// The gauge that follows x, of which m is the extremum.
  int indicatorFor(Expr m, Separator &sep, unsigned pass) {
    Expr exponent = knownResolved(m->args[0], sep);
    if (m->monoid == ReduceOp::Min)
      exponent = pool.map(ScalarOp::Neg, {exponent}, m->loc);
    for (size_t i = 0; i < plan.states.size(); ++i)
      if (plan.states[i].isIndicator && plan.states[i].exponent == exponent && plan.states[i].pass == pass)
        return i;
    StreamState state;
    state.isGauge = state.isIndicator = true;
    state.exponent = exponent;
    return addState(state, exponent, pass);
  }

  /// A value that compares with the gauge where it compared x with m.
  Expr relativeTo(int gauge, Expr m, Expr value, Separator &sep) {
    Expr equal = pool.map(ScalarOp::Eq, {plan.states[gauge].exponent, plan.states[gauge].node}, m->loc);
    Expr relative = pool.rewrite(value, [&](Expr e) -> Expr { return llvm::is_contained(e->args, m) ? equal : nullptr; });
    return knownResolved(relative, sep);
  }

  /// The level's value e^lambda · mu from its terms: each is e^(alpha + gauge) · a · state.
  ExpPair finalise(Expr level, const std::vector<SeparatedTerm> &terms, int pass) {
    Separator sep = separator(pass);
    std::vector<ExpPair> parts;
    for (const SeparatedTerm &t : terms) {
      Linear lambda = t.alpha;
      Expr mu;
      if (t.beta.isZero() && t.b->isConstant(1)) {
        SymExpr count(1);
        for (const std::string &dim : plan.stream)
          count = count * pool.dimSize(dim);
        mu = pool.cast(pool.index(count, mlir::IntegerType::get(level->type.getContext(), 64)), level->type, false,
                       level->loc);
      } else if (t.indicator) {
        int gauge = indicatorFor(t.indicator, sep, pass);
        mu = accumulator(ReduceOp::Sum, gauge, relativeTo(gauge, t.indicator, t.b, sep), pass);
      } else {
        int gauge = -1;
        if (!t.beta.isZero()) {
          gauge = gaugeFor(knownResolved(t.beta.build(pool, level->type), sep), pass);
          lambda.add(plan.states[gauge].node, plan.states[gauge].scale);
        }
        mu = accumulator(ReduceOp::Sum, gauge, knownResolved(t.b, sep), pass);
      }
      parts.push_back({lambda, pool.mul(t.a, mu)});
    }
    if (parts.empty())
      return {Linear(), pool.constant(0, level->type)};
    bool equal = llvm::all_of(parts, [&](const ExpPair &p) { return p.lambda == parts[0].lambda; });
    ExpPair result = equal ? parts[0] : ExpPair{Linear(), sep.valueOf(parts[0])};
    for (size_t i = 1; i < parts.size(); ++i)
      result.mu = pool.add(result.mu, equal ? parts[i].mu : sep.valueOf(parts[i]));
    return result;
  }

  int gaugeFor(Expr exponent, unsigned pass) {
    double scale = 1;
    exponent = withoutScale(exponent, scale);
    for (size_t i = 0; i < plan.states.size(); ++i)
      if (plan.states[i].isGauge && !plan.states[i].isIndicator && plan.states[i].exponent == exponent &&
          plan.states[i].scale == scale && plan.states[i].pass == pass)
        return i;
    StreamState state;
    state.isGauge = true;
    state.exponent = exponent;
    state.scale = scale;
    return addState(state, exponent, pass);
  }

  /// Takes a positive constant factor out of an exponent, so that it can be applied after the gauge is subtracted.
  Expr withoutScale(Expr e, double &scale) {
    auto isFactor = [](Expr x) { return x->kind == ExprNode::Constant && x->number > 0 && std::isfinite(x->number); };
    if (e->isMap(ScalarOp::Mul))
      for (unsigned i = 0; i < 2; ++i)
        if (isFactor(e->args[i])) {
          scale *= e->args[i]->number;
          return withoutScale(e->args[1 - i], scale);
        }
    if (e->isMap(ScalarOp::Div) && isFactor(e->args[1])) {
      scale /= e->args[1]->number;
      return withoutScale(e->args[0], scale);
    }
    if (e->isMap(ScalarOp::Where) && e->args[2]->isConstant(-std::numeric_limits<double>::infinity()))
      return pool.map(ScalarOp::Where, {e->args[0], withoutScale(e->args[1], scale), e->args[2]}, e->loc);
    return e;
  }

  Expr accumulator(ReduceOp monoid, int gauge, Expr value, unsigned pass) {
    for (StreamState &state : plan.states)
      if (!state.isGauge && state.monoid == monoid && state.gauge == gauge && state.value == value &&
          state.pass == pass)
        return state.node;
    StreamState state;
    state.monoid = monoid;
    state.gauge = gauge;
    state.value = value;
    return plan.states[addState(state, value, pass)].node;
  }

  int addState(StreamState state, Expr of, unsigned pass) {
    state.pass = pass;
    DimSet dims = of->dims;
    if (state.gauge >= 0)
      dims.insert(plan.states[state.gauge].node->dims.begin(), plan.states[state.gauge].node->dims.end());
    for (const std::string &dim : plan.stream)
      dims.erase(dim);
    state.node = pool.state(plan.states.size(), of->type, dims);
    plan.states.push_back(state);
    return plan.states.size() - 1;
  }

  /// With levels of earlier passes replaced by their values.
  Expr knownResolved(Expr e, Separator &sep) {
    return pool.rewrite(e, [&](Expr x) -> Expr { return isLevel(plan, x) ? sep.valueOf(pairs.at(x)) : nullptr; });
  }

  void resolveOutput(KernelOutput &output) {
    Separator sep = separator(0);
    // An element that does not depend on the stream is still stored along it if its place does.
    bool streamed = output.expr->dependsOn(plan.streamSet());
    for (SymExpr e : output.index) {
      std::set<std::string> names;
      e.collectSymbols(names);
      for (const std::string &dim : plan.stream)
        streamed |= names.count(dim) != 0;
    }
    if (!streamed) {
      output.resolved = sep.valueOf(output.expr);
      return;
    }
    int pass = -1;
    visitExprs({output.expr}, [&](Expr e) {
      if (isLevel(plan, e))
        pass = std::max(pass, passOf[e]);
    }, [&](Expr e) { return !isLevel(plan, e); });
    output.pass = pass + 1;
    plan.passes = std::max(plan.passes, static_cast<unsigned>(output.pass + 1));
    // Fold the statistics' exponents into exponents of stream elements where they meet: exp(s - m) / l.
    output.resolved = resolveStored(output.expr, sep);
  }

  /// A stored element that mixes the stream and statistics. A product of exponentials is rebuilt with one exponent,
  /// in which the user's own reference has cancelled against the gauge.
  Expr resolveStored(Expr e, Separator &sep) {
    auto it = storedForms.find(e);
    return it != storedForms.end() ? it->second : storedForms[e] = computeStored(e, sep);
  }
  Expr computeStored(Expr e, Separator &sep) {
    if (!sep.hasX(e))
      return sep.valueOf(e);
    if (!sep.hasR(e))
      return e;
    if (e->kind == ExprNode::Cast)
      return pool.cast(resolveStored(e->args[0], sep), e->type, e->isExplicit, e->loc);
    if (e->isMap(ScalarOp::Where) && !sep.hasX(e->args[0]))
      return pool.map(ScalarOp::Where,
                      {sep.valueOf(e->args[0]), resolveStored(e->args[1], sep), resolveStored(e->args[2], sep)}, e->loc);
    auto terms = sep.separateSum(e);
    if (terms && terms->size() == 1 && !terms->front().beta.isZero()) {
      SeparatedTerm &t = terms->front();
      double scale = 1;
      Expr exponent = withoutScale(t.beta.build(pool, e->type), scale);
      Linear rest = t.alpha;
      // Against its own gauge the exponent is subtracted first, as the weights were.
      bool isWeight = false;
      for (const StreamState &state : plan.states)
        if (state.isGauge && state.exponent == exponent && state.scale == scale && rest.terms.count(state.node->id) &&
            rest.terms[state.node->id].second == -scale) {
          rest.add(state.node, scale);
          exponent = pool.sub(exponent, state.node);
          isWeight = rest.isZero();
          break;
        }
      Expr factor;
      if (isWeight) {
        exponent = pool.mul(exponent, pool.constant(scale * M_LOG2E, e->type));
        factor = pool.map(ScalarOp::Exp2, {exponent}, e->loc);
      } else {
        exponent = pool.mul(exponent, pool.constant(scale, e->type));
        if (!rest.isZero())
          exponent = pool.add(exponent, rest.build(pool, e->type));
        factor = pool.map(ScalarOp::Exp, {exponent}, e->loc);
      }
      return pool.mul(pool.mul(factor, t.b), t.a);
    }
    return pool.rewrite(e, [&](Expr x) -> Expr { return x == e ? nullptr : resolveStored(x, sep); });
  }

  void markUsed() {
    std::vector<Expr> roots;
    for (KernelOutput &output : plan.outputs)
      roots.push_back(output.resolved);
    // States of later passes may use states of earlier ones.
    for (bool changed = true; changed;) {
      changed = false;
      visitExprs(roots, [&](Expr e) {
        if (e->kind == ExprNode::State && !plan.states[e->state].used)
          changed = plan.states[e->state].used = true;
      });
      for (StreamState &state : plan.states) {
        if (!state.used)
          continue;
        if (state.gauge >= 0 && !plan.states[state.gauge].used)
          changed = plan.states[state.gauge].used = true;
        if (state.value)
          roots.push_back(state.value);
        if (state.exponent)
          roots.push_back(state.exponent);
        if (state.gauge >= 0)
          roots.push_back(plan.states[state.gauge].exponent);
      }
    }
  }

  ExprPool &pool;
  KernelPlan &plan;
  std::map<Expr, int> passOf;
  std::map<Expr, ExpPair> pairs;
  std::map<Expr, Expr> storedForms; ///< answers of resolveStored
  std::string reason;
};

/// A contraction inside a block that several passes need is computed once and stored, unless it is short.
std::optional<Cut> checkRepeatedPasses(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan) {
  std::map<Expr, std::set<int>> passesOf;
  auto note = [&](Expr root, int pass) {
    visitExprs({root}, [&](Expr e) {
      if (e->kind == ExprNode::Reduce && e->dependsOn(plan.streamSet()))
        passesOf[e].insert(pass);
    });
  };
  for (StreamState &state : plan.states)
    if (state.used) {
      note(state.value ? state.value : state.exponent, state.pass);
    }
  for (KernelOutput &output : plan.outputs)
    if (output.pass >= 0)
      note(output.resolved, output.pass);
  for (auto &[reduce, passes] : passesOf) {
    double steps = 1;
    for (const std::string &dim : reduce->over)
      steps *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
    if (passes.size() > 1 && steps > 24)
      return Cut{reduce->origin, "several passes need it and it is dear to compute"};
  }
  return std::nullopt;
}
} // namespace

std::optional<Cut> tessera::planStreams(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan) {
  chooseStream(pool, facts, plan);
  if (!plan.stream.empty())
    unifyLevels(pool, plan);
  if (auto cut = checkInner(pool, facts, plan))
    return cut;
  if (auto cut = Levels(pool, plan).run())
    return cut;
  return checkRepeatedPasses(pool, facts, plan);
}
