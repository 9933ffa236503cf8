//===- SplitStreams.cpp - Splits a long stream over the idle cores --------===//
//
// A kernel whose grid is too small for the machine, and whose stream is long, becomes two: the
// first computes the states of the stream for parts of it and stores them, the second combines the
// parts with one more stream, over the parts, and finishes. A state that is relative to a gauge is
// rescaled from the gauge of its part to the gauge of all parts.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "ForEachKernel.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"

#include <bit>

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULESPLITSTREAMS
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

namespace {
/// How a stream is split.
struct Split {
  int64_t parts = 1;
  std::string along;   ///< the dimension of the stream that is split
  LaunchConfig launch; ///< of the kernels
};
} // namespace

/// Whether the stream visits all of its elements, so that any of its dimensions may be the last.
static bool visitsAll(StreamOp stream) {
  auto kernel = cast<KernelOp>(stream->getParentOp());
  auto last = cast<StringAttr>(stream.getOver().getValue().back());
  SymExpr size = kernel.getDim(last).getSize();
  auto isWhole = [&](ArrayAttr range) {
    return *SymExpr::parse(cast<StringAttr>(range[0]).str()) == SymExpr(0) &&
           *SymExpr::parse(cast<StringAttr>(range[1]).str()) == size;
  };
  return isWhole(stream.getLive()) && isWhole(stream.getFull()) &&
         stream.getBody().front().getOps<VisitOp>().empty() &&
         stream.getBody().front().getOps<MaskOp>().empty();
}

/// The number of parts so that every core has work: the grid is too small, and the stream is long.
/// It is split along its last dimension; on a GPU along the one with most blocks.
static Split chooseSplit(const MachineModel &machine, const SizeFacts &facts,
                         const KernelShape &shape, StreamOp stream) {
  constexpr int64_t fewest = 8;
  Split split{1, shape.streamOrder.back(), shape.launch.without({LaunchField::StreamParts})};
  if (std::optional<int64_t> parts = shape.launch.get(LaunchField::StreamParts)) {
    split.parts = *parts;
    return split;
  }
  int64_t programs = 1, blocks = 1, elements = 1, tile = 1, most = 0;
  std::string longest = split.along;
  for (const KernelShape::Dim &dim : shape.dims) {
    int64_t count = std::max<int64_t>(1, (facts.hint(dim.size) + dim.tile - 1) / dim.tile);
    if (dim.role == KernelShape::Dim::Parallel)
      programs *= count;
    if (dim.role != KernelShape::Dim::Inner) {
      elements *= std::max<int64_t>(1, facts.hint(dim.size));
      tile *= dim.tile;
    }
    if (dim.name == split.along)
      blocks = count;
    if (dim.role == KernelShape::Dim::Stream && count > most) {
      most = count;
      longest = dim.name;
    }
  }
  int64_t cluster = shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize);
  programs *= cluster;
  // A CTA with a large tile has enough bytes in flight for its SM; small ones need others beside
  // them. Rows that are not adjacent are processed with the same small tile.
  int64_t programsEach = tile > 4096 ? 1 : 8;
  bool areApart = shape.streamOrder.size() > 1;
  // Leaving some SMs idle is better than a second kernel.
  int64_t enough =
      machine.isGpu ? 3 * machine.cores * (areApart ? programsEach : 1) / 4 : machine.cores;
  bool isOther = machine.isGpu && blocks < fewest && most >= fewest && visitsAll(stream);
  if (programs >= enough || (blocks < fewest && !isOther) || elements < 1 << 16)
    return split;
  if (isOther) {
    // Parts replace the cluster that shares a row; a CTA then has the threads of the cluster.
    split.launch = split.launch.without({LaunchField::ClusterSize, LaunchField::ClusterAxis});
    if (std::optional<int64_t> warps = split.launch.get(LaunchField::NumWarps))
      split.launch.set(LaunchField::NumWarps, std::min<int64_t>(16, *warps * cluster));
    programs /= cluster;
    split.along = longest;
    blocks = most;
  }
  if (!machine.isGpu) {
    split.parts = std::min(blocks / 4, 4 * machine.cores);
    return split;
  }
  // All parts are one tile of the kernel that merges them, and tiles of GPUs are powers of two: the
  // next one if the last leaves SMs idle.
  split.parts =
      std::bit_floor(uint64_t(std::max<int64_t>(1, programsEach * machine.cores / programs)));
  if (split.parts * programs < enough)
    split.parts *= 2;
  split.parts =
      std::min<int64_t>(split.parts, std::bit_floor(uint64_t(std::max<int64_t>(1, blocks / 4))));
  return split;
}

