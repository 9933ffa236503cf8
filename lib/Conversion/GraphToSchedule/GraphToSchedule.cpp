//===- GraphToSchedule.cpp - Graph IR to Schedule IR ----------------------===//
//
// Starts from the values that must be in memory (results, parts of concatenations) and plans for
// each what one kernel can compute. If planning finds that a value cannot be part of the kernel, or
// would be too expensive in it, that value is stored, too, and the partition starts again. Kernels
// that read the same elements are merged.
//
//===----------------------------------------------------------------------===//
#include "Emit.h"
#include "Pull.h"
#include "tessera/Conversion/GraphToSchedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/CostModel/MachineModels.h"
#include "tessera/CostModel/StreamedProducts.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/ValueType.h"

#include <algorithm>

using namespace tessera;

namespace tessera {
#define GEN_PASS_DEF_CONVERTGRAPHTOSCHEDULE
#include "tessera/Conversion/GraphToSchedule/Passes.h.inc"
} // namespace tessera

namespace {
gir::TensorType tensorType(mlir::Value value) {
  return llvm::cast<gir::TensorType>(value.getType());
}

/// The index of a reshape that joins dimensions of its input; nothing if it divides some.
std::optional<std::vector<SymExpr>> joinedIndex(llvm::ArrayRef<SymExpr> shape,
                                                llvm::ArrayRef<SymExpr> inputShape,
                                                llvm::ArrayRef<SymExpr> inputIndex) {
  std::vector<SymExpr> index;
  for (SymExpr size : shape) {
    SymExpr joined(1), at(0);
    while (!inputShape.empty() && joined != size) {
      joined = joined * inputShape.front();
      at = at * inputShape.front() + inputIndex.front();
      inputShape = inputShape.drop_front();
      inputIndex = inputIndex.drop_front();
    }
    if (joined != size)
      return std::nullopt;
    index.push_back(at);
  }
  auto isOne = [](SymExpr size) { return size.isConstant(1); };
  return llvm::all_of(inputShape, isOne) ? std::optional(index) : std::nullopt;
}

/// A part of a stored tensor that one kernel writes: all of it, one input of a concatenation, or
/// sources that are scattered or added to computed indices. Or a check, which writes nothing.
struct Root {
  mlir::Value stored;
  mlir::Value source;
  int64_t dim = -1; ///< concatenation: the dimension and where the part begins
  SymExpr offset = SymExpr(0);
  mlir::Value indices = {}; ///< sources that go to these indices along the dimension
  bool isSum = false;       ///< they are added; otherwise they are the whole tensor
  gir::CheckOp check = {};
};

struct Kernel {
  std::vector<Root> roots;
  std::unique_ptr<ExprPool> pool;
  KernelPlan plan;
};

using Kernels = std::vector<std::unique_ptr<Kernel>>;

class Partition {
public:
  Partition(mlir::func::FuncOp function, const MachineModel &machine)
      : function(function), machine(machine), facts(function),
        strict(gir::numericsOption(function, "numerics") == "strict"),
        batchInvariant(gir::numericsOption(function, "batch_invariant") == "true") {}

  mlir::LogicalResult run() {
    auto terminator = llvm::cast<mlir::func::ReturnOp>(function.getBody().front().getTerminator());
    for (auto op : function.getOps<gir::MaterializeOp>()) {
      stored.insert(op.getResult());
      if (op.getReason())
        reasons.push_back(op.getReason()->str());
    }
    separateResults(terminator);
    for (mlir::Value value : terminator.getOperands())
      stored.insert(value);
    for (gir::PrintOp print : function.getOps<gir::PrintOp>())
      stored.insert(printed(print));
    function.walk([&](gir::ScatterOp op) { stored.insert(op.getResult()); });
    for (;;) {
      std::optional<Cut> cut = plan();
      if (!cut) {
        Kernels trial = mergedGroups();
        cut = sharedReduction(trial);
        if (!cut && (storeLonely(trial) || storeStreamedProducts(trial)))
          continue;
      }
      if (!cut && storeOperand())
        continue;
      if (!cut)
        break;
      if (!store(*cut))
        return function.emitError("cannot schedule a value of this function: ") << cut->reason;
    }
    merge();
    emit(terminator);
    return mlir::success();
  }

private:
  /// Each result is memory of its own: a value that is returned again is returned as a copy.
  static void separateResults(mlir::func::ReturnOp terminator) {
    mlir::OpBuilder builder(terminator);
    llvm::SmallPtrSet<mlir::Value, 4> seen;
    for (mlir::OpOperand &operand : terminator->getOpOperands()) {
      mlir::Value value = operand.get();
      if (seen.insert(value).second)
        continue;
      auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
      operand.set(gir::TransposeOp::create(builder, value.getLoc(), value, order));
    }
  }

