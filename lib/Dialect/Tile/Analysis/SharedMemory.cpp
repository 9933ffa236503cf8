//===- SharedMemory.cpp - Accesses, hazards and barriers ------------------===//
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"

#include "tessera/Layout/Families.h"
#include "tessera/Layout/Reduction.h"
#include "tessera/Target/GpuDescription.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

SharedFeatures tessera::sharedFeaturesOf(const GpuDescription &gpu) {
  return {.ldmatrix = gpu.has(GpuFeature::Ldmatrix),
          .stmatrix = gpu.has(GpuFeature::Stmatrix),
          .memoryBytes = uint64_t(gpu.sm.sharedBytesPerCta)};
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The layout of an operand of a contraction without tensor cores: a thread reads the rows or the
/// columns of its accumulator elements.
static Layout simtOperand(const Layout &acc, Dim kept, RankedTensorType operand) {
  Space out = tile::spaceOf(operand.getShape()), in = acc.in();
  Dim along = kept == Dim::D0 ? Dim::D1 : Dim::D0;
  unsigned registers = in.bits(Dim::Register);
  in.setBits(Dim::Register, registers + out.bits(along));
  gf2::Vectors columns;
  for (unsigned i = 0; i < in.bits(); ++i) {
    bool isAlongK = i >= registers && i < in.bits(Dim::Register);
    unsigned old = i < registers ? i : i - out.bits(along);
    uint64_t index =
        isAlongK ? uint64_t(1) << (i - registers) : acc.out().unpack(acc.columns()[old])[kept];
    columns.push_back(out.pack(Point({{isAlongK ? along : kept, index}})));
  }
  return Layout(in, out, std::move(columns));
}

/// Extends the layout of a read of a part of a tile to the whole tile: the threads are taken to
/// read the other parts as well, into other registers.
static Layout extendToTile(const Layout &part) {
  gf2::Vectors registers = part.columnsOf({Dim::Register}),
               others = part.columnsOf(~DimSet{Dim::Register});
  gf2::Subspace covered(part.columns());
  Space in = part.in();
  for (uint64_t unit : gf2::units(part.out().bits()))
    if (covered.add(unit))
      registers.push_back(unit);
  in.setBits(Dim::Register, registers.size());
  return Layout(in, part.out(), gf2::concat({registers, others}));
}

SmallVector<BufferAccess, 2> tessera::bufferAccesses(Operation *op) {
  using Accesses = SmallVector<BufferAccess, 2>;
  return llvm::TypeSwitch<Operation *, Accesses>(op)
      .Case([&](tile::SharedLoadOp read) {
        return Accesses{
            {op, read.getBuffer(), read.getStage(), false, extendToTile(read.getElementLayout())}};
      })
      .Case([&](tile::SharedStoreOp write) {
        return Accesses{
            {op, write.getBuffer(), write.getStage(), true, *tile::layoutOf(write.getValue())}};
      })
      .Case([&](tile::CpAsyncOp copy) {
        return Accesses{{op, copy.getBuffer(), copy.getStage(), true, copy.getVia().getValue()}};
      })
      .Case([&](tile::AsyncLoadOpInterface load) {
        return Accesses{{op, load.getBuffer(), load.getStage(), true, Layout()}};
      })
      .Case([&](tile::BulkStoreOp send) {
        return Accesses{{op, send.getBuffer(), send.getStage(), false, Layout()}};
      })
      .Case([&](tile::MmaSharedOp mma) {
        Layout acc = *tile::layoutOf(mma.getAcc());
        return Accesses{{op, mma.getLhs(), mma.getLhsStage(), false,
                         simtOperand(acc, Dim::D0, mma.getLhs().getType().getTile())},
                        {op, mma.getRhs(), mma.getRhsStage(), false,
                         simtOperand(acc, Dim::D1, mma.getRhs().getType().getTile())}};
      })
      .Case([&](tile::WgmmaOp mma) {
        // A warpgroup reads together; each warp is taken to read what its accumulator needs.
        RankedTensorType left = mma.getLeft(), right = mma.getRightBuffer().getTile();
        unsigned bits = 8 * mma.getRhs().getType().getElementBytes(),
                 warps = tile::layoutOf(mma.getAcc())->in().size(Dim::Warp);
        unsigned parts = mma.getParts();
        tile::Spread spread = mma.getSpread();
        // The layout of elements of the stage.
        auto inStage = [](const Layout &layout, bool isTransposed) {
          return isTransposed ? layout.transpose({1, 0}) : layout;
        };
        Accesses accesses;
        if (mma.getLhsStage()) {
          Layout rows = *tile::groupLeft(left.getShape(), bits, warps, parts, spread);
          accesses.push_back(
              {op, mma.getLhs(), mma.getLhsStage(), false, inStage(rows, mma.getLhsTransposed())});
        }
        Layout columns =
            mmaOperandB(right.getDimSize(0) / parts, right.getDimSize(1) / spread.along(1), bits) *
            Layout::broadcast(Dim::Warp, warps);
        if (parts > 1)
          columns = columns * Layout::strided(Dim::Block, Dim::D0, parts);
        else if (spread.blocks > 1)
          columns = columns * (spread.dim == 1 ? Layout::strided(Dim::Block, Dim::D1, spread.blocks)
                                               : Layout::broadcast(Dim::Block, spread.blocks));
        accesses.push_back(
            {op, mma.getRhs(), mma.getRhsStage(), false, inStage(columns, mma.getRhsTransposed())});
        return accesses;
      })
      .Default([](Operation *) { return Accesses(); });
}

/// Whether one thread starts a TMA or bulk copy of a whole stage.
static bool isBulkCopy(Operation *op) {
  return isa<tile::AsyncLoadOpInterface, tile::BulkStoreOp>(op);
}

/// Whether an operation accesses shared memory through the async proxy, which sees writes of
/// threads only after a fence.
static bool usesAsyncProxy(Operation *op) { return isBulkCopy(op) || isa<tile::WgmmaOp>(op); }

/// The misalignment of the row that an operation accesses, or null.
static Value shiftOf(Operation *op) {
  if (auto read = dyn_cast<tile::SharedLoadOp>(op))
    return read.getShift();
  auto write = dyn_cast<tile::SharedStoreOp>(op);
  return write ? write.getShift() : Value();
}

static uint64_t bytesOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return type.getNumElements() * llvm::PowerOf2Ceil((type.getElementTypeBitWidth() + 7) / 8);
}

