//===- Bulk.cpp - Bulk copies and TMA loads -------------------------------===//
//
// One thread issues a bulk copy of a row between global and shared memory. Bulk copies move 16-byte
// chunks at 16-byte aligned addresses. A loaded row therefore comes with its neighbours in the
// first and the last chunk. Of a stored row, the lanes of one warp store the elements at both ends
// that fill no chunk.
//
// Memory after the last element of a tensor is never read: the thread that issues the copy loads
// the elements in the chunk where the tensor ends, before it arrives at the mbarrier.
//
// Boxes of more dimensions are TMA loads with tensor maps, which the launch encodes.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

static constexpr int64_t kChunk = CudaLimits::bulkAlignment;

struct KernelEmitter::Row {
  Value address; // of the first element (i64)
  Value bytes;   // of the elements that lie in the view (i64)
};

/// The row of a bulk load or store; in a cluster, the CTA's part of it.
template <typename AlignedRowOp> KernelEmitter::Row KernelEmitter::rowOf(AlignedRowOp op) {
  const View &view = views[op.getView()];
  tile::BufferType buffer = op.getBuffer().getType();
  int64_t along = op.getDims()[0], size = buffer.getTile().getNumElements(),
          bytes = buffer.getElementBytes();
  Ix offset = 0, first = coordinate(buffer.getMemory(), 0, Dim::D0);
  Value count = e.integer(buffer.getElements());
  for (auto [dim, each] : llvm::enumerate(op.getCoords())) {
    bool isAlong = int64_t(dim) == along;
    Ix index = isAlong ? e.add(e.mul(Ix(get(each)), size), first) : Ix(get(each));
    // An aligned row starts before its first element.
    if (view.from && op.getBounded()) {
      Value begin = e.maxI(e.materialize(index), view.from);
      count = e.subI(count, e.subI(begin, e.materialize(index)));
      index = Ix(begin);
    }
    offset = e.add(offset, e.mul(index, view.strides[dim]));
    if (!op.getBounded())
      continue;
    Value end = e.materialize(view.sizes[dim]);
    if (isAlong) {
      Value left = e.subI(end, e.materialize(index));
      count = e.maxI(e.minI(left, count), e.integer(0));
    } else if (!coordinates.touches(each, op.getView(), dim, 1, op)) {
      Value inside = e.cmp(ICmpPredicate::ult, e.materialize(index), end);
      count = e.select(inside, count, e.integer(0));
    }
  }
  Value start = LLVM::PtrToIntOp::create(e.b, e.i64, view.pointer);
  return {e.addI(start, e.materialize(e.mul(offset, bytes))), e.mulI(count, e.integer(bytes))};
}

static Value roundDown(codegen::Emitter &e, Value address) {
  return e.andI(address, e.integer(-kChunk));
}
static Value roundUp(codegen::Emitter &e, Value address) {
  return roundDown(e, e.addI(address, e.integer(kChunk - 1)));
}