  /// What is printed, as memory that kernels write: of an argument it is a copy.
  static mlir::Value printed(gir::PrintOp print) {
    mlir::Value value = print.getValue();
    if (!llvm::isa<mlir::BlockArgument>(value))
      return value;
    mlir::OpBuilder builder(print);
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
    print.getValueMutable().assign(gir::TransposeOp::create(builder, print.getLoc(), value, order));
    return print.getValue();
  }

  /// Stores a computed operand of a contraction that is better read from memory; false if there is
  /// none.
  bool storeOperand() {
    if (!machine.isGpu)
      return false;
    mlir::Value operand = gir::computedOperand(function, facts, stored,
                                               {machine.flopPerByte(), machine.flopPerLaunch()});
    if (!operand)
      return false;
    stored.insert(operand);
    operands.insert(operand);
    reasons.push_back("a contraction reads it many times, and tensor cores are fed from memory");
    return true;
  }

  /// Stores the value, or what elementwise work directly on it leaves.
  bool store(const Cut &cut) {
    mlir::Value value = cut.value;
    mlir::Value top = value;
    while (!cut.exactly && top.hasOneUse() && !stored.contains(top)) {
      mlir::Operation *user = *top.getUsers().begin();
      if (!llvm::isa<gir::MapOp, gir::CastOp>(user) || stored.contains(user->getResult(0)))
        break;
      top = user->getResult(0);
    }
    if (stored.contains(top))
      top = value;
    reasons.push_back(cut.reason);
    return stored.insert(top);
  }

  std::vector<Root> rootsOf(mlir::Value value) {
    if (auto sum = value.getDefiningOp<gir::ScatterAddOp>()) {
      Root sources{value, sum.getSources(), static_cast<int64_t>(sum.getDim())};
      sources.indices = sum.getIndices();
      sources.isSum = true;
      return {{value, sum.getInput(), 0}, sources};
    }
    if (auto scatter = value.getDefiningOp<gir::ScatterOp>()) {
      Root sources{value, scatter.getSources(), static_cast<int64_t>(scatter.getBatch())};
      sources.indices = scatter.getIndices();
      return {sources};
    }
    auto concat = value.getDefiningOp<gir::ConcatOp>();
    if (!concat)
      return {{value, value}};
    std::vector<Root> roots;
    SymExpr offset(0);
    for (mlir::Value input : concat.getInputs()) {
      roots.push_back({value, input, static_cast<int64_t>(concat.getDim()), offset});
      offset = offset + tensorType(input).getDim(concat.getDim());
    }
    return roots;
  }

  /// Plans one kernel per root; returns the first cut.
  std::optional<Cut> plan() {
    kernels.clear();
    std::vector<mlir::Value> values(stored.begin(), stored.end());
    llvm::sort(values, [](mlir::Value a, mlir::Value b) {
      mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
      if (!x && !y)
        return llvm::cast<mlir::BlockArgument>(a).getArgNumber() <
               llvm::cast<mlir::BlockArgument>(b).getArgNumber();
      return x && y ? x->isBeforeInBlock(y) : !x;
    });
    std::vector<Root> roots;
    for (mlir::Value value : values)
      llvm::append_range(roots, rootsOf(value));
    // A check comes as soon as what it reads is stored.
    for (gir::CheckOp check : function.getOps<gir::CheckOp>()) {
      auto isBehind = [&](const Root &root) {
        mlir::Operation *op = root.stored ? root.stored.getDefiningOp() : nullptr;
        return root.check || !op || op->isBeforeInBlock(check);
      };
      Root root{mlir::Value(), check.getCondition()};
      root.check = check;
      roots.insert(std::partition_point(roots.begin(), roots.end(), isBehind), root);
    }
    for (Root &root : roots) {
      auto kernel = std::make_unique<Kernel>();
      kernel->roots = {root};
      if (auto cut = planKernel(*kernel))
        return cut;
      kernels.push_back(std::move(kernel));
    }
    return std::nullopt;
  }

