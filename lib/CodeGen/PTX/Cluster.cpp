//===- Cluster.cpp - What blocks of a cluster tell each other -------------===//
//
// A mailbox lies at the same place in each block's shared memory. What is pushed goes by asynchronous
// stores, which count the bytes that have come on a barrier in the receiver's memory (mbarrier): no
// block waits for another one's memory, and none is told that it may read.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

static tile::AllocOp allocOf(Value mailbox) { return mailbox.getDefiningOp<tile::AllocOp>(); }

/// How many of a mailbox's turns are over. LLVM keeps it in a register, or knows it.
Value KernelEmitter::turnOf(Value mailbox) {
  Value &room = turns[mailbox];
  if (!room) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(entry->getTerminator());
    room = LLVM::AllocaOp::create(e.b, LLVM::LLVMPointerType::get(kernel.getContext()), e.i32, e.integer(1, e.i32));
    LLVM::StoreOp::create(e.b, e.integer(0, e.i32), room);
  }
  return LLVM::LoadOp::create(e.b, e.i32, room);
}

/// The slot of a mailbox's turn, and its barrier's address (i32).
KernelEmitter::Turn KernelEmitter::turn(Value mailbox) {
  tile::AllocOp alloc = allocOf(mailbox);
  unsigned slots = alloc.getType().getSlots();
  Value number = turnOf(mailbox), slot = e.andI(number, e.integer(slots - 1, e.i32));
  Value start = sharedMemory(*alloc.getOffset(), alloc.getAllBytes());
  auto at = [&](Value from, Value slot, int64_t step) {
    Value move = e.mulI(slot, e.integer(step, e.i32));
    return LLVM::GEPOp::create(e.b, from.getType(), e.i8, from, ValueRange(move));
  };
  Value signals = sharedMemory(*alloc.getOffset() + alloc.getSignals(), 0);
  Value phase = LLVM::LShrOp::create(e.b, number, e.integer(llvm::Log2_32(slots), e.i32));
  return {at(start, slot, alloc.getType().getStride()),
          LLVM::PtrToIntOp::create(e.b, e.i32, at(signals, slot, tile::AllocOp::kSignal)),
          e.andI(phase, e.integer(1, e.i32))};
}

/// The block's first thread makes the barriers, each for one thread's arrival; then the block tells the others.
LogicalResult KernelEmitter::emitOpen(tile::OpenOp open) {
  std::string text = "{ .reg .pred p; setp.eq.b32 p, $0, 0; ", constraints = "r";
  SmallVector<Value> operands = {e.orI(lane, warp)};
  for (Value mailbox : open.getMailboxes()) {
    tile::AllocOp alloc = allocOf(mailbox);
    Value signals = sharedMemory(*alloc.getOffset() + alloc.getSignals(), 0);
    operands.push_back(LLVM::PtrToIntOp::create(e.b, e.i32, signals));
    constraints += ",r";
    for (int64_t slot = 0; slot < alloc.getType().getSlots(); ++slot)
      text += "@p mbarrier.init.shared.b64 [$" + std::to_string(operands.size() - 1) + "+" +
              std::to_string(slot * tile::AllocOp::kSignal) + "], 1; ";
  }
  text += "@p fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned; }";
  assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  return success();
}

