//===- Plan.cpp - Which tiles get a buffer, and which loop nests exist ----===//
#include "Plan.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using tile::GatherOp;
using tile::LoadOp;
using tile::MmaOp;

/// The cost of storing a tile and reading it back, in simple vector operations.
static constexpr double recomputeLimit = 6;

/// Columns of an AMX operand that are split at once: runs this long are read at memory bandwidth,
/// and the split strip fits the L2 cache.
static constexpr int64_t stripColumns = 256;

int64_t Buffer::elements() const {
  if (paired && !panel)
    return llvm::alignTo(shape[0], 2) * shape[1];
  if (interleaved)
    return llvm::alignTo(shape[0], interleaved) * shape[1];
  if (panel)
    return llvm::divideCeil(shape[1], panel) * shape[0] * panel;
  int64_t count = shape.empty() ? 1 : rowStride;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    count *= shape[i];
  return count;
}

int64_t Buffer::bytes() const {
  if (parts)
    return parts * partBytes() + 64;
  return llvm::alignTo(elements() * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), 64);
}

ArrayRef<int64_t> Plan::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
Type Plan::elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

int64_t Plan::unitDim(LoadOp load) {
  ArrayRef<int64_t> dims = load.getDims(), strides = load.getView().getType().getStrides();
  for (size_t t = dims.size(); t-- > 0;)
    if (strides[dims[t]] == 1)
      return t;
  return -1;
}

bool Plan::isTransposedLoad(Value value) {
  auto load = value.getDefiningOp<LoadOp>();
  if (!load || load.getDims().size() < 2)
    return false;
  int64_t unit = unitDim(load), last = load.getDims().size() - 1;
  ArrayRef<int64_t> shape = shapeOf(value);
  return unit >= 0 && unit != last && shape[unit] > 1 && shape[last] > 1;
}

LoadOp Plan::definingLoad(Value value) {
  auto cast = value.getDefiningOp<tile::CastOp>();
  if (!cast)
    return value.getDefiningOp<LoadOp>();
  auto load = cast.getInput().getDefiningOp<LoadOp>();
  return load && value.hasOneUse() && !isTransposedLoad(load) ? load : LoadOp();
}

bool Plan::mayCrossEnd(tile::ViewType view, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                       unsigned t) {
  if (dims[t] < 0) // only the gather indices vary along it
    return false;
  int64_t size = view.getShape()[dims[t]];
  if (!ShapedType::isDynamic(size))
    return size % shape[t] != 0;
  ArrayRef<int64_t> divisors = view.getDivisors();
  return divisors.empty() || divisors[dims[t]] % shape[t] != 0;
}

bool Plan::needsRowLoop(int64_t columns, const CpuDescription &cpu) {
  constexpr int64_t unrolled = 8;
  return columns / cpu.lanes(4) > unrolled;
}

Buffer *Plan::newBuffer(Type element, ArrayRef<int64_t> shape, int64_t panel) {
  auto buffer = std::make_unique<Buffer>();
  buffer->element = element;
  buffer->shape.assign(shape.begin(), shape.end());
  buffer->panel = panel;
  if (!shape.empty() && !panel) {
    int64_t last = shape.back(), bytes = std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
    int64_t lanes = std::max<int64_t>(cpu.vectorBytes / bytes, 1);
    buffer->rowStride = shape.size() > 1 ? llvm::alignTo(last, lanes) : last;
    // Rows are padded, since whole vectors may be written at their end. Rows a large power of two
    // apart would map to few sets of the L1 cache.
    if (shape.size() > 1 && (buffer->rowStride * bytes) % 2048 == 0)
      buffer->rowStride += lanes;
  }
  storage.push_back(std::move(buffer));
  return storage.back().get();
}

Buffer *Plan::materialize(Value value) {
  Buffer *&buffer = buffers[value];
  if (!buffer)
    buffer = newBuffer(elementOf(value), shapeOf(value));
  return buffer;
}

