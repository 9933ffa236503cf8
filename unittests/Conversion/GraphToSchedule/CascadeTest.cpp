//===- CascadeTest.cpp - Streams against cascades of reductions -----------===//
//
// Executes plans of streaming fusion on numbers: cascades of reductions are planned, run block by
// block with random block boundaries and random merge trees, and compared with plain evaluation
// level by level. Known programs must be accepted in one pass, impossible ones must be rejected,
// and no random cascade may give a wrong result.
//
//===----------------------------------------------------------------------===//
#include "KernelPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "tessera/Support/ScalarEval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tessera;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();

/// A family of scalars along the stream "n" (x0, x1, …), known scalars (k0, …) and plain
/// evaluation.
class Cascade {
public:
  Cascade() : pool(&context), f64(mlir::Float64Type::get(&context)) {
    n = pool.freshDim("n", SymExpr::symbol("N"));
  }

  Expr x(int id) { return pool.load({}, {SymExpr::symbol(n), SymExpr(id)}, f64, loc()); }
  Expr k(int id) { return pool.load({}, {SymExpr(-1), SymExpr(id)}, f64, loc()); }
  Expr j() { return pool.cast(pool.index(SymExpr::symbol(n), i64()), f64, false, loc()); }
  Expr count() { return pool.cast(pool.index(SymExpr::symbol("N"), i64()), f64, false, loc()); }
  Expr c(double value) { return pool.constant(value, f64); }
  Expr fn(ScalarOp op, Expr a) { return pool.map(op, {a}, loc()); }
  Expr exp(Expr a) { return fn(ScalarOp::Exp, a); }
  Expr log(Expr a) { return fn(ScalarOp::Log, a); }
  Expr select(Expr condition, Expr a, Expr b) {
    return pool.map(ScalarOp::Where, {condition, a, b}, loc());
  }
  Expr equal(Expr a, Expr b) { return pool.map(ScalarOp::Eq, {a, b}, loc()); }
  Expr less(Expr a, Expr b) { return pool.map(ScalarOp::Lt, {a, b}, loc()); }
  Expr sum(Expr body) { return pool.reduce(ReduceOp::Sum, {n}, body, loc(), {}); }
  Expr min(Expr body) { return pool.reduce(ReduceOp::Min, {n}, body, loc(), {}); }
  Expr max(Expr body) { return pool.reduce(ReduceOp::Max, {n}, body, loc(), {}); }

  mlir::Location loc() { return mlir::UnknownLoc::get(&context); }
  mlir::Type i64() { return mlir::IntegerType::get(&context, 64); }

  /// Fills random data for a stream of the given length.
  void fill(std::mt19937 &random, int length, double scale, double offset = 0) {
    std::normal_distribution<double> normal(0, 1);
    data.assign(8, {});
    for (int id = 0; id < 8; ++id)
      for (int i = 0; i < length; ++i)
        data[id].push_back(id == 0 ? normal(random) * scale + offset : normal(random));
    known.clear();
    for (int id = 0; id < 4; ++id)
      known.push_back(std::abs(normal(random)) + 0.5);
  }

  double eval(Expr e, int64_t at) {
    switch (e->kind) {
    case ExprNode::Constant:
      return e->number;
    case ExprNode::Index:
      return static_cast<double>(number(e->index, at));
    case ExprNode::Load: {
      int64_t id = e->indices[1].constantValue();
      if (e->indices[0].isConstant(-1))
        return known[id];
      return data[id][number(e->indices[0], at)];
    }
    case ExprNode::Cast:
      return eval(e->args[0], at);
    case ExprNode::Map: {
      double args[3] = {};
      for (unsigned i = 0; i < e->args.size(); ++i)
        args[i] = eval(e->args[i], at);
      return evaluateFloat(e->op, args);
    }
    case ExprNode::Reduce: {
      auto it = levels.find(e);
      if (it != levels.end())
        return it->second;
      double result = unit(e->monoid);
      for (size_t i = 0; i < data[0].size(); ++i)
        result = join(e->monoid, result, eval(e->args[0], i));
      return levels[e] = result;
    }
    case ExprNode::Scan:
      break;
    case ExprNode::State:
      return states[e->state];
    }
    return 0;
  }

  double plain(Expr e) {
    levels.clear();
    return eval(e, 0);
  }

