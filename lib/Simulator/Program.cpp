//===- Program.cpp - A kernel as the steps of a warp ----------------------===//
#include "Program.h"

#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Places::Places(const Layout &layout, unsigned warps, unsigned ctas) : warps(warps) {
  auto parts = [&](Dim dim, unsigned count) {
    gf2::VectorsRef columns = layout.columns(dim);
    std::vector<uint64_t> all(count);
    for (unsigned i = 0; i < count; ++i) // bits that the layout lacks are replicas
      all[i] = gf2::sum(columns, i & ((uint64_t(1) << columns.size()) - 1));
    return all;
  };
  registerParts = parts(Dim::Register, layout.in().size(Dim::Register));
  laneParts = parts(Dim::Lane, kLanes);
  for (uint64_t cta : parts(Dim::Block, ctas))
    for (uint64_t warp : parts(Dim::Warp, warps))
      warpParts.push_back(cta ^ warp);
  uint64_t free = layout.freeBits();
  auto freeOf = [&](Dim dim, unsigned size) {
    unsigned known = (free & layout.in().mask({dim})) >> layout.in().shift(dim);
    return known | (~((1u << layout.in().bits(dim)) - 1) & (size - 1));
  };
  freeRegisters = freeOf(Dim::Register, registers());
  freeLanes = freeOf(Dim::Lane, kLanes);
  freeWarps = freeOf(Dim::Warp, llvm::PowerOf2Ceil(warps));
  freeCtas = freeOf(Dim::Block, llvm::PowerOf2Ceil(ctas));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
class Compiler {
public:
  Compiler(tile::KernelOp kernel, Program &program, const GpuDescription &gpu)
      : program(program), features(sharedFeaturesOf(gpu)), coordinates(kernel),
        tiles(program, [this](Value value) { return slotOf(value); }) {}

  LogicalResult run();

private:
  unsigned slotOf(Value value) {
    auto [at, isNew] = slots.try_emplace(value, program.slotCount);
    program.slotCount += isNew;
    return at->second;
  }
  std::vector<unsigned> slotsOf(ValueRange values) {
    std::vector<unsigned> list;
    for (Value value : values)
      list.push_back(slotOf(value));
    return list;
  }
  Step &add(Step::Kind kind, Operation *op) {
    Step &step = program.steps.emplace_back();
    step.kind = kind;
    step.op = op;
    step.number = program.steps.size() - 1;
    return step;
  }
  /// A step with nothing but its kind.
  bool addPlain(Step::Kind kind, Operation *op) {
    add(kind, op);
    return true;
  }
  unsigned here() const { return program.steps.size(); }

  LogicalResult compile(Block &block);
  LogicalResult compile(Operation *op);
  bool compileSynchronization(Operation *op);
  LogicalResult compileCompute(Operation *op);
  LogicalResult compileFor(scf::ForOp loop);
  LogicalResult compileIf(scf::IfOp branch);
  LogicalResult compileAlloc(tile::AllocOp alloc);
  LogicalResult compileCopy(tile::CpAsyncOp copy);
  /// A bulk load, bulk store or TMA load, issued by one warp.
  template <typename CopyOp> LogicalResult compileBulkCopy(CopyOp op);
  /// A load of a stage into the slot `tile`, or a store of the tile in it.
  LogicalResult compileStageAccess(Operation *op, Value buffer, Value stage, const Layout &layout,
                                   bool isWrite, unsigned tile);
  LogicalResult compileMmaShared(tile::MmaSharedOp mma);
  LogicalResult compileWgmma(tile::WgmmaOp mma);
  /// A store to dsmem or a load from it, of a tile with this layout.
  LogicalResult compileDsmem(Step::Kind kind, Operation *op, Value dsmem, const Layout &layout);
  std::shared_ptr<GlobalAccess> globalAccess(Operation *op, Value view, ValueRange coords,
                                             ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                                             const Layout &layout, bool isChecked,
                                             ValueRange indices = {});
  std::shared_ptr<StageAccess> stageAccess(Operation *op, Value buffer, Value stage,
                                           const Layout &layout, bool isWrite);
  LogicalResult compileGlobal(Operation *op);