//===----------------------------------------------------------------------===//
// Which tiles get a buffer
//===----------------------------------------------------------------------===//

bool Plan::isLeaf(Value value) const {
  if (buffers.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && isa<tile::ConstantOp, tile::SplatOp, tile::IotaOp>(op);
}

static double mapCost(tile::MapOp op) {
  bool isFloat = isa<FloatType>(Plan::elementOf(op.getInputs()[0]));
  switch (op.getScalarOp()) {
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
  case ScalarOp::Rsqrt:
  case ScalarOp::Reciprocal:
    return 5;
  case ScalarOp::Exp2: // a polynomial
    return 8;
  case ScalarOp::FloorDiv:
  case ScalarOp::Remainder:
  case ScalarOp::FMod:
    return isFloat ? 8 : 30;
  case ScalarOp::ScaleB:
    return 3;
  case ScalarOp::Maximum:
  case ScalarOp::Minimum:
    return isFloat ? 3 : 1;
  default:
    return 1;
  }
}

/// Whether evaluating the result evaluates the operands, element by element.
static bool isEvaluated(Operation *op) {
  return isa<tile::MapOp, tile::CastOp, tile::BitcastOp, tile::BroadcastOp, tile::TransposeOp,
             tile::ReshapeOp, GatherOp>(op);
}

/// The tiles that an operation evaluates.
static SmallVector<Value> tileOperands(Operation *op) {
  return llvm::filter_to_vector(
      op->getOperands(), [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
}
/// The number of vector operations to evaluate one vector of the tile.
double Plan::cost(Value value) {
  if (buffers.contains(value))
    return 1;
  if (auto known = costs.find(value); known != costs.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  double own = 0;
  if (auto map = dyn_cast<tile::MapOp>(op))
    own = mapCost(map);
  else if (isa<LoadOp, tile::CastOp>(op))
    own = 1;
  else if (isa<GatherOp>(op))
    own = 4;
  if (isEvaluated(op))
    for (Value operand : tileOperands(op))
      own += cost(operand);
  return costs[value] = own;
}

/// Adds buffers for the operands that `user` cannot evaluate in its own order.
void Plan::chooseForOperand(Operation *user, Value value) {
  if (isLeaf(value))
    return;
  auto load = value.getDefiningOp<LoadOp>();
  auto packsBytes = [&] { // of columns along K
    auto product = user->hasOneUse() ? dyn_cast<MmaOp>(*user->user_begin()) : MmaOp();
    return product && product.getRhs().getDefiningOp() == user && canUseByteProducts(product);
  };
  if (isTransposedLoad(value) && !isa<tile::TransposeOp, MmaOp>(user) && !packsBytes())
    return (void)materialize(value);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(user)) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    bool isScalar = dims.empty() || dims.back() != broadcast.getType().getRank() - 1;
    bool crosses = load && load.getPad();
    // A value that several rows share is computed once for them.
    int64_t rows = broadcast.getType().getNumElements() /
                   cast<RankedTensorType>(value.getType()).getNumElements();
    if (isScalar ? !load || crosses : cost(value) > (rows >= 4 ? 1 : 3))
      materialize(value);
  } else if (isa<tile::TransposeOp>(user)) {
    if (!load)
      materialize(value);
  } else if (auto reshape = dyn_cast<tile::ReshapeOp>(user)) {
    ArrayRef<int64_t> from = shapeOf(value), to = reshape.getType().getShape();
    if (from.empty() || to.empty() || from.back() != to.back())
      materialize(value);
  } else if (isa<tile::ExtractOp>(user)) {
    materialize(value);
  }
}

/// The number of bf16 parts that represent an element of this tile exactly; 0 if none do.
static int64_t partsOf(Value value) {
  if (auto cast = value.getDefiningOp<tile::CastOp>(); cast && Plan::elementOf(value).isF32())
    if (Type from = Plan::elementOf(cast.getInput()); from.isBF16() || from.isF16())
      value = cast.getInput();
  Type element = Plan::elementOf(value);
  return element.isBF16() ? 1 : element.isF16() ? 2 : element.isF32() ? 3 : 0;
}

/// AMX needs whole blocks, and enough rows and columns to amortize the splitting.
bool Plan::canUseAmx(MmaOp op) const {
  // A value in one row of a block may change how the other rows of the block are multiplied.
  bool isWanted = !cpu.rowsAlone && tile::KernelOp(kernel).getField(TuningField::UseAmx) != 0;
  if (!cpu.hasAmx || !isWanted || !elementOf(op.getResult()).isF32() || !partsOf(op.getLhs()) ||
      !partsOf(op.getRhs()))
    return false;
  int64_t m = shapeOf(op.getLhs())[0], k = shapeOf(op.getLhs())[1], n = shapeOf(op.getRhs())[1];
  int64_t leastRows = std::min<int64_t>(64, 32 * partsOf(op.getRhs()));
  return m % CpuDescription::amxRows == 0 && m >= leastRows && k % CpuDescription::amxDepth == 0 &&
         n >= 32;
}

/// BFMMLA needs two bf16 tiles with a multiple of its k-step, and enough rows to amortize the
/// packing. It rounds differently from the vector unit.
bool Plan::canUseBfmmla(MmaOp op) const {
  bool isWanted = !cpu.rowsAlone && cpu.fusesArithmetic &&
                  tile::KernelOp(kernel).getField(TuningField::UseAmx) != 0;
  ArrayRef<int64_t> left = shapeOf(op.getLhs()), right = shapeOf(op.getRhs());
  return cpu.hasBf16Products && isWanted && elementOf(op.getResult()).isF32() &&
         elementOf(op.getLhs()).isBF16() && elementOf(op.getRhs()).isBF16() && left[0] > 4 &&
         left[1] % 4 == 0 && right[1] >= 4;
}

Value Plan::bytesOf(Value value) {
  auto cast = value.getDefiningOp<tile::CastOp>();
  bool isByte = cast && elementOf(cast.getInput()).isSignlessInteger(8);
  return isByte ? cast.getInput() : Value();
}

/// Bytes are multiplied in groups of four, sums are exact: rows and columns that are converted to
/// int32, the columns directly from memory.
bool Plan::canUseByteProducts(MmaOp op) const {
  Value rows = bytesOf(op.getLhs()), columns = bytesOf(op.getRhs());
  if (!cpu.hasByteProducts || !rows || !columns || !elementOf(op.getResult()).isInteger(32))
    return false;
  auto load = columns.getDefiningOp<LoadOp>();
  return load && load->hasOneUse() && op.getRhs().hasOneUse() && load.getDims().size() == 2 &&
         load->getBlock() == op->getBlock() && !storedViews.contains(load.getView()) &&
         shapeOf(columns)[0] % 4 == 0;
}

/// Rows are interleaved where an instruction multiplies by one lane and enough columns amortize it.
bool Plan::interleavesRows(MmaOp op) const {
  constexpr int64_t leastColumns = 64;
  return cpu.multipliesByLane && elementOf(op.getResult()).isF32() && shapeOf(op.getLhs())[0] > 4 &&
         shapeOf(op.getRhs())[1] >= leastColumns;
}

MicroTile Plan::microTile(MmaOp op, bool hasDynamicEnd) const {
  int64_t rows = shapeOf(op.getLhs())[0];
  if (lhsOf(op)->isOffset) { // one more row of accumulators
    CpuDescription fewer = cpu;
    fewer.vectorRegisters -= chooseMicroTile(cpu, rows).vectors;
    return chooseMicroTile(fewer, rows, hasDynamicEnd);
  }
  if (!lhsOf(op)->interleaved)
    return chooseMicroTile(cpu, rows, hasDynamicEnd);
  MicroTile block = interleavedMicroTile(cpu, cpu.lanes(4));
  return {std::min(block.rows, rows), block.vectors};
}

/// Finds a packed form of a tile that another contraction reads.
Buffer *Plan::sharedOperand(Value value, function_ref<bool(const Buffer &)> isWanted) const {
  auto it = packed.find(value);
  if (it != packed.end())
    for (Buffer *buffer : it->second)
      if (isWanted(*buffer))
        return buffer;
  return nullptr;
}

bool Plan::hasFewRows(MmaOp op) const { return shapeOf(op.getLhs())[0] <= cpu.fewRows(); }

/// Whether only this contraction reads its right-hand side. It then packs the operand itself: panel
/// by panel, right before each is used, so that it stays in the L1 cache, or all panels before a
/// loop over bands.
bool Plan::packsRhs(MmaOp op) const {
  Value rhs = op.getRhs();
  LoadOp load = definingLoad(rhs);
  return load && load->hasOneUse() && rhs.hasOneUse() && load->getBlock() == op->getBlock() &&
         load.getDims().size() == 2 && !storedViews.contains(load.getView()) && !hasFewRows(op);
}

/// Each row is loaded as bytes, and each panel packed right before it is used.
void Plan::chooseBytes(MmaOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  Buffer *&left = lhsBuffers[op];
  left = sharedOperand(lhs, [](const Buffer &buffer) { return buffer.element.isInteger(8); });
  if (!left) {
    left = newBuffer(IntegerType::get(op.getContext(), 8), shapeOf(lhs));
    left->isOffset = cpu.arch == CpuDescription::Arch::X86_64; // multiplies unsigned by signed
    packed[lhs].push_back(left);
  }
  int64_t columns = shapeOf(rhs)[1], lanes = cpu.lanes(4);
  int64_t panel = std::min(microTile(op).vectors * lanes, int64_t(llvm::alignTo(columns, lanes)));
  rhsBuffers[op] = newBuffer(elementOf(op.getResult()), {shapeOf(rhs)[0] / 4, panel}, panel);
  rhsBuffers[op]->quads = true;
  panelwise.insert(op);
}

void Plan::chooseOperands(MmaOp op) {
  Type accumulator = elementOf(op.getResult());
  int64_t lanes = cpu.vectorBytes / (accumulator.getIntOrFloatBitWidth() / 8);
  // An operand is packed where it is defined, so that an operand from outside a loop is packed
  // once.
  auto addRoot = [&](Value value, Buffer *buffer) {
    Operation *def = value.getDefiningOp();
    if (!def || isa<scf::ForOp, scf::IfOp>(def))
      beforeOp[op].push_back({Root::Value, nullptr, value, buffer, false});
    else
      packed[value].push_back(buffer);
  };
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (canUseByteProducts(op))
    return chooseBytes(op);
  if (canUseBfmmla(op)) {
    if (isTransposedLoad(lhs))
      materialize(lhs);
    Buffer *&left = lhsBuffers[op];
    left = sharedOperand(lhs, [](const Buffer &buffer) { return buffer.paired; });
    if (!left) {
      left = newBuffer(elementOf(lhs), shapeOf(lhs));
      left->paired = true;
      addRoot(lhs, left);
    }
    // The contraction packs columns itself, directly from memory.
    if (auto load = rhs.getDefiningOp<LoadOp>(); !load || load.getDims().size() != 2)
      materialize(rhs);
    rhsBuffers[op] = newBuffer(elementOf(rhs), shapeOf(rhs), bfmmlaPanel);
    rhsBuffers[op]->paired = true;
    return;
  }
  bool onAmx = canUseAmx(op);
  if (onAmx) {
    // Rows are split as they are computed; rows of a transposed tile are written by a copy.
    if (isTransposedLoad(lhs))
      materialize(lhs);
    // Several contractions may share an operand that is split at its definition.
    if (Buffer *shared =
            sharedOperand(lhs, [](const Buffer &buffer) { return buffer.parts > 0; })) {
      lhsBuffers[op] = shared;
    } else {
      lhsBuffers[op] = newBuffer(accumulator, shapeOf(lhs));
      lhsBuffers[op]->parts = partsOf(lhs);
      addRoot(lhs, lhsBuffers[op]);
    }
    if (!configuration)
      configuration = newBuffer(IntegerType::get(op.getContext(), 64), {8});
  } else if (interleavesRows(op)) {
    Buffer *&left = lhsBuffers[op];
    left = sharedOperand(lhs, [](const Buffer &buffer) { return buffer.interleaved > 0; });
    if (!left) {
      left = newBuffer(accumulator, shapeOf(lhs));
      left->interleaved = interleavedMicroTile(cpu, lanes).rows;
      addRoot(lhs, left);
    }
  } else if (elementOf(lhs) == accumulator) {
    lhsBuffers[op] = materialize(lhs);
  } else {
    lhsBuffers[op] = newBuffer(accumulator, shapeOf(lhs));
    addRoot(lhs, lhsBuffers[op]);
  }
  if (hasFewRows(op)) {
    // The right-hand side is read once, directly from memory.
    bool isPlain = isLeaf(rhs) || (definingLoad(rhs) && !isTransposedLoad(rhs));
    if (!isPlain && (cpu.rowsAlone || !isTransposedLoad(rhs)))
      materialize(rhs);
    rhsBuffers[op] = nullptr;
    return;
  }
  int64_t columns = shapeOf(rhs)[1];
  int64_t panel = std::min(microTile(op).vectors * lanes, int64_t(llvm::alignTo(columns, lanes)));
  bool isAhead = chained.contains(op), isPanelwise = !isAhead && packsRhs(op);
  if (isPanelwise)
    panelwise.insert(op);
  if (onAmx) {
    int64_t width = isPanelwise && !isTransposedLoad(rhs)
                        ? std::min<int64_t>(stripColumns, llvm::alignTo(columns, panel))
                        : panel;
    splitRhs[op] = newBuffer(accumulator, {shapeOf(rhs)[0], width});
    splitRhs[op]->parts = partsOf(rhs);
  }
  // Panels that are narrower than a cache line are packed several at once along the rows.
  int64_t strip = panel;
  if (isPanelwise && lhsBuffers[op]->interleaved && !isTransposedLoad(rhs))
    strip = std::min(stripPanels * panel, columns / panel * panel);
  rhsBuffers[op] = newBuffer(accumulator, {shapeOf(rhs)[0], isPanelwise ? strip : columns}, panel);
  if (!isPanelwise && !isAhead)
    addRoot(rhs, rhsBuffers[op]);
}

/// A loop that yields another of its carried tiles copies it first, since carried tiles are
/// overwritten one after the other.
static void separateCarried(tile::KernelOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (OpOperand &operand : yield->getOpOperands()) {
      Value value = operand.get();
      auto argument = dyn_cast<BlockArgument>(value);
      bool isForeign = argument && argument.getOwner() == loop.getBody() &&
                       argument != loop.getRegionIterArg(operand.getOperandNumber());
      bool isTwice = llvm::count(yield.getOperands(), value) > 1;
      if (!isa<RankedTensorType>(value.getType()) || !(isForeign || isTwice))
        continue;
      OpBuilder builder(yield);
      operand.set(tile::BitcastOp::create(builder, yield.getLoc(), value.getType(), value));
    }
  });
}