  /// Runs the plan with random block boundaries; partial states are merged in a random tree.
  double streamed(const KernelPlan &plan, std::mt19937 &random) {
    for (const StreamState &state : plan.states)
      visitExprs({state.isGauge ? state.exponent : state.value},
                 [&](Expr e) { EXPECT_NE(e->kind, ExprNode::Reduce); });
    states.assign(plan.states.size(), 0);
    int length = data[0].size();
    for (unsigned pass = 0; pass < plan.passes; ++pass) {
      std::vector<std::vector<double>> parts;
      for (int begin = 0; begin < length;) {
        int end = std::min<int>(length, begin + 1 + random() % 9);
        parts.push_back(block(plan, pass, begin, end));
        begin = end;
      }
      while (parts.size() > 1) {
        std::swap(parts[random() % parts.size()], parts.back());
        std::vector<double> a = parts.back();
        parts.pop_back();
        size_t other = random() % parts.size();
        parts[other] = merge(plan, pass, a, parts[other]);
      }
      for (size_t i = 0; i < plan.states.size(); ++i)
        if (plan.states[i].pass == pass)
          states[i] = parts[0][i];
    }
    levels.clear();
    return eval(plan.outputs[0].resolved, 0);
  }

  mlir::MLIRContext context;
  ExprPool pool;
  mlir::Type f64;
  std::string n;

private:
  int64_t number(SymExpr e, int64_t at) {
    return *e.evaluate([&](const std::string &name) -> std::optional<int64_t> {
      return name == n ? at : static_cast<int64_t>(data[0].size());
    });
  }
  static double unit(ReduceOp monoid) {
    return monoid == ReduceOp::Max ? -inf : monoid == ReduceOp::Min ? inf : 0;
  }
  static double join(ReduceOp monoid, double a, double b) {
    return monoid == ReduceOp::Max   ? std::max(a, b)
           : monoid == ReduceOp::Min ? std::min(a, b)
                                     : a + b;
  }

  std::vector<double> block(const KernelPlan &plan, unsigned pass, int begin, int end) {
    std::vector<double> result(plan.states.size(), 0);
    for (size_t i = 0; i < plan.states.size(); ++i) {
      const StreamState &state = plan.states[i];
      if (!state.used || state.pass != pass)
        continue;
      double total = unit(state.isGauge ? ReduceOp::Max : state.monoid);
      for (int at = begin; at < end; ++at) {
        if (state.isGauge) {
          total = std::max(total, eval(state.exponent, at));
          continue;
        }
        double weight = 1;
        if (const StreamState *gauge = plan.weightOf(state)) {
          double g = result[state.gauge];
          weight = std::exp(gauge->scale * (eval(gauge->exponent, at) - (g == -inf ? 0 : g)));
        }
        if (weight != 0)
          total = join(state.monoid, total, weight * eval(state.value, at));
      }
      result[i] = total;
      if (state.isIndicator) // the values of this block compare with it
        states[i] = total;
    }
    return result;
  }

  std::vector<double> merge(const KernelPlan &plan, unsigned pass, const std::vector<double> &a,
                            const std::vector<double> &b) {
    std::vector<double> result(a.size(), 0);
    for (size_t i = 0; i < plan.states.size(); ++i) {
      const StreamState &state = plan.states[i];
      if (!state.used || state.pass != pass)
        continue;
      if (state.isGauge) {
        result[i] = std::max(a[i], b[i]);
      } else if (plan.weightOf(state)) {
        double g = result[state.gauge] == -inf ? 0 : result[state.gauge];
        double scale = plan.states[state.gauge].scale;
        result[i] = a[i] * std::exp(scale * (a[state.gauge] - g)) +
                    b[i] * std::exp(scale * (b[state.gauge] - g));
      } else {
        auto kept = [&](const std::vector<double> &part) {
          bool counts = state.gauge < 0 || part[state.gauge] == result[state.gauge];
          return counts ? part[i] : unit(state.monoid);
        };
        result[i] = join(state.monoid, kept(a), kept(b));
      }
    }
    return result;
  }

  std::vector<std::vector<double>> data;
  std::vector<double> known;
  std::map<Expr, double> levels;
  std::vector<double> states;
};

/// Plans the cascade that ends in `output`; nothing if a part of it must be stored.
std::optional<KernelPlan> planOf(Cascade &cascade, Expr output) {
  KernelPlan plan;
  KernelOutput out;
  out.expr = output;
  plan.outputs.push_back(out);
  if (planStreams(cascade.pool, SizeFacts(), MachineModel(), plan))
    return std::nullopt;
  return plan;
}

