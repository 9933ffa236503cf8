//===- Program.cpp - A kernel as the steps of a warp ----------------------===//
#include "Program.h"

#include "tessera/Analysis/SharedMemory.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Places::Places(const Layout &layout, unsigned warps, unsigned blocks) : warps(warps) {
  auto parts = [&](Dim dim, unsigned count) {
    gf2::VectorsRef columns = layout.columns(dim);
    std::vector<uint64_t> all(count);
    for (unsigned i = 0; i < count; ++i) // bits that the layout does not know hold the same
      all[i] = gf2::sum(columns, i & ((uint64_t(1) << columns.size()) - 1));
    return all;
  };
  registerParts = parts(Dim::Register, layout.in().size(Dim::Register));
  laneParts = parts(Dim::Lane, kLanes);
  for (uint64_t block : parts(Dim::Block, blocks))
    for (uint64_t warp : parts(Dim::Warp, warps))
      warpParts.push_back(block ^ warp);
  uint64_t free = layout.freeBits();
  auto freeOf = [&](Dim dim, unsigned size) {
    unsigned known = (free & layout.in().mask({dim})) >> layout.in().shift(dim);
    return known | (~((1u << layout.in().bits(dim)) - 1) & (size - 1));
  };
  freeRegisters = freeOf(Dim::Register, registers());
  freeLanes = freeOf(Dim::Lane, kLanes);
  freeWarps = freeOf(Dim::Warp, llvm::PowerOf2Ceil(warps));
  freeBlocks = freeOf(Dim::Block, llvm::PowerOf2Ceil(blocks));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
class Compiler {
public:
  Compiler(tile::KernelOp kernel, Program &program, StringRef chip)
      : program(program), features(sharedFeaturesOf(chip.str())), coordinates(kernel),
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
  unsigned here() const { return program.steps.size(); }

  LogicalResult compile(Block &block);
  LogicalResult compile(Operation *op);
  LogicalResult compileFor(scf::ForOp loop);
  LogicalResult compileIf(scf::IfOp branch);
  LogicalResult compileAlloc(tile::AllocOp alloc);
  LogicalResult compileCopy(tile::CopyOp copy);
  /// A row that is fetched or sent, by the first warp.
  template <typename RowOp> LogicalResult compileRow(RowOp op);
  /// A read of a slot into the frame's slot `to`, or a write of what is there.
  LogicalResult compileSlot(Operation *op, Value buffer, Value slot, const Layout &layout,
                            bool isWrite, unsigned tile);
  LogicalResult compileMmaShared(tile::MmaSharedOp mma);
  LogicalResult compileMmaAsync(tile::MmaAsyncOp mma);
  /// What is done with a mailbox, by those who hold elements of it as the layout says.
  LogicalResult compileMailbox(Step::Kind kind, Operation *op, Value mailbox, const Layout &layout);
  std::shared_ptr<GlobalAccess> globalAccess(Operation *op, Value view, ValueRange coords,
                                             ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                                             const Layout &layout, bool isChecked,
                                             ValueRange indices = {});
  std::shared_ptr<SlotAccess> slotAccess(Operation *op, Value buffer, Value slot,
                                         const Layout &layout, bool isWrite);
  LogicalResult compileGlobal(Operation *op);

  Program &program;
  SharedFeatures features;
  Coordinates coordinates;
  TileCompiler tiles;
  llvm::DenseMap<Value, unsigned> slots, buffers, gates;
};
} // namespace

/// The argument that a view is, or that it is a row of.
static BlockArgument argumentOf(Value view) {
  auto row = view.getDefiningOp<tile::RowOp>();
  return dyn_cast<BlockArgument>(row ? Value(row.getView()) : view);
}

std::unique_ptr<Program> Program::compile(tile::KernelOp kernel, StringRef chip) {
  auto program = std::make_unique<Program>();
  program->kernel = kernel;
  program->warps = getHint(kernel.getHintsAttr(), "warps").value_or(4);
  program->cluster = getHint(kernel.getHintsAttr(), "cluster").value_or(1);
  return succeeded(Compiler(kernel, *program, chip).run()) ? std::move(program) : nullptr;
}