void Plan::chooseForced() {
  separateCarried(kernel);
  kernel.walk([&](tile::StoreOp store) { storedViews.insert(store.getView()); });
  kernel.walk([&](tile::ScatterOp scatter) { storedViews.insert(scatter.getView()); });
  findChainedContractions();
  kernel.walk([&](Operation *op) {
    auto isTile = [](Value value) { return isa<RankedTensorType>(value.getType()); };
    if (isa<LoadOp, GatherOp>(op)) {
      if (storedViews.contains(op->getOperand(0)))
        materialize(op->getResult(0));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
        if (isTile(result))
          buffers[argument] = materialize(result);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Value result : branch.getResults())
        if (isTile(result))
          materialize(result);
    } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
      for (Value value : {scan.getInput(), scan.getKey(), scan.getResult(), scan.getTotal()})
        if (value && !(scan.getKey() && value.getDefiningOp<tile::ConstantOp>()))
          materialize(value);
    } else if (isa<tile::ReduceOp, MmaOp>(op)) {
      materialize(op->getResult(0));
    }
  });
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto mma = dyn_cast<MmaOp>(op))
      chooseOperands(mma);
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || (isa<MmaOp>(op) && operand != op->getOperand(2)))
        continue;
      // The tiles that a loop body or branch yields are computed before any carried tile is
      // overwritten.
      if (isa<scf::YieldOp>(op) && operand.getParentBlock() == op->getBlock() &&
          operand.getDefiningOp())
        materialize(operand);
      chooseForOperand(op, operand);
    }
  });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Plan::visitReads(Value value, bool here, const DenseSet<Value> &open, ReadFn read) const {
  // Expressions share subexpressions, so each is visited once per way of reading.
  DenseSet<std::pair<Value, unsigned>> seen;
  SmallVector<std::pair<Value, bool>> work{{value, here}};
  while (!work.empty()) {
    auto [next, nextHere] = work.pop_back_val();
    if (!seen.insert({next, nextHere}).second)
      continue;
    Operation *op = next.getDefiningOp();
    bool isKept = buffers.contains(next) && !open.contains(next);
    if (isKept || (op && isa<LoadOp, GatherOp>(op)))
      read(next, nextHere);
    if (isKept || !op)
      continue;
    if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp, GatherOp>(op))
      for (Value operand : tileOperands(op))
        work.push_back({operand, nextHere});
    else if (isa<tile::BroadcastOp, tile::TransposeOp, tile::ReshapeOp>(op))
      work.push_back({op->getOperand(0), false});
  }
}