void check(Cascade &cascade, Expr output, const KernelPlan &plan, double tolerance = 1e-9) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    cascade.fill(random, 1 + random() % 60, std::array{0.1, 1.0, 5.0, 30.0}[random() % 4]);
    double expected = cascade.plain(output);
    if (!std::isfinite(expected))
      continue;
    EXPECT_NEAR(cascade.streamed(plan, random), expected, tolerance * (1e-3 + std::abs(expected)));
  }
}

struct Known {
  const char *name;
  std::function<Expr(Cascade &)> build;
  unsigned gauges, sums;
};

Expr weights(Cascade &c, Expr s) {
  Expr e = c.exp(c.pool.sub(s, c.max(s)));
  return c.pool.div(e, c.sum(e));
}

const Known accepted[] = {
    {"weighted mean", [](Cascade &c) { return c.sum(c.pool.mul(weights(c, c.x(0)), c.x(1))); }, 1,
     2},
    {"masked",
     [](Cascade &c) {
       Expr s = c.select(c.less(c.j(), c.pool.mul(c.k(0), c.c(9))), c.x(0), c.c(-inf));
       return c.sum(c.pool.mul(weights(c, s), c.x(1)));
     },
     1, 2},
    {"no maximum written",
     [](Cascade &c) {
       Expr e = c.exp(c.x(0));
       return c.sum(c.pool.mul(c.pool.div(e, c.sum(e)), c.x(1)));
     },
     1, 2},
    {"bounded exponent",
     [](Cascade &c) {
       Expr s = c.pool.mul(c.fn(ScalarOp::Tanh, c.x(0)), c.c(20));
       return c.sum(c.pool.mul(weights(c, s), c.x(1)));
     },
     0, 2},
    {"log-sum",
     [](Cascade &c) {
       Expr m = c.max(c.x(0));
       return c.pool.add(m, c.log(c.sum(c.exp(c.pool.sub(c.x(0), m)))));
     },
     1, 1},
    {"entropy",
     [](Cascade &c) {
       Expr p = weights(c, c.x(0));
       return c.fn(ScalarOp::Neg, c.sum(c.pool.mul(p, c.log(p))));
     },
     1, 2},
    {"weighted variance",
     [](Cascade &c) {
       Expr p = weights(c, c.x(0));
       Expr mean = c.sum(c.pool.mul(p, c.x(1)));
       return c.sum(c.pool.mul(p, c.fn(ScalarOp::Square, c.pool.sub(c.x(1), mean))));
     },
     1, 4},
    {"divergence of two",
     [](Cascade &c) {
       Expr p = weights(c, c.x(0)), q = weights(c, c.x(2));
       return c.sum(c.pool.mul(p, c.pool.sub(c.log(p), c.log(q))));
     },
     2, 4},
    {"normalised product",
     [](Cascade &c) {
       Expr mean = c.pool.div(c.sum(c.x(0)), c.count());
       Expr d = c.pool.sub(c.x(0), mean);
       Expr var = c.pool.div(c.sum(c.fn(ScalarOp::Square, d)), c.count());
       Expr y = c.pool.div(d, c.fn(ScalarOp::Sqrt, c.pool.add(var, c.c(1e-5))));
       return c.sum(c.pool.mul(c.pool.add(c.pool.mul(y, c.x(1)), c.x(2)), c.x(3)));
     },
     0, 6},
    {"scaled product",
     [](Cascade &c) {
       Expr s = c.sum(c.pool.mul(c.x(0), c.x(0)));
       return c.sum(
           c.pool.mul(c.pool.mul(c.x(0), c.fn(ScalarOp::Rsqrt, c.pool.add(s, c.c(1e-6)))), c.x(1)));
     },
     0, 2},
    {"difference of two",
     [](Cascade &c) {
       Expr d = c.pool.sub(weights(c, c.x(0)), c.pool.mul(weights(c, c.x(2)), c.c(0.3)));
       return c.sum(c.pool.mul(d, c.x(1)));
     },
     2, 4},
    {"extra term",
     [](Cascade &c) {
       Expr m = c.max(c.x(0)), e = c.exp(c.pool.sub(c.x(0), m));
       Expr l = c.pool.add(c.sum(e), c.exp(c.pool.sub(c.k(1), m)));
       return c.sum(c.pool.mul(c.pool.div(e, l), c.x(1)));
     },
     1, 2},
    {"maximum with a known value",
     [](Cascade &c) {
       Expr m = c.pool.map(ScalarOp::Maximum, {c.max(c.x(0)), c.k(1)}, c.loc());
       Expr e = c.exp(c.pool.sub(c.x(0), m));
       Expr l = c.pool.add(c.sum(e), c.exp(c.pool.sub(c.k(1), m)));
       return c.sum(c.pool.mul(c.pool.div(e, l), c.x(1)));
     },
     1, 2},
    {"what belongs to the largest",
     [](Cascade &c) { return c.sum(c.select(c.equal(c.x(0), c.max(c.x(0))), c.x(1), c.c(0))); }, 1,
     1},
    {"weight of the smallest",
     [](Cascade &c) {
       Expr p = c.pool.mul(weights(c, c.pool.mul(c.x(0), c.c(0.5))), c.x(1));
       return c.sum(c.select(c.equal(c.min(c.x(0)), c.x(0)), p, c.c(0)));
     },
     2, 2},
    {"rounded to few values",
     [](Cascade &c) {
       Expr x = c.fn(ScalarOp::Round, c.x(0)), hit = c.equal(x, c.max(x));
       Expr count = c.sum(c.select(hit, c.c(1), c.c(0)));
       return c.pool.div(c.sum(c.select(hit, c.x(1), c.c(0))), count);
     },
     1, 2},
    {"first of the largest",
     [](Cascade &c) {
       Expr x = c.fn(ScalarOp::Round, c.x(0));
       return c.pool.map(
           ScalarOp::Neg,
           {c.max(c.select(c.equal(x, c.max(x)), c.fn(ScalarOp::Neg, c.j()), c.c(3)))}, c.loc());
     },
     1, 3},
    {"extremum of a difference",
     [](Cascade &c) { return c.max(c.pool.sub(c.x(0), c.pool.div(c.sum(c.x(0)), c.count()))); }, 0,
     1},
};

