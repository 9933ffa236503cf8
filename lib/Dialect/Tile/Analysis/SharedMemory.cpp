//===- SharedMemory.cpp - Who touches shared memory, and when -------------===//
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

/// Without tensor cores a thread reads the rows and the columns of its sums.
static Layout ofProduct(const Layout &sums, Dim kept, RankedTensorType operand) {
  Space out = tile::spaceOf(operand.getShape()), in = sums.in();
  Dim along = kept == Dim::D0 ? Dim::D1 : Dim::D0;
  unsigned registers = in.bits(Dim::Register);
  in.setBits(Dim::Register, registers + out.bits(along));
  gf2::Vectors columns;
  for (unsigned i = 0; i < in.bits(); ++i) {
    bool isStep = i >= registers && i < in.bits(Dim::Register);
    unsigned old = i < registers ? i : i - out.bits(along);
    uint64_t place =
        isStep ? uint64_t(1) << (i - registers) : sums.out().unpack(sums.columns()[old])[kept];
    columns.push_back(out.pack(Point({{isStep ? along : kept, place}})));
  }
  return Layout(in, out, std::move(columns));
}

/// Whoever reads a part of a tile is taken to read the other parts as well, with registers of their
/// own.
static Layout ofParts(const Layout &part) {
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
            {op, read.getBuffer(), read.getStage(), false, ofParts(read.getElementLayout())}};
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
        Layout sums = *tile::layoutOf(mma.getAcc());
        return Accesses{{op, mma.getLhs(), mma.getLhsStage(), false,
                         ofProduct(sums, Dim::D0, mma.getLhs().getType().getTile())},
                        {op, mma.getRhs(), mma.getRhsStage(), false,
                         ofProduct(sums, Dim::D1, mma.getRhs().getType().getTile())}};
      })
      .Case([&](tile::WgmmaOp mma) {
        // The warps of a group read together; each is taken to read what its sums need.
        RankedTensorType left = mma.getLeft(), right = mma.getRhs().getType().getTile();
        unsigned bits = left.getElementTypeBitWidth(),
                 warps = tile::layoutOf(mma.getAcc())->in().size(Dim::Warp);
        unsigned parts = mma.getParts();
        tile::Spread spread = mma.getSpread();
        Accesses accesses;
        if (mma.getLhsStage())
          accesses.push_back({op, mma.getLhs(), mma.getLhsStage(), false,
                              *tile::groupLeft(left.getShape(), bits, warps, parts, spread)});
        Layout columns =
            mmaOperandB(right.getDimSize(0) / parts, right.getDimSize(1) / spread.along(1), bits) *
            Layout::broadcast(Dim::Warp, warps);
        if (parts > 1)
          columns = columns * Layout::strided(Dim::Block, Dim::D0, parts);
        else if (spread.blocks > 1)
          columns = columns * (spread.dim == 1 ? Layout::strided(Dim::Block, Dim::D1, spread.blocks)
                                               : Layout::broadcast(Dim::Block, spread.blocks));
        accesses.push_back({op, mma.getRhs(), mma.getRhsStage(), false, columns});
        return accesses;
      })
      .Default([](Operation *) { return Accesses(); });
}

/// Whether the machine makes it on its own, of a whole stage, when one thread has begun it.
static bool isOfRow(Operation *op) {
  return isa<tile::AsyncLoadOpInterface, tile::BulkStoreOp>(op);
}

/// Whether tensor cores or the machine's copies access memory by themselves, past what threads have
/// not fenced.
static bool isBesideThreads(Operation *op) { return isOfRow(op) || isa<tile::WgmmaOp>(op); }

static Value behindOf(Operation *op) {
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
  // Stages of words of at least 32 bits, and their signals.
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
/// A stage that moves on by one in each iteration of a loop, back to 0 behind the last one.
struct Rotation {
  scf::ForOp loop;
  int64_t start, stages; // in the first iteration; of how many
};

/// How many iterations of the loop around an access ago it was; further back is not told apart.
constexpr unsigned kSameIteration = 0, kIterationBefore = 1, kLongAgo = 2;
} // namespace

/// The loop around one that carries a stage from where that one ends to where it begins again, and
/// its number there.
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

/// Where what a loop carries begins, if that is known; stages that a loop around carries go on from
/// there.
static std::optional<int64_t> startOf(scf::ForOp loop, unsigned number) {
  if (auto carrier = carrierOf(loop, number))
    return startOf(carrier->first, carrier->second);
  return getConstantIntValue(loop.getInitArgs()[number]);
}

/// Of what a loop carries.
static std::optional<Rotation> rotationOf(scf::ForOp loop, unsigned number) {
  std::optional<int64_t> first = startOf(loop, number);
  // The stage of the iteration before.
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
  // The stage itself is the last one, or the next one is beyond it.
  int64_t stages = getConstantIntValue(isLast.getRhs()).value_or(-1) + (isLast.getLhs() == stage);
  return *first >= 0 && *first < stages ? std::optional(Rotation{loop, *first, stages})
                                        : std::nullopt;
}