namespace {
class Splitter {
public:
  Splitter(KernelOp kernel, StreamOp stream, Split split, bool isGpu)
      : kernel(kernel), stream(stream), split(std::move(split)), isGpu(isGpu), builder(kernel),
        states(stream.getBody().front().getTerminator()->getOperands()) {}

  void run() {
    nameDim();
    KernelOp parts = makePartsKernel();
    KernelOp merge = makeMergeKernel(parts);
    kernel.replaceAllUsesWith(merge.getResults());
    kernel.erase();
  }

private:
  void nameDim();
  ArrayAttr partRange(ArrayAttr range);
  KernelOp open(StringRef suffix, TypeRange types, ValueRange operands, ArrayRef<DimAttr> dims);
  KernelOp makePartsKernel();
  SmallVector<DimAttr> mergeDims(const llvm::SetVector<Operation *> &finish);
  void emitMergeStream(KernelOp merge, unsigned first, IRMapping &mapping);
  KernelOp makeMergeKernel(KernelOp parts);

  /// Where the tensor of a state holds an element of a part.
  ArrayAttr partIndex(Value state) {
    SmallVector<Attribute> index{part};
    llvm::append_range(index, cast<ValType>(state.getType()).getDims());
    return builder.getArrayAttr(index);
  }
  /// The numbers of the inputs that results are stored into.
  bool isContinued(unsigned input) {
    return llvm::is_contained(kernel.getInto().value_or(ArrayRef<int64_t>()), int64_t(input));
  }
  Value map(ScalarOp op, ValueRange inputs, Location loc);

  KernelOp kernel;
  StreamOp stream;
  Split split;
  bool isGpu;
  OpBuilder builder;
  SmallVector<Value> states; ///< in the body of the stream
  StringAttr part;           ///< the dimension that counts the parts
};
} // namespace

/// Finds a name for the dimension of the parts that nothing else has.
void Splitter::nameDim() {
  std::set<std::string> used;
  auto symbols = kernel->getParentOp()->getAttrOfType<DictionaryAttr>(gir::kSymbolsAttr);
  for (NamedAttribute symbol : symbols ? symbols.getValue() : ArrayRef<NamedAttribute>())
    used.insert(symbol.getName().str());
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>()) {
    used.insert(dim.getName().str());
    dim.getSize().collectSymbols(used);
  }
  std::string name = "part";
  for (unsigned i = 1; used.count(name); ++i)
    name = "part" + std::to_string(i);
  part = builder.getStringAttr(name);
}

/// What a part has of a range of the stream: whole blocks, as many for each part.
ArrayAttr Splitter::partRange(ArrayAttr range) {
  DimAttr dim = kernel.getDim(split.along);
  SymExpr tile(dim.getTile());
  SymExpr length = dim.getSize().ceilDiv(tile).ceilDiv(SymExpr(split.parts)) * tile;
  SymExpr begin = SymExpr::symbol((part.getValue() + ".lo").str()) * length;
  SymExpr lo = *SymExpr::parse(cast<StringAttr>(range[0]).str()),
          hi = *SymExpr::parse(cast<StringAttr>(range[1]).str());
  return builder.getStrArrayAttr(
      {SymExpr::max(lo, begin).str(), SymExpr::min(hi, begin + length).str()});
}