void KernelEmitter::inOneThread(llvm::function_ref<void()> emitBody, int64_t inWarp) {
  if (isInOneThread)
    return emitBody();
  Value other = inWarp ? e.xorI(warp, e.integer(inWarp, e.i32)) : warp;
  Value isFirst = e.cmp(ICmpPredicate::eq, e.orI(lane, other), e.integer(0, e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&branch.getThenRegion().front());
  isInOneThread = true;
  emitBody();
  isInOneThread = false;
}

Value KernelEmitter::mbarrierAddress(Value mbarriers, Value mbarrier) {
  auto made = mbarriers.getDefiningOp<tile::MbarrierAllocOp>();
  Value start = sharedMemory(*made.getOffset(), made.getType().getBytes());
  Value place = LLVM::PtrToIntOp::create(e.b, e.i32, start);
  Value number = LLVM::TruncOp::create(e.b, e.i32, get(mbarrier));
  return e.addI(place, e.mulI(number, e.integer(tile::MbarrierType::kBytes, e.i32)));
}

/// Only the threads that announce the expected bytes arrive.
LogicalResult KernelEmitter::emitMbarrierAlloc(tile::MbarrierAllocOp mbarriers) {
  if (!mbarriers.getOffset())
    return mbarriers.emitError("expected mbarriers with an offset");
  inOneThread([&] {
    Value start = sharedMemory(*mbarriers.getOffset(), mbarriers.getType().getBytes());
    Value place = LLVM::PtrToIntOp::create(e.b, e.i32, start);
    for (int64_t i = 0; i < mbarriers.getType().getCount(); ++i)
      assembly("mbarrier.init.shared::cta.b64 [$0], " +
                   std::to_string(mbarriers.getArrivals().value_or(1)) + ";",
               "r,~{memory}", Type(),
               e.addI(place, e.integer(i * tile::MbarrierType::kBytes, e.i32)),
               /*hasEffects=*/true);
    assembly("fence.proxy.async.shared::cta;", "~{memory}", Type(), {}, /*hasEffects=*/true);
  });
  return success();
}

/// The end address of a tensor (i64). A dimension with a negative stride ends at its first element.
Value KernelEmitter::endOf(Value argument) {
  if (auto row = argument.getDefiningOp<tile::AlignedRowOp>())
    return endOf(row.getView());
  const View &view = views[argument];
  Ix last = 0;
  for (auto [dim, size] : llvm::enumerate(view.sizes)) {
    Ix distance = e.mul(e.add(size, -1), view.strides[dim]);
    bool isForward = coordinates.hasPositiveStride(argument, dim);
    last = e.add(last, isForward ? distance : Ix(e.maxI(e.materialize(distance), e.integer(0))));
  }
  int64_t bytes =
      codegen::Emitter::byteWidth(cast<tile::ViewType>(argument.getType()).getElementType());
  Value start = LLVM::PtrToIntOp::create(e.b, e.i64, view.pointer);
  return e.addI(start, e.materialize(e.mul(e.add(last, 1), bytes)));
}

/// Copies the elements of a row from an address on, less than a chunk. All are loaded before one is
/// stored. The fence orders the stores before later bulk copies into the stage.
void KernelEmitter::copyTail(const Row &row, Value from, Value stage, int64_t bytes) {
  std::string bits = std::to_string(8 * bytes), last = std::to_string(kChunk / bytes), loads,
              stores;
  for (int64_t i = 0; i + 1 < kChunk / bytes; ++i) {
    std::string number = std::to_string(i), place = "+" + std::to_string(i * bytes) + "]";
    loads += "setp.gt.s32 p" + number + ", $2, " + std::to_string(i * bytes) + "; ";
    loads += "@p" + number + " ld.global.b" + bits + " v" + number + ", [$0" + place + "; ";
    stores += "@p" + number + " st.shared.b" + bits + " [$1" + place + ", v" + number + "; ";
  }
  std::string text = "{ .reg .pred p<" + last + ">; .reg .b" + (bytes == 1 ? "16" : bits) + " v<" +
                     last + ">; " + loads + stores + "fence.proxy.async.shared::cta; }";
  Value left = LLVM::TruncOp::create(e.b, e.i32, e.subI(e.addI(row.address, row.bytes), from));
  Value shift = LLVM::TruncOp::create(e.b, e.i32, e.subI(from, roundDown(e, row.address)));
  assembly(text, "l,r,r,~{memory}", Type(), {from, e.addI(stage, shift), left},
           /*hasEffects=*/true);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Prefetches the tensor maps before the first copy needs them.
void KernelEmitter::prefetchMaps() {
  if (maps.empty())
    return;
  inOneThread([&] {
    for (Value map : function.getArguments().take_back(maps.size()))
      assembly("prefetch.tensormap [$0];", "l,~{memory}", Type(), map, /*hasEffects=*/true);
  });
}

/// All boxes of a tile complete one phase of the mbarrier. Whole warps branch, so that one thread
/// can be elected.
LogicalResult KernelEmitter::emitTmaLoad(tile::TmaLoadOp load) {
  tile::BufferType buffer = load.getBuffer().getType();
  tile::Box box = *load.getBox();
  unsigned number = llvm::find(maps, tensorMapOf(load)) - maps.begin();
  Value isIssuer = e.cmp(ICmpPredicate::eq, uniformWarp, e.integer(load.getIssuingWarp(), e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isIssuer, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&branch.getThenRegion().front());
  if (load.getEmpty())
    waitAt(load.getEmpty(), load.getEmptyIndex(), load.getEmptyPhase());
  Value stage =
      LLVM::PtrToIntOp::create(e.b, e.i32, stageAddress(load.getBuffer(), load.getStage()));
  SmallVector<Value> operands;
  std::string constraints;
  auto operand = [&](Value value, StringRef kind) {
    constraints += (kind + ",").str();
    operands.push_back(value);
    return "$" + std::to_string(operands.size() - 1);
  };
  std::string mbarrier = operand(mbarrierAddress(load.getFull(), load.getFullIndex()), "r");
  std::string map = operand(function.getArguments().take_back(maps.size())[number], "l");
  SmallVector<Value> places;
  for (int64_t dim : box.dims) {
    Value place = LLVM::TruncOp::create(e.b, e.i32, get(load.getCoords()[dim]));
    if (const auto *inTile = llvm::find(load.getDims(), dim); inTile != load.getDims().end()) {
      unsigned number = inTile - load.getDims().begin();
      place = e.mulI(place, e.integer(buffer.getTile().getShape()[number], e.i32));
      // In a cluster, the CTA's part.
      if (buffer.getMemory().in().bits(Dim::Block)) {
        Value first = e.materialize(coordinate(buffer.getMemory(), 0, tensorDim(number)));
        place = e.addI(place, LLVM::TruncOp::create(e.b, e.i32, first));
      }
    }
    places.push_back(place);
  }
  int64_t spans =
      buffer.getTile()
          .getShape()[llvm::find(load.getDims(), box.dims[0]) - load.getDims().begin()] *
      buffer.getElementBytes() / box.span;
  if (buffer.getMemory().in().bits(Dim::Block))
    spans = box.count;
  int64_t spanBytes = buffer.getBytes() / spans;
  if (box.multicastDim) {
    // Multicast: this CTA loads its part for all CTAs.
    int64_t elements = box.sizes[*box.multicastDim] * (*box.multicastDim ? 1 : box.count);
    places[*box.multicastDim] =
        e.addI(places[*box.multicastDim], e.mulI(ctaRank, e.integer(elements, e.i32)));
    stage = e.addI(stage,
                   e.mulI(ctaRank, e.integer((*box.multicastDim ? spanBytes : buffer.getBytes()) /
                                                 load.getMulticastCtas(),
                                             e.i32)));
  }
  // Along the contiguous dimension, all spans by one copy or one copy per span.
  Value first = places[0];
  if (box.isWhole) {
    places[0] = e.integer(0, e.i32);
    places.push_back(
        LLVM::LShrOp::create(e.b, first, e.integer(llvm::Log2_64(box.sizes[0]), e.i32)));
  }
  std::string others;
  for (Value place : ArrayRef(places).drop_front())
    others += ", " + operand(place, "r");
  std::string policyConstraint, multicast, mask, text = "{ .reg .pred p;";
  Policy policy = addPolicy(operands, policyConstraint);
  if (!policyConstraint.empty())
    constraints += policyConstraint.substr(1) + ",";
  if (box.multicastDim) {
    multicast = ".multicast::cluster";
    mask = ", m";
    text += " .reg .b16 m; mov.b16 m, " + std::to_string((1 << load.getMulticastCtas()) - 1) + ";";
  }
  text += " elect.sync _|p, 0xffffffff; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [" +
          mbarrier + "], " + std::to_string(buffer.getBytes()) + ";";
  int64_t copies = box.isWhole ? 1 : box.count;
  for (int64_t i = 0; i < copies; ++i) {
    Value to = i ? Value(e.addI(stage, e.integer(i * spanBytes, e.i32))) : stage;
    Value place = i ? Value(e.addI(first, e.integer(i * box.sizes[0], e.i32))) : places[0];
    std::string target = operand(to, "r"), along = operand(place, "r");
    text += " @p cp.async.bulk.tensor." + std::to_string(places.size()) +
            "d.shared::cluster.global.mbarrier::complete_tx::bytes" + multicast + policy.suffix +
            " [" + target + "], [" + map + ", {" + along + others + "}], [" + mbarrier + "]" +
            mask + policy.operand + ";";
  }
  assembly(text + " }", constraints + "~{memory}", Type(), operands, /*hasEffects=*/true);
  return success();
}

LogicalResult KernelEmitter::emitBulkLoad(tile::BulkLoadOp load) {
  inOneThread(
      [&] {
        Row row = rowOf(load);
        Value begin = roundDown(e, row.address), end = roundUp(e, e.addI(row.address, row.bytes));
        Value stage =
            LLVM::PtrToIntOp::create(e.b, e.i32, stageAddress(load.getBuffer(), load.getStage()));
        Value size = row.bytes;
        // Tiles that end with their `tile.aligned_row` are whole chunks.
        if (load.getBounded() || !views[load.getView()].from) {
          Value isSome = e.cmp(ICmpPredicate::ne, row.bytes, e.integer(0)),
                limit = endOf(load.getView());
          // Few rows reach into the chunk where the tensor ends.
          Value isLast = e.cmp(ICmpPredicate::sgt, end, limit);
          if (load.getBounded())
            isLast = e.andI(isLast, isSome);
          auto branch = scf::IfOp::create(e.b, e.i64, isLast, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard guard(e.b);
            e.b.setInsertionPointToStart(branch.thenBlock());
            Value whole = roundDown(e, limit);
            copyTail(row, e.maxI(row.address, whole), stage,
                     load.getBuffer().getType().getElementBytes());
            scf::YieldOp::create(e.b, e.subI(whole, begin));
            e.b.setInsertionPointToStart(branch.elseBlock());
            scf::YieldOp::create(e.b, e.subI(end, begin));
          }
          size = branch.getResult(0);
          if (load.getBounded())
            size = e.select(isSome, size, e.integer(0));
        }
        SmallVector<Value> operands = {mbarrierAddress(load.getFull(), load.getFullIndex()), stage,
                                       begin, LLVM::TruncOp::create(e.b, e.i32, size)};
        std::string constraints = "r,r,l,r";
        Policy policy = addPolicy(operands, constraints);
        std::string text = "{ .reg .pred p; setp.ne.b32 p, $3, 0; "
                           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $3; "
                           "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                           policy.suffix + " [$1], [$2], $3, [$0]" + policy.operand + "; }";
        assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
      },
      load.getIssuingWarp());
  return success();
}

void KernelEmitter::waitAt(Value mbarriers, Value mbarrier, Value phase) {
  Value parity = e.andI(LLVM::TruncOp::create(e.b, e.i32, get(phase)), e.integer(1, e.i32));
  assembly(
      "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra WAIT; }",
      "r,r,~{memory}", Type(), {mbarrierAddress(mbarriers, mbarrier), parity}, /*hasEffects=*/true);
}

LogicalResult KernelEmitter::emitMbarrierWait(tile::MbarrierWaitOp wait) {
  waitAt(wait.getMbarriers(), wait.getMbarrier(), wait.getPhase());
  return success();
}

/// In a cluster each of the first lanes arrives at the mbarrier of one CTA. The wait for the MMA
/// has shown that they have read the stage, so nothing has to be ordered for other SMs. A release
/// at cluster scope would wait for all memory operations of the thread.
LogicalResult KernelEmitter::emitMbarrierArrive(tile::MbarrierArriveOp arrive) {
  if (arrive.getCluster()) {
    assembly("{ .reg .pred p; .reg .b32 a; setp.lt.u32 p, $1, " + std::to_string(cluster) +
                 "; @p mapa.shared::cluster.u32 a, $0, $1; @p mbarrier.arrive.shared::cluster.b64 "
                 "_, [a]; }",
             "r,r,~{memory}", Type(),
             {mbarrierAddress(arrive.getMbarriers(), arrive.getMbarrier()), lane},
             /*hasEffects=*/true);
    return success();
  }
  assembly(
      "{ .reg .pred p; elect.sync _|p, 0xffffffff; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }",
      "r,~{memory}", Type(), mbarrierAddress(arrive.getMbarriers(), arrive.getMbarrier()),
      /*hasEffects=*/true);
  return success();
}

/// Lane i of the first warp stores element i of each of the two ends.
LogicalResult KernelEmitter::emitBulkStore(tile::BulkStoreOp store) {
  Value isIssuer = e.cmp(ICmpPredicate::eq, warp, e.integer(0, e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isIssuer, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(&branch.getThenRegion().front());
    Row row = rowOf(store);
    int64_t bytes = store.getBuffer().getType().getElementBytes();
    Value end = e.addI(row.address, row.bytes), first = roundUp(e, row.address),
          last = e.maxI(first, roundDown(e, end));
    // An element has the same distance from the start of the stage as from the first chunk.
    Value stage =
        LLVM::PtrToIntOp::create(e.b, e.i32, stageAddress(store.getBuffer(), store.getStage()));
    Value start = roundDown(e, row.address);
    auto inStage = [&](Value address) -> Value {
      return e.addI(stage, LLVM::TruncOp::create(e.b, e.i32, e.subI(address, start)));
    };
    auto asFlag = [&](Value condition) -> Value {
      return LLVM::ZExtOp::create(e.b, e.i32, condition);
    };
    Value hasChunks = e.andI(e.cmp(ICmpPredicate::eq, lane, e.integer(0, e.i32)),
                             e.cmp(ICmpPredicate::slt, first, last));
    StringRef chunks = "{ .reg .pred p; setp.ne.b32 p, $3, 0; "
                       "@p cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2; }";
    assembly(chunks, "l,r,r,r,~{memory}", Type(),
             {first, inStage(first), LLVM::TruncOp::create(e.b, e.i32, e.subI(last, first)),
              asFlag(hasChunks)},
             /*hasEffects=*/true);
    std::string type = ".b" + std::to_string(8 * bytes);
    std::string element = "{ .reg .pred p; .reg " + std::string(bytes == 1 ? ".b16" : type) +
                          " v; setp.ne.b32 p, $2, 0; @p ld.shared" + type +
                          " v, [$1]; @p st.global" + type + " [$0], v; }";
    Value place = LLVM::ZExtOp::create(e.b, e.i64, e.mulI(lane, e.integer(bytes, e.i32)));
    for (auto [from, to] : {std::pair(row.address, e.minI(first, end)), std::pair(last, end)}) {
      Value at = e.addI(from, place);
      assembly(element, "l,r,r,~{memory}", Type(),
               {at, inStage(at), asFlag(e.cmp(ICmpPredicate::slt, at, to))},
               /*hasEffects=*/true);
    }
  }
  assembly("cp.async.bulk.commit_group;", "~{memory}", Type(), {}, /*hasEffects=*/true);
  return success();
}