uint64_t tessera::dsmemBytes(tile::ReduceOp reduce) {
  SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
  size_t blocks = planReduction(*tile::layoutOf(reduce.getInput()), dims).blocks.size();
  if (!blocks)
    return 0;
  // Stages of words of at least 32 bits, and their mbarriers.
  uint64_t stages = reduce->getParentOfType<LoopLikeOpInterface>() ? 2 : 1;
  uint64_t owners =
      uint64_t(1) << gf2::rank(tile::layoutOf(reduce.getResult())->columnsOf({Dim::Block}));
  uint64_t words = std::max<uint64_t>(bytesOf(reduce.getResult()), 4) << blocks;
  return stages * (llvm::alignTo(words / owners, 128) + 8);
}

uint64_t tessera::exchangedBytes(Operation *scope, SharedFeatures features,
                                 llvm::function_ref<bool(Operation *)> isElsewhere) {
  uint64_t bytes = 0;
  scope->walk([&](Operation *op) {
    if (auto convert = dyn_cast<tile::ConvertOp>(op)) {
      Value input = convert.getInput(), result = convert.getResult();
      unsigned bits = 8 * bytesOf(result) / convert.getType().getNumElements();
      auto plan = planConversion(*tile::layoutOf(input), *tile::layoutOf(result), bits, features);
      if ((!plan || plan->kind == ConversionPlan::Kind::Shared) &&
          !(isElsewhere && isElsewhere(op)))
        bytes += bytesOf(result);
    } else if (auto mma = dyn_cast<tile::MmaOp>(op); mma && !tile::fragmentDepth(mma)) {
      bytes += bytesOf(mma.getLhs()) + bytesOf(mma.getRhs());
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
      ReductionPlan plan = planReduction(*tile::layoutOf(reduce.getInput()), dims);
      if (size_t warps = plan.warps.size())
        bytes += bytesOf(reduce.getResult()) << warps;
      bytes += dsmemBytes(reduce);
    }
  });
  return bytes;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
/// A stage that increases by one in each iteration of a loop; 0 follows the last one.
struct Rotation {
  scf::ForOp loop;
  int64_t start, stages; // the stage in the first iteration, and the number of stages
};

/// How many iterations of its loop ago an access was; all from the second on are the same.
constexpr unsigned kSameIteration = 0, kIterationBefore = 1, kLongAgo = 2;
} // namespace