TEST(Cascade, KnownProgramsTakeOnePass) {
  for (const Known &known : accepted) {
    SCOPED_TRACE(known.name);
    Cascade cascade;
    Expr output = known.build(cascade);
    auto plan = planOf(cascade, output);
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->passes, 1u);
    unsigned gauges = 0;
    for (const StreamState &state : plan->states)
      gauges += state.used && state.isGauge;
    EXPECT_EQ(gauges, known.gauges);
    check(cascade, output, *plan);
  }
}

TEST(Cascade, ImpossibleProgramsNeedAnotherPass) {
  auto mean = [](Cascade &c) { return c.pool.div(c.sum(c.x(0)), c.count()); };
  std::pair<const char *, std::function<Expr(Cascade &)>> rejected[] = {
      {"exponent over a statistic",
       [](Cascade &c) {
         Expr s = c.sum(c.pool.mul(c.x(0), c.x(0)));
         return c.sum(c.exp(c.pool.div(c.x(0), s)));
       }},
      {"relu",
       [&](Cascade &c) { return c.sum(c.fn(ScalarOp::Relu, c.pool.sub(c.x(0), mean(c)))); }},
      {"round",
       [](Cascade &c) {
         Expr m = c.max(c.fn(ScalarOp::Abs, c.x(0)));
         return c.sum(c.pool.mul(c.fn(ScalarOp::Round, c.pool.div(c.x(0), m)), c.x(1)));
       }},
      {"tanh",
       [](Cascade &c) { return c.sum(c.fn(ScalarOp::Tanh, c.pool.sub(c.x(0), c.max(c.x(0))))); }},
      {"condition",
       [&](Cascade &c) { return c.sum(c.select(c.less(mean(c), c.x(0)), c.x(0), c.c(0))); }},
      {"reciprocal",
       [&](Cascade &c) {
         return c.sum(c.pool.div(c.c(1), c.pool.add(c.pool.add(c.x(0), mean(c)), c.c(100))));
       }},
      {"what does not belong to the largest",
       [](Cascade &c) { return c.sum(c.select(c.equal(c.x(0), c.max(c.x(0))), c.x(1), c.x(2))); }},
      {"largest of another",
       [](Cascade &c) { return c.sum(c.select(c.equal(c.x(1), c.max(c.x(0))), c.x(1), c.c(0))); }},
      {"absolute",
       [&](Cascade &c) { return c.sum(c.fn(ScalarOp::Abs, c.pool.sub(c.x(0), mean(c)))); }},
  };
  for (auto &[name, build] : rejected) {
    SCOPED_TRACE(name);
    Cascade cascade;
    Expr output = build(cascade);
    auto plan = planOf(cascade, output);
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->passes, 2u);
    check(cascade, output, *plan);
  }
}

