//===- Cluster.cpp - Distributed shared memory ----------------------------===//
//
// A dsmem buffer has the same offset in the shared memory of each CTA of a cluster. CTAs write to
// each other by asynchronous stores (st.async), which count the received bytes on an mbarrier of
// the receiver. So no CTA waits for the memory of another one, and no second message says that the
// data is there.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

static tile::AllocOp allocOf(Value dsmem) { return dsmem.getDefiningOp<tile::AllocOp>(); }

/// The number of iterations of a dsmem buffer that are complete. LLVM keeps it in a register or
/// folds it.
Value KernelEmitter::iterationNumber(Value dsmem) {
  Value &counter = iterations[dsmem];
  if (!counter) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(entry->getTerminator());
    counter = LLVM::AllocaOp::create(e.b, LLVM::LLVMPointerType::get(kernel.getContext()), e.i32,
                                     e.integer(1, e.i32));
    LLVM::StoreOp::create(e.b, e.integer(0, e.i32), counter);
  }
  return LLVM::LoadOp::create(e.b, e.i32, counter);
}

/// The stage and the mbarrier of the current iteration.
KernelEmitter::Iteration KernelEmitter::iteration(Value dsmem) {
  tile::AllocOp alloc = allocOf(dsmem);
  unsigned stages = alloc.getType().getStages();
  Value number = iterationNumber(dsmem), stage = e.andI(number, e.integer(stages - 1, e.i32));
  Value start = sharedMemory(*alloc.getOffset(), alloc.getAllBytes());
  auto at = [&](Value from, Value stage, int64_t step) {
    Value move = e.mulI(stage, e.integer(step, e.i32));
    return LLVM::GEPOp::create(e.b, from.getType(), e.i8, from, ValueRange(move));
  };
  Value mbarriers = sharedMemory(*alloc.getOffset() + alloc.getSignals(), 0);
  Value phase = LLVM::LShrOp::create(e.b, number, e.integer(llvm::Log2_32(stages), e.i32));
  return {at(start, stage, alloc.getType().getStride()),
          LLVM::PtrToIntOp::create(e.b, e.i32, at(mbarriers, stage, tile::AllocOp::kSignal)),
          e.andI(phase, e.integer(1, e.i32))};
}

/// The first thread of the CTA initializes the mbarriers for one arrival each, before the CTA
/// arrives at the barrier of the cluster.
LogicalResult KernelEmitter::emitClusterArrive(tile::ClusterArriveOp arrive) {
  std::string text = "{ .reg .pred p; setp.eq.b32 p, $0, 0; ", constraints = "r";
  SmallVector<Value> operands = {e.orI(lane, warp)};
  for (Value dsmem : arrive.getDsmem()) {
    tile::AllocOp alloc = allocOf(dsmem);
    Value mbarriers = sharedMemory(*alloc.getOffset() + alloc.getSignals(), 0);
    operands.push_back(LLVM::PtrToIntOp::create(e.b, e.i32, mbarriers));
    constraints += ",r";
    for (int64_t stage = 0; stage < alloc.getType().getStages(); ++stage)
      text += "@p mbarrier.init.shared.b64 [$" + std::to_string(operands.size() - 1) + "+" +
              std::to_string(stage * tile::AllocOp::kSignal) + "], 1; ";
  }
  text += "@p fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned; }";
  assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  return success();
}

/// Stores each element to the CTA that owns it, in pairs where a thread has two neighbours in
/// memory.
void KernelEmitter::storeToOwners(tile::DsmemStoreOp store, const Iteration &iteration) {
  Type element = elementOf(store.getValue());
  unsigned bytes = codegen::Emitter::byteWidth(element);
  Layout layout = layoutOf(store.getValue());
  Layout address = layout.then(*store.getDsmem().getType().getMemory().rightInverse());
  uint64_t copies = layout.freeBits() & layout.in().mask({Dim::Register});
  bool arePairs = dsmemStore(store, cluster).width == 2;
  Value owner = isOwner(layout);
  const Registers &parts = tiles[store.getValue()];
  for (unsigned reg = 0; reg < parts.size(); reg += 1 + arePairs) {
    if (reg & copies)
      continue;
    Ix offset = e.mul(coordinate(address, reg, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, iteration.stage.getType(), e.i8, iteration.stage,
                                   ValueRange(e.materialize(offset)));
    Value target =
        LLVM::TruncOp::create(e.b, e.i32, e.materialize(coordinate(address, reg, Dim::Block)));
    SmallVector<Value> operands = {LLVM::PtrToIntOp::create(e.b, e.i32, to), iteration.mbarrier,
                                   target};
    std::string text = "{ .reg .pred p; .reg .b32 a, s; ", constraints = "r,r,r", guard;
    for (unsigned i = 0; i <= unsigned(arePairs); ++i) {
      operands.push_back(pack(parts[reg + i], element).front());
      constraints += bytes == 8 ? ",l" : ",r";
    }
    if (owner) {
      text += "setp.ne.b32 p, $" + std::to_string(operands.size()) + ", 0; ";
      guard = "@p ";
      operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, owner));
      constraints += ",r";
    }
    text += "mapa.shared::cluster.u32 a, $0, $2; mapa.shared::cluster.u32 s, $1, $2; " + guard +
            "st.async.shared::cluster.mbarrier::complete_tx::bytes" + (arePairs ? ".v2" : "") +
            ".b" + std::to_string(8 * bytes) + " [a], " + (arePairs ? "{$3, $4}" : "$3") +
            ", [s]; }";
    assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  }
}