/// The tiles that the roots of a group read; `hereOnly`: those read at the position that is
/// evaluated.
DenseSet<Value> Plan::readsOf(ArrayRef<Root> roots, bool hereOnly) const {
  DenseSet<Value> open, reads;
  for (const Root &root : roots)
    if (root.definesValue)
      open.insert(root.value);
  for (const Root &root : roots)
    visitReads(root.value, true, open, [&](Value read, bool here) {
      if (here || !hereOnly)
        reads.insert(read);
    });
  return reads;
}

void Plan::formGroups() {
  blocks.clear();
  costs.clear();
  formBlock(&kernel.getBody().front());
}

/// Finds the last tile that is expensive and evaluated by several groups, or by a loop that does
/// not contain it, and gives it a buffer. Returns whether there was one.
bool Plan::materializeShared() {
  llvm::MapVector<Value, DenseSet<const Item *>> users;
  DenseSet<Value> deeper;
  for (auto &[block, items] : blocks)
    for (const Item &item : items) {
      std::function<void(Value, const DenseSet<Value> &)> visit = [&](Value value,
                                                                      const DenseSet<Value> &open) {
        if (buffers.contains(value) && !open.contains(value))
          return;
        Operation *op = value.getDefiningOp();
        if (!op)
          return;
        if (!users[value].insert(&item).second)
          return;
        if (op->getBlock() != block)
          deeper.insert(value);
        if (isEvaluated(op))
          for (Value operand : tileOperands(op))
            visit(operand, open);
      };
      DenseSet<Value> open;
      for (const Root &root : item.roots)
        if (root.definesValue)
          open.insert(root.value);
      for (const Root &root : item.roots)
        visit(root.value, open);
      if (item.kind == Item::Mma)
        visit(cast<MmaOp>(item.op).getAcc(), open);
      if (item.kind == Item::Scatter)
        for (Value tile : tileOperands(item.op))
          visit(tile, open);
    }
  Value chosen;
  for (auto &[value, items] : users) {
    if (buffers.contains(value) || isLeaf(value))
      continue;
    bool isShared = items.size() > 1 && cost(value) > recomputeLimit;
    bool isHoisted = deeper.contains(value) && cost(value) > 2;
    if (!isShared && !isHoisted)
      continue;
    // The last in program order: its operands are then evaluated once anyway.
    if (!chosen || chosen.getDefiningOp()->isBeforeInBlock(value.getDefiningOp()) ||
        chosen.getDefiningOp()->getBlock() != value.getDefiningOp()->getBlock())
      chosen = value;
  }
  if (chosen)
    materialize(chosen);
  return bool(chosen);
}