/// A kernel with the attributes of the original one and an empty body.
KernelOp Splitter::open(StringRef suffix, TypeRange types, ValueRange operands,
                        ArrayRef<DimAttr> dims) {
  SmallVector<Attribute> list(dims.begin(), dims.end());
  SmallVector<Attribute> order;
  for (DimAttr dim : llvm::reverse(dims))
    if (dim.isParallel())
      order.push_back(dim.getName());
  auto made = KernelOp::create(builder, kernel.getLoc(), types,
                               builder.getStringAttr(kernel.getSymName() + suffix), operands,
                               builder.getArrayAttr(list), builder.getArrayAttr(order));
  made->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  made.changeConfig(split.launch, "the cost model");
  made.changeConfig(kernel.getTuningConfig(), "the cost model");
  Block &block = made.getBody().emplaceBlock();
  for (Type type : operands.getTypes())
    block.addArgument(type, kernel.getLoc());
  for (Type type : types)
    block.addArgument(type, kernel.getLoc());
  return made;
}

/// The kernel that computes the states for each part and stores them.
KernelOp Splitter::makePartsKernel() {
  MLIRContext *context = kernel.getContext();
  SymExpr count(split.parts);
  SmallVector<DimAttr> dims{
      DimAttr::get(context, part, count, builder.getStringAttr(kParallel), 1)};
  llvm::append_range(dims, kernel.getDims().getAsRange<DimAttr>());
  SmallVector<Type> types;
  for (Value state : stream.getResults()) {
    auto type = cast<ValType>(state.getType());
    SmallVector<SymExpr> shape{count};
    for (StringAttr name : type.getDims())
      shape.push_back(kernel.getDim(name).getSize());
    types.push_back(gir::TensorType::get(shape, type.getElementType()));
  }
  SmallVector<Value> operands;
  SmallVector<unsigned> numbers;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
    if (!isContinued(i)) {
      operands.push_back(input);
      numbers.push_back(i);
    }
  KernelOp made = open("_parts", types, operands, dims);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&made.getBody().front());
  IRMapping mapping;
  for (auto [i, number] : llvm::enumerate(numbers))
    mapping.map(kernel.getBody().getArgument(number), made.getBody().getArgument(i));
  // What the stream uses from outside of it.
  BackwardSliceOptions options;
  options.inclusive = false;
  options.omitBlockArguments = true;
  llvm::SetVector<Operation *> before;
  stream.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && maker->getParentOp() == kernel) {
        (void)getBackwardSlice(maker, &before, options);
        before.insert(maker);
      }
  });
  for (Operation &op : kernel.getBody().front())
    if (before.contains(&op))
      builder.clone(op, mapping);
  auto cloned = cast<StreamOp>(builder.clone(*stream, mapping));
  SmallVector<Attribute> over(stream.getOver().getValue());
  auto along = llvm::find(over, builder.getStringAttr(split.along));
  std::rotate(along, along + 1, over.end());
  ArrayAttr live = stream.getLive(), full = stream.getFull();
  if (over.back() != stream.getOver().getValue().back())
    live = full = builder.getStrArrayAttr({"0", kernel.getDim(split.along).getSize().str()});
  cloned.setOverAttr(builder.getArrayAttr(over));
  cloned.setLiveAttr(partRange(live));
  cloned.setFullAttr(partRange(full));
  for (auto [i, state] : llvm::enumerate(cloned.getResults()))
    StoreOp::create(builder, kernel.getLoc(), state, made.getOutputArgument(i), partIndex(state));
  return made;
}