/// Of what a loop carries, or what that is in the next iteration.
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

/// Whether a loop around the one in which a stage moves on carries it there from iteration to
/// iteration.
static bool isCarriedBy(scf::ForOp around, Value stage) {
  std::optional<Rotation> rotation = rotationOf(stage);
  auto argument = dyn_cast<BlockArgument>(stage);
  if (!rotation || !argument)
    return false;
  auto carrier = carrierOf(rotation->loop, argument.getArgNumber() - 1);
  return carrier && carrier->first == around;
}

/// Whether two accesses' stages are never the same, the first one's of so many iterations ago.
static bool areApart(const BufferAccess &a, const BufferAccess &b, unsigned iterations) {
  std::optional<int64_t> x = getConstantIntValue(a.stage), y = getConstantIntValue(b.stage);
  if (x && y)
    return *x != *y;
  if (x || y || iterations == kLongAgo)
    return false;
  std::optional<Rotation> first = rotationOf(a.stage), second = rotationOf(b.stage);
  if (!first || !second || first->loop != second->loop || first->stages != second->stages)
    return false;
  // Turns are counted of the loop that is next around an access.
  auto isOfLoop = [&](const BufferAccess &access) {
    return access.op->getParentOfType<scf::ForOp>() == first->loop;
  };
  if (iterations == kIterationBefore && (!isOfLoop(a) || !isOfLoop(b)))
    return false;
  return (first->start + first->stages - iterations) % first->stages != second->start;
}

/// Whether an access's stage, of so many iterations ago, is the one that a value names now.
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

/// The units of an access's places: the element of each, and its lane and warp. Of threads that
/// hold the same element one writes; copies are begun by all.
struct Places {
  gf2::Vectors elements, lanes, warps;
};
static Places placesOf(const BufferAccess &access) {
  const Layout &layout = access.layout;
  uint64_t idle = isa<tile::SharedStoreOp>(access.op)
                      ? layout.freeBits() & layout.in().mask({Dim::Lane, Dim::Warp})
                      : 0;
  Places places;
  for (unsigned i = 0; i < layout.in().bits(); ++i) {
    if (idle >> i & 1)
      continue;
    Point place = layout.in().unpack(uint64_t(1) << i);
    places.elements.push_back(layout.columns()[i]);
    places.lanes.push_back(place[Dim::Lane]);
    places.warps.push_back(place[Dim::Warp]);
  }
  return places;
}

/// Whether each thread accesses for itself what its registers hold: no instruction of the whole
/// warp does it.
static bool isOfThreads(const BufferAccess &access) {
  if (isa<tile::CpAsyncOp>(access.op) || behindOf(access.op))
    return true;
  tile::BufferType type = cast<tile::BufferType>(access.buffer.getType());
  unsigned bits = 8 * type.getElementBytes();
  SharedFeatures all{.ldmatrix = true, .stmatrix = true};
  auto plan = access.isWrite ? planStore : planLoad;
  return isa<tile::SharedLoadOp, tile::SharedStoreOp>(access.op) &&
         plan(type.getMemory(), access.layout, bits, all).kind == SharedAccess::Kind::Plain;
}

/// Who is kept apart where places of the two hold the same element: nobody where these are of the
/// same thread. A copy goes its own way as soon as it is begun, also past what its thread has read
/// before.
static BarrierScope apart(const BufferAccess &a, const BufferAccess &b) {
  Places x = placesOf(a), y = placesOf(b);
  gf2::Vectors lanes = gf2::concat({x.lanes, y.lanes}), warps = gf2::concat({x.warps, y.warps});
  bool isThread = true;
  for (uint64_t same : gf2::kernel(gf2::concat({x.elements, y.elements}))) {
    if (gf2::sum(warps, same))
      return BarrierScope::Block;
    isThread &= !gf2::sum(lanes, same);
  }
  bool isPassed = isa<tile::CpAsyncOp>(b.op) && !a.isWrite;
  bool isOrdered = isThread && !isPassed && isOfThreads(a) && isOfThreads(b);
  return isOrdered ? BarrierScope::None : BarrierScope::Warp;
}

/// Bytes of shared memory, where they are known.
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
  if (areApart(a, b, iterations))
    return BarrierScope::None;
  if (isBesideThreads(a.op) || isBesideThreads(b.op) || behindOf(a.op) != behindOf(b.op))
    return BarrierScope::Block;
  return apart(a, b);
}

namespace {
/// An access that lies behind a place of the program.
struct Past {
  BufferAccess access;
  unsigned iterations = kSameIteration; // ago
  bool sinceWarp = true;                // no barrier of the warp has come after it
  Value told = Value();                 // mbarriers that each warp has told of it

  bool isSame(const Past &other) const {
    return access.op == other.access.op && access.buffer == other.access.buffer &&
           iterations == other.iterations;
  }
};

/// What may lie behind a place: accesses since the last barrier of the block, copies and products
/// that go on, writes that copies of rows do not see for want of a fence, and mbarriers that only
/// one thread knows.
struct State {
  SmallVector<Past> since, copies, unfenced;
  SmallVector<Operation *> mbarriers,
      opened; // of the mbarriers, those that the block has told others of