  /// Whether a copy is of reshapes that join dimensions of a value which is not in memory.
  static bool joinsDims(gir::MaterializeOp copy, const llvm::SetVector<mlir::Value> &inMemory) {
    mlir::Value source = copy.getInput();
    while (source.getDefiningOp<gir::ReshapeOp>() && !inMemory.contains(source))
      source = source.getDefiningOp<gir::ReshapeOp>().getInput();
    llvm::ArrayRef<SymExpr> shape = tensorType(source).getShape();
    return joinedIndex(tensorType(copy).getShape(), shape, shape).has_value();
  }

  std::optional<Cut> planKernel(Kernel &kernel) {
    kernel.pool = std::make_unique<ExprPool>(function.getContext(), strict);
    kernel.plan = KernelPlan();
    // On GPUs, branches would keep loads from running ahead.
    if (machine.isGpu)
      kernel.plan.visit =
          machine.tilesInRegisters ? KernelPlan::Visit::List : KernelPlan::Visit::Range;
    if (auto symbols = function->getAttrOfType<mlir::DictionaryAttr>(gir::kSymbolsAttr))
      for (mlir::NamedAttribute entry : symbols)
        kernel.pool->reserve(entry.getName().str());
    reserveSizes(*kernel.pool);
    // What this kernel stores itself it need not read back.
    llvm::SetVector<mlir::Value> inMemory = stored;
    for (const Root &root : kernel.roots)
      if (root.dim < 0 && !root.check)
        inMemory.remove(root.stored);
    Puller puller(*kernel.pool, inMemory, batchInvariant);
    std::vector<std::string> shared;
    for (Root &root : kernel.roots) {
      KernelOutput output;
      output.value = root.stored;
      output.check = root.check;
      if (root.stored)
        output.type = memoryType(root.stored);
      // A kernel writes a reshape over the dimensions of its input: the element number is the same.
      mlir::Value source = root.source;
      bool asRoot = source == root.stored;
      bool flat = false;
      // A tensor without elements has a kernel of the right shape that computes nothing.
      bool empty = llvm::any_of(tensorType(source).getShape(),
                                [](SymExpr size) { return size.isConstant(0); });
      // So it does if a copy with aligned rows follows that joins dimensions.
      auto copy = asRoot ? source.getDefiningOp<gir::MaterializeOp>() : nullptr;
      if (copy && copy.getInput().getDefiningOp<gir::ReshapeOp>() && joinsDims(copy, inMemory)) {
        source = copy.getInput();
        asRoot = false;
      }
      while (auto reshape = source.getDefiningOp<gir::ReshapeOp>()) {
        if (!asRoot && inMemory.contains(source))
          break;
        if (root.dim >= 0 || root.check || empty)
          break;
        source = reshape.getInput();
        asRoot = false;
        flat = true;
      }
      std::vector<SymExpr> index;
      std::vector<std::string> available = shared, passed;
      for (SymExpr size : tensorType(source).getShape()) {
        if (size.isConstant(1) && !batchInvariant) {
          index.push_back(SymExpr(0));
          continue;
        }
        // Outputs of one kernel share dimensions if their sizes agree: in order, or else any.
        auto isSame = [&](const std::string &name) { return kernel.pool->dimSize(name) == size; };
        auto same = llvm::find_if(available, isSame), other = llvm::find_if(passed, isSame);
        std::string name;
        if (same != available.end()) {
          name = *same;
          passed.insert(passed.end(), available.begin(), same);
          available.erase(available.begin(), same + 1);
        } else if (other != passed.end()) {
          name = *other;
          passed.erase(other);
        } else {
          name = kernel.pool->freshDim(size.isSymbol() ? size.symbolName() : "i", size);
          shared.push_back(name);
          available.clear();
        }
        index.push_back(SymExpr::symbol(name));
        puller.setInnermost(name);
      }
      output.expr =
          empty ? kernel.pool->constant(0, tensorType(source).getElementType())
                : puller.pull(source, index, asRoot || llvm::isa<mlir::BlockArgument>(source));
      if (auto cut = puller.anyCut())
        return cut;
      if (flat && copy)
        output.index =
            *joinedIndex(tensorType(copy).getShape(), tensorType(source).getShape(), index);
      else if (flat)
        output.index = {linearIndex(tensorType(source).getShape(), index)};
      else
        output.index = index;
      if (root.indices) {
        if (auto cut = sendTo(kernel, puller, root, index, output))
          return cut;
      } else if (root.dim >= 0) {
        output.index[root.dim] = output.index[root.dim] + root.offset;
      }
      kernel.plan.outputs.push_back(output);
      if (!root.check)
        continue;
      output.expr = puller.pull(root.check.getValue(), index);
      if (puller.cut)
        return puller.cut;
      kernel.plan.outputs.push_back(output);
    }
    return planStreams(*kernel.pool, facts, machine, kernel.plan);
  }