/// The outer loop that carries a stage from the end of an inner loop to its next start, and the
/// number of the stage there.
static std::optional<std::pair<scf::ForOp, unsigned>> carrierOf(scf::ForOp loop, unsigned number) {
  auto argument = dyn_cast<BlockArgument>(loop.getInitArgs()[number]);
  auto around = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!argument || !around || argument.getOwner() != around.getBody() || !argument.getArgNumber())
    return std::nullopt;
  unsigned outside = argument.getArgNumber() - 1;
  return around.getYieldedValues()[outside] == loop.getResult(number)
             ? std::optional(std::pair(around, outside))
             : std::nullopt;
}

/// The initial value of a carried stage, if it is known: of the outer loop, if that carries the
/// stage on.
static std::optional<int64_t> startOf(scf::ForOp loop, unsigned number) {
  if (auto carrier = carrierOf(loop, number))
    return startOf(carrier->first, carrier->second);
  return getConstantIntValue(loop.getInitArgs()[number]);
}

/// The rotation of a carried value.
static std::optional<Rotation> rotationOf(scf::ForOp loop, unsigned number) {
  std::optional<int64_t> first = startOf(loop, number);
  // The value may be the stage of the previous iteration.
  if (auto before = dyn_cast<BlockArgument>(loop.getYieldedValues()[number]);
      first && before && before.getOwner() == loop.getBody() && before.getArgNumber() &&
      before.getArgNumber() - 1 != number) {
    std::optional<Rotation> rotation = rotationOf(loop, before.getArgNumber() - 1);
    return rotation && (*first + 1) % rotation->stages == rotation->start
               ? std::optional(Rotation{loop, *first, rotation->stages})
               : std::nullopt;
  }
  auto next = loop.getYieldedValues()[number].getDefiningOp<arith::SelectOp>();
  if (!first || !next || getConstantIntValue(next.getTrueValue()) != 0)
    return std::nullopt;
  auto sum = next.getFalseValue().getDefiningOp<arith::AddIOp>();
  auto isLast = next.getCondition().getDefiningOp<arith::CmpIOp>();
  Value stage = loop.getRegionIterArg(number);
  if (!sum || sum.getLhs() != stage || getConstantIntValue(sum.getRhs()) != 1 || !isLast ||
      isLast.getPredicate() != arith::CmpIPredicate::eq ||
      (isLast.getLhs() != stage && isLast.getLhs() != sum))
    return std::nullopt;
  // The comparison is of the stage with the last one, or of the next stage with the number of them.
  int64_t stages = getConstantIntValue(isLast.getRhs()).value_or(-1) + (isLast.getLhs() == stage);
  return *first >= 0 && *first < stages ? std::optional(Rotation{loop, *first, stages})
                                        : std::nullopt;
}

/// The rotation of a carried value, or of the value that is carried to the next iteration.
static std::optional<Rotation> rotationOf(Value stage) {
  if (auto argument = dyn_cast<BlockArgument>(stage)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument.getArgNumber() ? rotationOf(loop, argument.getArgNumber() - 1)
                                           : std::nullopt;
  }
  auto loop = dyn_cast<scf::ForOp>(stage.getDefiningOp()->getParentOp());
  for (unsigned i = 0; loop && i < loop.getNumRegionIterArgs(); ++i)
    if (loop.getYieldedValues()[i] == stage)
      if (std::optional<Rotation> rotation = rotationOf(loop, i))
        return Rotation{loop, (rotation->start + 1) % rotation->stages, rotation->stages};
  return std::nullopt;
}

/// Whether an outer loop carries a stage from one run of the inner loop to the next.
static bool isCarriedBy(scf::ForOp around, Value stage) {
  std::optional<Rotation> rotation = rotationOf(stage);
  auto argument = dyn_cast<BlockArgument>(stage);
  if (!rotation || !argument)
    return false;
  auto carrier = carrierOf(rotation->loop, argument.getArgNumber() - 1);
  return carrier && carrier->first == around;
}

