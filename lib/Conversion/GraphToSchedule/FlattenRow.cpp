//===- FlattenRow.cpp - Several dimensions of a stored row as one ---------===//
//
// A normalization over the last dimensions (h, w) reads and stores rows of H·W elements. If they
// are adjacent in every tensor that has them, the row is one stream dimension, and its statistics
// stay with it in one kernel. Otherwise the statistics are stored, and another kernel reads the
// elements again.
//
//===----------------------------------------------------------------------===//
#include "FlattenRow.h"
#include "Pull.h"

#include "tessera/CostModel/DescribeKernel.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

std::vector<std::vector<std::string>> tessera::rowCandidates(ExprPool &pool, const SizeFacts &facts,
                                                             const MachineModel &machine,
                                                             const KernelPlan &plan, Expr reduce) {
  std::vector<std::vector<std::string>> result;
  if (plan.stream.size() == 1) {
    DimSet names;
    for (const KernelOutput &output : plan.outputs)
      names.insert(output.expr->dims.begin(), output.expr->dims.end());
    for (const std::string &name : names)
      result.push_back({name});
    return result;
  }
  // A grid task of a CPU computes whole rows: every core should have one.
  int64_t rows = 1;
  for (const std::string &dim : reduce->dims)
    rows *= std::max<int64_t>(1, facts.hint(pool.dimSize(dim)));
  if (!machine.isGpu && rows < machine.cores)
    return result;
  for (const KernelOutput &output : plan.outputs) {
    auto isDim = [&](const std::string &name) { return pool.isDim(name); };
    std::vector<std::string> names = dimsByPosition(output.index, isDim);
    if (names.size() >= plan.stream.size())
      result.emplace_back(names.end() - plan.stream.size(), names.end());
  }
  return result;
}

bool tessera::isStoredAlong(const KernelPlan &plan) {
  DimSet stream = plan.streamSet();
  return stream.size() > 1 && llvm::any_of(plan.outputs, [&](const KernelOutput &output) {
           return output.expr->dependsOn(stream);
         });
}

namespace {
class Flattener {
public:
  Flattener(ExprPool &pool, KernelPlan &plan) : pool(pool), plan(plan), dims(plan.streamSet()) {
    for (const std::string &name : plan.stream) {
      size = size * pool.dimSize(name);
      joined = joined * pool.dimSize(name) + SymExpr::symbol(name);
    }
  }

  bool run() {
    std::vector<Expr> roots;
    for (const KernelOutput &output : plan.outputs) {
      if (output.isSum || output.check || !isFlat(shapeOf(output.type), output.index))
        return false;
      roots.push_back(output.expr);
    }
    bool fits = true;
    visitExprs(roots, [&](Expr e) { fits &= isFlat(e); });
    if (!fits)
      return false;
    row = SymExpr::symbol(pool.freshDim("row", size));
    for (KernelOutput &output : plan.outputs) {
      output.expr = flattened(output.expr);
      if (hasDims(output.index))
        output.index = {with(linear(shapeOf(output.type), output.index), row)};
    }
    plan.stream = {row.symbolName()};
    return true;
  }

private:
  static llvm::ArrayRef<SymExpr> shapeOf(mlir::Type type) {
    return llvm::cast<gir::TensorType>(type).getShape();
  }
  static SymExpr linear(llvm::ArrayRef<SymExpr> shape, llvm::ArrayRef<SymExpr> index) {
    return index.size() == shape.size() ? linearIndex(shape, index) : index.front();
  }
  bool hasDims(llvm::ArrayRef<SymExpr> index) const {
    std::set<std::string> names;
    for (SymExpr e : index)
      e.collectSymbols(names);
    return llvm::any_of(names, [&](const std::string &name) { return dims.count(name) != 0; });
  }
  /// An element's number with `last` for the last dimension of the row and 0 for the others.
  SymExpr with(SymExpr number, SymExpr last) const {
    return number.substitute([&](const std::string &name) -> std::optional<SymExpr> {
      if (!dims.count(name))
        return std::nullopt;
      return name == plan.stream.back() ? last : SymExpr(0);
    });
  }
  /// Whether an index depends on nothing but the number of an element in the row.
  bool isFlat(llvm::ArrayRef<SymExpr> shape, llvm::ArrayRef<SymExpr> index) const {
    if (!hasDims(index))
      return true;
    SymExpr number = linear(shape, index);
    return pool.gathersIn(index).empty() && with(number, joined) == number;
  }
  bool isFlat(Expr e) const {
    switch (e->kind) {
    case ExprNode::Load:
      return !hasDims(e->indices) ||
             (isContiguous(e->tensor) && isFlat(shapeOf(e->tensor.getType()), e->indices));
    case ExprNode::Reduce:
      return isLevel(plan, e) || (!e->dependsOn(dims) && !e->args[0]->dependsOn(dims));
    case ExprNode::Index:
    case ExprNode::Scan:
    case ExprNode::Sort:
      return !e->dependsOn(dims);
    default:
      return true;
    }
  }
  Expr flattened(Expr root) {
    return pool.rewrite(root, [&](Expr e) -> Expr {
      if (e->kind == ExprNode::Load && hasDims(e->indices))
        return pool.load(e->tensor, {with(linear(shapeOf(e->tensor.getType()), e->indices), row)},
                         e->type, e->loc);
      if (isLevel(plan, e))
        return pool.reduce(e->monoid, {row.symbolName()}, flattened(e->args[0]), e->loc, e->origin);
      return nullptr;
    });
  }

  ExprPool &pool;
  KernelPlan &plan;
  DimSet dims;
  SymExpr size = SymExpr(1), joined, row;
};
} // namespace

bool tessera::flattenRow(ExprPool &pool, KernelPlan &plan) { return Flattener(pool, plan).run(); }