LogicalResult Compiler::run() {
  tile::KernelOp kernel = program.kernel;
  program.isWritten.assign(kernel.getNumArguments(), false);
  for (BlockArgument argument : kernel.getArguments())
    program.argumentSlots.push_back(isa<tile::ViewType>(argument.getType()) ? ~0u
                                                                            : slotOf(argument));
  kernel.walk([&](Operation *op) {
    auto send = dyn_cast<tile::SendOp>(op);
    program.hasRows |= isa<tile::FetchOp, tile::SendOp, tile::MmaAsyncOp>(op);
    if (send || isa<tile::StoreOp, tile::ScatterOp>(op))
      if (BlockArgument view = argumentOf(send ? send.getView() : op->getOperand(1)))
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

/// `For` takes the bounds and the initial values; `Next` the values of the next round, or ends the
/// loop.
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
  buffer.slots = alloc.getType().getSlots();
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

static Number numberOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return real(number.getValueAsDouble());
  auto number = cast<IntegerAttr>(attribute);
  bool isUnsigned = number.getType().isUnsignedInteger() || number.getType().isInteger(1);
  return integer(isUnsigned ? int64_t(number.getValue().getZExtValue())
                            : number.getValue().getSExtValue());
}

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
  // A tile of a row is one of the tensor that begins elsewhere.
  SmallVector<Value> places(coords);
  SmallVector<int64_t> along(dims);
  if (auto row = view.getDefiningOp<tile::RowOp>()) {
    unsigned dim = row.getDim();
    places.assign(row.getCoords().begin(), row.getCoords().end());
    places.insert(places.begin() + dim, coords[0]);
    along = {int64_t(dim)};
    access->front = {dim, slotOf(row)};
    coords = places;
    dims = along;
    type = row.getView().getType();
  }
  access->view = argument.getArgNumber();
  access->coords = slotsOf(coords);
  access->indices = slotsOf(indices);
  access->dims.assign(dims.begin(), dims.end());
  access->tileSizes.assign(type.getRank(), 1);
  access->placeOf.assign(type.getRank(), -1);
  Space space = tile::spaceOf(shape);
  for (auto [place, dim] : llvm::enumerate(dims)) {
    access->shift.push_back(space.shift(tensorDim(place)));
    if (dim < 0)
      continue;
    access->tileSizes[dim] = shape[place];
    access->placeOf[dim] = place;
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

std::shared_ptr<SlotAccess> Compiler::slotAccess(Operation *op, Value buffer, Value slot,
                                                 const Layout &layout, bool isWrite) {
  auto known = buffers.find(buffer);
  auto type = cast<tile::BufferType>(buffer.getType());
  if (known == buffers.end() || !type.getMemory().isSurjective()) {
    op->emitError("is not supported by the simulator");
    return nullptr;
  }
  Layout offsets = offsetsOf(type.getMemory());
  auto access = std::make_shared<SlotAccess>();
  access->buffer = known->second;
  access->slot = slot ? slotOf(slot) : ~0u;
  access->isWrite = isWrite;
  llvm::append_range(access->shape, type.getTile().getShape());
  access->places = tiles.placesOf(layout);
  unsigned bytes = program.buffers[access->buffer].element.bytes(), bits = 8 * bytes;
  SharedAccess plan;
  if (isa<tile::CopyOp>(op)) { // 16 bytes at a time
    plan.registers.vector = llvm::Log2_32(16 / bytes);
    plan.accesses = std::max<unsigned>(1, access->places->registers() >> plan.registers.vector);
    plan.wavefronts =
        plan.accesses * wavefronts(layout.then(offsets), plan.registers.vector, bits);
  } else {
    plan = isWrite ? planStore(type.getMemory(), layout, bits, features)
                   : planLoad(type.getMemory(), layout, bits, features);
    auto read = dyn_cast<tile::ReadOp>(op);
    auto write = dyn_cast<tile::WriteOp>(op);
    if (read)
      access->first = read.getFirst();
    if (Value behind = read ? read.getBehind() : write ? write.getBehind() : Value()) {
      access->behind = slotOf(behind);
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
                     *tile::layoutOf(gather), gather.getPad().has_value(), gather.getPlaces());
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
                          scatter.getBounded(), scatter.getPlaces());
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

LogicalResult Compiler::compileCopy(tile::CopyOp copy) {
  const Layout &via = copy.getVia().getValue();
  auto from = globalAccess(copy, copy.getView(), copy.getCoords(), copy.getDims(),
                           copy.getBuffer().getType().getTile().getShape(), via, copy.getBounded());
  auto to = slotAccess(copy, copy.getBuffer(), copy.getSlot(), via, /*isWrite=*/true);
  if (!from || !to)
    return failure();
  if (from->element.isFloat())
    from->pad = real(0);
  Step &step = add(Step::Kind::Copy, copy);
  if (copy.getCondition())
    step.in = {slotOf(copy.getCondition())};
  step.global = from;
  step.shared = to;
  return success();
}

/// What each block of a cluster brings of a box for all: some of the spans that the box is cut into, or a part of each.
static Layout partsOf(tile::FetchOp fetch) {
  Layout memory = fetch.getBuffer().getType().getMemory();
  gf2::VectorsRef run = memory.columns(Dim::Offset);
  unsigned lanes = llvm::Log2_32(kLanes), parts = llvm::Log2_64(fetch.getSharers());
  tile::Box box = *fetch.getBox();
  unsigned spans = *box.shared ? llvm::Log2_64(box.count) : 0, below = run.size() - spans - parts;
  Space in({{Dim::Register, 1u << (run.size() - parts - lanes)}, {Dim::Lane, kLanes}, {Dim::Block, 1u << parts}});
  return Layout(in, memory.out(),
                gf2::concat({run.subspan(lanes, below - lanes), run.last(spans), run.first(lanes), run.subspan(below, parts)}));
}

template <typename RowOp> LogicalResult Compiler::compileRow(RowOp op) {
  constexpr bool isFetch = std::is_same_v<RowOp, tile::FetchOp>;
  tile::BufferType room = op.getBuffer().getType();
  Layout memory = room.getMemory();
  gf2::VectorsRef run = memory.columns(Dim::Offset), blocks = memory.columns(Dim::Block);
  unsigned lanes = llvm::Log2_32(kLanes);
  Space in({{Dim::Register, unsigned(room.getElements() / kLanes)}, {Dim::Lane, kLanes}, {Dim::Block, 1u << blocks.size()}});
  Layout layout(in, memory.out(), gf2::concat({run.subspan(lanes), run.first(lanes), blocks}));
  if constexpr (isFetch)
    if (op.getShared())
      layout = partsOf(op);
  auto row = globalAccess(op, op.getView(), op.getCoords(), op.getDims(), room.getTile().getShape(), layout, op.getBounded());
  auto slot = slotAccess(op, op.getBuffer(), op.getSlot(), layout, isFetch);
  if (!row || !slot)
    return failure();
  row->isWrite = !isFetch;
  row->width = 1;
  if (row->element.isFloat())
    row->pad = real(0);
  Step &step = add(isFetch ? Step::Kind::Fetch : Step::Kind::Send, op);
  step.global = row;
  step.shared = slot;
  if constexpr (isFetch) {
    step.gates = gates.lookup(op.getGates());
    step.in = {slotOf(op.getGate())};
    step.isBox = op.isBox();
    step.ofCluster = op.getShared();
    step.by = op.getBy().value_or(0);
    if (op.getLeft()) {
      step.left = gates.lookup(op.getLeft());
      step.in.push_back(slotOf(op.getLeftGate()));
      step.in.push_back(slotOf(op.getLeftPhase()));
    }
  }
  return success();
}

LogicalResult Compiler::compileSlot(Operation *op, Value buffer, Value slot, const Layout &layout,
                                    bool isWrite, unsigned tile) {
  auto access = slotAccess(op, buffer, slot, layout, isWrite);
  if (!access)
    return failure();
  Step &step = add(Step::Kind::Shared, op);
  (isWrite ? step.in : step.out) = {tile};
  step.shared = access;
  return success();
}

/// Two reads, and a product of what they give.
LogicalResult Compiler::compileMmaShared(tile::MmaSharedOp mma) {
  SmallVector<TileCompiler::Factor> factors;
  for (const BufferAccess &access : bufferAccesses(mma)) {
    unsigned tile = program.slotCount++;
    if (failed(
            compileSlot(mma, access.buffer, access.slot, access.layout, /*isWrite=*/false, tile)))
      return failure();
    factors.push_back({tile, tiles.placesOf(access.layout),
                       cast<tile::BufferType>(access.buffer.getType()).getTile()});
  }
  TileCompiler::Factor sums{slotOf(mma.getAcc()), tiles.placesOf(*tile::layoutOf(mma.getAcc())),
                            cast<RankedTensorType>(mma.getAcc().getType())};
  return tiles.compileProduct(mma, factors[0], factors[1], sums, slotOf(mma.getResult()),
                              add(Step::Kind::Compute, mma));
}

/// Reads of slots that go on, and a product of what they give.
LogicalResult Compiler::compileMmaAsync(tile::MmaAsyncOp mma) {
  SmallVector<TileCompiler::Factor> factors;
  if (!mma.getLhsSlot())
    factors.push_back({slotOf(mma.getLhs()), tiles.placesOf(mma.getLhs()), mma.getLeft()});
  for (const BufferAccess &read : bufferAccesses(mma)) {
    auto access = slotAccess(mma, read.buffer, read.slot, read.layout, /*isWrite=*/false);
    if (!access)
      return failure();
    Step &step = add(Step::Kind::Product, mma);
    step.shared = access;
    step.out = {program.slotCount++};
    // What is in registers already.
    step.in = {slotOf(mma.getAcc())};
    if (!mma.getLhsSlot())
      step.in.push_back(slotOf(mma.getLhs()));
    factors.push_back({step.out[0], access->places, cast<tile::BufferType>(read.buffer.getType()).getTile()});
  }
  TileCompiler::Factor sums{slotOf(mma.getAcc()), tiles.placesOf(mma.getAcc()),
                            cast<RankedTensorType>(mma.getAcc().getType())};
  Step &step = add(Step::Kind::Compute, mma);
  if (failed(tiles.compileProduct(mma, factors[0], factors[1], sums, slotOf(mma.getResult()), step)))
    return failure();
  unsigned made = slotOf(mma.getResult());
  step.compute = [multiply = std::move(step.compute), made](Frame &frame) {
    multiply(frame);
    frame.slots[made].tile->group = frame.group + 1;
  };
  return success();
}

LogicalResult Compiler::compileMailbox(Step::Kind kind, Operation *op, Value mailbox,
                                       const Layout &layout) {
  auto access = slotAccess(op, mailbox, Value(), layout, kind == Step::Kind::Push);
  if (!access)
    return failure();
  Layout memory = cast<tile::BufferType>(mailbox.getType()).getMemory();
  if (kind == Step::Kind::Push && memory.in().bits(Dim::Block)) {
    Layout blocks = memory.rightInverse()->sublayout(allDims, {Dim::Block});
    for (unsigned warp = 0; warp < program.allWarps(); ++warp) {
      std::vector<uint8_t> &list = access->targets.emplace_back(access->places->count());
      for (unsigned i = 0; i < list.size(); ++i)
        list[i] = blocks((*access->places)(warp, i));
    }
  }
  add(kind, op).shared = access;
  return success();
}

LogicalResult Compiler::compile(Operation *op) {
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (auto tile = dyn_cast<RankedTensorType>(value.getType()); tile && !tile.getEncoding())
      return op->emitError("expected placed tiles, got ") << tile;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return compileFor(loop); })
      .Case([&](scf::IfOp branch) { return compileIf(branch); })
      .Case([&](tile::AllocOp alloc) { return compileAlloc(alloc); })
      .Case<tile::LoadOp, tile::GatherOp, tile::StoreOp, tile::ScatterOp>(
          [&](auto) { return compileGlobal(op); })
      .Case([&](tile::CopyOp copy) { return compileCopy(copy); })
      .Case([&](tile::ReadOp read) {
        return compileSlot(op, read.getBuffer(), read.getSlot(), read.getPlaces(),
                           /*isWrite=*/false, slotOf(read));
      })
      .Case([&](tile::WriteOp write) {
        return compileSlot(op, write.getBuffer(), write.getSlot(),
                           *tile::layoutOf(write.getValue()), /*isWrite=*/true,
                           slotOf(write.getValue()));
      })
      .Case([&](tile::MmaSharedOp mma) { return compileMmaShared(mma); })
      .Case([&](tile::MmaAsyncOp mma) { return compileMmaAsync(mma); })
      .Case([&](tile::MmaFenceOp) {
        add(Step::Kind::MmaFence, op);
        return success();
      })
      .Case([&](tile::MmaCommitOp) {
        add(Step::Kind::MmaCommit, op);
        return success();
      })
      .Case([&](tile::MmaWaitOp wait) {
        Step &step = add(Step::Kind::MmaWait, op);
        step.pending = wait.getPending();
        step.in = slotsOf(wait.getSums());
        step.out = slotsOf(wait.getResults());
        return success();
      })
      .Case<tile::FetchOp, tile::SendOp>([&](auto row) { return compileRow(row); })
      .Case([&](tile::GatesOp made) {
        gates[made.getResult()] = program.gateCounts.size();
        add(Step::Kind::Gates, op).gates = program.gateCounts.size();
        program.gateCounts.push_back(made.getType().getCount());
        program.gateArrivals.push_back(made.getArrivals().value_or(1));
        return success();
      })
      .Case([&](tile::ArriveOp arrive) {
        Step &step = add(Step::Kind::Arrive, op);
        step.gates = gates.lookup(arrive.getGates());
        step.ofCluster = arrive.getCluster();
        step.in = {slotOf(arrive.getGate())};
        return success();
      })
      .Case([&](tile::AwaitOp await) {
        Step &step = add(Step::Kind::Await, op);
        step.gates = gates.lookup(await.getGates());
        step.in = slotsOf({await.getGate(), await.getPhase()});
        return success();
      })
      .Case([&](tile::SentOp sent) {
        add(Step::Kind::Sent, op).pending = sent.getPending();
        return success();
      })
      .Case([&](tile::FenceOp) {
        add(Step::Kind::Fence, op);
        return success();
      })
      .Case([&](tile::CommitOp) {
        add(Step::Kind::Commit, op);
        return success();
      })
      .Case([&](tile::WaitOp wait) {
        add(Step::Kind::Wait, op).pending = wait.getPending();
        return success();
      })
      .Case([&](tile::BarrierOp barrier) {
        add(barrier.getWarp() ? Step::Kind::WarpBarrier : Step::Kind::Barrier, op);
        return success();
      })
      .Case([&](tile::OpenOp) {
        add(Step::Kind::Open, op);
        return success();
      })
      .Case([&](tile::MeetOp) {
        add(Step::Kind::Meet, op);
        return success();
      })
      .Case([&](tile::PushOp push) {
        if (failed(compileMailbox(Step::Kind::Push, op, push.getMailbox(),
                                  *tile::layoutOf(push.getValue()))))
          return failure();
        program.steps.back().in = {slotOf(push.getValue())};
        return success();
      })
      .Case([&](tile::ReceiveOp receive) {
        add(Step::Kind::Receive, op).shared = std::make_shared<SlotAccess>();
        program.steps.back().shared->buffer = buffers.at(receive.getMailbox());
        return success();
      })
      .Case([&](tile::TakeOp take) {
        if (failed(compileMailbox(Step::Kind::Take, op, take.getMailbox(), *tile::layoutOf(take))))
          return failure();
        program.steps.back().out = {slotOf(take)};
        return success();
      })
      .Case([&](tile::CheckOp check) {
        add(Step::Kind::Check, op).in = slotsOf({check.getCondition(), check.getValue()});
        return success();
      })
      .Default([&](Operation *) -> LogicalResult {
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
      });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static int64_t floorDivide(int64_t a, int64_t b) {
  return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t x = a, y = b;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return x < y;
  case P::ule:
    return x <= y;
  case P::ugt:
    return x > y;
  case P::uge:
    return x >= y;
  }
  llvm_unreachable("all predicates are named");
}

std::function<void(Frame &)>
simulator::compileScalar(Operation *op, const std::function<unsigned(Value)> &slotOf) {
  using Compute = std::function<void(Frame &)>;
  if (op->getNumResults() != 1 || isa<RankedTensorType>(op->getResult(0).getType()))
    return nullptr;
  unsigned to = slotOf(op->getResult(0));
  auto slot = [&](unsigned i) { return slotOf(op->getOperand(i)); };
  auto binary = [&](auto function) -> Compute {
    unsigned a = slot(0), b = slot(1);
    return [=](Frame &frame) {
      frame.slots[to].scalar =
          integer(function(frame.slots[a].scalar.integer, frame.slots[b].scalar.integer));
    };
  };
  // How many elements an element lies behind one whose number so many divide; coordinates that are none are 0.
  auto placeWithin = [&](BlockArgument view, ArrayRef<Value> coords, int64_t elements) -> Compute {
    SmallVector<std::pair<unsigned, unsigned>> from; // dimensions and slots
    for (auto [dim, coordinate] : llvm::enumerate(coords))
      if (coordinate)
        from.push_back({dim, slotOf(coordinate)});
    return [=, argument = view.getArgNumber()](Frame &frame) {
      const View &seen = frame.launch->views[argument];
      int64_t place = seen.offset;
      for (auto [dim, slot] : from)
        place += frame.slots[slot].scalar.integer * seen.strides[dim];
      frame.slots[to].scalar = integer(place & (elements - 1));
    };
  };
  return llvm::TypeSwitch<Operation *, Compute>(op)
      .Case([&](arith::ConstantOp constant) -> Compute {
        Number value = numberOf(constant.getValue());
        return [=](Frame &frame) { frame.slots[to].scalar = value; };
      })
      .Case([&](arith::AddIOp) { return binary([](int64_t a, int64_t b) { return a + b; }); })
      .Case([&](arith::SubIOp) { return binary([](int64_t a, int64_t b) { return a - b; }); })
      .Case([&](arith::MulIOp) { return binary([](int64_t a, int64_t b) { return a * b; }); })
      .Case([&](arith::MinSIOp) {
        return binary([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case([&](arith::MaxSIOp) {
        return binary([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::AndIOp) { return binary([](int64_t a, int64_t b) { return a & b; }); })
      .Case([&](arith::OrIOp) { return binary([](int64_t a, int64_t b) { return a | b; }); })
      .Case([&](arith::XOrIOp) { return binary([](int64_t a, int64_t b) { return a ^ b; }); })
      .Case([&](arith::DivUIOp) {
        return binary(
            [](int64_t a, int64_t b) { return b ? int64_t(uint64_t(a) / uint64_t(b)) : 0; });
      })
      .Case([&](arith::RemUIOp) {
        return binary(
            [](int64_t a, int64_t b) { return b ? int64_t(uint64_t(a) % uint64_t(b)) : a; });
      })
      .Case([&](arith::FloorDivSIOp) { return binary(floorDivide); })
      .Case([&](arith::CeilDivSIOp) {
        return binary([](int64_t a, int64_t b) { return -floorDivide(-a, b); });
      })
      .Case([&](arith::CmpIOp comparison) {
        arith::CmpIPredicate predicate = comparison.getPredicate();
        return binary([=](int64_t a, int64_t b) { return int64_t(compare(predicate, a, b)); });
      })
      .Case([&](arith::SelectOp) -> Compute {
        unsigned condition = slot(0), a = slot(1), b = slot(2);
        return [=](Frame &frame) {
          frame.slots[to].scalar =
              frame.slots[frame.slots[condition].scalar.integer ? a : b].scalar;
        };
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](Operation *) -> Compute {
        unsigned from = slot(0);
        Element element = *Element::of(op->getResult(0).getType());
        return [=](Frame &frame) {
          frame.slots[to].scalar = element.wrap(frame.slots[from].scalar.integer);
        };
      })
      .Case([&](tile::ProgramIdOp id) -> Compute {
        unsigned dim = id.getDim();
        return [=](Frame &frame) { frame.slots[to].scalar = integer(frame.program[dim]); };
      })
      .Case([&](tile::DimOp size) -> Compute {
        auto row = size.getView().getDefiningOp<tile::RowOp>();
        BlockArgument view = argumentOf(size.getView());
        if (!view)
          return nullptr;
        unsigned argument = view.getArgNumber(), dim = row ? row.getDim() : size.getDim();
        std::optional<unsigned> front = row ? std::optional(slotOf(row)) : std::nullopt;
        return [=](Frame &frame) {
          int64_t more = front ? frame.slots[*front].scalar.integer : 0;
          frame.slots[to].scalar = integer(frame.launch->views[argument].sizes[dim] + more);
        };
      })
      .Case([&](tile::ShiftOp shift) -> Compute {
        auto view = dyn_cast<BlockArgument>(shift.getView());
        if (!view)
          return nullptr;
        SmallVector<Value> coords(shift.getCoords());
        return placeWithin(view, coords, shift.getBy());
      })
      // The number of elements in front of the row stands for it.
      .Case([&](tile::RowOp row) -> Compute {
        SmallVector<Value> coords(row.getCoords());
        coords.insert(coords.begin() + row.getDim(), Value());
        return placeWithin(cast<BlockArgument>(row.getView()), coords, row.getPieceElements());
      })
      .Case([&](tile::ExtractOp extract) -> Compute {
        unsigned from = slot(0);
        std::optional<Element> element = Element::of(op->getResult(0).getType()),
                               was = Element::of(extract.getTile().getType().getElementType());
        if (!element || !was)
          return nullptr;
        return [to, from, element = *element, was = *was](Frame &frame) {
          frame.slots[to].scalar = element.convert(frame.slots[from].tile->numbers[0], was);
        };
      })
      .Default([](Operation *) { return nullptr; });
}