/// Permutes the registers: the field `bits` of a register's number becomes field ^ CTA rank.
void KernelEmitter::permuteByRank(Registers &registers, ArrayRef<unsigned> bits) {
  for (auto [number, bit] : llvm::enumerate(bits)) {
    Value isOther =
        e.cmp(ICmpPredicate::ne, e.andI(ctaRank, e.integer(int64_t(1) << number, e.i32)),
              e.integer(0, e.i32));
    for (unsigned reg = 0; reg < registers.size(); ++reg) {
      unsigned other = reg | 1u << bit;
      if (reg == other)
        continue;
      Value low = registers[reg], high = registers[other];
      registers[reg] = e.select(isOther, high, low);
      registers[other] = e.select(isOther, low, high);
    }
  }
}

/// Stores 16-byte vectors to the thread with the same number in each other CTA, where they lie in
/// the order of the lanes.
void KernelEmitter::storeToPeers(tile::DsmemStoreOp store, const OwnRegisters &own,
                                 const Iteration &iteration) {
  Type element = elementOf(store.getValue());
  Layout address =
      layoutOf(store.getValue()).then(*store.getDsmem().getType().getMemory().rightInverse());
  Registers permuted = tiles[store.getValue()];
  permuteByRank(permuted, own.blocks);
  auto number = [&](unsigned wanted, unsigned distance) {
    unsigned reg = 0;
    for (auto [i, bit] : llvm::enumerate(own.registers))
      reg |= (wanted >> i & 1) << bit;
    for (auto [i, bit] : llvm::enumerate(own.blocks))
      reg |= (distance >> i & 1) << bit;
    return reg;
  };
  unsigned count = 1u << own.registers.size();
  Registers &mine = kept[store.getDsmem()];
  mine.clear();
  for (unsigned i = 0; i < count; ++i)
    mine.push_back(permuted[number(i, 0)]);
  for (unsigned distance = 1; distance < cluster; ++distance) {
    Value target = e.xorI(ctaRank, e.integer(distance, e.i32));
    // Lane and warp decide the offset; this CTA's part follows at its rank.
    Ix offset = e.mul(coordinate(address, 0, Dim::Offset), 4);
    Value to = LLVM::GEPOp::create(e.b, iteration.stage.getType(), e.i8, iteration.stage,
                                   ValueRange(e.materialize(offset)));
    StringRef map = "mapa.shared::cluster.u32 $0, $1, $2;";
    Value there =
        assembly(map, "=r,r,r", e.i32, {LLVM::PtrToIntOp::create(e.b, e.i32, to), target});
    Value mbarrier = assembly(map, "=r,r,r", e.i32, {iteration.mbarrier, target});
    for (unsigned first = 0; first < count; first += 4) {
      SmallVector<Value> operands = {there, mbarrier};
      for (unsigned i = 0; i < 4; ++i)
        operands.push_back(pack(permuted[number(first + i, distance)], element).front());
      uint64_t shift = address(Point({{Dim::Register, number(first, 0)}}))[Dim::Offset] * 4;
      assembly("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0+" +
                   std::to_string(shift) + "], {$2, $3, $4, $5}, [$1];",
               "r,r,r,r,r,r,~{memory}", Type(), operands, /*hasEffects=*/true);
    }
  }
}

/// Loads the parts of the other CTAs and puts them after those that this thread keeps.
KernelEmitter::Registers KernelEmitter::loadBesideKept(tile::DsmemLoadOp load,
                                                       const Iteration &iteration) {
  Type element = elementOf(load);
  Layout address = layoutOf(load).then(offsetsOf(load.getDsmem().getType().getMemory()));
  Registers parts = kept[load.getDsmem()];
  unsigned count = parts.size();
  uint64_t partBytes = address(Point({{Dim::Register, count}}))[Dim::Offset] * 4;
  Ix offset = e.mul(coordinate(address, 0, Dim::Offset), 4);
  for (unsigned distance = 1; distance < cluster; ++distance) {
    Value part = e.mulI(e.xorI(ctaRank, e.integer(distance, e.i32)), e.integer(partBytes, e.i32));
    Value start = LLVM::GEPOp::create(e.b, iteration.stage.getType(), e.i8, iteration.stage,
                                      ValueRange(part));
    for (unsigned first = 0; first < count; first += 4) {
      uint64_t shift = address(Point({{Dim::Register, first}}))[Dim::Offset] * 4;
      Value from = LLVM::GEPOp::create(e.b, start.getType(), e.i8, start,
                                       ValueRange(e.materialize(e.add(offset, shift))));
      parts.append(unpack(loadVector(from, 4), element));
    }
  }
  // A reduction over the CTAs accepts any order.
  auto reduce =
      load->hasOneUse() ? dyn_cast<tile::ReduceOp>(*load->user_begin()) : tile::ReduceOp();
  if (reduce && reduce.getDims() == ArrayRef<int64_t>{load.getType().getRank() - 1})
    return parts;
  SmallVector<unsigned> bits;
  for (unsigned i = 0; 1u << i < cluster; ++i)
    bits.push_back(llvm::Log2_32(count) + i);
  permuteByRank(parts, bits);
  return parts;
}