  /// Scattered sources are computed in any order. Sources that are added are processed in order
  /// along their dimension, while grid tasks share the other dimensions; on GPUs, CTAs share all
  /// dimensions.
  std::optional<Cut> sendTo(Kernel &kernel, Puller &puller, const Root &root,
                            llvm::ArrayRef<SymExpr> index, KernelOutput &output) {
    Expr place = puller.pull(root.indices, std::vector<SymExpr>(index.begin(), index.end()));
    if (puller.cut)
      return puller.cut;
    for (auto [value, e] : {std::pair(root.source, output.expr), std::pair(root.indices, place)}) {
      // The dimension of the sources is the only stream of a kernel that adds them.
      bool streams = false;
      visitExprs({e}, [&](Expr part) {
        streams |= part->kind == ExprNode::Reduce || (root.isSum && part->isAlongRow());
      });
      if (streams)
        return Cut{value, "it is scattered to computed indices", true};
    }
    SymExpr size = tensorType(root.stored).getDim(root.dim);
    if (!root.isSum) {
      output.index.resize(root.dim);
      output.index.push_back(kernel.pool->gatherSymbol(place, size));
      return std::nullopt;
    }
    // A value that all sources along the dimension share would be scattered once; from memory it is
    // read for each.
    SymExpr along = index[root.dim];
    if (along.isSymbol() && !place->dims.count(along.symbolName()))
      return Cut{root.indices, "it holds the indices of a scatter", true};
    output.isSum = true;
    output.index[root.dim] = kernel.pool->gatherSymbol(place, size);
    output.isUnordered = machine.isGpu;
    if (along.isSymbol() && !machine.isGpu)
      kernel.plan.stream = {along.symbolName()};
    return std::nullopt;
  }

  void reserveSizes(ExprPool &pool) {
    function.walk([&](mlir::Operation *op) {
      for (mlir::Value value : op->getResults())
        reserveSizes(pool, value.getType());
    });
    for (mlir::Type type : function.getArgumentTypes())
      reserveSizes(pool, type);
  }
  void reserveSizes(ExprPool &pool, mlir::Type type) {
    auto tensor = llvm::dyn_cast<gir::TensorType>(type);
    std::set<std::string> names;
    if (tensor)
      for (SymExpr size : tensor.getShape())
        size.collectSymbols(names);
    for (const std::string &name : names)
      pool.reserve(name);
  }

  static std::set<void *> reductions(const Kernel &kernel) {
    std::set<void *> result;
    visitExprs(exprsOf(kernel), [&](Expr e) {
      if ((e->kind == ExprNode::Reduce || e->isAlongRow()) && e->origin)
        result.insert(e->origin.getAsOpaquePointer());
    });
    return result;
  }

  /// A reduction that several kernels would compute, and that merging them does not share, is
  /// stored, unless it is a contraction that is better computed again.
  std::optional<Cut> sharedReduction(const Kernels &trial) {
    std::map<void *, unsigned> count;
    for (auto &kernel : trial)
      for (void *origin : reductions(*kernel))
        ++count[origin];
    std::set<void *> seen;
    for (auto &kernel : trial)
      for (void *origin : reductions(*kernel)) {
        if (seen.insert(origin).second)
          continue;
        mlir::Value value = mlir::Value::getFromOpaquePointer(origin);
        auto contract = value.getDefiningOp<gir::ContractOp>();
        bool isRecomputed = contract && paysToRecompute(machine, facts, contract, count[origin]);
        if (!isRecomputed && !stored.contains(value))
          return Cut{value, "several kernels use it"};
      }
    return std::nullopt;
  }