/// Whether two accesses never have the same stage; the first was `iterations` ago.
static bool haveDifferentStages(const BufferAccess &a, const BufferAccess &b, unsigned iterations) {
  std::optional<int64_t> x = getConstantIntValue(a.stage), y = getConstantIntValue(b.stage);
  if (x && y)
    return *x != *y;
  if (x || y || iterations == kLongAgo)
    return false;
  std::optional<Rotation> first = rotationOf(a.stage), second = rotationOf(b.stage);
  if (!first || !second || first->loop != second->loop || first->stages != second->stages)
    return false;
  // Iterations are counted for the innermost loop around an access.
  auto isOfLoop = [&](const BufferAccess &access) {
    return access.op->getParentOfType<scf::ForOp>() == first->loop;
  };
  if (iterations == kIterationBefore && (!isOfLoop(a) || !isOfLoop(b)))
    return false;
  return (first->start + first->stages - iterations) % first->stages != second->start;
}

/// Whether the stage of an access, `iterations` ago, is the one that a value has now.
static bool isStage(const BufferAccess &access, Value stage, unsigned iterations) {
  std::optional<int64_t> x = getConstantIntValue(access.stage), y = getConstantIntValue(stage);
  if (x && y)
    return *x == *y;
  if (iterations == kSameIteration && access.stage == stage)
    return true;
  if (x || y || iterations == kLongAgo)
    return false;
  std::optional<Rotation> first = rotationOf(access.stage), second = rotationOf(stage);
  return first && second && first->loop == second->loop && first->stages == second->stages &&
         access.op->getParentOfType<scf::ForOp>() == first->loop &&
         (first->start + first->stages - iterations) % first->stages == second->start;
}

//===----------------------------------------------------------------------===//
// Hazards
//===----------------------------------------------------------------------===//

/// The basis of an access's threads and registers: the element, the lane and the warp of each basis
/// vector. One of the threads that hold the same element writes it; all of them start copies.
struct AccessBasis {
  gf2::Vectors elements, lanes, warps;
};
static AccessBasis basisOf(const BufferAccess &access) {
  const Layout &layout = access.layout;
  uint64_t idle = isa<tile::SharedStoreOp>(access.op)
                      ? layout.freeBits() & layout.in().mask({Dim::Lane, Dim::Warp})
                      : 0;
  AccessBasis basis;
  for (unsigned i = 0; i < layout.in().bits(); ++i) {
    if (idle >> i & 1)
      continue;
    Point thread = layout.in().unpack(uint64_t(1) << i);
    basis.elements.push_back(layout.columns()[i]);
    basis.lanes.push_back(thread[Dim::Lane]);
    basis.warps.push_back(thread[Dim::Warp]);
  }
  return basis;
}

/// Whether each thread accesses the elements of its own registers: the access is no ldmatrix,
/// stmatrix or other instruction of the whole warp.
static bool isPerThread(const BufferAccess &access) {
  if (isa<tile::CpAsyncOp>(access.op) || shiftOf(access.op))
    return true;
  tile::BufferType type = cast<tile::BufferType>(access.buffer.getType());
  unsigned bits = 8 * type.getElementBytes();
  SharedFeatures all{.ldmatrix = true, .stmatrix = true};
  auto plan = access.isWrite ? planStore : planLoad;
  return isa<tile::SharedLoadOp, tile::SharedStoreOp>(access.op) &&
         plan(type.getMemory(), access.layout, bits, all).kind == SharedAccess::Kind::Plain;
}

/// The barrier between two accesses of the same elements: none if a thread meets only itself, one
/// of the warp if a warp does. A copy is not ordered with earlier reads of its own thread.
static BarrierScope scopeBetween(const BufferAccess &a, const BufferAccess &b) {
  AccessBasis x = basisOf(a), y = basisOf(b);
  gf2::Vectors lanes = gf2::concat({x.lanes, y.lanes}), warps = gf2::concat({x.warps, y.warps});
  bool isThread = true;
  for (uint64_t same : gf2::kernel(gf2::concat({x.elements, y.elements}))) {
    if (gf2::sum(warps, same))
      return BarrierScope::Block;
    isThread &= !gf2::sum(lanes, same);
  }
  bool isPassed = isa<tile::CpAsyncOp>(b.op) && !a.isWrite;
  bool isOrdered = isThread && !isPassed && isPerThread(a) && isPerThread(b);
  return isOrdered ? BarrierScope::None : BarrierScope::Warp;
}

