//===- MergeDims.cpp - Merges dimensions that occur only together ---------===//
//
// In (b, s, d) times (d, n), every grid task of a CPU packs the matrix for itself, and a tile has
// rows of one batch. With few rows per batch, that is most of the work. If b and s occur only
// together, as b·S + s in the elements' numbers, they become one dimension of B·S rows.
//
// A sum over m and n is a stream of two dimensions, of which a GPU could split only the rows, and a
// CPU would vectorise only the columns. If they occur only together, the stream has one dimension
// of M·N elements. The same holds for the dimensions of what is computed element by element.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "ForEachKernel.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULEMERGEDIMS
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

/// From this number of rows on, a batch is enough for a tile of a CPU. On GPUs a tile ends where a
/// batch does: batches whose rows are no multiple of a warpgroup's leave a part of it empty.
static constexpr int64_t kManyRows = 512, kTileRows = 64;

static SmallVector<SymExpr> expressions(ArrayAttr texts) {
  return llvm::map_to_vector(texts.getAsRange<StringAttr>(), [](StringAttr text) {
    return *SymExpr::parse(text.getValue().str());
  });
}

static ArrayRef<StringAttr> dimsOf(Value value) { return cast<ValType>(value.getType()).getDims(); }

/// The row-major element number of an index.
static SymExpr linearIndex(gir::TensorType type, ArrayRef<SymExpr> index) {
  if (index.size() != size_t(type.getRank()))
    return index[0];
  SymExpr number(0);
  for (auto [size, i] : llvm::zip_equal(type.getShape(), index))
    number = number * size + i;
  return number;
}

/// Whether a tensor is in memory row-major without gaps: stored values are, arguments if they say
/// so.
static bool isContiguous(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return !function || function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr);
}

namespace {
/// Dimensions of a kernel that follow one another, outermost first.
class Run {
public:
  Run(KernelOp kernel, ArrayRef<StringAttr> names) : kernel(kernel), names(names) {
    for (StringAttr name : names)
      size = size * kernel.getDim(name).getSize();
    merged = freshName();
  }

  SymExpr getSize() const { return size; }
  SymExpr rowsOfOne() { return kernel.getDim(names.back()).getSize(); }
  bool contains(StringAttr name) const { return llvm::is_contained(names, name); }
  bool occursIn(ArrayRef<StringAttr> dims) const {
    return llvm::any_of(dims, [&](StringAttr dim) { return contains(dim); });
  }
  bool occursIn(ArrayRef<SymExpr> index) const {
    std::set<std::string> symbols;
    for (SymExpr e : index)
      e.collectSymbols(symbols);
    return llvm::any_of(names, [&](StringAttr name) { return symbols.count(name.str()); });
  }

  /// Whether every operation uses the dimensions together, so that they can be merged.
  bool travelsTogether();
  void merge();

private:
  std::string freshName();
  Value inputOf(unsigned argument);
  std::optional<SymExpr> number(Value tensor, ArrayAttr index);
  SymExpr with(SymExpr linear, SymExpr row) const;
  bool coversStream(StreamOp stream);
  ArrayAttr replaceIn(ArrayAttr names);
  void replaceIndex(Operation *op, Value tensor, ArrayAttr index);
  void replaceDims();
  void replaceTypes(Operation *op);

  KernelOp kernel;
  SmallVector<StringAttr> names;
  SymExpr size = SymExpr(1);
  std::string merged; ///< the name of the dimension that replaces the run
};
} // namespace

std::string Run::freshName() {
  std::set<std::string> used;
  auto symbols = kernel->getParentOp()->getAttrOfType<DictionaryAttr>(gir::kSymbolsAttr);
  for (NamedAttribute symbol : symbols ? symbols.getValue() : ArrayRef<NamedAttribute>())
    used.insert(symbol.getName().str());
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>()) {
    used.insert(dim.getName().str());
    dim.getSize().collectSymbols(used);
  }
  for (Type type : kernel.getBody().getArgumentTypes())
    for (SymExpr each : cast<gir::TensorType>(type).getShape())
      each.collectSymbols(used);
  std::string name = "i";
  for (unsigned i = 1; used.count(name); ++i)
    name = "i" + std::to_string(i);
  return name;
}

