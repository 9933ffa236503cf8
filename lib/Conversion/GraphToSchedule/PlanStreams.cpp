//===- PlanStreams.cpp - From nested reductions to passes of a stream -----===//
//
// 1. Choose the stream: the dimensions of the heaviest outermost reduction. If the outputs use the
//    same elements along one of their own dimensions, that dimension is the stream (a stored row).
// 2. Unify: every other reduction whose body, renamed to the stream, meets elements that are there
//    already, runs along the stream too and is a level. What remains are inner reductions, done
//    inside a block or after the stream.
// 3. Resolve the levels to states (Levels.cpp).
//
// A scan or a sort determines the stream: the dimension that it runs along. Its elements are
// computed and used inside of a block.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "FlattenRow.h"
#include "Levels.h"
#include "tessera/CostModel/StreamedProducts.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

bool tessera::isLevel(const KernelPlan &plan, Expr e) {
  return e->kind == ExprNode::Reduce && !plan.stream.empty() &&
         DimSet(e->over.begin(), e->over.end()) == plan.streamSet();
}

bool tessera::walksStream(const KernelPlan &plan, llvm::ArrayRef<Expr> exprs) {
  bool found = false;
  visitExprs(exprs, [&](Expr e) { found |= isLevel(plan, e); });
  return found;
}

bool tessera::repeatsStencil(const KernelPlan &plan, llvm::ArrayRef<Expr> exprs) {
  DimSet stream = plan.streamSet();
  llvm::DenseMap<mlir::Value, unsigned> loads;
  visitExprs(exprs, [&](Expr e) {
    if (e->kind == ExprNode::Load && e->dependsOn(stream))
      ++loads[e->tensor];
  });
  return plan.passes > 1 && llvm::any_of(loads, [](const auto &each) { return each.second > 1; });
}

static std::vector<Expr> outputExprs(const KernelPlan &plan) {
  std::vector<Expr> result;
  for (const KernelOutput &output : plan.outputs)
    result.push_back(output.expr);
  return result;
}

/// The scans and sorts in the outputs and in their indices.
static std::vector<Expr> allScans(const ExprPool &pool, const KernelPlan &plan) {
  std::vector<Expr> roots = outputExprs(plan), result;
  for (const KernelOutput &output : plan.outputs)
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
      roots.push_back(place.value);
  visitExprs(roots, [&](Expr e) {
    if (e->isAlongRow())
      result.push_back(e);
  });
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
std::optional<std::map<std::string, SymExpr>> renaming(const ExprPool &pool,
                                                       const std::vector<std::string> &from,
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
    output.expr =
        pool.rewrite(output.expr, [&](Expr e) -> Expr { return e == from ? to : nullptr; });
}

/// Scans run along one dimension of the outputs, and no reduction waits for them.
std::optional<Cut> checkScans(const KernelPlan &plan, llvm::ArrayRef<Expr> scans) {
  for (Expr scan : scans)
    if (scan->over != scans.front()->over)
      return Cut{scans.front()->origin, "scans go along several dimensions", true};
  std::optional<Cut> cut;
  for (Expr r : allReductions(plan))
    visitExprs({r->args[0]}, [&](Expr inner) {
      if (inner->isAlongRow() && !cut)
        cut = Cut{inner->origin, "a reduction reads the result of a scan"};
    });
  return cut;
}

void chooseStream(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                  llvm::ArrayRef<Expr> scans, KernelPlan &plan, bool mayBeWide) {
  if (!scans.empty())
    plan.stream = scans.front()->over;
  if (!plan.stream.empty())
    return;
  Expr primary = nullptr;
  visitExprs(
      outputExprs(plan),
      [&](Expr e) {
        if (e->kind == ExprNode::Reduce &&
            (!primary || work(pool, facts, e) > work(pool, facts, primary)))
          primary = e;
      },
      [](Expr e) { return e->kind != ExprNode::Reduce; });
  if (!primary)
    return;
  plan.stream = primary->over;

  // A stored row: the outputs meet the reduced elements along dimensions of their own.
  if (plan.stream.size() > 1 && !mayBeWide)
    return;
  for (const std::vector<std::string> &candidate :
       rowCandidates(pool, facts, machine, plan, primary)) {
    DimSet dims(candidate.begin(), candidate.end());
    auto map = renaming(pool, plan.stream, candidate);
    if (!map || primary->args[0]->dependsOn(dims) ||
        wouldCapture(primary->args[0], plan.streamSet(), dims))
      continue;
    Expr renamed = pool.substitute(primary->args[0], *map);
    auto there = elementsAlong(outputExprs(plan), dims);
    bool shared = false;
    for (Expr e : elementsAlong({renamed}, dims))
      shared |= there.count(e);
    if (!shared)
      continue;
    plan.stream = candidate;
    replaceEverywhere(
        pool, plan, primary,
        pool.reduce(primary->monoid, plan.stream, renamed, primary->loc, primary->origin));
    break;
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
      replaceEverywhere(pool, plan, r,
                        pool.reduce(r->monoid, plan.stream, body, r->loc, r->origin));
      changed = true;
      break;
    }
  }
  // One spelling of the stream for all levels.
  for (Expr r : allReductions(plan))
    if (isLevel(plan, r) && r->over != plan.stream)
      replaceEverywhere(pool, plan, r,
                        pool.reduce(r->monoid, plan.stream, r->args[0], r->loc, r->origin));
}