  Program &program;
  SharedFeatures features;
  Coordinates coordinates;
  TileCompiler tiles;
  llvm::DenseMap<Value, unsigned> slots, buffers, mbarriers;
};
} // namespace

std::unique_ptr<Program> Program::compile(tile::KernelOp kernel, const GpuDescription &gpu) {
  auto program = std::make_unique<Program>();
  program->kernel = kernel;
  program->warps = kernel.getNumWarps();
  program->clusterSize = kernel.getClusterSize();
  return succeeded(Compiler(kernel, *program, gpu).run()) ? std::move(program) : nullptr;
}

LogicalResult Compiler::run() {
  tile::KernelOp kernel = program.kernel;
  program.isWritten.assign(kernel.getNumArguments(), false);
  for (BlockArgument argument : kernel.getArguments())
    program.argumentSlots.push_back(isa<tile::ViewType>(argument.getType()) ? ~0u
                                                                            : slotOf(argument));
  kernel.walk([&](Operation *op) {
    auto bulkStore = dyn_cast<tile::BulkStoreOp>(op);
    program.usesAsyncProxy |= isa<tile::AsyncLoadOpInterface, tile::BulkStoreOp, tile::WgmmaOp>(op);
    if (bulkStore || isa<tile::StoreOp, tile::ScatterOp>(op))
      if (BlockArgument view = argumentOf(bulkStore ? bulkStore.getView() : op->getOperand(1)))
        program.isWritten[view.getArgNumber()] = true;
  });
  if (failed(compile(kernel.getBody().front())))
    return failure();
  add(Step::Kind::Return, kernel.getBody().front().getTerminator());
  return success();
}

LogicalResult Compiler::compile(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(compile(&op)))
      return failure();
  return success();
}

/// `For` has the bounds and the initial values, `Next` the values of the next iteration; it ends
/// the loop after the last one.
LogicalResult Compiler::compileFor(scf::ForOp loop) {
  Step &enter = add(Step::Kind::For, loop);
  enter.in = slotsOf(loop->getOperands());
  enter.out = {slotOf(loop.getInductionVar())};
  for (Value argument : loop.getRegionIterArgs())
    enter.out.push_back(slotOf(argument));
  unsigned head = enter.number, body = here();
  if (failed(compile(*loop.getBody())))
    return failure();
  Step &next = add(Step::Kind::Next, loop);
  next.in = slotsOf(loop.getYieldedValues());
  next.out = slotsOf(loop.getResults());
  next.body = body;
  next.target = head;
  program.steps[head].target = next.number;
  return success();
}

LogicalResult Compiler::compileIf(scf::IfOp branch) {
  Step &test = add(Step::Kind::If, branch);
  test.in = {slotOf(branch.getCondition())};
  unsigned head = test.number;
  auto side = [&](Region &region) -> LogicalResult {
    if (!region.empty()) {
      if (failed(compile(region.front())))
        return failure();
      Step &leave = add(Step::Kind::Jump, branch);
      leave.in = slotsOf(region.front().getTerminator()->getOperands());
      leave.out = slotsOf(branch.getResults());
    }
    return success();
  };
  if (failed(side(branch.getThenRegion())))
    return failure();
  unsigned thenJump = here() - 1;
  program.steps[head].target = here();
  if (failed(side(branch.getElseRegion())))
    return failure();
  if (here() - 1 != thenJump)
    program.steps.back().target = here();
  program.steps[thenJump].target = here();
  return success();
}