TEST(Cascade, LargeOffsetsStayAccurate) {
  Cascade cascade;
  Expr e = cascade.exp(cascade.x(0));
  Expr output = cascade.sum(cascade.pool.mul(cascade.pool.div(e, cascade.sum(e)), cascade.x(1)));
  auto plan = planOf(cascade, output);
  ASSERT_TRUE(plan.has_value());
  Cascade shifted;
  Expr m = shifted.max(shifted.x(0)), f = shifted.exp(shifted.pool.sub(shifted.x(0), m));
  Expr stable = shifted.sum(shifted.pool.mul(shifted.pool.div(f, shifted.sum(f)), shifted.x(1)));
  std::mt19937 a(3), b(3), random(5);
  cascade.fill(a, 40, 1, 5000);
  shifted.fill(b, 40, 1, 5000);
  EXPECT_NEAR(cascade.streamed(*plan, random), shifted.plain(stable), 1e-10);
}

/// A cascade as text, for messages.
std::string text(Expr e) {
  std::string args;
  for (Expr arg : e->args)
    args += (args.empty() ? "" : ", ") + text(arg);
  switch (e->kind) {
  case ExprNode::Constant:
    return std::to_string(e->number);
  case ExprNode::Index:
    return e->index.str();
  case ExprNode::Load:
    return (e->indices[0].isConstant() ? "k" : "x") + e->indices[1].str();
  case ExprNode::Cast:
    return args;
  case ExprNode::Map:
    return std::string(scalarOpInfo(e->op).name) + "(" + args + ")";
  case ExprNode::Reduce:
    return std::string(reduceOpName(e->monoid)) + "[" + args + "]";
  case ExprNode::Scan:
    return "running " + std::string(reduceOpName(e->monoid)) + "[" + args + "]";
  case ExprNode::State:
    return "state" + std::to_string(e->state);
  }
  return "";
}

TEST(Cascade, RandomCascades) {
  std::mt19937 random(11);
  int onePass = 0, more = 0, skipped = 0, stored = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Cascade c;
    std::vector<Expr> known;
    std::function<Expr(int)> expression = [&](int depth) -> Expr {
      if (depth == 0 || random() % 5 == 0) {
        switch (random() % 5) {
        case 0:
        case 1:
          return c.x(random() % 3);
        case 2:
          return c.k(random() % 3);
        case 3:
          return c.c(static_cast<double>(random() % 5) - 1.5);
        default:
          return known.empty() ? c.x(0) : known[random() % known.size()];
        }
      }
      Expr a = expression(depth - 1);
      switch (random() % 13) {
      case 0:
      case 1:
        return c.pool.add(a, expression(depth - 1));
      case 2:
        return c.pool.sub(a, expression(depth - 1));
      case 3:
      case 4:
        return c.pool.mul(a, expression(depth - 1));
      case 5:
        return c.pool.div(a, expression(depth - 1));
      case 6:
        return c.exp(a);
      case 7:
        return c.fn(ScalarOp::Square, a);
      case 8:
        return c.fn(ScalarOp::Tanh, a);
      case 9:
        return c.select(c.less(c.j(), c.c(static_cast<double>(random() % 12))), a,
                        c.c(random() % 2 ? 0 : -inf));
      case 10:
        return c.fn(ScalarOp::Relu, a);
      case 11: {
        Expr x = c.fn(ScalarOp::Round, c.x(random() % 3));
        return c.select(c.equal(x, random() % 2 ? c.max(x) : c.min(x)), a, c.c(0));
      }
      default:
        return c.log(c.pool.add(c.fn(ScalarOp::Square, a), c.c(0.5)));
      }
    };
    int levels = 2 + random() % 3;
    for (int level = 0; level < levels; ++level) {
      Expr body = expression(3);
      known.push_back(random() % 3 == 0 ? c.max(body) : c.sum(body));
    }
    Expr output = known.back();
    if (output->kind != ExprNode::Reduce)
      continue;
    auto plan = planOf(c, output);
    if (!plan) {
      ++stored;
      continue;
    }
    bool compared = false;
    for (int run = 0; run < 3; ++run) {
      c.fill(random, 1 + random() % 30, 1);
      double expected = c.plain(output);
      if (!std::isfinite(expected) || std::abs(expected) > 1e12)
        continue;
      compared = true;
      double got = c.streamed(*plan, random);
      EXPECT_NEAR(got, expected, 1e-6 * (1 + std::abs(expected)))
          << "trial " << trial << ": " << text(output);
    }
    ++(compared ? (plan->passes == 1 ? onePass : more) : skipped);
  }
  std::printf("one pass %d, more passes %d, stored %d, not finite %d\n", onePass, more, stored,
              skipped);
  EXPECT_GT(onePass, 800);
}
} // namespace
