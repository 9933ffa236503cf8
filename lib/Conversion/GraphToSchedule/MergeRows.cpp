//===- MergeRows.cpp - Merges dimensions that occur only together ---------===//
//
// In (b, s, d) times (d, n), every grid task packs the matrix for itself, and a tile has rows of
// one batch. With few rows per batch, that is most of the work. If b and s occur only together, as
// b·S + s in the elements' numbers, they become one dimension of B·S rows.
//
// A sum over m and n is a stream of two dimensions, of which a GPU could split only the rows. If
// they occur only together, the stream has one dimension of M·N elements.
//
//===----------------------------------------------------------------------===//
#include "MergeRows.h"
#include "Pull.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

/// From this number of rows on, a batch is enough for a tile.
static constexpr int64_t kManyRows = 512;

namespace {
/// Dimensions that follow one another, outermost first.
class Run {
public:
  Run(const ExprPool &pool, std::vector<std::string> names)
      : pool(pool), names(std::move(names)), set(this->names.begin(), this->names.end()) {}

  bool occursIn(Expr e) const { return e->dependsOn(set); }
  bool occursIn(llvm::ArrayRef<SymExpr> index) const {
    std::set<std::string> symbols;
    for (SymExpr e : index)
      e.collectSymbols(symbols);
    return llvm::any_of(names, [&](const std::string &name) { return symbols.count(name); });
  }
  bool contains(const std::string &name) const { return set.count(name); }

  SymExpr size() const {
    SymExpr product(1);
    for (const std::string &name : names)
      product = product * pool.dimSize(name);
    return product;
  }
  SymExpr rowsOfOne() const { return pool.dimSize(names.back()); }

  /// The element's number with `row` in place of the run; nothing if it is no function of that.
  std::optional<SymExpr> number(gir::TensorType type, llvm::ArrayRef<SymExpr> index,
                                SymExpr row) const {
    bool isLinear = index.size() != size_t(type.getRank());
    SymExpr linear = isLinear ? index[0] : linearIndex(type.getShape(), index);
    SymExpr joined(0);
    for (const std::string &name : names)
      joined = joined * pool.dimSize(name) + SymExpr::symbol(name);
    if (with(linear, joined) != linear)
      return std::nullopt;
    return with(linear, row);
  }

private:
  SymExpr with(SymExpr linear, SymExpr row) const {
    return linear.substitute([&](const std::string &name) -> std::optional<SymExpr> {
      if (!contains(name))
        return std::nullopt;
      return name == names.back() ? row : SymExpr(0);
    });
  }

  const ExprPool &pool;
  std::vector<std::string> names;
  DimSet set;
};
} // namespace

/// Whether a contraction multiplies something that depends on the run by a matrix that does not.
static bool multipliesByMatrix(llvm::ArrayRef<Expr> roots, const Run &run) {
  bool found = false;
  visitExprs(roots, [&](Expr e) {
    if (e->kind != ExprNode::Reduce || e->monoid != ReduceOp::Sum || !run.occursIn(e))
      return;
    DimSet over(e->over.begin(), e->over.end());
    visitExprs(e->args, [&](Expr part) {
      auto isColumn = [&](const std::string &name) { return e->dims.count(name) != 0; };
      found |= part->kind == ExprNode::Load && part->dependsOn(over) && !run.occursIn(part) &&
               llvm::any_of(part->dims, isColumn);
    });
  });
  return found;
}

static bool mergeRun(ExprPool &pool, const SizeFacts &facts, const Run &run,
                     std::vector<KernelOutput> &outputs) {
  if (facts.hint(run.rowsOfOne()) >= kManyRows ||
      facts.hint(run.size()) <= facts.hint(run.rowsOfOne()))
    return false;
  std::vector<Expr> roots;
  for (const KernelOutput &output : outputs) {
    bool isPlain = !output.check && !output.isSum && !output.isUnordered;
    if (!isPlain || !pool.gathersIn(output.index).empty() || !run.occursIn(output.index))
      return false;
    roots.push_back(output.expr);
  }
  if (!multipliesByMatrix(roots, run))
    return false;

  SymExpr row = SymExpr::symbol(pool.freshDim("i", run.size()));
  bool travelsTogether = true;
  auto move = [&](mlir::Type type, llvm::ArrayRef<SymExpr> index) {
    auto moved = run.number(llvm::cast<gir::TensorType>(type), index, row);
    travelsTogether &= moved.has_value();
    return std::vector<SymExpr>{moved.value_or(SymExpr(0))};
  };
  std::vector<KernelOutput> merged = outputs;
  for (KernelOutput &output : merged) {
    visitExprs({output.expr}, [&](Expr e) {
      bool isWalked = e->kind == ExprNode::Index || e->kind == ExprNode::Scan ||
                      (e->kind == ExprNode::Load && (!e->args.empty() || !isContiguous(e->tensor)));
      travelsTogether &= !isWalked || !run.occursIn(e);
    });
    if (!travelsTogether)
      return false;
    output.index = move(output.type, output.index);
    output.expr = pool.rewrite(output.expr, [&](Expr e) -> Expr {
      if (e->kind != ExprNode::Load || !run.occursIn(e))
        return nullptr;
      return pool.load(e->tensor, move(e->tensor.getType(), e->indices), e->type, e->loc);
    });
    if (!travelsTogether)
      return false;
  }
  outputs = std::move(merged);
  return true;
}

