//===- Shared.cpp - Buffers in shared memory ------------------------------===//
//
// Writes and reads by the instructions that lib/Layout finds for the two layouts. An address is a
// thread's part and a constant for each access.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

/// All kernels of a module know shared memory by one name, and a launch says how much it is.
Value KernelEmitter::sharedMemory(unsigned first, unsigned bytes) {
  constexpr StringLiteral kName = "shared_memory";
  auto module = function->getParentOfType<ModuleOp>();
  auto shared = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!shared) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    shared = LLVM::GlobalOp::create(builder, kernel.getLoc(), LLVM::LLVMArrayType::get(e.i8, 0),
                                    /*isConstant=*/false, LLVM::Linkage::External, kName, Attribute(),
                                    /*alignment=*/128, /*addrSpace=*/3);
  }
  // Where boxes come to, and groups of warps read, swizzles begin again at multiples of up to 1024 bytes.
  if (sameWarp)
    shared.setAlignment(1024);
  sharedBytes = std::max(sharedBytes, first + bytes);
  Value start = LLVM::AddressOfOp::create(e.b, shared);
  if (!first)
    return start;
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(e.integer(first)));
}

Value KernelEmitter::slotAddress(Value buffer, Value slot, Value behind) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  Value start = sharedMemory(*alloc.getOffset(), alloc.getType().getAllBytes());
  Value move = e.mulI(get(slot), e.integer(alloc.getType().getStride()));
  if (behind)
    move = e.addI(move, e.mulI(get(behind), e.integer(alloc.getType().getElementBytes())));
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(move));
}

/// Of elements as wide as an access no two go together: so are those accessed that begin anywhere.
static constexpr unsigned kAlone = 128;

LogicalResult KernelEmitter::emitWrite(tile::WriteOp write) {
  Type element = elementOf(write.getValue());
  Layout layout = layoutOf(write.getValue());
  unsigned bits = write.getBehind() ? kAlone : 8 * codegen::Emitter::byteWidth(element);
  SharedAccess store =
      planStore(write.getBuffer().getType().getMemory(), layout, bits, sharedFeaturesOf(options.chip));
  storeShared(store, slotAddress(write.getBuffer(), write.getSlot(), write.getBehind()), tiles.lookup(write.getValue()),
              element, isOwner(layout, {Dim::Lane, Dim::Warp}));
  return success();
}

/// Whether a read can be left to the products that take it: nothing that touches shared memory comes between, and no
/// other product, beside which it is meant to run.
static bool isLazy(tile::ReadOp read) {
  if (read.getBehind())
    return false;
  auto isProduct = [&](Operation *user) { return isa<tile::MmaOp>(user) && user->getBlock() == read->getBlock(); };
  if (!llvm::all_of(read->getUsers(), isProduct))
    return false;
  for (Operation *op = read->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::is_contained(read->getUsers(), op))
      return true;
    if (isa<tile::MmaOp>(op) || (!isa<tile::ReadOp>(op) && !isMemoryEffectFree(op)))
      return false;
  }
  return false;
}

LogicalResult KernelEmitter::emitRead(tile::ReadOp read) {
  Type element = elementOf(read);
  unsigned bits = read.getBehind() ? kAlone : 8 * codegen::Emitter::byteWidth(element);
  Layout memory = read.getBuffer().getType().getMemory();
  SharedAccess load = planLoad(memory, read.getPlaces(), bits, sharedFeaturesOf(options.chip));
  Lazy part{load, slotAddress(read.getBuffer(), read.getSlot(), read.getBehind()),
            offsetsOf(memory)(read.getFirst())};
  // A product asks for its operands step by step, so that few of them are in registers at once.
  if (isLazy(read)) {
    reads[read.getResult()] = part;
    tiles[read.getResult()].assign(countRegisters(read), Value());
  } else {
    tiles[read.getResult()] = loadAll(part, element);
  }
  auto placeOf = [&](unsigned reg) -> Value {
    return LLVM::TruncOp::create(e.b, e.i32, e.materialize(coordinate(layoutOf(read), reg, Dim::D0)));
  };
  auto limit = [&](Value number) -> Value {
    Value size = e.integer(read.getType().getNumElements());
    return LLVM::TruncOp::create(e.b, e.i32, e.minI(get(number), size));
  };
  Registers &parts = tiles[read.getResult()];
  if (read.getFrom()) {
    Value pad = e.number(cast<TypedAttr>(*read.getPad()), element, 0), begin = limit(read.getFrom());
    for (auto [reg, part] : llvm::enumerate(parts))
      part = e.select(e.cmp(LLVM::ICmpPredicate::slt, placeOf(reg), begin), pad, part);
  }
  if (read.getBelow()) {
    Value pad = e.number(cast<TypedAttr>(*read.getPad()), element, 0), end = limit(read.getBelow());
    // Of a row's first tile the size of the row is below. In a loop from row to row instructions count.
    auto left = read.getBelow().getDefiningOp<arith::SubIOp>();
    Registers chosen;
    if (left && isZero(left.getRhs()) && isa<scf::ForOp>(read->getParentOp()))
      chosen = chooseBelow(parts, SmallVector<Value>(parts.size(), pad), layoutOf(read), end);
    if (!chosen.empty()) {
      parts = chosen;
      return success();
    }
    for (auto [reg, part] : llvm::enumerate(parts))
      part = e.select(e.cmp(LLVM::ICmpPredicate::slt, placeOf(reg), end), part, pad);
  }
  return success();
}