  static bool add(SmallVector<Past> &list, const Past &past) {
    for (Past &known : list)
      if (known.isSame(past)) {
        bool isNew =
            (past.sinceWarp && !known.sinceWarp) || (known.told && known.told != past.told);
        known.sinceWarp |= past.sinceWarp;
        if (known.told != past.told)
          known.told = Value();
        return isNew;
      }
    list.push_back(past);
    return true;
  }
  /// Whether that says anything new.
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
          past.iterations = kLongAgo; // else iterations of the loop inside are counted on
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

class Walk {
public:
  enum class Mode { Insert, Report, Probe };
  explicit Walk(Mode mode) : mode(mode) {}

  void run(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      run(&op, state);
  }
  SmallVector<Hazard> found;

private:
  void run(Operation *op, State &state);
  void run(scf::ForOp loop, State &state);
  void run(scf::IfOp branch, State &state);
  /// Settles before an operation what its regions owe to what comes before it.
  void settleBefore(Operation *op, State &state);
  /// The widest barrier that an operation needs here, and for whose sake.
  Hazard need(Operation *op, const State &state) const;
  /// Notes which accesses an mbarrier's warps have behind them.
  static void tell(tile::MbarrierArriveOp arrive, State &state);
  /// Places a barrier before an operation, or tells of it.
  void settle(const Hazard &hazard, Operation *before, State &state);

  Mode mode;
};
} // namespace

Hazard Walk::need(Operation *op, const State &state) const {
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
  // Of mbarriers that are not known yet, only the first warp may be told to open one.
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
    if (isBesideThreads(op))
      for (const Past &past : state.unfenced)
        if (overlap(past.access.buffer, access.buffer) &&
            (past.access.buffer != access.buffer ||
             !areApart(past.access, access, past.iterations)))
          return {past.access.op, op, BarrierScope::Block, /*wantsFence=*/true};
    for (const Past &past : state.since) {
      // Whoever begins the copy has waited until all have left.
      if (past.told && past.told == empty)
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

/// The reads of stages that copies fill which wait at these mbarriers.
void Walk::tell(tile::MbarrierArriveOp arrive, State &state) {
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
        past.told = arrive.getMbarriers();
}

void Walk::settle(const Hazard &hazard, Operation *before, State &state) {
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

void Walk::run(Operation *op, State &state) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return run(loop, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return run(branch, state);
  if (auto barrier = dyn_cast<tile::BarrierOp>(op))
    return state.pass(barrier.getWarp() ? BarrierScope::Warp : BarrierScope::Block);
  if (isa<tile::FenceProxyAsyncOp>(op))
    return state.unfenced.clear();
  // Blocks of a cluster meet behind what all of their warps did before they told each other.
  if (isa<tile::ClusterArriveOp>(op))
    state.opened = state.mbarriers;
  if (isa<tile::ClusterWaitOp>(op))
    llvm::erase_if(state.mbarriers,
                   [&](Operation *made) { return llvm::is_contained(state.opened, made); });
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
    return tell(arrive, state);
  if (isa<tile::MbarrierAllocOp>(op))
    state.mbarriers.push_back(op);
  for (const BufferAccess &access : bufferAccesses(op)) {
    // Whoever reads a row that was loaded has waited at its mbarrier; one that is sent is read
    // until a wait.
    if (!isOfRow(op))
      State::add(state.since, {access});
    if (isa<tile::CpAsyncOp, tile::BulkStoreOp, tile::WgmmaOp>(op))
      State::add(state.copies, {access});
    if (isa<tile::SharedStoreOp>(op))
      State::add(state.unfenced, {access});
  }
}

void Walk::settleBefore(Operation *op, State &state) {
  Walk probe(Mode::Probe);
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

/// First what each way owes to itself; then a barrier before the branch serves both.
void Walk::run(scf::IfOp branch, State &state) {
  for (Region &region : branch->getRegions()) {
    State own;
    if (!region.empty())
      run(region.front(), own);
  }
  settleBefore(branch, state);
  State other = state;
  run(branch.getThenRegion().front(), state);
  // Who waits at an mbarrier that only one way tells goes on when all have come that way.
  for (auto arrive : branch.getThenRegion().front().getOps<tile::MbarrierArriveOp>())
    tell(arrive, other);
  if (!branch.getElseRegion().empty())
    run(branch.getElseRegion().front(), other);
  state.join(other);
}

/// First what each iteration owes to itself and to the iteration before; then what the first
/// iteration owes to what comes before the loop, which a barrier before the loop settles once.
void Walk::run(scf::ForOp loop, State &state) {
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
  Walk walk(Walk::Mode::Report);
  State state;
  walk.run(kernel.getBody().front(), state);
  return std::move(walk.found);
}

void tessera::placeBarriers(tile::KernelOp kernel) {
  State state;
  Walk(Walk::Mode::Insert).run(kernel.getBody().front(), state);
}
