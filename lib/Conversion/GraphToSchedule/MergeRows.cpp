//===- MergeRows.cpp - Batches of rows as one dimension -------------------===//
//
// In (b, s, d) times (d, n) every program packs the matrix for itself, and a tile has rows of one
// batch. With few rows in a batch that is most of the work. Where b and s always travel together,
// as b·S + s in the elements' numbers, they are one dimension of B·S rows.
//
//===----------------------------------------------------------------------===//
#include "MergeRows.h"
#include "Pull.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace tessera;

/// So many rows are enough for a tile.
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

/// Whether a sum of products multiplies what depends on the run by a matrix that does not.
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
    if (!isPlain || !pool.placesIn(output.index).empty() || !run.occursIn(output.index))
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
  // Of the dimensions that lead the result, as many as possible.
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