LogicalResult Compiler::compileAlloc(tile::AllocOp alloc) {
  std::optional<Element> element = Element::of(alloc.getType().getTile().getElementType());
  if (!element)
    return alloc.emitError("is not supported by the simulator");
  Buffer buffer;
  buffer.element = *element;
  buffer.stages = alloc.getType().getStages();
  buffer.stride = alloc.getType().getStride();
  buffer.bytes = alloc.getType().getBytes();
  buffer.tileBytes = alloc.getType().getElements() * element->bytes();
  buffer.slack = alloc.getType().getSlack();
  buffer.begin =
      alloc.getOffset() ? int64_t(*alloc.getOffset()) : llvm::alignTo(program.sharedBytes, 128);
  program.sharedBytes = std::max(program.sharedBytes, buffer.begin + alloc.getAllBytes());
  buffers[alloc.getResult()] = program.buffers.size();
  program.buffers.push_back(buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

std::shared_ptr<GlobalAccess> Compiler::globalAccess(Operation *op, Value view, ValueRange coords,
                                                     ArrayRef<int64_t> dims,
                                                     ArrayRef<int64_t> shape, const Layout &layout,
                                                     bool isChecked, ValueRange indices) {
  auto access = std::make_shared<GlobalAccess>();
  auto type = cast<tile::ViewType>(view.getType());
  std::optional<Element> element = Element::of(type.getElementType());
  BlockArgument argument = argumentOf(view);
  if (!element || !argument) {
    op->emitError("is not supported by the simulator");
    return nullptr;
  }
  unsigned width = indices.empty() ? coordinates.accessWidth(view, dims, layout, isChecked) : 1;
  // A tile of an aligned row is a tile of the tensor at a shifted coordinate.
  SmallVector<Value> tensorCoords(coords);
  SmallVector<int64_t> along(dims);
  if (auto row = view.getDefiningOp<tile::AlignedRowOp>()) {
    unsigned dim = row.getDim();
    tensorCoords.assign(row.getCoords().begin(), row.getCoords().end());
    tensorCoords.insert(tensorCoords.begin() + dim, coords[0]);
    along = {int64_t(dim)};
    access->front = {dim, slotOf(row)};
    coords = tensorCoords;
    dims = along;
    type = row.getView().getType();
  }
  access->view = argument.getArgNumber();
  access->coords = slotsOf(coords);
  access->indices = slotsOf(indices);
  access->dims.assign(dims.begin(), dims.end());
  access->tileSizes.assign(type.getRank(), 1);
  access->tileDim.assign(type.getRank(), -1);
  Space space = tile::spaceOf(shape);
  for (auto [along, dim] : llvm::enumerate(dims)) {
    access->shift.push_back(space.shift(tensorDim(along)));
    if (dim < 0)
      continue;
    access->tileSizes[dim] = shape[along];
    access->tileDim[dim] = along;
  }
  access->places = tiles.placesOf(layout);
  access->element = *element;
  access->isChecked = isChecked;
  access->width = width;
  if (!indices.empty())
    access->indexElement =
        *Element::of(cast<RankedTensorType>(indices[0].getType()).getElementType());
  return access;
}

std::shared_ptr<StageAccess> Compiler::stageAccess(Operation *op, Value buffer, Value stage,
                                                   const Layout &layout, bool isWrite) {
  auto known = buffers.find(buffer);
  auto type = cast<tile::BufferType>(buffer.getType());
  if (known == buffers.end() || !type.getMemory().isSurjective()) {
    op->emitError("is not supported by the simulator");
    return nullptr;
  }
  Layout offsets = offsetsOf(type.getMemory());
  auto access = std::make_shared<StageAccess>();
  access->buffer = known->second;
  access->stageSlot = stage ? slotOf(stage) : ~0u;
  access->isWrite = isWrite;
  llvm::append_range(access->shape, type.getTile().getShape());
  access->places = tiles.placesOf(layout);
  unsigned bytes = program.buffers[access->buffer].element.bytes(), bits = 8 * bytes;
  SharedAccess plan;
  if (isa<tile::CpAsyncOp>(op)) { // 16 bytes at a time
    plan.registers.vector = llvm::Log2_32(16 / bytes);
    plan.accesses = std::max<unsigned>(1, access->places->registers() >> plan.registers.vector);
    plan.wavefronts = plan.accesses * wavefronts(layout.then(offsets), plan.registers.vector, bits);
  } else {
    plan = isWrite ? planStore(type.getMemory(), layout, bits, features)
                   : planLoad(type.getMemory(), layout, bits, features);
    auto read = dyn_cast<tile::SharedLoadOp>(op);
    auto write = dyn_cast<tile::SharedStoreOp>(op);
    if (read)
      access->first = read.getFirstElement();
    if (Value shift = read ? read.getShift() : write ? write.getShift() : Value()) {
      access->shift = slotOf(shift);
      plan = SharedAccess(); // element by element
      plan.accesses = access->places->registers();
      plan.wavefronts = plan.accesses * wavefronts(layout.then(offsets), 0, bits);
    }
    if (read && read.getFrom())
      access->from = slotOf(read.getFrom());
    if (read && read.getBelow())
      access->below = slotOf(read.getBelow());
    if (read && read.getPad())
      access->pad = numberOf(*read.getPad());
  }
  access->accesses = plan.accesses;
  access->wavefronts = plan.wavefronts;
  access->ideal = plan.kind == SharedAccess::Kind::Plain
                      ? plan.accesses * (kLanes >> phaseBits(plan.registers.vector, bits))
                      : plan.accesses << plan.matrices;
  for (unsigned warp = 0; warp < program.allWarps(); ++warp) {
    std::vector<uint32_t> &list = access->offsets.emplace_back(access->places->count());
    for (unsigned i = 0; i < list.size(); ++i)
      list[i] = offsets(access->first ^ (*access->places)(warp, i)) * bytes;
  }
  return access;
}

static ArrayRef<int64_t> shapeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getShape();
}

LogicalResult Compiler::compileGlobal(Operation *op) {
  std::shared_ptr<GlobalAccess> access;
  Step step;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    access = globalAccess(op, load.getView(), load.getCoords(), load.getDims(), shapeOf(load),
                          *tile::layoutOf(load), load.getPad().has_value());
    step.out = {slotOf(load)};
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    access =
        globalAccess(op, gather.getView(), gather.getCoords(), gather.getDims(), shapeOf(gather),
                     *tile::layoutOf(gather), gather.getPad().has_value(), gather.getIndices());
    step.out = {slotOf(gather)};
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    access = globalAccess(op, store.getView(), store.getCoords(), store.getDims(),
                          shapeOf(store.getValue()), *tile::layoutOf(store.getValue()),
                          store.getBounded());
    step.in = {slotOf(store.getValue())};
  } else {
    auto scatter = cast<tile::ScatterOp>(op);
    if (scatter.getSum() && !scatter.getUnordered())
      return scatter.emitOpError("expected an unordered sum for PTX");
    access = globalAccess(op, scatter.getView(), scatter.getCoords(), scatter.getDims(),
                          shapeOf(scatter.getValue()), *tile::layoutOf(scatter.getValue()),
                          scatter.getBounded(), scatter.getIndices());
    step.in = {slotOf(scatter.getValue())};
  }
  if (!access)
    return failure();
  auto scatter = dyn_cast<tile::ScatterOp>(op);
  access->isAtomic = scatter && scatter.getUnordered();
  access->isWrite = isa<tile::StoreOp, tile::ScatterOp>(op);
  if (Attribute pad = op->getAttr("pad"))
    access->pad = numberOf(pad);
  Step &added = add(Step::Kind::Global, op);
  added.in = step.in;
  added.out = step.out;
  added.global = access;
  return success();
}