/// The bytes of a buffer in shared memory, if it is placed.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  if (!alloc || !alloc.getOffset())
    return std::nullopt;
  int64_t first = *alloc.getOffset();
  return std::pair(first, first + alloc.getAllBytes());
}

static bool overlap(Value a, Value b) {
  if (a == b)
    return true;
  auto x = rangeOf(a), y = rangeOf(b);
  return x && y && x->first < y->second && y->first < x->second;
}

static BarrierScope between(const BufferAccess &a, const BufferAccess &b, unsigned iterations) {
  if (!a.isWrite && !b.isWrite)
    return BarrierScope::None;
  if (!overlap(a.buffer, b.buffer))
    return BarrierScope::None;
  if (a.buffer != b.buffer)
    return BarrierScope::Block;
  if (haveDifferentStages(a, b, iterations))
    return BarrierScope::None;
  if (usesAsyncProxy(a.op) || usesAsyncProxy(b.op) || shiftOf(a.op) != shiftOf(b.op))
    return BarrierScope::Block;
  return scopeBetween(a, b);
}

namespace {
/// An access before the current operation.
struct Past {
  BufferAccess access;
  unsigned iterations = kSameIteration; // ago
  bool sinceWarp = true;                // no barrier of the warp has followed
  Value released = Value();             // mbarriers at which each warp has arrived since

  bool isSame(const Past &other) const {
    return access.op == other.access.op && access.buffer == other.access.buffer &&
           iterations == other.iterations;
  }
};

/// The state before an operation: accesses since the last CTA barrier, copies and wgmma in flight,
/// writes without a fence for the async proxy, and mbarriers that only the initializing thread has
/// seen.
struct State {
  SmallVector<Past> since, copies, unfenced;
  SmallVector<Operation *> mbarriers;
  SmallVector<Operation *> announced; // the mbarriers before the last cluster_arrive

  static bool add(SmallVector<Past> &list, const Past &past) {
    for (Past &known : list)
      if (known.isSame(past)) {
        bool isNew = (past.sinceWarp && !known.sinceWarp) ||
                     (known.released && known.released != past.released);
        known.sinceWarp |= past.sinceWarp;
        if (known.released != past.released)
          known.released = Value();
        return isNew;
      }
    list.push_back(past);
    return true;
  }
  /// Adds another state; returns whether that changes this one.
  bool join(const State &other) {
    bool isNew = false;
    for (const Past &past : other.since)
      isNew |= add(since, past);
    for (const Past &past : other.copies)
      isNew |= add(copies, past);
    for (const Past &past : other.unfenced)
      isNew |= add(unfenced, past);
    for (Operation *op : other.mbarriers)
      if (!llvm::is_contained(mbarriers, op)) {
        mbarriers.push_back(op);
        isNew = true;
      }
    return isNew;
  }
  State inNextIteration(scf::ForOp loop) const {
    State next;
    next.mbarriers = mbarriers;
    for (auto [from, to] : {std::pair(&since, &next.since), std::pair(&copies, &next.copies),
                            std::pair(&unfenced, &next.unfenced)})
      for (Past past : *from) {
        if (past.access.op->getParentOfType<scf::ForOp>() == loop)
          past.iterations = std::min(past.iterations + 1, kLongAgo);
        else if (loop->isAncestor(past.access.op) &&
                 !(past.access.stage && isCarriedBy(loop, past.access.stage)))
          past.iterations = kLongAgo; // otherwise the count of the inner loop goes on
        add(*to, past);
      }
    return next;
  }
  void pass(BarrierScope scope) {
    if (scope == BarrierScope::Block) {
      since.clear();
      mbarriers.clear();
    }
    for (Past &past : since)
      past.sinceWarp = false;
  }
};

class BarrierAnalysis {
public:
  enum class Mode { Insert, Report, Probe };
  explicit BarrierAnalysis(Mode mode) : mode(mode) {}

  void run(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      run(&op, state);
  }
  SmallVector<Hazard> found;

private:
  void run(Operation *op, State &state);
  void run(scf::ForOp loop, State &state);
  void run(scf::IfOp branch, State &state);
  /// Resolves, before an operation, the hazards between its regions and earlier accesses.
  void settleBefore(Operation *op, State &state);
  /// The widest barrier that an operation needs, and the access that it is for.
  Hazard need(Operation *op, const State &state) const;
  /// Marks the accesses that the warps have completed when they arrive at an empty barrier.
  static void release(tile::MbarrierArriveOp arrive, State &state);
  /// Inserts a barrier before an operation, or records the hazard.
  void settle(const Hazard &hazard, Operation *before, State &state);