/// Beside a scan there are statistics of its rows, and no other reductions.
std::optional<Cut> checkBesideScans(const KernelPlan &plan) {
  for (Expr r : allReductions(plan))
    if (!isLevel(plan, r))
      return Cut{r->origin, "a scan reads it"};
  return std::nullopt;
}

bool containsReduction(Expr e) {
  bool found = false;
  visitExprs({e}, [&](Expr x) { found |= x->kind == ExprNode::Reduce; });
  return found;
}

/// How many elements share the levels' results: those along dimensions that only outputs have.
double elementsBeside(ExprPool &pool, const SizeFacts &facts, const KernelPlan &plan,
                      const DimSet &outputDims) {
  DimSet known = plan.streamSet();
  for (Expr r : allReductions(plan))
    if (isLevel(plan, r))
      known.insert(r->dims.begin(), r->dims.end());
  double elements = 1;
  for (const std::string &dim : outputDims)
    if (!known.count(dim))
      elements *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  return elements;
}

/// Whether a reduction is a sum of products of two sides, each of which has dimensions of its own.
bool isContraction(ExprPool &pool, Expr r) {
  auto sides = splitContraction(pool, r->args[0], DimSet(r->over.begin(), r->over.end()),
                                /*weight=*/nullptr, {});
  return sides && !sides->rows.empty() && !sides->columns.empty();
}

/// How many elements of other dimensions a CTA or grid task has beside a whole row of `r`. A CTA
/// whose rows are reduced along several dimensions has a row of each.
double elementsAtOnce(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                      const KernelPlan &plan, Expr r) {
  constexpr double room = 8192;
  if (machine.isGpu && llvm::any_of(allReductions(plan), [&](Expr other) {
        return other->over != r->over && !isContraction(pool, other);
      }))
    return 1;
  double row = 1;
  for (const std::string &dim : r->over)
    row *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  return std::max(1.0, room / row);
}

/// The scalar steps in the time of a launch.
double launchSteps(const MachineModel &machine) { return machine.isGpu ? 1 << 22 : 1 << 17; }

/// Whether computing a reduction again for every tile of the `beside` elements that share its
/// result takes longer than storing it: more than a launch, and more than a part of the `total`
/// work.
bool isExpensiveAgain(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                      const KernelPlan &plan, Expr r, double beside, double total) {
  double again =
      (beside / elementsAtOnce(pool, facts, machine, plan, r) - 1) * work(pool, facts, r);
  return again > 0.15 * total && again > launchSteps(machine);
}

/// Whether a level is little work beside what the kernel stores along its stream: stored first, it
/// leaves that to any number of CTAs or grid tasks.
bool isBesideStored(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                    const KernelPlan &plan, Expr level) {
  constexpr double part = 16;
  double most = 0; // elements
  for (const KernelOutput &output : plan.outputs) {
    double elements = 1;
    for (const std::string &dim : output.expr->dims)
      elements *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
    if (output.expr->dependsOn(plan.streamSet()))
      most = std::max(most, elements);
  }
  return most > launchSteps(machine) && work(pool, facts, level) * part < most;
}

/// Whether something that goes along the stream has other dimensions than what is reduced there:
/// the side of a product.
bool multiplies(const KernelPlan &plan) {
  DimSet stream = plan.streamSet();
  std::set<DimSet> kinds;
  visitExprs(outputExprs(plan), [&](Expr e) {
    if (e->kind == ExprNode::Load && e->dependsOn(stream) && e->dims != stream)
      kinds.insert(e->dims);
  });
  return kinds.size() > 1;
}