  /// Stores reductions of long rows or columns that few CTAs would compute and then read again:
  /// kernels that only reduce can split their streams, and all CTAs share the rest. False if there
  /// is none.
  bool storeLonely(const Kernels &trial) {
    size_t before = stored.size();
    for (auto &kernel : trial)
      if (isLonely(*kernel))
        visitExprs(exprsOf(*kernel), [&](Expr e) {
          if (isLevel(kernel->plan, e) && e->origin && stored.insert(e->origin))
            reasons.push_back("few CTAs would loop over it more than once");
        });
    return stored.size() > before;
  }

  /// Stores contractions that a kernel computes tile by tile inside or beside its stream, if
  /// kernels of their own take less time. False if there is none.
  bool storeStreamedProducts(const Kernels &trial) {
    bool isChanged = false;
    for (auto &kernel : trial) {
      llvm::SetVector<Expr> products;
      visitExprs(exprsOf(*kernel), [&](Expr e) {
        if (e->kind == ExprNode::Reduce && e->origin && !isLevel(kernel->plan, e) &&
            e->origin.getDefiningOp<gir::ContractOp>())
          products.insert(e);
      });
      if (products.empty() || !machine.isGpu || batchInvariant ||
          !paysToStoreProducts(machine, facts, shapeOf(*kernel)))
        continue;
      for (Expr product : products)
        isChanged |= store(Cut{product->origin, "a kernel of its own computes it in less time"});
    }
    return isChanged;
  }

  static std::vector<Expr> exprsOf(const Kernel &kernel) {
    std::vector<Expr> result;
    for (const KernelOutput &output : kernel.plan.outputs)
      result.push_back(output.expr);
    return result;
  }

  /// The tiles that the cost model would choose for a kernel.
  KernelShape shapeOf(Kernel &kernel) {
    orderDims(*kernel.pool, facts, kernel.plan);
    llvm::DenseMap<mlir::Value, mlir::Value> read;
    std::vector<Expr> exprs = exprsOf(kernel);
    for (const KernelOutput &output : kernel.plan.outputs)
      for (const ExprPool::GatherIndex &place : kernel.pool->gathersIn(output.index))
        exprs.push_back(place.value);
    visitExprs(exprs, [&](Expr e) {
      if (e->kind == ExprNode::Load)
        read[e->tensor] = e->tensor;
    });
    for (const KernelOutput &output : kernel.plan.outputs)
      read.erase(output.value);
    mlir::OpBuilder builder(function.getBody().front().getTerminator());
    sched::KernelOp trial =
        emitKernel(builder, function.getLoc(), "trial", *kernel.pool, kernel.plan, read);
    KernelShape shape = describeKernel(trial, facts);
    trial.erase();
    chooseTiles(machine, facts, shape);
    return shape;
  }

  /// Whether a kernel reads what it reduces more than once, with so few CTAs that this takes longer
  /// than one more read in kernels of many.
  bool isLonely(Kernel &kernel) {
    constexpr double ofLaunches = 32 << 20; // what memory moves while kernels begin, in bytes
    KernelPlan &plan = kernel.plan;
    bool isAgain = plan.passes > 1 || llvm::any_of(plan.outputs, [](const KernelOutput &output) {
                     return output.pass >= 0;
                   });
    if (!machine.isGpu || batchInvariant || plan.stream.empty() || !isAgain)
      return false;
    DimSet stream = plan.streamSet();
    bool reduces = true;
    double bytes = 0;
    visitExprs(exprsOf(kernel), [&](Expr e) {
      reduces &= !e->isAlongRow() && (e->kind != ExprNode::Reduce || isLevel(plan, e));
      if (e->kind != ExprNode::Load || !e->dependsOn(stream))
        return;
      double mine = llvm::divideCeil(e->type.getIntOrFloatBitWidth(), 8);
      for (const std::string &dim : e->dims)
        mine *= double(facts.hint(kernel.pool->dimSize(dim)));
      bytes += mine;
    });
    if (!reduces || 2 * bytes * double(machine.cores) < ofLaunches)
      return false;
    KernelShape shape = shapeOf(kernel);
    double programs = 1;
    for (const KernelShape::Dim &dim : shape.dims)
      if (dim.role == KernelShape::Dim::Parallel)
        programs *= double(llvm::divideCeil(facts.hint(dim.size), dim.tile));
    programs *= double(shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize));
    // Compares two passes on a part of the device with three on all of it.
    double busy = std::min(1.0, programs / double(machine.cores));
    return bytes * (2 / busy - 3) > ofLaunches;
  }