SymExpr Run::with(SymExpr linear, SymExpr row) const {
  return linear.substitute([&](const std::string &name) -> std::optional<SymExpr> {
    if (!contains(StringAttr::get(names.front().getContext(), name)))
      return std::nullopt;
    return name == names.back().getValue() ? row : SymExpr(0);
  });
}

/// The element's number with one dimension in place of the run; nothing if it is no function of
/// that.
std::optional<SymExpr> Run::number(Value tensor, ArrayAttr index) {
  SymExpr linear = linearIndex(cast<gir::TensorType>(tensor.getType()), expressions(index));
  SymExpr joined(0);
  for (StringAttr name : names)
    joined = joined * kernel.getDim(name).getSize() + SymExpr::symbol(name.getValue());
  if (with(linear, joined) != linear)
    return std::nullopt;
  return with(linear, SymExpr::symbol(merged));
}

/// Whether a stream over the run visits all of it.
bool Run::coversStream(StreamOp stream) {
  auto last = cast<StringAttr>(stream.getOver().getValue().back());
  SymExpr end = kernel.getDim(last).getSize();
  for (ArrayAttr range : {stream.getLive(), stream.getFull()}) {
    SmallVector<SymExpr> bounds = expressions(range);
    std::set<std::string> symbols;
    for (SymExpr bound : bounds)
      bound.collectSymbols(symbols);
    for (StringAttr name : names)
      if (symbols.count((name.getValue() + ".lo").str()) ||
          symbols.count((name.getValue() + ".hi").str()))
        return false;
    if (contains(last) && (bounds[0] != SymExpr(0) || bounds[1] != end))
      return false;
  }
  return true;
}

/// The kernel's input that an argument of its body is, or that it is written into; null for a new
/// tensor.
Value Run::inputOf(unsigned argument) {
  size_t count = kernel.getInputs().size();
  if (argument < count)
    return kernel.getInputs()[argument];
  std::optional<ArrayRef<int64_t>> into = kernel.getInto();
  int64_t written = into ? (*into)[argument - count] : -1;
  return written < 0 ? Value() : kernel.getInputs()[size_t(written)];
}