/// The dimensions of the kernel that merges parts. All parts are in one tile, so there is less room
/// for other dimensions: of contractions for the first, which leave the last as many as their tiles
/// need, of others for all but the last.
SmallVector<DimAttr> Splitter::mergeDims(const llvm::SetVector<Operation *> &finish) {
  constexpr int64_t mostElements = 8192;
  MLIRContext *context = kernel.getContext();
  std::set<StringRef> needed;
  for (Operation *op : finish) {
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<ValType>(operand.getType()))
        for (StringAttr name : type.getDims())
          needed.insert(name.getValue());
    if (auto reduce = dyn_cast<sched::ReduceOp>(op))
      for (StringAttr name : reduce.getOver().getAsRange<StringAttr>())
        needed.insert(name.getValue());
  }
  bool contracts = false;
  kernel.walk([&](Operation *op) {
    auto accumulate = dyn_cast<AccumulateOp>(op);
    auto reduce = dyn_cast<sched::ReduceOp>(op);
    contracts |= (accumulate && accumulate.getValues().size() == 2) ||
                 (reduce && reduce.getValues().size() == 2);
  });
  SmallVector<DimAttr> dims{DimAttr::get(context, part, SymExpr(split.parts),
                                         builder.getStringAttr(kStream), split.parts)};
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (dim.isParallel() || needed.count(dim.getName().getValue()))
      dims.push_back(dim);
  int64_t elements = split.parts, least = contracts ? 16 : 1;
  SmallVector<DimAttr *> others;
  for (DimAttr &dim : dims)
    if (isGpu && dim.isParallel())
      others.push_back(&dim);
  if (!contracts)
    std::reverse(others.begin(), others.end());
  for (DimAttr *dim : others) {
    int64_t tile = dim->getTile();
    while (tile > least && elements * tile > mostElements)
      tile /= 2;
    elements *= tile;
    *dim = DimAttr::get(context, dim->getName(), dim->getSize(), dim->getRole(), tile);
  }
  return dims;
}

/// An elementwise operation over the union of the operands' dimensions.
Value Splitter::map(ScalarOp op, ValueRange inputs, Location loc) {
  auto merge = builder.getInsertionBlock()->getParentOp()->getParentOfType<KernelOp>();
  SmallVector<StringAttr> dims;
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(cast<ValType>(input.getType()).getElementType());
  for (DimAttr dim : merge.getDims().getAsRange<DimAttr>())
    if (llvm::any_of(inputs, [&](Value input) {
          return cast<ValType>(input.getType()).hasDim(dim.getName().getValue());
        }))
      dims.push_back(dim.getName());
  auto type = ValType::get(builder.getContext(), dims, scalarOpResultType(op, types));
  return MapOp::create(builder, loc, type, builder.getStringAttr(scalarOpInfo(op).name), inputs);
}

/// The stream over the parts, whose tensors are the arguments from `first` on. Its exponents are
/// the stored gauges.
void Splitter::emitMergeStream(KernelOp merge, unsigned first, IRMapping &mapping) {
  Location loc = kernel.getLoc();
  std::string count = std::to_string(split.parts);
  ArrayAttr range = builder.getStrArrayAttr({"0", count});
  auto merged =
      StreamOp::create(builder, loc, stream.getResultTypes(), builder.getArrayAttr({part}), range,
                       range, builder.getF64FloatAttr(0));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&merged.getBody().emplaceBlock());
  llvm::DenseMap<Value, Value> gauges, weights, references;
  SmallVector<Value> yields;
  for (auto [i, state] : llvm::enumerate(states)) {
    auto type = cast<ValType>(state.getType());
    SmallVector<StringAttr> dims{part};
    llvm::append_range(dims, type.getDims());
    auto loadedType = ValType::get(builder.getContext(), dims, type.getElementType());
    Value loaded = LoadOp::create(builder, loc, loadedType, merge.getBody().getArgument(first + i),
                                  partIndex(state));
    if (auto gauge = state.getDefiningOp<GaugeOp>()) {
      gauges[state] = GaugeOp::create(builder, gauge.getLoc(), type, loaded, gauge.getScaleAttr(),
                                      gauge.getIndicatorAttr());
      if (!gauge.getIndicator())
        weights[state] = WeighOp::create(builder, gauge.getLoc(), loadedType, loaded, gauges[state],
                                         gauge.getScaleAttr());
      references[state] = loaded;
      yields.push_back(gauges[state]);
      continue;
    }
    auto accumulate = state.getDefiningOp<AccumulateOp>();
    Value gauge = accumulate.getGauge() ? gauges.at(accumulate.getGauge()) : Value();
    if (Value weight = gauge ? weights.lookup(accumulate.getGauge()) : Value()) {
      loaded = map(ScalarOp::Mul, {weight, loaded}, loc);
    } else if (gauge) {
      // A part whose extremum is not the extremum of all counts for nothing.
      Value own = references.at(accumulate.getGauge());
      Value counts = map(ScalarOp::Eq, {own, gauge}, loc);
      if (isa<FloatType>(cast<ValType>(own.getType()).getElementType()))
        counts = map(ScalarOp::Or, {counts, map(ScalarOp::IsNan, {own}, loc)}, loc);
      auto none = ConstantOp::create(builder, loc,
                                     ValType::get(builder.getContext(), {}, type.getElementType()),
                                     unitOf(accumulate.getReduceOp(), type.getElementType()));
      loaded = map(ScalarOp::Where, {counts, loaded, none}, loc);
    }
    yields.push_back(
        AccumulateOp::create(builder, loc, type, accumulate.getKindAttr(), loaded, gauge));
  }
  YieldOp::create(builder, loc, yields);
  for (auto [before, after] : llvm::zip_equal(stream.getResults(), merged.getResults()))
    mapping.map(before, after);
}