  /// What a kernel reads, also to find where it writes.
  static std::set<void *> loadsOf(const Kernel &kernel) {
    std::vector<Expr> exprs = exprsOf(kernel);
    for (const KernelOutput &output : kernel.plan.outputs)
      for (const ExprPool::GatherIndex &place : kernel.pool->gathersIn(output.index))
        exprs.push_back(place.value);
    std::set<void *> result;
    visitExprs(exprs, [&](Expr e) {
      if (e->kind == ExprNode::Load)
        result.insert(e->tensor.getAsOpaquePointer());
    });
    return result;
  }

  /// Whether a kernel reads one of these tensors from a group of kernels.
  static bool reads(const std::set<void *> &loads, const Kernel &group) {
    return llvm::any_of(group.roots, [&](const Root &root) {
      return root.stored && loads.count(root.stored.getAsOpaquePointer());
    });
  }

  /// Joins kernels that read the same tensors along the same dimensions and do not wait for each
  /// other. A kernel may wait for others that do not wait for the one which it joins: these move in
  /// front of that.
  Kernels mergedGroups() {
    Kernels groups;
    for (auto &kernel : kernels) {
      std::set<void *> mine = loadsOf(*kernel);
      std::vector<size_t> waitsFor; // of the groups behind number i, the last one first
      bool merged = false;
      for (size_t i = groups.size(); i-- > 0 && !merged;) {
        std::set<void *> theirs = loadsOf(*groups[i]);
        bool readsDirectly = reads(mine, *groups[i]), isOfOthers = false;
        for (size_t other : waitsFor)
          isOfOthers |= reads(loadsOf(*groups[other]), *groups[i]);
        bool mayShare = readsDirectly ||
                        llvm::any_of(mine, [&](void *tensor) { return theirs.count(tensor) > 0; });
        std::unique_ptr<Kernel> joined =
            mayShare && !isOfOthers ? join(*groups[i], *kernel) : nullptr;
        if (joined) {
          groups[i] = std::move(joined);
          for (size_t other : llvm::reverse(waitsFor)) {
            std::rotate(groups.begin() + i, groups.begin() + other, groups.begin() + other + 1);
            ++i;
          }
          merged = true;
        } else if (readsDirectly || isOfOthers) {
          waitsFor.push_back(i);
        }
      }
      if (!merged) {
        auto copy = std::make_unique<Kernel>();
        copy->roots = kernel->roots;
        planKernel(*copy);
        groups.push_back(std::move(copy));
      }
    }
    return groups;
  }

  /// The number of reductions that are not along the stream.
  static unsigned innerReductions(const Kernel &kernel) {
    unsigned count = 0;
    visitExprs(exprsOf(kernel),
               [&](Expr e) { count += e->kind == ExprNode::Reduce && !isLevel(kernel.plan, e); });
    return count;
  }

  /// The number of outputs that are stored along the stream.
  static unsigned streamedOutputs(const Kernel &kernel) {
    DimSet stream = kernel.plan.streamSet();
    return llvm::count_if(kernel.plan.outputs, [&](const auto &output) {
      std::set<std::string> names;
      for (SymExpr e : output.index)
        e.collectSymbols(names);
      return llvm::any_of(names, [&](const std::string &name) { return stream.count(name) > 0; });
    });
  }