/// Each element goes to the block that wants it, with its neighbour in memory where a thread has both.
void KernelEmitter::pushToOwners(tile::PushOp push, const Turn &turn) {
  Type element = elementOf(push.getValue());
  unsigned bytes = codegen::Emitter::byteWidth(element);
  Layout layout = layoutOf(push.getValue());
  Layout address = layout.then(*push.getMailbox().getType().getMemory().rightInverse());
  uint64_t copies = layout.freeBits() & layout.in().mask({Dim::Register});
  gf2::VectorsRef columns = address.columns(Dim::Register);
  bool arePairs = bytes == 4 && !columns.empty() && columns[0] == address.out().pack(Point({{Dim::Offset, 1}}));
  Value owner = isOwner(layout);
  const Registers &parts = tiles[push.getValue()];
  for (unsigned reg = 0; reg < parts.size(); reg += 1 + arePairs) {
    if (reg & copies)
      continue;
    Ix offset = e.mul(coordinate(address, reg, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, turn.slot.getType(), e.i8, turn.slot, ValueRange(e.materialize(offset)));
    Value target = LLVM::TruncOp::create(e.b, e.i32, e.materialize(coordinate(address, reg, Dim::Block)));
    SmallVector<Value> operands = {LLVM::PtrToIntOp::create(e.b, e.i32, to), turn.signal, target};
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
            "st.async.shared::cluster.mbarrier::complete_tx::bytes" + (arePairs ? ".v2" : "") + ".b" +
            std::to_string(8 * bytes) + " [a], " + (arePairs ? "{$3, $4}" : "$3") + ", [s]; }";
    assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  }
}

/// Where threads keep for themselves what their own block wants; none: it goes through memory as well.
std::optional<OwnRegisters> KernelEmitter::ownOf(Value mailbox) {
  tile::PushOp push;
  tile::TakeOp take;
  for (Operation *user : mailbox.getUsers()) {
    if ((push && isa<tile::PushOp>(user)) || (take && isa<tile::TakeOp>(user)))
      return std::nullopt;
    if (auto one = dyn_cast<tile::PushOp>(user))
      push = one;
    if (auto one = dyn_cast<tile::TakeOp>(user))
      take = one;
  }
  if (!push || !take || push->getBlock() != take->getBlock() || !push->isBeforeInBlock(take) ||
      codegen::Emitter::byteWidth(elementOf(take)) != 4)
    return std::nullopt;
  unsigned last = take.getType().getRank() - 1;
  Layout wanted = layoutOf(take).dropDim(last);
  std::optional<OwnRegisters> own = ownRegisters(layoutOf(push.getValue()), wanted);
  constexpr unsigned kPiece = 2; // registers of 16 bytes, by bits
  bool isWhole = own && own->registers.size() >= kPiece && layoutOf(take) == wanted.expandDim(last, blocks);
  return isWhole ? own : std::nullopt;
}

/// The registers whose numbers have other bits where the block's number has a bit: number b becomes b ^ block. Those bits that
/// are named are the block's.
void KernelEmitter::turnRound(Registers &registers, ArrayRef<unsigned> bits) {
  for (auto [number, bit] : llvm::enumerate(bits)) {
    Value isOther = e.cmp(ICmpPredicate::ne, e.andI(block, e.integer(int64_t(1) << number, e.i32)), e.integer(0, e.i32));
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

/// Pieces of 16 bytes go to the threads that have this one's place in the other blocks, and lie there as lanes follow each
/// other.
void KernelEmitter::pushToPlaces(tile::PushOp push, const OwnRegisters &own, const Turn &turn) {
  Type element = elementOf(push.getValue());
  Layout address = layoutOf(push.getValue()).then(*push.getMailbox().getType().getMemory().rightInverse());
  Registers turned = tiles[push.getValue()];
  turnRound(turned, own.blocks);
  auto number = [&](unsigned wanted, unsigned distance) {
    unsigned reg = 0;
    for (auto [i, bit] : llvm::enumerate(own.registers))
      reg |= (wanted >> i & 1) << bit;
    for (auto [i, bit] : llvm::enumerate(own.blocks))
      reg |= (distance >> i & 1) << bit;
    return reg;
  };
  unsigned count = 1u << own.registers.size();
  Registers &mine = kept[push.getMailbox()];
  mine.clear();
  for (unsigned i = 0; i < count; ++i)
    mine.push_back(turned[number(i, 0)]);
  for (unsigned distance = 1; distance < blocks; ++distance) {
    Value target = e.xorI(block, e.integer(distance, e.i32));
    // What lane and warp decide, and behind that, by this block's number, its part.
    Ix offset = e.mul(coordinate(address, 0, Dim::Offset), 4);
    Value to = LLVM::GEPOp::create(e.b, turn.slot.getType(), e.i8, turn.slot, ValueRange(e.materialize(offset)));
    StringRef map = "mapa.shared::cluster.u32 $0, $1, $2;";
    Value there = assembly(map, "=r,r,r", e.i32, {LLVM::PtrToIntOp::create(e.b, e.i32, to), target});
    Value signal = assembly(map, "=r,r,r", e.i32, {turn.signal, target});
    for (unsigned first = 0; first < count; first += 4) {
      SmallVector<Value> operands = {there, signal};
      for (unsigned i = 0; i < 4; ++i)
        operands.push_back(pack(turned[number(first + i, distance)], element).front());
      uint64_t behind = address(Point({{Dim::Register, number(first, 0)}}))[Dim::Offset] * 4;
      assembly("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0+" + std::to_string(behind) +
                   "], {$2, $3, $4, $5}, [$1];",
               "r,r,r,r,r,r,~{memory}", Type(), operands, /*hasEffects=*/true);
    }
  }
}

/// The parts of all blocks, this one's from its own registers.
KernelEmitter::Registers KernelEmitter::takeBeside(tile::TakeOp take, const Turn &turn) {
  Type element = elementOf(take);
  Layout address = layoutOf(take).then(offsetsOf(take.getMailbox().getType().getMemory()));
  Registers parts = kept[take.getMailbox()];
  unsigned count = parts.size();
  uint64_t ofPart = address(Point({{Dim::Register, count}}))[Dim::Offset] * 4;
  Ix offset = e.mul(coordinate(address, 0, Dim::Offset), 4);
  for (unsigned distance = 1; distance < blocks; ++distance) {
    Value part = e.mulI(e.xorI(block, e.integer(distance, e.i32)), e.integer(ofPart, e.i32));
    Value start = LLVM::GEPOp::create(e.b, turn.slot.getType(), e.i8, turn.slot, ValueRange(part));
    for (unsigned first = 0; first < count; first += 4) {
      uint64_t behind = address(Point({{Dim::Register, first}}))[Dim::Offset] * 4;
      Value from = LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(e.materialize(e.add(offset, behind))));
      parts.append(unpack(loadVector(from, 4), element));
    }
  }
  // A sum takes them in any order.
  auto reduce = take->hasOneUse() ? dyn_cast<tile::ReduceOp>(*take->user_begin()) : tile::ReduceOp();
  if (reduce && reduce.getDims() == ArrayRef<int64_t>{take.getType().getRank() - 1})
    return parts;
  SmallVector<unsigned> bits;
  for (unsigned i = 0; 1u << i < blocks; ++i)
    bits.push_back(llvm::Log2_32(count) + i);
  turnRound(parts, bits);
  return parts;
}

/// Each element goes to all blocks: by as many lanes where they hold the same, else by its owner, one after the other.
LogicalResult KernelEmitter::emitPush(tile::PushOp push) {
  Type element = elementOf(push.getValue());
  Layout layout = layoutOf(push.getValue());
  unsigned bytes = codegen::Emitter::byteWidth(element), bits = 8 * bytes;
  tile::BufferType box = push.getMailbox().getType();
  Turn turn = this->turn(push.getMailbox());
  Value isFirst = e.cmp(ICmpPredicate::eq, e.orI(lane, warp), e.integer(0, e.i32));
  std::optional<OwnRegisters> own = ownOf(push.getMailbox());
  int64_t bytesToCome = own ? box.getBytes() / blocks * (blocks - 1) : box.getBytes();
  assembly("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " +
               std::to_string(bytesToCome) + "; }",
           "r,r,~{memory}", Type(), {turn.signal, LLVM::ZExtOp::create(e.b, e.i32, isFirst)}, /*hasEffects=*/true);
  if (own) {
    pushToPlaces(push, *own, turn);
    return success();
  }
  if (box.getMemory().in().bits(Dim::Block)) {
    pushToOwners(push, turn);
    return success();
  }
  uint64_t free = layout.freeBits(), others = blocks - 1;
  uint64_t freeLanes = (free & layout.in().mask({Dim::Lane})) >> layout.in().shift(Dim::Lane);
  bool isByLanes = (freeLanes & others) == others;
  Value owner = isOwner(layout, threadDims, isByLanes ? others : 0);
  Layout address = layout.then(offsetsOf(box.getMemory()));
  uint64_t copies = free & layout.in().mask({Dim::Register});
  for (auto [reg, part] : llvm::enumerate(tiles.lookup(push.getValue()))) {
    if (reg & copies)
      continue;
    Ix offset = e.mul(coordinate(address, reg, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, turn.slot.getType(), e.i8, turn.slot, ValueRange(e.materialize(offset)));
    Value word = pack(part, element).front(), mine = LLVM::PtrToIntOp::create(e.b, e.i32, to);
    for (unsigned block = 0; block < (isByLanes ? 1 : blocks); ++block) {
      Value target = isByLanes ? e.andI(lane, e.integer(others, e.i32)) : e.integer(block, e.i32);
      std::string type = std::to_string(bits), text = "{ .reg .pred p; .reg .b32 a, s; ";
      SmallVector<Value> operands = {mine, word, turn.signal, target};
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

LogicalResult KernelEmitter::emitReceive(tile::ReceiveOp receive) {
  Turn turn = this->turn(receive.getMailbox());
  assembly("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra WAIT; }",
           "r,r,~{memory}", Type(), {turn.signal, turn.phase}, /*hasEffects=*/true);
  return success();
}

/// What is read leaves room for the turn after the next one.
LogicalResult KernelEmitter::emitTake(tile::TakeOp take) {
  Type element = elementOf(take);
  Turn turn = this->turn(take.getMailbox());
  SharedAccess load = planLoad(take.getMailbox().getType().getMemory(), layoutOf(take),
                               8 * codegen::Emitter::byteWidth(element), sharedFeaturesOf(options.chip));
  tiles[take.getResult()] = ownOf(take.getMailbox()) ? takeBeside(take, turn) : loadAll({load, turn.slot, 0}, element);
  Value next = e.addI(turnOf(take.getMailbox()), e.integer(1, e.i32));
  LLVM::StoreOp::create(e.b, next, turns[take.getMailbox()]);
  return success();
}