/// Whether a reduction inside a stream is long work for the CTAs of `results` elements, while other
/// SMs have none.
bool leavesIdle(double work, double results, const MachineModel &machine) {
  constexpr double longWork = 1 << 14; // scalar steps of a CTA
  return results < machine.cores && work > longWork * results;
}

/// The bytes of a tile of rows of a contraction, which is multiplied with all columns in turn.
double rowBytes(const ExprPool &pool, Expr r) {
  constexpr double tileRows = 64;
  unsigned bits = 8;
  visitExprs({r->args[0]}, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      bits = std::max(bits, e->type.getIntOrFloatBitWidth());
  });
  double depth = 1; // what only a call knows is assumed to fit
  for (const std::string &dim : r->over)
    if (SymExpr size = pool.dimSize(dim); size.isConstant())
      depth *= double(size.constantValue());
  return tileRows * depth * bits / 8;
}

int64_t elementsOf(mlir::Value value, const SizeFacts &facts) {
  return facts.hint(llvm::cast<gir::TensorType>(value.getType()).getNumElements());
}

/// Inner reductions must be simple, and computing them again for every tile must be worth it.
std::optional<Cut> checkInner(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                              KernelPlan &plan) {
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
  double outputElements = 1;
  for (const std::string &dim : outputDims)
    if (!plan.streamSet().count(dim))
      outputElements *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  std::vector<Expr> reductions = allReductions(plan);
  for (Expr r : reductions)
    total += work(pool, facts, r);
  for (auto it = reductions.rbegin(); it != reductions.rend(); ++it) {
    Expr r = *it;
    if (isLevel(plan, r)) {
      double beside = elementsBeside(pool, facts, plan, outputDims), mine = work(pool, facts, r);
      bool isExpensive = std::ceil(beside / 256) * mine > 1.15 * total;
      // Without a contraction, a tile has as many elements beside a row as registers hold.
      isExpensive |=
          !multiplies(plan) && isExpensiveAgain(pool, facts, machine, plan, r, beside, total);
      if (isExpensive)
        return Cut{r->origin, "computing it again for every tile would cost more than storing it"};
      if (isBesideStored(pool, facts, machine, plan, r))
        return Cut{r->origin, "what is stored along its dimension is far more"};
      continue;
    }
    // After the stream it may use statistics and other reductions, if these have none of its
    // dimensions.
    DimSet over(r->over.begin(), r->over.end());
    bool isBehind = !r->args[0]->dependsOn(plan.streamSet());
    bool isNested = false;
    gir::ContractOp operand; // of the contraction, and a contraction itself
    visitExprs(
        {r->args[0]},
        [&](Expr e) {
          if (e->kind != ExprNode::Reduce)
            return;
          isNested |= e->dependsOn(over) ||
                      (!isBehind && (isLevel(plan, e) || containsReduction(e->args[0])));
          if (e->dependsOn(over) && e->origin && isContraction(pool, e) && isContraction(pool, r))
            operand = e->origin.getDefiningOp<gir::ContractOp>();
        },
        [&](Expr e) { return !isLevel(plan, e); });
    // Of the two contractions, the one with fewer elements is stored.
    if (operand && elementsOf(operand.getResult(), facts) <= elementsOf(r->origin, facts))
      return Cut{operand.getResult(), "a contraction reads it along its K dimension"};
    if (isNested)
      return Cut{r->origin, "it is a cascade of its own"};
    // How often it is computed: once per tile of every parallel dimension that it lacks.
    double repeats = 1, beside = 1;
    for (const std::string &dim : outputDims)
      if (!r->dims.count(dim) && !plan.streamSet().count(dim)) {
        int64_t size = std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
        repeats *= std::ceil(size / (size <= 256 ? double(size) : 128.0));
        beside *= size;
      }
    double mine = work(pool, facts, r);
    if (machine.isGpu && r->dependsOn(plan.streamSet()) &&
        leavesIdle(mine, outputElements, machine))
      return Cut{r->origin, "few results would be computed by as few CTAs"};
    if (machine.sharedOfBlock && r->dependsOn(plan.streamSet()) && isContraction(pool, r) &&
        rowBytes(pool, r) > double(machine.sharedOfBlock))
      return Cut{r->origin, "its rows do not fit into shared memory while columns stream past"};
    if ((repeats - 1) * mine > 0.15 * (total - mine) ||
        (isExpensiveAgain(pool, facts, machine, plan, r, beside, total) && !isContraction(pool, r)))
      return Cut{r->origin, "computing it again for every tile would cost more than storing it"};
  }
  return std::nullopt;
}