  /// Whether one kernel may store both values: an isolated one only beside those of the same type
  /// in memory, such as the other parts of a number.
  bool mayShareKernel(mlir::Value a, mlir::Value b) const {
    auto isolated = [](mlir::Value value) {
      auto op = value ? value.getDefiningOp<gir::MaterializeOp>() : nullptr;
      return op && op.getIsolated() ? op : gir::MaterializeOp();
    };
    gir::MaterializeOp x = isolated(a), y = isolated(b);
    if (operands.contains(a) || operands.contains(b))
      return false;
    return (!x && !y) ||
           (x && y && x.getType() == y.getType() && x.getRowAlignment() == y.getRowAlignment());
  }

  /// Whether a kernel streams along the K dimension of a contraction.
  static bool isContraction(const Kernel &kernel) {
    bool result = false;
    visitExprs(exprsOf(kernel), [&](Expr e) {
      result |= isLevel(kernel.plan, e) && e->origin && e->origin.getDefiningOp<gir::ContractOp>();
    });
    return result;
  }

  static bool onlyChecks(const Kernel &kernel) {
    return llvm::all_of(kernel.roots, [](const Root &root) { return bool(root.check); });
  }

  std::unique_ptr<Kernel> join(const Kernel &a, const Kernel &b) {
    // Dimensions are shared in order: what has more of them comes first.
    if (onlyChecks(a) && !onlyChecks(b))
      return join(b, a);
    for (const Root &x : a.roots)
      for (const Root &y : b.roots)
        if (((x.dim >= 0 || y.dim >= 0) && x.stored != y.stored) || x.indices || y.indices ||
            !mayShareKernel(x.stored, y.stored))
          return nullptr;
    // Parts that share no contraction: each would leave the other half of the registers for its
    // tile.
    if (machine.isGpu && a.roots[0].dim >= 0 && isContraction(a) && isContraction(b) &&
        llvm::none_of(reductions(a), [mine = reductions(b)](void *r) { return mine.count(r); }))
      return nullptr;
    auto joined = std::make_unique<Kernel>();
    joined->roots = a.roots;
    joined->roots.insert(joined->roots.end(), b.roots.begin(), b.roots.end());
    if (planKernel(*joined))
      return nullptr;
    // Worth it only if elements are shared and no work is repeated: the later outputs bring no
    // dimension of their own.
    std::vector<Expr> first, second;
    DimSet firstDims, secondDims, stream = joined->plan.streamSet();
    for (auto [i, output] : llvm::enumerate(joined->plan.outputs)) {
      bool isFirst = i < a.plan.outputs.size();
      (isFirst ? first : second).push_back(output.expr);
      std::set<std::string> names;
      for (SymExpr e : output.index)
        e.collectSymbols(names);
      for (const std::string &name : names) {
        if (joined->pool->isDim(name))
          (isFirst ? firstDims : secondDims).insert(name);
        // A stream may skip blocks, a check may not.
        if (output.check && stream.count(name))
          return nullptr;
      }
    }
    for (const std::string &dim : stream) {
      firstDims.erase(dim);
      secondDims.erase(dim);
    }
    bool nested =
        std::includes(firstDims.begin(), firstDims.end(), secondDims.begin(), secondDims.end()) ||
        std::includes(secondDims.begin(), secondDims.end(), firstDims.begin(), firstDims.end());
    if (!nested || (stream.empty() && firstDims != secondDims))
      return nullptr;
    // Each tile along a dimension of one part only would walk the stream of the other part.
    const std::vector<Expr> &larger = firstDims.size() > secondDims.size() ? first : second;
    if (firstDims != secondDims && !walksStream(joined->plan, larger))
      return nullptr;
    if (reads(loadsOf(b), a) && repeatsStencil(joined->plan, first))
      return nullptr;
    std::set<Expr> seen;
    visitExprs(first, [&](Expr e) {
      if (e->kind == ExprNode::Load || e->kind == ExprNode::Reduce)
        seen.insert(e);
    });
    bool shares = false;
    visitExprs(second, [&](Expr e) {
      shares |= (e->kind == ExprNode::Load || e->kind == ExprNode::Reduce) && !e->dims.empty() &&
                seen.count(e);
    });
    // On a GPU, statistics of both rows and columns leave no large tiles, nor do inner reductions
    // of which the other part needs none.
    unsigned ofFirst = innerReductions(a), ofSecond = innerReductions(b),
             together = innerReductions(*joined);
    bool isMixed = machine.isGpu && (together > ofFirst + ofSecond ||
                                     (ofFirst && ofSecond && together == ofFirst + ofSecond));
    // Rows that a kernel reads again to store them would have a parallel dimension instead, and
    // each tile along it would compute their statistics again.
    bool repeats = streamedOutputs(*joined) < streamedOutputs(a) + streamedOutputs(b);
    if (!shares || isMixed || repeats || isLonely(*joined) ||
        (machine.isGpu && ofFirst && repeatsProducts(facts, shapeOf(*joined))))
      return nullptr;
    return joined;
  }