bool Run::travelsTogether() {
  auto isMovable = [&](Value argument, ArrayAttr index, ValueRange places) {
    auto isAlong = [&](Value place) { return occursIn(dimsOf(place)); };
    if (llvm::any_of(places, isAlong))
      return false;
    if (!occursIn(expressions(index)))
      return true;
    Value input = inputOf(cast<BlockArgument>(argument).getArgNumber());
    return places.empty() && (!input || isContiguous(input)) && number(argument, index).has_value();
  };
  WalkResult result = kernel.walk([&](Operation *op) {
    bool fits = true;
    if (auto load = dyn_cast<LoadOp>(op))
      fits = isMovable(load.getTensor(), load.getIndex(), load.getPlaces());
    else if (auto store = dyn_cast<StoreOp>(op))
      fits = isMovable(store.getTensor(), store.getIndex(), store.getPlaces());
    else if (auto stream = dyn_cast<StreamOp>(op))
      fits = coversStream(stream);
    else if (isa<IndexOp>(op))
      fits = !occursIn(dimsOf(op->getResult(0)));
    else if (isa<ScanOp, SortOp>(op)) // a scan or sort ends with its row
      fits = llvm::none_of(cast<StreamOp>(op->getParentOp()).getOver().getAsRange<StringAttr>(),
                           [&](StringAttr dim) { return contains(dim); });
    else if (isa<BoundOp>(op))
      fits = !occursIn(dimsOf(op->getOperand(0)));
    else if (auto check = dyn_cast<CheckOp>(op))
      fits = !occursIn(dimsOf(check.getCondition()));
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// A list of dimensions with one in place of the run.
ArrayAttr Run::replaceIn(ArrayAttr list) {
  SmallVector<Attribute> result;
  for (StringAttr name : list.getAsRange<StringAttr>())
    if (!contains(name))
      result.push_back(name);
    else if (name == names.back())
      result.push_back(StringAttr::get(name.getContext(), merged));
  return ArrayAttr::get(list.getContext(), result);
}

void Run::replaceIndex(Operation *op, Value tensor, ArrayAttr index) {
  if (!occursIn(expressions(index)))
    return;
  auto moved = StringAttr::get(op->getContext(), number(tensor, index)->str());
  op->setAttr("index", ArrayAttr::get(op->getContext(), {moved}));
}

void Run::replaceTypes(Operation *op) {
  for (Value result : op->getResults())
    if (auto type = dyn_cast<ValType>(result.getType()); type && occursIn(type.getDims())) {
      SmallVector<StringAttr> dims;
      for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
        if (dim.getName().getValue() == merged || type.hasDim(dim.getName().getValue()))
          dims.push_back(dim.getName());
      result.setType(ValType::get(type.getContext(), dims, type.getElementType()));
    }
}

/// Declares the dimension in place of the run, at the place of its last one.
void Run::replaceDims() {
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> dims, order;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (!contains(dim.getName()))
      dims.push_back(dim);
    else if (dim.getName() == names.back())
      dims.push_back(DimAttr::get(context, StringAttr::get(context, merged), size, dim.getRole(),
                                  dim.getTile()));
  for (Attribute dim : llvm::reverse(dims))
    if (cast<DimAttr>(dim).isParallel())
      order.push_back(cast<DimAttr>(dim).getName());
  kernel.setDimsAttr(ArrayAttr::get(context, dims));
  kernel.setOrderAttr(ArrayAttr::get(context, order));
}

void Run::merge() {
  auto range = [&] {
    Builder builder(kernel.getContext());
    return builder.getStrArrayAttr({"0", size.str()});
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      replaceIndex(op, load.getTensor(), load.getIndex());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      replaceIndex(op, store.getTensor(), store.getIndex());
    } else if (auto stream = dyn_cast<StreamOp>(op)) {
      if (contains(cast<StringAttr>(stream.getOver().getValue().back()))) {
        stream.setLiveAttr(range());
        stream.setFullAttr(range());
      }
      stream.setOverAttr(replaceIn(stream.getOver()));
    } else if (auto reduce = dyn_cast<sched::ReduceOp>(op)) {
      reduce.setOverAttr(replaceIn(reduce.getOver()));
    } else if (auto bound = dyn_cast<BoundOp>(op)) {
      bound.setOverAttr(replaceIn(bound.getOver()));
    }
  });
  replaceDims();
  kernel.walk([&](Operation *op) { replaceTypes(op); });
}

/// Whether a value is computed from an element of a tensor that has some column of a contraction
/// and runs along its sum, but not along the rows.
static bool readsMatrix(ValueRange values, ArrayRef<StringAttr> columns, ArrayRef<StringAttr> over,
                        const Run &run) {
  auto contains = [](ArrayRef<StringAttr> list, ArrayRef<StringAttr> any) {
    return llvm::any_of(any, [&](StringAttr name) { return llvm::is_contained(list, name); });
  };
  llvm::DenseSet<Operation *> seen;
  std::function<bool(Value)> reads = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second || isa<StreamOp, GaugeOp, AccumulateOp>(op))
      return false;
    if (isa<LoadOp>(op) && contains(dimsOf(value), over) && !run.occursIn(dimsOf(value)) &&
        contains(dimsOf(value), columns))
      return true;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return isa<ValType>(operand.getType()) && reads(operand);
    });
  };
  return llvm::any_of(values, reads);
}