/// A level that another one uses: the last of them.
Expr usedLevel(const KernelPlan &plan) {
  Expr used = nullptr;
  for (Expr r : allReductions(plan))
    if (isLevel(plan, r))
      visitExprs({r->args[0]}, [&](Expr e) {
        if (isLevel(plan, e) && e->origin && (!used || e->id > used->id))
          used = e;
      });
  return used;
}

/// A contraction inside a block that several passes need is computed once and stored, unless it is
/// short. If it is better computed again, the passes are kernels: what the first ones determine is
/// stored.
std::optional<Cut> checkRepeatedPasses(ExprPool &pool, const SizeFacts &facts,
                                       const MachineModel &machine, KernelPlan &plan) {
  llvm::MapVector<Expr, std::set<int>> passesOf;
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
    if (passes.size() < 2 || steps <= 24)
      continue;
    auto product = reduce->origin ? reduce->origin.getDefiningOp<gir::ContractOp>() : nullptr;
    Expr statistic = usedLevel(plan);
    if (product && statistic && paysToRecompute(machine, facts, product, passes.size()))
      return Cut{statistic->origin, "the passes after it compute contractions again"};
    return Cut{reduce->origin, "several passes need it and it is expensive to compute"};
  }
  return std::nullopt;
}

/// Whether the stream goes along columns that are adjacent in memory.
bool goesDown(const KernelPlan &plan) {
  bool result = false;
  DimSet stream = plan.streamSet();
  visitExprs(outputExprs(plan), [&](Expr e) {
    if (e->kind != ExprNode::Load || !e->dependsOn(stream))
      return;
    std::set<std::string> along;
    e->indices.back().collectSymbols(along);
    result |= !along.empty() &&
              llvm::none_of(along, [&](const std::string &name) { return stream.count(name); });
  });
  return result;
}

/// Whether the elements of the stream are not contiguous, and no output has its dimension.
bool isOfPieces(const KernelPlan &plan) {
  DimSet stream = plan.streamSet();
  return stream.size() > 1 &&
         llvm::none_of(outputExprs(plan), [&](Expr e) { return e->dependsOn(stream); });
}

/// Whether rows stay in registers or cache for any number of passes: they are short, and every
/// reduction is a statistic of a row. Contractions need the space for their tiles; of columns, many
/// are processed at once.
bool keepsRows(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
               const KernelPlan &plan) {
  constexpr int64_t columns = 256;
  if (isOfPieces(plan))
    return false;
  SymExpr row = 1;
  for (const std::string &dim : plan.stream)
    row = row * pool.dimSize(dim);
  std::vector<Expr> reductions = allReductions(plan);
  return facts.max(row) <= machine.wholeRow / (goesDown(plan) ? columns : 1) &&
         llvm::all_of(reductions, [&](Expr r) {
           return isLevel(plan, r) && r->dims == reductions.front()->dims;
         });
}
} // namespace

std::optional<Cut> tessera::planStreams(ExprPool &pool, const SizeFacts &facts,
                                        const MachineModel &machine, KernelPlan &plan) {
  std::vector<Expr> scans = allScans(pool, plan);
  if (auto cut = checkScans(plan, scans))
    return cut;
  std::vector<KernelOutput> outputs = plan.outputs;
  std::vector<std::string> given = plan.stream;
  for (bool mayBeWide : {true, false}) {
    plan.outputs = outputs;
    plan.stream = given;
    chooseStream(pool, facts, machine, scans, plan, mayBeWide);
    if (!plan.stream.empty())
      unifyLevels(pool, plan);
    if (!mayBeWide || !isStoredAlong(plan) || flattenRow(pool, plan))
      break;
  }
  if (!scans.empty())
    if (auto cut = checkBesideScans(plan))
      return cut;
  if (auto cut = checkInner(pool, facts, machine, plan))
    return cut;
  if (auto cut = planLevels(pool, plan, keepsRows(pool, facts, machine, plan)))
    return cut;
  return checkRepeatedPasses(pool, facts, machine, plan);
}