LogicalResult Compiler::compileCopy(tile::CpAsyncOp copy) {
  const Layout &via = copy.getVia().getValue();
  auto from = globalAccess(copy, copy.getView(), copy.getCoords(), copy.getDims(),
                           copy.getBuffer().getType().getTile().getShape(), via, copy.getBounded());
  auto to = stageAccess(copy, copy.getBuffer(), copy.getStage(), via, /*isWrite=*/true);
  if (!from || !to)
    return failure();
  if (from->element.isFloat())
    from->pad = real(0);
  Step &step = add(Step::Kind::CpAsync, copy);
  if (copy.getCondition())
    step.in = {slotOf(copy.getCondition())};
  step.global = from;
  step.shared = to;
  return success();
}

/// The parts of a tile that the CTAs of a cluster multicast: some of the spans each, or a part of
/// each span.
static Layout multicastLayout(tile::TmaLoadOp load) {
  Layout memory = load.getBuffer().getType().getMemory();
  gf2::VectorsRef run = memory.columns(Dim::Offset);
  unsigned lanes = llvm::Log2_32(kLanes), parts = llvm::Log2_64(load.getMulticastCtas());
  tile::Box box = *load.getBox();
  unsigned spans = *box.multicastDim ? llvm::Log2_64(box.count) : 0,
           below = run.size() - spans - parts;
  Space in({{Dim::Register, 1u << (run.size() - parts - lanes)},
            {Dim::Lane, kLanes},
            {Dim::Block, 1u << parts}});
  return Layout(in, memory.out(),
                gf2::concat({run.subspan(lanes, below - lanes), run.last(spans), run.first(lanes),
                             run.subspan(below, parts)}));
}