/// Of several threads with the same element the owner stores; none: there are no such.
void KernelEmitter::storeShared(const SharedAccess &access, Value buffer, ArrayRef<Value> parts, Type element,
                                Value owner) {
  unsigned bytes = codegen::Emitter::byteWidth(element), width = 1u << (access.registers.vector + access.matrices);
  for (unsigned at = 0; at < 1u << access.registers.distinct; at += width) {
    Registers group;
    for (unsigned i = 0; i < width; ++i)
      group.push_back(parts[access.registers.order(at + i)]);
    Registers words = pack(group, element);
    Ix offset = e.mul(coordinate(access.address, at, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    if (access.kind == SharedAccess::Kind::Plain && !owner) {
      Value value = words[0];
      if (words.size() > 1) {
        value = LLVM::UndefOp::create(e.b, VectorType::get({int64_t(words.size())}, words[0].getType()));
        for (auto [i, each] : llvm::enumerate(words))
          value = e.insert(value, each, i);
      }
      if (width * bytes == 1)
        value = LLVM::TruncOp::create(e.b, e.i8, value);
      LLVM::StoreOp::create(e.b, value, to, /*alignment=*/width * bytes);
      continue;
    }
    // stmatrix: lane l gives the address of row l % 8 of matrix l / 8.
    bool isMatrix = access.kind != SharedAccess::Kind::Plain;
    unsigned bits = words[0].getType().getIntOrFloatBitWidth();
    std::string list, count = std::to_string(words.size()), constraints = "r";
    for (unsigned i = 0; i < words.size(); ++i) {
      list += (i ? ", $" : "$") + std::to_string(i + 1);
      constraints += bits == 16 ? ",h" : bits == 32 ? ",r" : ",l";
    }
    SmallVector<Value> operands = {LLVM::PtrToIntOp::create(e.b, e.i32, to)};
    operands.append(words.begin(), words.end());
    std::string text;
    if (isMatrix)
      text = "stmatrix.sync.aligned.m8n8.x" + count + (access.kind == SharedAccess::Kind::Transposed ? ".trans" : "") +
             ".shared.b16 [$0], {" + list + "};";
    else
      text = "st.shared" + (words.size() > 1 ? ".v" + count : "") + ".b" +
             std::to_string(width * bytes == 1 ? 8 : bits) + " [$0], " +
             (words.size() > 1 ? "{" + list + "}" : list) + ";";
    if (owner) {
      text = "{ .reg .pred p; setp.ne.b32 p, $" + std::to_string(operands.size()) + ", 0; @p " + text + " }";
      operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, owner));
      constraints += ",r";
    }
    assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  }
}

/// Words of 32 bits, which LLVM does not see as a vector: it would take each of them apart into halves, and an instruction
/// more for every other one.
KernelEmitter::Registers KernelEmitter::loadVector(Value from, unsigned count) {
  std::string list, constraints;
  for (unsigned i = 0; i < count; ++i) {
    list += (i ? ", $" : "$") + std::to_string(i);
    constraints += "=r,";
  }
  Type type = LLVM::LLVMStructType::getLiteral(kernel.getContext(), SmallVector<Type>(count, e.i32));
  Value place = LLVM::PtrToIntOp::create(e.b, e.i32, from);
  std::string number = std::to_string(count);
  Value loaded = assembly("ld.shared.v" + number + ".b32 {" + list + "}, [$" + number + "];", constraints + "r,~{memory}",
                          type, place, /*hasEffects=*/true);
  Registers words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(e.b, loaded, i));
  return words;
}