/// Stores each element to all CTAs. Where enough lanes hold the same element, each stores to one
/// CTA; otherwise the owner stores to one after the other.
LogicalResult KernelEmitter::emitDsmemStore(tile::DsmemStoreOp store) {
  Type element = elementOf(store.getValue());
  Layout layout = layoutOf(store.getValue());
  unsigned bytes = codegen::Emitter::byteWidth(element), bits = 8 * bytes;
  tile::BufferType buffer = store.getDsmem().getType();
  Iteration iteration = this->iteration(store.getDsmem());
  Value isFirst = e.cmp(ICmpPredicate::eq, e.orI(lane, warp), e.integer(0, e.i32));
  DsmemStore plan = dsmemStore(store, cluster);
  bool isToPeers = plan.kind == DsmemStore::Kind::Peers;
  int64_t expectedBytes =
      isToPeers ? buffer.getBytes() / cluster * (cluster - 1) : buffer.getBytes();
  assembly("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, "
           "[$0], " +
               std::to_string(expectedBytes) + "; }",
           "r,r,~{memory}", Type(), {iteration.mbarrier, LLVM::ZExtOp::create(e.b, e.i32, isFirst)},
           /*hasEffects=*/true);
  if (isToPeers) {
    storeToPeers(store, *keptRegisters(store.getDsmem(), cluster), iteration);
    return success();
  }
  if (plan.kind == DsmemStore::Kind::Owners) {
    storeToOwners(store, iteration);
    return success();
  }
  uint64_t free = layout.freeBits(), others = cluster - 1;
  bool usesLanes = plan.kind == DsmemStore::Kind::Lanes;
  Value owner = isOwner(layout, threadDims, usesLanes ? others : 0);
  Layout address = layout.then(offsetsOf(buffer.getMemory()));
  uint64_t copies = free & layout.in().mask({Dim::Register});
  for (auto [reg, part] : llvm::enumerate(tiles.lookup(store.getValue()))) {
    if (reg & copies)
      continue;
    Ix offset = e.mul(coordinate(address, reg, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, iteration.stage.getType(), e.i8, iteration.stage,
                                   ValueRange(e.materialize(offset)));
    Value word = pack(part, element).front(), mine = LLVM::PtrToIntOp::create(e.b, e.i32, to);
    for (unsigned rank = 0; rank < (usesLanes ? 1 : cluster); ++rank) {
      Value target = usesLanes ? e.andI(lane, e.integer(others, e.i32)) : e.integer(rank, e.i32);
      std::string type = std::to_string(bits), text = "{ .reg .pred p; .reg .b32 a, s; ";
      SmallVector<Value> operands = {mine, word, iteration.mbarrier, target};
      std::string constraints = bits == 64 ? "r,l,r,r" : "r,r,r,r", guard;
      if (owner) {
        text += "setp.ne.b32 p, $4, 0; ";
        guard = "@p ";
        operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, owner));
        constraints += ",r";
      }
      text += "mapa.shared::cluster.u32 a, $0, $3; mapa.shared::cluster.u32 s, $2, $3; " + guard +
              "st.async.shared::cluster.mbarrier::complete_tx::bytes.b" + type + " [a], $1, [s]; }";
      assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
    }
  }
  return success();
}

LogicalResult KernelEmitter::emitDsmemWait(tile::DsmemWaitOp wait) {
  Iteration iteration = this->iteration(wait.getDsmem());
  assembly(
      "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra WAIT; }",
      "r,r,~{memory}", Type(), {iteration.mbarrier, iteration.phase}, /*hasEffects=*/true);
  return success();
}

/// Counts the iteration: the stage is free for the one after the next.
LogicalResult KernelEmitter::emitDsmemLoad(tile::DsmemLoadOp load) {
  Type element = elementOf(load);
  Iteration iteration = this->iteration(load.getDsmem());
  SharedAccess access = planLoad(load.getDsmem().getType().getMemory(), layoutOf(load),
                                 8 * codegen::Emitter::byteWidth(element), sharedFeaturesOf(gpu));
  tiles[load.getResult()] = keptRegisters(load.getDsmem(), cluster)
                                ? loadBesideKept(load, iteration)
                                : loadAll({access, iteration.stage, 0}, element);
  Value next = e.addI(iterationNumber(load.getDsmem()), e.integer(1, e.i32));
  LLVM::StoreOp::create(e.b, next, iterations[load.getDsmem()]);
  return success();
}