/// Whether a contraction multiplies something that depends on the run by a matrix that does not.
static bool multipliesByMatrix(KernelOp kernel, const Run &run) {
  WalkResult result = kernel.walk([&](Operation *op) {
    auto accumulate = dyn_cast<AccumulateOp>(op);
    auto reduce = dyn_cast<sched::ReduceOp>(op);
    bool isSum = (accumulate && accumulate.getReduceOp() == tessera::ReduceOp::Sum) ||
                 (reduce && reduce.getReduceOp() == tessera::ReduceOp::Sum);
    if (!isSum || !run.occursIn(dimsOf(op->getResult(0))))
      return WalkResult::advance();
    ArrayAttr names = reduce ? reduce.getOver() : cast<StreamOp>(op->getParentOp()).getOver();
    SmallVector<StringAttr> over(names.getAsRange<StringAttr>());
    ValueRange values =
        reduce ? ValueRange(reduce.getValues()) : ValueRange(accumulate.getValues());
    return readsMatrix(values, dimsOf(op->getResult(0)), over, run) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Merges the batch and row dimensions of a contraction with a matrix that all batches share.
static void mergeRows(KernelOp kernel, const MachineModel &machine, const SizeFacts &facts) {
  SmallVector<StoreOp> stores;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op); store && !store.getSum() && store.getPlaces().empty())
      stores.push_back(store);
    else if (isa<StoreOp, CheckOp>(op))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || stores.empty())
    return;
  auto isMerged = [&](ArrayRef<StringAttr> names) {
    Run run(kernel, names);
    int64_t rows = facts.hint(run.rowsOfOne());
    bool isStored = llvm::all_of(
        stores, [&](StoreOp store) { return run.occursIn(expressions(store.getIndex())); });
    bool isPartial = machine.isGpu ? rows % kTileRows != 0 : rows < kManyRows;
    if (!isPartial || facts.hint(run.getSize()) <= rows || !isStored ||
        !multipliesByMatrix(kernel, run) || !run.travelsTogether())
      return false;
    run.merge();
    return true;
  };
  // The longest run of dimensions of the result; on CPUs, of its leading ones.
  SmallVector<StringAttr> names;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (machine.isGpu && dim.isParallel())
      names.push_back(dim.getName());
  for (SymExpr e : expressions(stores.front().getIndex())) {
    DimAttr dim = e.isSymbol() ? kernel.getDim(e.symbolName()) : DimAttr();
    if (machine.isGpu || !dim || !dim.isParallel())
      break;
    names.push_back(dim.getName());
  }
  for (size_t length = names.size(); length > 1; --length)
    for (size_t first = 0; first + length <= (machine.isGpu ? names.size() : length); ++first)
      if (isMerged(ArrayRef(names).slice(first, length)))
        return;
}