  Mode mode;
};
} // namespace

Hazard BarrierAnalysis::need(Operation *op, const State &state) const {
  Hazard widest{nullptr, op, BarrierScope::None};
  if (auto await = dyn_cast<tile::MbarrierWaitOp>(op)) {
    Operation *made = await.getMbarriers().getDefiningOp();
    return llvm::is_contained(state.mbarriers, made) ? Hazard{made, op, BarrierScope::Block}
                                                     : widest;
  }
  if (auto arrive = dyn_cast<tile::MbarrierArriveOp>(op)) {
    Operation *made = arrive.getMbarriers().getDefiningOp();
    return llvm::is_contained(state.mbarriers, made) ? Hazard{made, op, BarrierScope::Block}
                                                     : widest;
  }
  // Before a barrier only the first warp may use mbarriers that its thread has initialized.
  auto load = dyn_cast<tile::AsyncLoadOpInterface>(op);
  if (load && load.getIssuingWarp()) {
    Operation *made = load.getFull().getDefiningOp();
    if (llvm::is_contained(state.mbarriers, made))
      return {made, op, BarrierScope::Block};
  }
  auto tma = dyn_cast<tile::TmaLoadOp>(op);
  Value empty = tma ? tma.getEmpty() : Value();
  if (empty && llvm::is_contained(state.mbarriers, empty.getDefiningOp()))
    return {empty.getDefiningOp(), op, BarrierScope::Block};
  for (const BufferAccess &access : bufferAccesses(op)) {
    if (usesAsyncProxy(op))
      for (const Past &past : state.unfenced)
        if (overlap(past.access.buffer, access.buffer) &&
            (past.access.buffer != access.buffer ||
             !haveDifferentStages(past.access, access, past.iterations)))
          return {past.access.op, op, BarrierScope::Block, /*wantsFence=*/true};
    for (const Past &past : state.since) {
      // The thread that issues the refill has waited at the empty barrier.
      if (past.released && past.released == empty)
        continue;
      BarrierScope scope = between(past.access, access, past.iterations);
      if (scope == BarrierScope::Warp && !past.sinceWarp)
        continue;
      if (scope > widest.scope)
        widest = {past.access.op, op, scope};
    }
  }
  return widest;
}

/// The reads of the stages whose refills wait at these empty barriers.
void BarrierAnalysis::release(tile::MbarrierArriveOp arrive, State &state) {
  auto isFilled = [&](Value buffer) {
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      auto load = dyn_cast<tile::TmaLoadOp>(user);
      return load && load.getEmpty() == arrive.getMbarriers();
    });
  };
  for (SmallVector<Past> *list : {&state.since, &state.copies})
    for (Past &past : *list)
      if (!past.access.isWrite && isFilled(past.access.buffer) &&
          isStage(past.access, arrive.getMbarrier(), past.iterations))
        past.released = arrive.getMbarriers();
}

void BarrierAnalysis::settle(const Hazard &hazard, Operation *before, State &state) {
  if (hazard.scope == BarrierScope::None)
    return;
  if (mode == Mode::Insert) {
    OpBuilder builder(before);
    if (hazard.wantsFence)
      tile::FenceProxyAsyncOp::create(builder, hazard.after->getLoc());
    tile::BarrierOp::create(builder, hazard.after->getLoc(), hazard.scope == BarrierScope::Warp);
  } else if (!llvm::any_of(found, [&](const Hazard &known) {
               return known.before == hazard.before && known.after == hazard.after;
             })) {
    found.push_back(hazard);
  }
  if (hazard.wantsFence)
    state.unfenced.clear();
  state.pass(hazard.scope);
}