template <typename CopyOp> LogicalResult Compiler::compileBulkCopy(CopyOp op) {
  constexpr bool isTma = std::is_same_v<CopyOp, tile::TmaLoadOp>,
                 isLoad = isTma || std::is_same_v<CopyOp, tile::BulkLoadOp>;
  tile::BufferType buffer = op.getBuffer().getType();
  Layout memory = buffer.getMemory();
  gf2::VectorsRef run = memory.columns(Dim::Offset), ctas = memory.columns(Dim::Block);
  unsigned lanes = llvm::Log2_32(kLanes);
  Space in({{Dim::Register, unsigned(buffer.getElements() / kLanes)},
            {Dim::Lane, kLanes},
            {Dim::Block, 1u << ctas.size()}});
  Layout layout(in, memory.out(), gf2::concat({run.subspan(lanes), run.first(lanes), ctas}));
  if constexpr (isTma)
    if (op.getMulticast())
      layout = multicastLayout(op);
  auto global = globalAccess(op, op.getView(), op.getCoords(), op.getDims(),
                             buffer.getTile().getShape(), layout, op.getBounded());
  auto stage = stageAccess(op, op.getBuffer(), op.getStage(), layout, isLoad);
  if (!global || !stage)
    return failure();
  global->isWrite = !isLoad;
  global->width = 1;
  if (global->element.isFloat())
    global->pad = real(0);
  Step &step = add(isLoad ? Step::Kind::AsyncLoad : Step::Kind::BulkStore, op);
  step.global = global;
  step.shared = stage;
  if constexpr (isLoad) {
    step.mbarriers = mbarriers.lookup(op.getFull());
    step.in = {slotOf(op.getFullIndex())};
    step.isTma = isTma;
    step.issuingWarp = op.getIssuingWarp();
  }
  if constexpr (isTma) {
    step.isClusterWide = op.getMulticast();
    if (op.getEmpty()) {
      step.empty = mbarriers.lookup(op.getEmpty());
      step.in.push_back(slotOf(op.getEmptyIndex()));
      step.in.push_back(slotOf(op.getEmptyPhase()));
    }
  }
  return success();
}

LogicalResult Compiler::compileStageAccess(Operation *op, Value buffer, Value stage,
                                           const Layout &layout, bool isWrite, unsigned tile) {
  auto access = stageAccess(op, buffer, stage, layout, isWrite);
  if (!access)
    return failure();
  Step &step = add(Step::Kind::Shared, op);
  (isWrite ? step.in : step.out) = {tile};
  step.shared = access;
  return success();
}

/// Two loads and an MMA of the loaded tiles.
LogicalResult Compiler::compileMmaShared(tile::MmaSharedOp mma) {
  SmallVector<TileCompiler::Operand> operands;
  for (const BufferAccess &access : bufferAccesses(mma)) {
    unsigned tile = program.slotCount++;
    if (failed(compileStageAccess(mma, access.buffer, access.stage, access.layout,
                                  /*isWrite=*/false, tile)))
      return failure();
    operands.push_back({tile, tiles.placesOf(access.layout),
                        cast<tile::BufferType>(access.buffer.getType()).getTile()});
  }
  TileCompiler::Operand acc{slotOf(mma.getAcc()), tiles.placesOf(*tile::layoutOf(mma.getAcc())),
                            cast<RankedTensorType>(mma.getAcc().getType())};
  return tiles.compileMatmul(mma, operands[0], operands[1], acc, slotOf(mma.getResult()),
                             add(Step::Kind::Compute, mma));
}