/// The dimensions of a list in runs that can be merged: the longest ones.
static SmallVector<StringAttr> findRun(KernelOp kernel, ArrayAttr over) {
  SmallVector<StringAttr> names(over.getAsRange<StringAttr>());
  auto isStored = [&](const Run &run) {
    return kernel
        .walk([&](StoreOp store) {
          return run.occursIn(expressions(store.getIndex())) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (size_t length = names.size(); length > 1; --length)
    for (size_t first = 0; first + length <= names.size(); ++first) {
      ArrayRef<StringAttr> part = ArrayRef(names).slice(first, length);
      if (Run run(kernel, part); !isStored(run) && run.travelsTogether())
        return SmallVector<StringAttr>(part);
    }
  return {};
}

/// Merges dimensions that are reduced together and adjacent in memory, unless a result has them,
/// too: all of them, since reductions of the same elements share a loop only if they have the same
/// dimensions.
static void mergeReduced(KernelOp kernel) {
  llvm::SetVector<ArrayAttr> lists;
  kernel.walk([&](Operation *op) {
    ArrayAttr over;
    if (auto stream = dyn_cast<StreamOp>(op))
      over = stream.getOver();
    else if (auto reduce = dyn_cast<sched::ReduceOp>(op))
      over = reduce.getOver();
    if (over && over.size() > 1)
      lists.insert(over);
  });
  SmallVector<SmallVector<StringAttr>> runs;
  for (ArrayAttr over : lists)
    if (runs.push_back(findRun(kernel, over)), runs.back().empty())
      return;
  for (ArrayRef<StringAttr> names : runs)
    Run(kernel, names).merge();
}

/// Merges dimensions of what is computed element by element, where all tensors have them adjacent
/// in memory.
static void mergeElementwise(KernelOp kernel) {
  StoreOp first;
  WalkResult result = kernel.walk([&](Operation *op) {
    auto store = dyn_cast<StoreOp>(op);
    if (isa<StreamOp, sched::ReduceOp>(op) || (store && store.getSum()))
      return WalkResult::interrupt();
    if (store && !first)
      first = store;
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || !first)
    return;
  SmallVector<StringAttr> names;
  for (SymExpr e : expressions(first.getIndex()))
    if (DimAttr dim = e.isSymbol() ? kernel.getDim(e.symbolName()) : DimAttr())
      names.push_back(dim.getName());
  for (size_t length = names.size(); length > 1; --length)
    for (size_t begin = 0; begin + length <= names.size(); ++begin)
      if (Run run(kernel, ArrayRef(names).slice(begin, length)); run.travelsTogether()) {
        run.merge();
        names.erase(names.begin() + begin, names.begin() + begin + length);
        length = names.size() + 1;
        break;
      }
}

/// Whether a load inside a stream has a dimension of the run, and none of the stream, last in
/// memory.
static bool goesDownColumns(KernelOp kernel, const Run &run) {
  return kernel
      .walk([&](LoadOp load) {
        auto stream = load->getParentOfType<StreamOp>();
        if (!stream || load.getIndex().empty()) // a scalar
          return WalkResult::advance();
        SymExpr last = expressions(load.getIndex()).back();
        if (!run.occursIn(ArrayRef(last)))
          return WalkResult::advance();
        std::set<std::string> symbols;
        last.collectSymbols(symbols);
        bool isAlong = llvm::any_of(stream.getOver().getAsRange<StringAttr>(), [&](StringAttr dim) {
          return load.getIndex().size() > 1 && symbols.count(dim.str());
        });
        return isAlong ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Whether the streams go along rows so short that a tile has several of them.
static bool hasShortRows(KernelOp kernel, const SizeFacts &facts) {
  constexpr int64_t most = 1024; // elements, some for each lane of a warp
  int64_t elements = 1;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (!dim.isParallel())
      elements *= std::clamp<int64_t>(facts.hint(dim.getSize()), 1, most + 1);
  auto last = cast<DimAttr>(kernel.getDims().getValue().back());
  return last.isStream() && elements <= most;
}

/// Merges the dimensions of columns that are reduced: long rows of them are adjacent in memory. The
/// same for the dimensions of short rows: tiles of one long dimension are full.
static void mergeBesideStream(KernelOp kernel, const SizeFacts &facts) {
  if (kernel->hasAttr(kContracts) || kernel.getBody().getOps<StreamOp>().empty())
    return;
  bool areShort = hasShortRows(kernel, facts);
  SmallVector<StringAttr> names;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (dim.isParallel())
      names.push_back(dim.getName());
  for (size_t length = names.size(); length > 1; --length)
    if (Run run(kernel, ArrayRef(names).take_back(length));
        (areShort || goesDownColumns(kernel, run)) && run.travelsTogether())
      return run.merge();
}

namespace {
struct ScheduleMergeDims : sched::impl::ScheduleMergeDimsBase<ScheduleMergeDims> {
  using ScheduleMergeDimsBase::ScheduleMergeDimsBase;

  void runOnOperation() override {
    auto perform = [](const MachineModel &machine, const SizeFacts &facts, KernelOp kernel) {
      if (gir::numericsOption(kernel->getParentOp(), "batch_invariant") == "true")
        return;
      mergeElementwise(kernel);
      mergeReduced(kernel);
      if (machine.isGpu)
        mergeBesideStream(kernel, facts);
      mergeRows(kernel, machine, facts);
    };
    if (failed(forEachKernel(getOperation(), target, cores, perform)))
      signalPassFailure();
  }
};
} // namespace