  void merge() { kernels = mergedGroups(); }

  void emit(mlir::func::ReturnOp terminator) {
    mlir::OpBuilder builder(terminator);
    llvm::DenseMap<mlir::Value, mlir::Value> written;
    for (auto [number, kernel] : llvm::enumerate(kernels)) {
      kernel->plan.padsRows = llvm::any_of(
          kernel->roots, [&](const Root &root) { return rowAlignment(root.stored).has_value(); });
      orderDims(*kernel->pool, facts, kernel->plan);
      if (number == 0)
        for (const std::string &reason : reasons)
          kernel->plan.notes.push_back("a value is stored between kernels because " + reason);
      std::string name = (function.getName() + "_" + llvm::Twine(number)).str();
      Root &root = kernel->roots[0];
      emitKernel(builder, root.check ? root.check.getLoc() : root.stored.getLoc(), name,
                 *kernel->pool, kernel->plan, written);
    }
    auto readWritten = [&](mlir::Operation *op) {
      for (mlir::OpOperand &operand : op->getOpOperands()) {
        auto it = written.find(operand.get());
        if (it != written.end())
          operand.set(it->second);
      }
    };
    readWritten(terminator);
    for (gir::PrintOp print : llvm::to_vector(function.getOps<gir::PrintOp>())) {
      print->moveBefore(terminator);
      readWritten(print);
    }
    // The graph operations are dead now.
    std::vector<mlir::Operation *> dead;
    for (mlir::Operation &op : function.getBody().front())
      if (op.getName().getDialectNamespace() == "gir" && !llvm::isa<gir::PrintOp>(op))
        dead.push_back(&op);
    for (auto op = dead.rbegin(); op != dead.rend(); ++op)
      (*op)->erase();
  }

  mlir::func::FuncOp function;
  const MachineModel &machine;
  SizeFacts facts;
  bool strict;         ///< every rounding of the program happens, and nothing is reordered
  bool batchInvariant; ///< a row is computed in the same way for every number of rows
  llvm::SetVector<mlir::Value> stored;
  llvm::SetVector<mlir::Value> operands; ///< of contractions, computed before them
  std::vector<std::string> reasons;
  Kernels kernels;
};

/// Notes the common narrow type of all contractions' operands; kernels may carry wider values up to
/// them.
void noteProductType(mlir::func::FuncOp function) {
  mlir::Type common;
  bool agree = true;
  function.walk([&](gir::ContractOp op) {
    for (mlir::Value operand : op->getOperands()) {
      mlir::Type type = llvm::cast<gir::TensorType>(operand.getType()).getElementType();
      bool isNarrow = llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() <= 16;
      agree &= isNarrow && (!common || common == type);
      common = type;
    }
  });
  if (common && agree)
    function->setAttr(gir::kProductTypeAttr, mlir::TypeAttr::get(common));
}

struct ConvertGraphToSchedule : impl::ConvertGraphToScheduleBase<ConvertGraphToSchedule> {
  using ConvertGraphToScheduleBase::ConvertGraphToScheduleBase;

  void runOnOperation() override {
    std::optional<MachineModel> machine = parseMachineModel(target, cores);
    if (!machine) {
      getOperation().emitError("expected a CPU or a GPU with its backend as target, got '")
          << target << "'";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (machine->isGpu)
        noteProductType(function);
      if (mlir::Type narrow = gir::narrowValueType(function))
        function->setAttr(gir::kValueTypeAttr, mlir::TypeAttr::get(narrow));
      if (!function.isExternal() && mlir::failed(Partition(function, *machine).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