/// Reads of stages that last until a wait, and an MMA of the tiles that they read.
LogicalResult Compiler::compileWgmma(tile::WgmmaOp mma) {
  SmallVector<TileCompiler::Operand> operands;
  if (!mma.getLhsStage())
    operands.push_back({slotOf(mma.getLhs()), tiles.placesOf(mma.getLhs()), mma.getLeft()});
  for (const BufferAccess &read : bufferAccesses(mma)) {
    auto access = stageAccess(mma, read.buffer, read.stage, read.layout, /*isWrite=*/false);
    if (!access)
      return failure();
    Step &step = add(Step::Kind::WgmmaOperand, mma);
    step.shared = access;
    step.out = {program.slotCount++};
    // The operands in registers.
    step.in = {slotOf(mma.getAcc())};
    if (!mma.getLhsStage())
      step.in.push_back(slotOf(mma.getLhs()));
    bool isLeft = operands.empty();
    bool isTransposed = isLeft ? mma.getLhsTransposed() : mma.getRhsTransposed();
    operands.push_back(
        {step.out[0], isTransposed ? tiles.placesOf(read.layout.transpose({1, 0})) : access->places,
         isLeft ? mma.getLeft() : mma.getRightBuffer().getTile()});
  }
  TileCompiler::Operand acc{slotOf(mma.getAcc()), tiles.placesOf(mma.getAcc()),
                            cast<RankedTensorType>(mma.getAcc().getType())};
  Step &step = add(Step::Kind::Compute, mma);
  if (failed(
          tiles.compileMatmul(mma, operands[0], operands[1], acc, slotOf(mma.getResult()), step)))
    return failure();
  unsigned made = slotOf(mma.getResult());
  step.compute = [multiply = std::move(step.compute), made](Frame &frame) {
    multiply(frame);
    frame.slots[made].tile->group = frame.mmaGroup + 1;
  };
  return success();
}

LogicalResult Compiler::compileDsmem(Step::Kind kind, Operation *op, Value dsmem,
                                     const Layout &layout) {
  auto access = stageAccess(op, dsmem, Value(), layout, kind == Step::Kind::DsmemStore);
  if (!access)
    return failure();
  Layout memory = cast<tile::BufferType>(dsmem.getType()).getMemory();
  if (kind == Step::Kind::DsmemStore && memory.in().bits(Dim::Block)) {
    Layout ctas = memory.rightInverse()->sublayout(allDims, {Dim::Block});
    for (unsigned warp = 0; warp < program.allWarps(); ++warp) {
      std::vector<uint8_t> &list = access->targets.emplace_back(access->places->count());
      for (unsigned i = 0; i < list.size(); ++i)
        list[i] = ctas((*access->places)(warp, i));
    }
  }
  add(kind, op).shared = access;
  return success();
}

