//===- Levels.cpp - Reductions along the stream into passes and states ----===//
//
// Each level is separated from the statistics that it uses (Separation.h). Its sums become states
// of the stream, and its value an expression of them; a level that cannot be separated goes to the
// next pass, where those statistics are known.
//
//===----------------------------------------------------------------------===//
#include "Levels.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tessera/Dialect/Graph/IR/Joint.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

namespace {
/// Assigns passes to levels and resolves them to states.
class Levels {
public:
  Levels(ExprPool &pool, KernelPlan &plan, bool free) : pool(pool), plan(plan), free(free) {}

  std::optional<Cut> run() {
    std::vector<Expr> roots, levels;
    for (const KernelOutput &output : plan.outputs)
      roots.push_back(output.expr);
    visitExprs(roots, [&](Expr e) {
      if (isLevel(plan, e))
        levels.push_back(e);
    });
    findReferences(levels);
    for (Expr level : levels) {
      int pass = 0;
      visitExprs(
          {level->args[0]},
          [&](Expr e) {
            if (isLevel(plan, e))
              pass = std::max(pass, passOf[e]);
          },
          [&](Expr e) { return !isLevel(plan, e); });
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

  /// Maxima from which exponents of another level are subtracted, and that are stored for nothing
  /// else: the gauge of these exponents takes their place.
  void findReferences(llvm::ArrayRef<Expr> levels) {
    for (Expr level : levels)
      visitExprs({level->args[0]}, [&](Expr e) {
        mlir::Operation *op = e->origin ? e->origin.getDefiningOp() : nullptr;
        if (e != level && e->monoid == ReduceOp::Max && level->monoid == ReduceOp::Sum && op &&
            isLevel(plan, e) && op->hasAttr(gir::kReferenceAttr))
          references.insert(e);
      });
  }

  bool separateLevel(Expr level, int pass) {
    Separator sep = separator(pass);
    levelLoc = level->loc;
    if (pool.strict) {
      // Which elements are chosen is a matter of comparisons alone.
      if (Expr value = extremumOfChosen(level, sep, pass)) {
        pairs[level] = {Linear(), value};
        return true;
      }
      if (sep.hasR(level->args[0])) {
        reason = "strict numerics leave " + describe(level) + " of a statistic as it is";
        return false;
      }
      pairs[level] = {Linear(),
                      accumulator(level->monoid, -1, knownResolved(level->args[0], sep), pass)};
      return true;
    }
    if (level->monoid == ReduceOp::Sum) {
      auto terms = sep.separateSum(level->args[0]);
      if (!terms) {
        reason = sep.reason;
        return false;
      }
      if (free && terms->size() > 1 && sep.hasR(level->args[0])) {
        reason = "the row is at hand, and " + describe(level) +
                 " is one sum once its statistics are known";
        return false;
      }
      if (sep.hasR(level->args[0]) && takesSeveralProducts(level, *terms, sep, pass)) {
        reason = describe(level) + " is one sum of products once its statistics are known";
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
      if (references.count(level) && !sep.hasR(level->args[0])) {
        const StreamState &gauge = plan.states[gaugeFor(knownResolved(level->args[0], sep), pass)];
        Linear value;
        value.add(gauge.node, gauge.scale);
        pairs[level] = {Linear(), value.build(pool, level->type)};
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
    pairs[level] = {Linear(),
                    accumulator(level->monoid, -1, knownResolved(level->args[0], sep), pass)};
    return true;
  }

  /// Whether a level takes several sums of products with the same weights, none of which is a state
  /// already. Each needs the accumulators and the time of a contraction.
  bool takesSeveralProducts(Expr level, llvm::ArrayRef<SeparatedTerm> terms, Separator &sep,
                            int pass) {
    DimSet stream = plan.streamSet();
    std::vector<const SeparatedTerm *> products;
    for (const SeparatedTerm &term : terms) {
      DimSet dims = term.b->dims, weights = term.beta.build(pool, term.b->type)->dims;
      dims.insert(weights.begin(), weights.end());
      bool hasSides = false;
      visitExprs({term.b}, [&](Expr e) {
        hasSides |= e->kind == ExprNode::Load && e->dependsOn(stream) &&
                    !llvm::includes(e->dims, level->dims);
      });
      Expr value = knownResolved(term.b, sep);
      bool isThere = llvm::any_of(plan.states, [&](const StreamState &state) {
        return state.value == value && state.pass == unsigned(pass);
      });
      if (hasSides && !isThere && llvm::includes(dims, level->dims))
        products.push_back(&term);
    }
    return llvm::any_of(products, [&](const SeparatedTerm *term) {
      return llvm::count_if(products, [&](const SeparatedTerm *other) {
               return other->beta == term->beta;
             }) > 1;
    });
  }

  /// An extremum of what is chosen where x is its own extremum m, and of `other` elsewhere; null if
  /// it is not of that form.
  Expr extremumOfChosen(Expr level, Separator &sep, int pass) {
    Expr body = level->args[0];
    bool isExtremum = level->monoid == ReduceOp::Max || level->monoid == ReduceOp::Min;
    if (!isExtremum || !body->isMap(ScalarOp::Where) || level->type.isInteger(1))
      return nullptr;
    Expr condition = body->args[0], chosen = body->args[1], other = body->args[2];
    Expr m = sep.indicatorOf(condition), unit = pool.identity(level->monoid, level->type);
    if (!m && other == unit)
      m = sep.indicatorOrNanOf(condition);
    if (!m || sep.hasR(chosen) || sep.hasX(other) || sep.hasR(other))
      return nullptr;
    if (other != unit && (pool.strict || condition->isMap(ScalarOp::And)))
      return nullptr;
    int gauge = indicatorFor(m, sep, pass);
    // The gauge is the maximum itself, which nothing else has to carry.
    if (m->monoid == ReduceOp::Max)
      pairs[m] = {Linear(), plan.states[gauge].node};
    Expr value = pool.map(ScalarOp::Where, {condition, chosen, unit}, body->loc);
    Expr state = accumulator(level->monoid, gauge, relativeTo(gauge, m, value, sep), pass);
    if (other == unit)
      return state;
    // Something is not chosen unless all x are equal.
    ReduceOp opposite = m->monoid == ReduceOp::Max ? ReduceOp::Min : ReduceOp::Max;
    Expr least = accumulator(opposite, -1, knownResolved(m->args[0], sep), pass);
    Expr isMixed = pool.map(ScalarOp::Ne, {least, sep.valueOf(m)}, level->loc);
    Expr joined =
        pool.map(reduceOpCombiner(level->monoid), {state, sep.valueOf(other)}, level->loc);
    return pool.map(ScalarOp::Where, {isMixed, joined, state}, level->loc);
  }

  /// The gauge that follows x, of which m is the extremum. A minimum is the maximum of -x; of
  /// integers, which do not all have that, of ~x.
  int indicatorFor(Expr m, Separator &sep, unsigned pass) {
    Expr exponent = knownResolved(m->args[0], sep);
    ScalarOp opposite = llvm::isa<mlir::FloatType>(m->type) ? ScalarOp::Neg : ScalarOp::Not;
    if (m->monoid == ReduceOp::Min)
      exponent = pool.map(opposite, {exponent}, m->loc);
    for (size_t i = 0; i < plan.states.size(); ++i)
      if (plan.states[i].isIndicator && plan.states[i].exponent == exponent &&
          plan.states[i].pass == pass)
        return i;
    StreamState state;
    state.isGauge = state.isIndicator = true;
    state.exponent = exponent;
    return addState(state, exponent, pass);
  }

  /// A value that compares with the gauge where it compared x with m.
  Expr relativeTo(int gauge, Expr m, Expr value, Separator &sep) {
    Expr exponent = plan.states[gauge].exponent;
    Expr equal = pool.map(ScalarOp::Eq, {exponent, plan.states[gauge].node}, m->loc);
    Expr relative = pool.rewrite(value, [&](Expr e) -> Expr {
      if (sep.indicatorOrNanOf(e) == m)
        return pool.map(ScalarOp::Or, {equal, pool.map(ScalarOp::IsNan, {exponent}, m->loc)},
                        m->loc);
      return llvm::is_contained(e->args, m) ? equal : nullptr;
    });
    return knownResolved(relative, sep);
  }

  /// factor · value. Where the factor is chosen to be zero, the product is zero for any value, also
  /// for NaN: the program chose before it summed.
  Expr scaled(Expr factor, Expr value) {
    if (factor->isMap(ScalarOp::Mul))
      return scaled(factor->args[0], scaled(factor->args[1], value));
    if (!factor->isMap(ScalarOp::Where))
      return pool.mul(factor, value);
    Expr first = factor->args[1], second = factor->args[2];
    if (!first->isConstant(0) && !second->isConstant(0))
      return pool.mul(factor, value);
    auto part = [&](Expr e) { return e->isConstant(0) ? e : scaled(e, value); };
    return pool.map(ScalarOp::Where, {factor->args[0], part(first), part(second)}, factor->loc);
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
        mu = pool.cast(pool.index(count, mlir::IntegerType::get(level->type.getContext(), 64)),
                       level->type, false, level->loc);
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
      parts.push_back({lambda, scaled(t.a, mu)});
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
      if (plan.states[i].isGauge && !plan.states[i].isIndicator &&
          plan.states[i].exponent == exponent && plan.states[i].scale == scale &&
          plan.states[i].pass == pass)
        return i;
    StreamState state;
    state.isGauge = true;
    state.exponent = exponent;
    state.scale = scale;
    return addState(state, exponent, pass);
  }

  /// Takes a positive constant factor out of an exponent, so that it can be applied after the gauge
  /// is subtracted.
  Expr withoutScale(Expr e, double &scale) {
    auto isFactor = [](Expr x) {
      return x->kind == ExprNode::Constant && x->number > 0 && std::isfinite(x->number);
    };
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
    if (e->isMap(ScalarOp::Where) &&
        e->args[2]->isConstant(-std::numeric_limits<double>::infinity()))
      return pool.map(ScalarOp::Where, {e->args[0], withoutScale(e->args[1], scale), e->args[2]},
                      e->loc);
    return e;
  }

  Expr accumulator(ReduceOp monoid, int gauge, Expr value, unsigned pass) {
    for (StreamState &state : plan.states)
      if (!state.isGauge && state.monoid == monoid && state.gauge == gauge &&
          state.value == value && state.pass == pass)
        return state.node;
    StreamState state;
    state.monoid = monoid;
    state.gauge = gauge;
    state.value = value;
    return plan.states[addState(state, value, pass)].node;
  }

  int addState(StreamState state, Expr of, unsigned pass) {
    state.pass = pass;
    state.loc = levelLoc;
    DimSet dims = of->dims;
    if (state.gauge >= 0)
      dims.insert(plan.states[state.gauge].node->dims.begin(),
                  plan.states[state.gauge].node->dims.end());
    for (const std::string &dim : plan.stream)
      dims.erase(dim);
    state.node = pool.state(plan.states.size(), of->type, dims);
    plan.states.push_back(state);
    return plan.states.size() - 1;
  }

  /// With levels of earlier passes replaced by their values.
  Expr knownResolved(Expr e, Separator &sep) {
    return pool.rewrite(
        e, [&](Expr x) -> Expr { return isLevel(plan, x) ? sep.valueOf(pairs.at(x)) : nullptr; });
  }

  void resolveOutput(KernelOutput &output) {
    Separator sep = separator(0);
    // An element that does not depend on the stream is still stored along it if its index does.
    bool streamed = output.expr->dependsOn(plan.streamSet());
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
      streamed |= place.value->dependsOn(plan.streamSet());
    for (SymExpr e : output.index) {
      std::set<std::string> names;
      e.collectSymbols(names);
      for (const std::string &dim : plan.stream)
        streamed |= names.count(dim) != 0;
    }
    if (!streamed) {
      output.resolved = pool.strict ? knownResolved(output.expr, sep) : sep.valueOf(output.expr);
      return;
    }
    int pass = -1;
    visitExprs(
        {output.expr},
        [&](Expr e) {
          if (isLevel(plan, e))
            pass = std::max(pass, passOf[e]);
        },
        [&](Expr e) { return !isLevel(plan, e); });
    output.pass = pass + 1;
    plan.passes = std::max(plan.passes, static_cast<unsigned>(output.pass + 1));
    // Fold the statistics' exponents into exponents of stream elements where they meet: exp(s - m)
    // / l.
    output.resolved =
        pool.strict ? knownResolved(output.expr, sep) : resolveStored(output.expr, sep);
  }

  /// A stored element that mixes the stream and statistics. A product of exponentials is rebuilt
  /// with one exponent, in which the user's own reference has cancelled against the gauge.
  Expr resolveStored(Expr e, Separator &sep) {
    auto it = storedForms.find(e);
    return it != storedForms.end() ? it->second : storedForms[e] = computeStored(e, sep);
  }
  Expr computeStored(Expr e, Separator &sep) {
    if (!sep.hasX(e))
      return sep.valueOf(e);
    if (!sep.hasR(e))
      return e;
    if (e->kind == ExprNode::Scan)
      return pool.scan(e->monoid, e->over[0], resolveStored(e->args[0], sep), e->loc, e->origin,
                       e->args.size() > 1 ? resolveStored(e->args[1], sep) : nullptr,
                       int64_t(e->number));
    if (e->kind == ExprNode::Sort)
      return pool.sort(e->over[0], resolveStored(e->args[0], sep), e->loc, e->origin);
    if (e->kind == ExprNode::Cast)
      return pool.cast(resolveStored(e->args[0], sep), e->type, e->isExplicit, e->loc);
    if (e->isMap(ScalarOp::Where) && !sep.hasX(e->args[0]))
      return pool.map(
          ScalarOp::Where,
          {sep.valueOf(e->args[0]), resolveStored(e->args[1], sep), resolveStored(e->args[2], sep)},
          e->loc);
    auto terms = sep.separateSum(e);
    if (terms && terms->size() == 1 && !terms->front().beta.isZero()) {
      SeparatedTerm &t = terms->front();
      double scale = 1;
      Expr exponent = withoutScale(t.beta.build(pool, e->type), scale);
      Linear rest = t.alpha;
      // Against its own gauge the exponent is subtracted first, as the weights were.
      bool isWeight = false;
      for (const StreamState &state : plan.states)
        if (state.isGauge && state.exponent == exponent && state.scale == scale &&
            rest.terms.count(state.node->id) && rest.terms[state.node->id].second == -scale) {
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
    return pool.rewrite(e,
                        [&](Expr x) -> Expr { return x == e ? nullptr : resolveStored(x, sep); });
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
  bool free;
  std::set<Expr> references;
  std::map<Expr, int> passOf;
  std::map<Expr, ExpPair> pairs;
  std::map<Expr, Expr> storedForms; ///< answers of resolveStored
  std::string reason;
  std::optional<mlir::Location> levelLoc; ///< of the reduction whose states are made
};
} // namespace

std::optional<Cut> tessera::planLevels(ExprPool &pool, KernelPlan &plan, bool free) {
  return Levels(pool, plan, free).run();
}