/// The elements that one instruction loads, from number `at` on.
KernelEmitter::Registers KernelEmitter::loadPiece(const Lazy &read, Type element, unsigned at) {
  const SharedAccess &access = read.load;
  unsigned width = 1u << access.registers.vector, bytes = codegen::Emitter::byteWidth(element);
  Ix offset = e.mul(coordinate(access.address, at, Dim::Offset, read.first), bytes);
  Value from = LLVM::GEPOp::create(e.b, read.slot.getType(), e.i8, read.slot, ValueRange(e.materialize(offset)));
  Registers words;
  if (access.kind == SharedAccess::Kind::Plain) {
    unsigned total = width * bytes;
    Type word = total == 1 ? e.i8 : total == 2 ? e.i16 : bytes == 8 ? e.i64 : e.i32;
    unsigned count = std::max(1u, total * 8 / word.getIntOrFloatBitWidth());
    if (count > 1 && bytes < 4) {
      words = loadVector(from, count);
    } else {
      Type type = count > 1 ? Type(VectorType::get({int64_t(count)}, word)) : word;
      Value value = LLVM::LoadOp::create(e.b, type, from, /*alignment=*/total);
      for (unsigned i = 0; i < count; ++i)
        words.push_back(count > 1 ? e.extract(value, i) : value);
    }
  } else {
    // ldmatrix: lane l gives the address of row l % 8 of matrix l / 8.
    unsigned matrices = 1u << access.matrices;
    std::string list, constraints;
    for (unsigned i = 0; i < matrices; ++i) {
      list += (i ? ", $" : "$") + std::to_string(i);
      constraints += "=r,";
    }
    std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                       (access.kind == SharedAccess::Kind::Transposed ? ".trans" : "") + ".shared.b16 {" + list +
                       "}, [$" + std::to_string(matrices) + "];";
    SmallVector<Type> types(matrices, e.i32);
    Type type = matrices > 1 ? Type(LLVM::LLVMStructType::getLiteral(kernel.getContext(), types)) : e.i32;
    Value place = LLVM::PtrToIntOp::create(e.b, e.i32, from);
    Value value = assembly(text, constraints + "r,~{memory}", type, place, /*hasEffects=*/true);
    for (unsigned i = 0; i < matrices; ++i)
      words.push_back(matrices > 1 ? Value(LLVM::ExtractValueOp::create(e.b, value, i)) : value);
  }
  Registers elements;
  for (Value word : words) {
    Registers some = unpack(word, element);
    elements.append(some.begin(), some.begin() + std::min<size_t>(some.size(), width));
  }
  return elements;
}

/// Loads what a register of a lazy read holds, with all that comes by the same instruction.
Value KernelEmitter::part(Value tile, unsigned reg) {
  Registers &parts = tiles[tile];
  if (!parts[reg]) {
    const Lazy &lazy = reads.at(tile);
    const RegisterOrder &order = lazy.load.registers;
    unsigned distinct = 1u << order.distinct, number = 0;
    while (order.order(number) != reg)
      ++number;
    unsigned piece = 1u << (order.vector + lazy.load.matrices), at = number % distinct / piece * piece;
    Registers loaded = loadPiece(lazy, elementOf(tile), at);
    for (unsigned copy = 0; copy < parts.size(); copy += distinct)
      for (auto [i, value] : llvm::enumerate(loaded))
        parts[order.order(copy + at + i)] = value;
  }
  return parts[reg];
}

KernelEmitter::Registers KernelEmitter::loadAll(const Lazy &read, Type element) {
  const RegisterOrder &order = read.load.registers;
  Registers loaded;
  for (unsigned at = 0; at < 1u << order.distinct; at = loaded.size())
    loaded.append(loadPiece(read, element, at));
  // Copies of an element are made without access.
  Registers result(order.order.in().size());
  for (unsigned i = 0; i < result.size(); ++i)
    result[order.order(i)] = loaded[i % loaded.size()];
  return result;
}