/// The kernel that combines the parts and computes the results from the states.
KernelOp Splitter::makeMergeKernel(KernelOp parts) {
  // What stores and checks need besides the states.
  llvm::SetVector<Operation *> finish;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op != stream.getOperation(); };
  for (Operation &op : kernel.getBody().front())
    if (isa<StoreOp, CheckOp>(op)) {
      (void)getBackwardSlice(&op, &finish, options);
      finish.insert(&op);
    }
  SmallVector<Value> operands;
  IRMapping mapping;
  SmallVector<unsigned> numbers; // of the original inputs
  auto isRead = [&](unsigned input) {
    return llvm::any_of(kernel.getInputArgument(input).getUsers(),
                        [&](Operation *user) { return finish.contains(user); });
  };
  for (bool continued : {false, true})
    for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
      if (isContinued(i) == continued && (continued || isRead(i))) {
        operands.push_back(input);
        numbers.push_back(i);
      }
  unsigned first = operands.size();
  llvm::append_range(operands, parts.getResults());
  KernelOp made = open("_merge", kernel.getResultTypes(), operands, mergeDims(finish));
  made->removeAttr(kOverridden); // fields are for the stream
  // The parts are few: no cluster shares them.
  made.changeConfig(
      made.getLaunchConfig().without({LaunchField::ClusterSize, LaunchField::ClusterAxis}),
      "merged by single CTAs");
  if (auto into = kernel.getInto()) {
    SmallVector<int64_t> moved;
    for (int64_t input : *into)
      moved.push_back(input < 0 ? -1 : llvm::find(numbers, unsigned(input)) - numbers.begin());
    made.setInto(moved);
  }
  for (auto [i, number] : llvm::enumerate(numbers))
    mapping.map(kernel.getInputArgument(number), made.getInputArgument(i));
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    mapping.map(kernel.getOutputArgument(i), made.getOutputArgument(i));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&made.getBody().front());
  emitMergeStream(made, first, mapping);
  for (Operation &op : kernel.getBody().front())
    if (finish.contains(&op))
      builder.clone(op, mapping);
  return made;
}

namespace {
struct ScheduleSplitStreams : sched::impl::ScheduleSplitStreamsBase<ScheduleSplitStreams> {
  using ScheduleSplitStreamsBase::ScheduleSplitStreamsBase;

  void runOnOperation() override {
    auto perform = [](const MachineModel &machine, const SizeFacts &facts, KernelOp kernel) {
      KernelShape shape = describeKernel(kernel, facts);
      if (!shape.canSplit)
        return;
      StreamOp stream = *kernel.getBody().front().getOps<StreamOp>().begin();
      Split split = chooseSplit(machine, facts, shape, stream);
      if (split.parts > 1)
        Splitter(kernel, stream, split, machine.isGpu).run();
    };
    if (failed(forEachKernel(getOperation(), target, cores, perform)))
      signalPassFailure();
  }
};
} // namespace