void tessera::mergeRows(ExprPool &pool, const SizeFacts &facts,
                        std::vector<KernelOutput> &outputs) {
  if (outputs.empty())
    return;
  // The longest run of leading dimensions of the result.
  std::vector<std::string> leading;
  for (SymExpr e : outputs.front().index) {
    if (!e.isSymbol() || !pool.isDim(e.symbolName()))
      break;
    leading.push_back(e.symbolName());
  }
  for (; leading.size() > 1; leading.pop_back())
    if (mergeRun(pool, facts, Run(pool, leading), outputs))
      return;
}

/// The body of a reduction with one dimension in place of a run; null if it uses the dimensions of
/// the run separately.
static Expr bodyOverRun(ExprPool &pool, Expr body, const Run &run, SymExpr row) {
  bool travelsTogether = true;
  Expr result = pool.rewrite(body, [&](Expr e) -> Expr {
    if (!run.occursIn(e) || e->kind == ExprNode::Map || e->kind == ExprNode::Cast)
      return nullptr;
    bool isPlain = e->kind == ExprNode::Load && e->args.empty() && isContiguous(e->tensor);
    auto moved = isPlain
                     ? run.number(llvm::cast<gir::TensorType>(e->tensor.getType()), e->indices, row)
                     : std::nullopt;
    travelsTogether &= moved.has_value();
    return moved ? pool.load(e->tensor, {*moved}, e->type, e->loc) : e;
  });
  return travelsTogether ? result : nullptr;
}

/// Runs of dimensions, and the dimension that replaces each.
using Joined = std::map<std::vector<std::string>, std::string>;

/// A reduction with the longest run of its dimensions as one; null where there is none.
static Expr overRun(ExprPool &pool, Expr reduce, Expr body, const std::set<SymExpr> &walked,
                    Joined &joined) {
  const std::vector<std::string> &over = reduce->over;
  for (size_t length = over.size(); length > 1; --length)
    for (size_t first = 0; first + length <= over.size(); ++first) {
      std::vector<std::string> names(over.begin() + first, over.begin() + first + length);
      if (llvm::any_of(names,
                       [&](const std::string &name) { return walked.count(pool.dimSize(name)); }))
        continue;
      Run run(pool, names);
      std::string &row = joined[names];
      if (row.empty())
        row = pool.freshDim("i", run.size());
      Expr moved = bodyOverRun(pool, body, run, SymExpr::symbol(row));
      if (!moved)
        continue;
      std::vector<std::string> rest(over.begin(), over.begin() + first);
      rest.push_back(row);
      rest.insert(rest.end(), over.begin() + first + length, over.end());
      return pool.reduce(reduce->monoid, rest, moved, reduce->loc, reduce->origin);
    }
  return nullptr;
}

void tessera::mergeReduced(ExprPool &pool, std::vector<KernelOutput> &outputs) {
  std::set<SymExpr> walked;
  for (const KernelOutput &output : outputs)
    for (const std::string &name : output.expr->dims)
      walked.insert(pool.dimSize(name));
  // Reductions of the same elements share a loop only if all have the same dimensions.
  Joined joined;
  bool all = true;
  std::function<Expr(Expr)> merge = [&](Expr e) -> Expr {
    if (e->kind != ExprNode::Reduce || e->over.size() < 2)
      return nullptr;
    Expr merged = overRun(pool, e, pool.rewrite(e->args[0], merge), walked, joined);
    all &= merged != nullptr;
    return merged ? merged : e;
  };
  std::vector<Expr> exprs;
  for (const KernelOutput &output : outputs)
    exprs.push_back(pool.rewrite(output.expr, merge));
  if (all)
    for (auto [output, expr] : llvm::zip_equal(outputs, exprs))
      output.expr = expr;
}
