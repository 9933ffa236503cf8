//===- Bulk.cpp - Rows and boxes that are copied as a whole ---------------===//
//
// One thread begins a copy of a row between global and shared memory. The machine copies 16-byte pieces at
// addresses that 16 divides: a row that is fetched comes with what lies beside it in its first and last
// piece, and of a row that is sent the ends that fill no piece are stored by the lanes of one warp.
//
// Memory behind a tensor's last element is not read. Elements that lie in the piece where the tensor ends are
// brought by the thread that begins the copy, before it arrives at the gate.
//
// Boxes of more dimensions are described by tensor maps, which the launch has made.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

static constexpr int64_t kPiece = 16; // bytes

struct KernelEmitter::Row {
  Value address, bytes; // of its first element; of those that lie in the view (i64)
};

/// Of an operation that fetches or sends one; in a cluster, the block's part of it.
template <typename RowOp> KernelEmitter::Row KernelEmitter::rowOf(RowOp op) {
  const View &view = views[op.getView()];
  tile::BufferType room = op.getBuffer().getType();
  int64_t along = op.getDims()[0], size = room.getTile().getNumElements(), bytes = room.getElementBytes();
  Ix offset = 0, first = coordinate(room.getMemory(), 0, Dim::D0);
  Value count = e.integer(room.getElements());
  for (auto [dim, each] : llvm::enumerate(op.getCoords())) {
    bool isAlong = int64_t(dim) == along;
    Ix index = isAlong ? e.add(e.mul(Ix(get(each)), size), first) : Ix(get(each));
    // What is in front of a row is no part of it.
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

static Value roundDown(codegen::Emitter &e, Value address) { return e.andI(address, e.integer(-kPiece)); }
static Value roundUp(codegen::Emitter &e, Value address) {
  return roundDown(e, e.addI(address, e.integer(kPiece - 1)));
}

void KernelEmitter::inOneThread(llvm::function_ref<void()> emitBody, int64_t ofWarp) {
  if (isInOneThread)
    return emitBody();
  Value other = ofWarp ? e.xorI(warp, e.integer(ofWarp, e.i32)) : warp;
  Value isFirst = e.cmp(ICmpPredicate::eq, e.orI(lane, other), e.integer(0, e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&branch.getThenRegion().front());
  isInOneThread = true;
  emitBody();
  isInOneThread = false;
}

Value KernelEmitter::gateAddress(Value gates, Value gate) {
  auto made = gates.getDefiningOp<tile::GatesOp>();
  Value start = sharedMemory(*made.getOffset(), made.getType().getBytes());
  Value place = LLVM::PtrToIntOp::create(e.b, e.i32, start);
  Value number = LLVM::TruncOp::create(e.b, e.i32, get(gate));
  return e.addI(place, e.mulI(number, e.integer(tile::GatesType::kBytes, e.i32)));
}

/// Those arrive who say how many bytes will come.
LogicalResult KernelEmitter::emitGates(tile::GatesOp gates) {
  if (!gates.getOffset())
    return gates.emitError("expected gates with an offset");
  inOneThread([&] {
    Value start = sharedMemory(*gates.getOffset(), gates.getType().getBytes());
    Value place = LLVM::PtrToIntOp::create(e.b, e.i32, start);
    for (int64_t i = 0; i < gates.getType().getCount(); ++i)
      assembly("mbarrier.init.shared::cta.b64 [$0], " + std::to_string(gates.getArrivals().value_or(1)) + ";", "r,~{memory}", Type(),
               e.addI(place, e.integer(i * tile::GatesType::kBytes, e.i32)), /*hasEffects=*/true);
    assembly("fence.proxy.async.shared::cta;", "~{memory}", Type(), {}, /*hasEffects=*/true);
  });
  return success();
}

/// Where the last element of a tensor ends (i64). Of a dimension that is walked backward the first element is the last.
Value KernelEmitter::endOf(Value argument) {
  if (auto row = argument.getDefiningOp<tile::RowOp>())
    return endOf(row.getView());
  const View &view = views[argument];
  Ix last = 0;
  for (auto [dim, size] : llvm::enumerate(view.sizes)) {
    Ix way = e.mul(e.add(size, -1), view.strides[dim]);
    bool isForward = coordinates.hasPositiveStride(argument, dim);
    last = e.add(last, isForward ? way : Ix(e.maxI(e.materialize(way), e.integer(0))));
  }
  int64_t bytes = codegen::Emitter::byteWidth(cast<tile::ViewType>(argument.getType()).getElementType());
  Value start = LLVM::PtrToIntOp::create(e.b, e.i64, view.pointer);
  return e.addI(start, e.materialize(e.mul(e.add(last, 1), bytes)));
}

/// The elements of a row from an address on, less than a piece. All are loaded before one is stored. The machine's copies
/// that fill the slot later come behind the fence.
void KernelEmitter::copyRest(const Row &row, Value from, Value slot, int64_t bytes) {
  std::string bits = std::to_string(8 * bytes), last = std::to_string(kPiece / bytes), loads, stores;
  for (int64_t i = 0; i + 1 < kPiece / bytes; ++i) {
    std::string number = std::to_string(i), place = "+" + std::to_string(i * bytes) + "]";
    loads += "setp.gt.s32 p" + number + ", $2, " + std::to_string(i * bytes) + "; ";
    loads += "@p" + number + " ld.global.b" + bits + " v" + number + ", [$0" + place + "; ";
    stores += "@p" + number + " st.shared.b" + bits + " [$1" + place + ", v" + number + "; ";
  }
  std::string text = "{ .reg .pred p<" + last + ">; .reg .b" + (bytes == 1 ? "16" : bits) + " v<" + last + ">; " + loads +
                     stores + "fence.proxy.async.shared::cta; }";
  Value left = LLVM::TruncOp::create(e.b, e.i32, e.subI(e.addI(row.address, row.bytes), from));
  Value behind = LLVM::TruncOp::create(e.b, e.i32, e.subI(from, roundDown(e, row.address)));
  assembly(text, "l,r,r,~{memory}", Type(), {from, e.addI(slot, behind), left}, /*hasEffects=*/true);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// What tensor maps hold is brought near before the first copy asks for it.
void KernelEmitter::prefetchMaps() {
  if (maps.empty())
    return;
  inOneThread([&] {
    for (Value map : function.getArguments().take_back(maps.size()))
      assembly("prefetch.tensormap [$0];", "l,~{memory}", Type(), map, /*hasEffects=*/true);
  });
}

/// All boxes of a tile open the gate together. The branch is one of whole warps, of which one thread is elected.
LogicalResult KernelEmitter::emitBox(tile::FetchOp fetch) {
  tile::BufferType room = fetch.getBuffer().getType();
  tile::Box box = *fetch.getBox();
  unsigned number = llvm::find(maps, TensorMap{cast<BlockArgument>(fetch.getView()).getArgNumber(), box}) - maps.begin();
  Value isMeant = e.cmp(ICmpPredicate::eq, sameWarp, e.integer(fetch.getBy().value_or(0), e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isMeant, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&branch.getThenRegion().front());
  if (fetch.getLeft())
    waitAt(fetch.getLeft(), fetch.getLeftGate(), fetch.getLeftPhase());
  Value slot = LLVM::PtrToIntOp::create(e.b, e.i32, slotAddress(fetch.getBuffer(), fetch.getSlot()));
  SmallVector<Value> operands;
  std::string constraints;
  auto operand = [&](Value value, StringRef kind) {
    constraints += (kind + ",").str();
    operands.push_back(value);
    return "$" + std::to_string(operands.size() - 1);
  };
  std::string gate = operand(gateAddress(fetch.getGates(), fetch.getGate()), "r");
  std::string map = operand(function.getArguments().take_back(maps.size())[number], "l");
  SmallVector<Value> places;
  for (int64_t dim : box.dims) {
    Value place = LLVM::TruncOp::create(e.b, e.i32, get(fetch.getCoords()[dim]));
    if (const auto *inTile = llvm::find(fetch.getDims(), dim); inTile != fetch.getDims().end()) {
      unsigned number = inTile - fetch.getDims().begin();
      place = e.mulI(place, e.integer(room.getTile().getShape()[number], e.i32));
      // In a cluster, the block's part.
      if (room.getMemory().in().bits(Dim::Block)) {
        Value first = e.materialize(coordinate(room.getMemory(), 0, tensorDim(number)));
        place = e.addI(place, LLVM::TruncOp::create(e.b, e.i32, first));
      }
    }
    places.push_back(place);
  }
  int64_t spans = room.getTile().getShape()[llvm::find(fetch.getDims(), box.dims[0]) - fetch.getDims().begin()] *
                  room.getElementBytes() / box.span;
  if (room.getMemory().in().bits(Dim::Block))
    spans = box.count;
  int64_t ofSpan = room.getBytes() / spans;
  if (box.shared) {
    // A block's part for all of them.
    int64_t elements = box.sizes[*box.shared] * (*box.shared ? 1 : box.count);
    places[*box.shared] = e.addI(places[*box.shared], e.mulI(block, e.integer(elements, e.i32)));
    slot = e.addI(slot, e.mulI(block, e.integer((*box.shared ? ofSpan : room.getBytes()) / fetch.getSharers(), e.i32)));
  }
  // Along the neighbours, all spans at once or one after the other.
  Value first = places[0];
  if (box.isWhole) {
    places[0] = e.integer(0, e.i32);
    places.push_back(LLVM::LShrOp::create(e.b, first, e.integer(llvm::Log2_64(box.sizes[0]), e.i32)));
  }
  std::string others;
  for (Value place : ArrayRef(places).drop_front())
    others += ", " + operand(place, "r");
  std::string ofPolicy, how, mask, text = "{ .reg .pred p;";
  Policy policy = addPolicy(operands, ofPolicy);
  if (!ofPolicy.empty())
    constraints += ofPolicy.substr(1) + ",";
  if (box.shared) {
    how = ".multicast::cluster";
    mask = ", m";
    text += " .reg .b16 m; mov.b16 m, " + std::to_string((1 << fetch.getSharers()) - 1) + ";";
  }
  text += " elect.sync _|p, 0xffffffff; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + gate + "], " +
                     std::to_string(room.getBytes()) + ";";
  int64_t copies = box.isWhole ? 1 : box.count;
  for (int64_t i = 0; i < copies; ++i) {
    Value to = i ? Value(e.addI(slot, e.integer(i * ofSpan, e.i32))) : slot;
    Value place = i ? Value(e.addI(first, e.integer(i * box.sizes[0], e.i32))) : places[0];
    std::string target = operand(to, "r"), along = operand(place, "r");
    text += " @p cp.async.bulk.tensor." + std::to_string(places.size()) + "d.shared::cluster.global.mbarrier::complete_tx::bytes" + how +
            policy.suffix + " [" + target + "], [" + map + ", {" + along + others + "}], [" + gate + "]" + mask + policy.operand + ";";
  }
  assembly(text + " }", constraints + "~{memory}", Type(), operands, /*hasEffects=*/true);
  return success();
}

LogicalResult KernelEmitter::emitFetch(tile::FetchOp fetch) {
  if (fetch.isBox())
    return emitBox(fetch);
  inOneThread([&] {
    Row row = rowOf(fetch);
    Value begin = roundDown(e, row.address), end = roundUp(e, e.addI(row.address, row.bytes));
    Value slot = LLVM::PtrToIntOp::create(e.b, e.i32, slotAddress(fetch.getBuffer(), fetch.getSlot()));
    Value size = row.bytes;
    // Tiles of a `tile.row` that end by its end are whole pieces.
    if (fetch.getBounded() || !views[fetch.getView()].from) {
      Value isSome = e.cmp(ICmpPredicate::ne, row.bytes, e.integer(0)), limit = endOf(fetch.getView());
      // Few rows reach into the piece where the tensor ends.
      Value isLast = e.cmp(ICmpPredicate::sgt, end, limit);
      if (fetch.getBounded())
        isLast = e.andI(isLast, isSome);
      auto branch = scf::IfOp::create(e.b, e.i64, isLast, /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPointToStart(branch.thenBlock());
        Value whole = roundDown(e, limit);
        copyRest(row, e.maxI(row.address, whole), slot, fetch.getBuffer().getType().getElementBytes());
        scf::YieldOp::create(e.b, e.subI(whole, begin));
        e.b.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(e.b, e.subI(end, begin));
      }
      size = branch.getResult(0);
      if (fetch.getBounded())
        size = e.select(isSome, size, e.integer(0));
    }
    SmallVector<Value> operands = {gateAddress(fetch.getGates(), fetch.getGate()), slot, begin,
                                   LLVM::TruncOp::create(e.b, e.i32, size)};
    std::string constraints = "r,r,l,r";
    Policy policy = addPolicy(operands, constraints);
    std::string text = "{ .reg .pred p; setp.ne.b32 p, $3, 0; mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $3; "
                       "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                       policy.suffix + " [$1], [$2], $3, [$0]" + policy.operand + "; }";
    assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  }, fetch.getBy().value_or(0));
  return success();
}

void KernelEmitter::waitAt(Value gates, Value gate, Value phase) {
  Value parity = e.andI(LLVM::TruncOp::create(e.b, e.i32, get(phase)), e.integer(1, e.i32));
  assembly("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra WAIT; }", "r,r,~{memory}",
           Type(), {gateAddress(gates, gate), parity}, /*hasEffects=*/true);
}

LogicalResult KernelEmitter::emitAwait(tile::AwaitOp await) {
  waitAt(await.getGates(), await.getGate(), await.getPhase());
  return success();
}

/// In a cluster each of the first lanes tells one block. Products have read the slot when they were waited for, so that nothing is to be
/// ordered for other multiprocessors; a release for these would wait for all of the thread's memory.
LogicalResult KernelEmitter::emitArrive(tile::ArriveOp arrive) {
  if (arrive.getCluster()) {
    assembly("{ .reg .pred p; .reg .b32 a; setp.lt.u32 p, $1, " + std::to_string(blocks) +
                 "; @p mapa.shared::cluster.u32 a, $0, $1; @p mbarrier.arrive.shared::cluster.b64 _, [a]; }",
             "r,r,~{memory}", Type(), {gateAddress(arrive.getGates(), arrive.getGate()), lane}, /*hasEffects=*/true);
    return success();
  }
  assembly("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }", "r,~{memory}", Type(),
           gateAddress(arrive.getGates(), arrive.getGate()), /*hasEffects=*/true);
  return success();
}

/// Lane i of the first warp has element i of each of the two ends.
LogicalResult KernelEmitter::emitSend(tile::SendOp send) {
  Value isSender = e.cmp(ICmpPredicate::eq, warp, e.integer(0, e.i32));
  auto branch = scf::IfOp::create(e.b, TypeRange(), isSender, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(&branch.getThenRegion().front());
    Row row = rowOf(send);
    int64_t bytes = send.getBuffer().getType().getElementBytes();
    Value end = e.addI(row.address, row.bytes), first = roundUp(e, row.address), last = e.maxI(first, roundDown(e, end));
    // What lies at an address of memory lies so far behind the slot's begin.
    Value slot = LLVM::PtrToIntOp::create(e.b, e.i32, slotAddress(send.getBuffer(), send.getSlot()));
    Value start = roundDown(e, row.address);
    auto inSlot = [&](Value address) -> Value {
      return e.addI(slot, LLVM::TruncOp::create(e.b, e.i32, e.subI(address, start)));
    };
    auto asFlag = [&](Value condition) -> Value { return LLVM::ZExtOp::create(e.b, e.i32, condition); };
    Value hasPieces = e.andI(e.cmp(ICmpPredicate::eq, lane, e.integer(0, e.i32)), e.cmp(ICmpPredicate::slt, first, last));
    StringRef pieces = "{ .reg .pred p; setp.ne.b32 p, $3, 0; "
                       "@p cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2; }";
    assembly(pieces, "l,r,r,r,~{memory}", Type(),
             {first, inSlot(first), LLVM::TruncOp::create(e.b, e.i32, e.subI(last, first)), asFlag(hasPieces)},
             /*hasEffects=*/true);
    std::string type = ".b" + std::to_string(8 * bytes);
    std::string element = "{ .reg .pred p; .reg " + std::string(bytes == 1 ? ".b16" : type) +
                          " v; setp.ne.b32 p, $2, 0; @p ld.shared" + type + " v, [$1]; @p st.global" + type + " [$0], v; }";
    Value place = LLVM::ZExtOp::create(e.b, e.i64, e.mulI(lane, e.integer(bytes, e.i32)));
    for (auto [from, to] : {std::pair(row.address, e.minI(first, end)), std::pair(last, end)}) {
      Value at = e.addI(from, place);
      assembly(element, "l,r,r,~{memory}", Type(), {at, inSlot(at), asFlag(e.cmp(ICmpPredicate::slt, at, to))},
               /*hasEffects=*/true);
    }
  }
  assembly("cp.async.bulk.commit_group;", "~{memory}", Type(), {}, /*hasEffects=*/true);
  return success();
}