void BarrierAnalysis::run(Operation *op, State &state) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return run(loop, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return run(branch, state);
  if (auto barrier = dyn_cast<tile::BarrierOp>(op))
    return state.pass(barrier.getWarp() ? BarrierScope::Warp : BarrierScope::Block);
  if (isa<tile::FenceProxyAsyncOp>(op))
    return state.unfenced.clear();
  // After cluster_wait all CTAs see what their warps did before cluster_arrive.
  if (isa<tile::ClusterArriveOp>(op))
    state.announced = state.mbarriers;
  if (isa<tile::ClusterWaitOp>(op))
    llvm::erase_if(state.mbarriers,
                   [&](Operation *made) { return llvm::is_contained(state.announced, made); });
  if (isa<tile::CpAsyncWaitOp, tile::BulkWaitOp, tile::WgmmaWaitOp>(op)) {
    auto isMeant = [&](const Past &copy) {
      return isa<tile::CpAsyncWaitOp>(op) ? isa<tile::CpAsyncOp>(copy.access.op)
             : isa<tile::BulkWaitOp>(op)  ? isa<tile::BulkStoreOp>(copy.access.op)
                                          : isa<tile::WgmmaOp>(copy.access.op);
    };
    for (const Past &copy : llvm::make_filter_range(state.copies, isMeant))
      State::add(state.since, copy);
    if (op->getAttrOfType<IntegerAttr>("pending").getInt() == 0)
      llvm::erase_if(state.copies, isMeant);
    return;
  }
  settle(need(op, state), op, state);
  if (auto arrive = dyn_cast<tile::MbarrierArriveOp>(op))
    return release(arrive, state);
  if (isa<tile::MbarrierAllocOp>(op))
    state.mbarriers.push_back(op);
  for (const BufferAccess &access : bufferAccesses(op)) {
    // Readers of a loaded stage wait at its full barrier; a bulk store reads its stage until a
    // wait.
    if (!isBulkCopy(op))
      State::add(state.since, {access});
    if (isa<tile::CpAsyncOp, tile::BulkStoreOp, tile::WgmmaOp>(op))
      State::add(state.copies, {access});
    if (isa<tile::SharedStoreOp>(op))
      State::add(state.unfenced, {access});
  }
}

void BarrierAnalysis::settleBefore(Operation *op, State &state) {
  BarrierAnalysis probe(Mode::Probe);
  for (Region &region : op->getRegions()) {
    State first;
    first.since = state.since;
    first.unfenced = state.unfenced;
    first.mbarriers = state.mbarriers;
    if (!region.empty())
      probe.run(region.front(), first);
  }
  if (probe.found.empty())
    return;
  auto isNarrower = [](const Hazard &a, const Hazard &b) {
    return std::pair(a.scope, a.wantsFence) < std::pair(b.scope, b.wantsFence);
  };
  settle(*llvm::max_element(probe.found, isNarrower), op, state);
}

/// Resolves the hazards within each region first; one barrier before the branch then serves both.
void BarrierAnalysis::run(scf::IfOp branch, State &state) {
  for (Region &region : branch->getRegions()) {
    State own;
    if (!region.empty())
      run(region.front(), own);
  }
  settleBefore(branch, state);
  State other = state;
  run(branch.getThenRegion().front(), state);
  // A wait at an mbarrier at which one region arrives ends only if all warps have taken that
  // region.
  for (auto arrive : branch.getThenRegion().front().getOps<tile::MbarrierArriveOp>())
    release(arrive, other);
  if (!branch.getElseRegion().empty())
    run(branch.getElseRegion().front(), other);
  state.join(other);
}

/// Resolves the hazards within an iteration and with the previous iteration first; then those of
/// the first iteration with earlier accesses, by one barrier before the loop.
void BarrierAnalysis::run(scf::ForOp loop, State &state) {
  State iteration;
  for (bool isNew = true; isNew;) {
    State end = iteration;
    run(*loop.getBody(), end);
    isNew = iteration.join(end.inNextIteration(loop));
  }
  settleBefore(loop, state);
  State end = state;
  end.join(iteration);
  run(*loop.getBody(), end);
  state.join(end.inNextIteration(loop));
}

SmallVector<Hazard> tessera::findHazards(tile::KernelOp kernel) {
  BarrierAnalysis analysis(BarrierAnalysis::Mode::Report);
  State state;
  analysis.run(kernel.getBody().front(), state);
  return std::move(analysis.found);
}

void tessera::placeBarriers(tile::KernelOp kernel) {
  State state;
  BarrierAnalysis(BarrierAnalysis::Mode::Insert).run(kernel.getBody().front(), state);
}