/// Fences, commits, waits and barriers. False for other operations.
bool Compiler::compileSynchronization(Operation *op) {
  using Kind = Step::Kind;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](tile::WgmmaFenceOp) { return addPlain(Kind::WgmmaFence, op); })
      .Case([&](tile::WgmmaCommitOp) { return addPlain(Kind::WgmmaCommit, op); })
      .Case([&](tile::FenceProxyAsyncOp) { return addPlain(Kind::FenceProxyAsync, op); })
      .Case([&](tile::CpAsyncCommitOp) { return addPlain(Kind::CpAsyncCommit, op); })
      .Case([&](tile::ClusterArriveOp) { return addPlain(Kind::ClusterArrive, op); })
      .Case([&](tile::ClusterWaitOp) { return addPlain(Kind::ClusterWait, op); })
      .Case([&](tile::BarrierOp barrier) {
        return addPlain(barrier.getWarp() ? Kind::WarpBarrier : Kind::Barrier, op);
      })
      .Case([&](tile::CpAsyncWaitOp wait) {
        add(Kind::CpAsyncWait, op).pending = wait.getPending();
        return true;
      })
      .Case([&](tile::BulkWaitOp wait) {
        add(Kind::BulkWait, op).pending = wait.getPending();
        return true;
      })
      .Case([&](tile::WgmmaWaitOp wait) {
        Step &step = add(Kind::WgmmaWait, op);
        step.pending = wait.getPending();
        step.in = slotsOf(wait.getSums());
        step.out = slotsOf(wait.getResults());
        return true;
      })
      .Case([&](tile::MbarrierAllocOp alloc) {
        mbarriers[alloc.getResult()] = program.mbarrierCounts.size();
        add(Kind::MbarrierAlloc, op).mbarriers = program.mbarrierCounts.size();
        program.mbarrierCounts.push_back(alloc.getType().getCount());
        program.mbarrierArrivals.push_back(alloc.getArrivals().value_or(1));
        return true;
      })
      .Case([&](tile::MbarrierArriveOp arrive) {
        Step &step = add(Kind::MbarrierArrive, op);
        step.mbarriers = mbarriers.lookup(arrive.getMbarriers());
        step.isClusterWide = arrive.getCluster();
        step.in = {slotOf(arrive.getMbarrier())};
        return true;
      })
      .Case([&](tile::MbarrierWaitOp wait) {
        Step &step = add(Kind::MbarrierWait, op);
        step.mbarriers = mbarriers.lookup(wait.getMbarriers());
        step.in = slotsOf({wait.getMbarrier(), wait.getPhase()});
        return true;
      })
      .Case([&](tile::DsmemWaitOp wait) {
        Step &step = add(Kind::DsmemWait, op);
        step.shared = std::make_shared<StageAccess>();
        step.shared->buffer = buffers.at(wait.getDsmem());
        return true;
      })
      .Case([&](tile::CheckOp check) {
        add(Kind::Check, op).in = slotsOf({check.getCondition(), check.getValue()});
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// Operations on scalars and tiles that no other warp can observe.
LogicalResult Compiler::compileCompute(Operation *op) {
  if (auto compute = compileScalar(op, [this](Value value) { return slotOf(value); })) {
    add(Step::Kind::Compute, op).compute = std::move(compute);
    return success();
  }
  Step step;
  if (failed(tiles.compile(op, step)))
    return failure();
  step.op = op;
  step.number = here();
  program.steps.push_back(std::move(step));
  return success();
}

LogicalResult Compiler::compile(Operation *op) {
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (auto tile = dyn_cast<RankedTensorType>(value.getType()); tile && !tile.getEncoding())
      return op->emitError("expected placed tiles, got ") << tile;
  if (compileSynchronization(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return compileFor(loop); })
      .Case([&](scf::IfOp branch) { return compileIf(branch); })
      .Case([&](tile::AllocOp alloc) { return compileAlloc(alloc); })
      .Case<tile::LoadOp, tile::GatherOp, tile::StoreOp, tile::ScatterOp>(
          [&](auto) { return compileGlobal(op); })
      .Case([&](tile::CpAsyncOp copy) { return compileCopy(copy); })
      .Case<tile::BulkLoadOp, tile::TmaLoadOp, tile::BulkStoreOp>(
          [&](auto copy) { return compileBulkCopy(copy); })
      .Case([&](tile::SharedLoadOp load) {
        return compileStageAccess(op, load.getBuffer(), load.getStage(), load.getElementLayout(),
                                  /*isWrite=*/false, slotOf(load));
      })
      .Case([&](tile::SharedStoreOp store) {
        return compileStageAccess(op, store.getBuffer(), store.getStage(),
                                  *tile::layoutOf(store.getValue()), /*isWrite=*/true,
                                  slotOf(store.getValue()));
      })
      .Case([&](tile::MmaSharedOp mma) { return compileMmaShared(mma); })
      .Case([&](tile::WgmmaOp mma) { return compileWgmma(mma); })
      .Case([&](tile::DsmemStoreOp store) {
        if (failed(compileDsmem(Step::Kind::DsmemStore, op, store.getDsmem(),
                                *tile::layoutOf(store.getValue()))))
          return failure();
        program.steps.back().in = {slotOf(store.getValue())};
        return success();
      })
      .Case([&](tile::DsmemLoadOp load) {
        if (failed(compileDsmem(Step::Kind::DsmemLoad, op, load.getDsmem(), *tile::layoutOf(load))))
          return failure();
        program.steps.back().out = {slotOf(load)};
        return success();
      })
      .Default([&](Operation *) { return compileCompute(op); });
}
