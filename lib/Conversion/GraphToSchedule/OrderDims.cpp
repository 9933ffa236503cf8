//===- OrderDims.cpp - Order and roles of a kernel's dimensions -----------===//
//
// The canonical order follows memory: a dimension stands before another if most tensors have it
// further out. Ties keep the order outputs, stream, inner.
//
//===----------------------------------------------------------------------===//
#include "Emit.h"

#include "tessera/CostModel/DescribeKernel.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera;

namespace {
struct Access {
  std::vector<SymExpr> index;
  int weight;
};

/// Dimensions by where they occur in an access, outermost first.
std::vector<std::string> positions(const ExprPool &pool, const Access &access) {
  return dimsByPosition(access.index, [&](const std::string &name) { return pool.isDim(name); });
}
} // namespace

namespace {
/// Finds the dimensions of a kernel and their roles, and writes them into the plan in order.
class DimOrder {
public:
  DimOrder(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan)
      : pool(pool), facts(facts), plan(plan), stream(plan.streamSet()) {}

  void run() {
    collectOutputs();
    collectLoads();
    collectChains();
    orderDims();
    plan.dims.clear();
    for (const std::string &name : order)
      plan.dims.push_back({name, pool.dimSize(name), roles.at(name)});
  }

private:
  void addDim(const std::string &name, llvm::StringRef role);
  void collectOutputs();
  void collectLoads();
  void collectChains();
  void orderDims();

  ExprPool &pool;
  const SizeFacts &facts;
  KernelPlan &plan;
  DimSet stream;

  std::vector<Expr> roots;
  std::vector<std::string> names, order; ///< the dimensions as they are found, and ordered
  std::map<std::string, llvm::StringRef> roles;
  std::vector<Access> accesses;
  std::set<std::string> beside; ///< short and reduced outside the stream
  DimSet rows;                  ///< of chained contractions
};
} // namespace

void DimOrder::addDim(const std::string &name, llvm::StringRef role) {
  if (roles.emplace(name, role).second)
    names.push_back(name);
}

/// The dimensions of the outputs and the stream.
void DimOrder::collectOutputs() {
  for (const KernelOutput &output : plan.outputs)
    roots.push_back(output.resolved);
  for (const StreamState &state : plan.states)
    if (state.used)
      roots.push_back(state.isGauge ? state.exponent : state.value);
  auto addOutputDim = [&](const std::string &name) {
    addDim(name, stream.count(name) ? sched::kStream : sched::kParallel);
  };
  for (const KernelOutput &output : plan.outputs) {
    accesses.push_back({output.index, 2});
    llvm::for_each(positions(pool, accesses.back()), addOutputDim);
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
      llvm::for_each(place.value->dims, addOutputDim);
  }
  for (const std::string &name : plan.stream)
    addDim(name, sched::kStream);
}

/// What is loaded, and the dimensions that are reduced.
void DimOrder::collectLoads() {
  for (const KernelOutput &output : plan.outputs)
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
      roots.push_back(place.value);
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      accesses.push_back({e->indices, 1});
    if (e->kind == ExprNode::Reduce)
      for (const std::string &name : e->over) {
        addDim(name, sched::kInner);
        if (!stream.empty() && !e->args[0]->dependsOn(stream) &&
            facts.hint(pool.dimSize(name)) <= 32)
          beside.insert(name);
      }
  });
}

/// The rows of a contraction inside a block that another one multiplies along the stream: they are
/// rows of that, too.
void DimOrder::collectChains() {
  for (const StreamState &state : plan.states)
    if (state.used && !state.isGauge)
      visitExprs({state.value}, [&](Expr e) {
        if (e->kind != ExprNode::Reduce || !e->dependsOn(stream) ||
            llvm::includes(e->dims, state.node->dims))
          return;
        for (const std::string &name : e->dims)
          if (roles.at(name) == sched::kParallel)
            rows.insert(name);
      });
}

/// Votes of the accesses, then the first name nothing else must precede. What is in front of the
/// innermost dimension counts twice: memory is contiguous along that.
void DimOrder::orderDims() {
  std::map<std::pair<std::string, std::string>, int> votes;
  for (const Access &access : accesses) {
    std::vector<std::string> order = positions(pool, access);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        votes[{order[i], order[j]}] += j + 1 < order.size() ? access.weight : 2 * access.weight;
  }
  // Accesses that disagree leave the longer of two streams inside, along which tiles are long.
  for (const std::string &a : plan.stream)
    for (const std::string &b : plan.stream)
      if (votes[{a, b}] == votes[{b, a}] &&
          facts.hint(pool.dimSize(a)) < facts.hint(pool.dimSize(b)))
        ++votes[{a, b}];
  constexpr int decisive = 1 << 16;
  for (const std::string &row : rows)
    for (const std::string &along : plan.stream)
      votes[{row, along}] += decisive;
  while (!names.empty()) {
    size_t best = 0;
    int fewest = INT_MAX;
    for (size_t i = 0; i < names.size(); ++i) {
      int against = 0;
      for (const std::string &other : names)
        against += std::max(0, votes[{other, names[i]}] - votes[{names[i], other}]);
      if (against < fewest) {
        fewest = against;
        best = i;
      }
    }
    order.push_back(names[best]);
    names.erase(names.begin() + best);
  }
  // The stream goes along memory; short loops beside it come first.
  std::vector<std::string> others;
  for (const std::string &name : std::exchange(order, {}))
    (beside.count(name) ? order : others).push_back(name);
  order.insert(order.end(), others.begin(), others.end());
}

void tessera::orderDims(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan) {
  DimOrder(pool, facts, plan).run();
}