/// Rows are reduced before the values computed from them are stored: the reduction has time to
/// prefetch the stores' lines, if it computes enough. A memory-bound group would only become
/// slower.
void Plan::findStoresToPrefetch() {
  constexpr double dear = 32;
  auto work = [&](const Root &root) {
    if (!root.definesValue)
      return cost(root.value);
    double sum = 0;
    for (Value operand : root.value.getDefiningOp()->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        sum += cost(operand);
    return sum;
  };
  for (auto &[block, items] : blocks) {
    Item *before = nullptr;
    DenseSet<Operation *> later; // accesses whose addresses are not known yet at `before`
    for (Item &item : items) {
      if (item.kind != Item::Group && item.kind != Item::Scalar && item.kind != Item::Access)
        before = nullptr;
      if (item.kind == Item::Access)
        later.insert(item.op);
      if (item.kind != Item::Group)
        continue;
      for (const Root &root : item.roots)
        if (before && root.kind == Root::Store && before->shape == item.shape &&
            !later.contains(root.op)) {
          before->storesToPrefetch.push_back(root.op);
          prefetchedStores.insert(root.op);
        }
      double sum = 0;
      for (const Root &root : item.roots)
        sum += work(root);
      auto reduces = [](const Root &root) { return root.kind == Root::Reduce; };
      if (sum > dear && llvm::any_of(item.roots, reduces)) {
        before = &item;
        later.clear();
      }
    }
  }
}

void Plan::findLoadsToPrefetch() {
  for (auto &[block, items] : blocks) {
    DenseSet<Value> seen;
    for (Item &item : items) {
      DenseSet<Value> open;
      for (const Root &root : item.roots)
        if (root.definesValue)
          open.insert(root.value);
      for (const Root &root : item.roots)
        visitReads(root.value, true, open, [&](Value read, bool here) {
          auto load = read.getDefiningOp<LoadOp>();
          if (!load || !seen.insert(read).second || !here || item.kind != Item::Group)
            return;
          bool isRow =
              !load.getDims().empty() && unitDim(load) == int64_t(load.getDims().size()) - 1;
          if (isRow && needsRowLoop(shapeOf(read).back(), cpu))
            item.loadsToPrefetch.push_back(load);
        });
    }
  }
}

LogicalResult Plan::build() {
  WalkResult walk = kernel.walk([](MmaOp product) {
    if (product.getParts() == 1)
      return WalkResult::advance();
    product.emitOpError("expected one partial accumulator for a CPU, got ") << product.getParts();
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  chooseForced();
  formGroups();
  while (materializeShared())
    formGroups();
  findTaskInvariantItems();
  int counter = 0;
  Block *body = &kernel.getBody().front();
  number(body, counter);
  workInPlace(body);
  dropCopies(body);
  formBands();
  counter = 0;
  number(body, counter);
  numberBands();
  liveness(body);
  narrowBands();
  allocate();
  findStoresToPrefetch();
  findLoadsToPrefetch();
  return success();
}
