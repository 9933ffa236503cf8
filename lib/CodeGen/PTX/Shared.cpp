//===- Shared.cpp - Buffers in shared memory ------------------------------===//
//
// Writes and reads with the instructions that sharedAccess (Accesses.h) gives for the layouts of
// tile and buffer. An address is a part that depends on the thread and a constant per access.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

/// All kernels of a module share one symbol for shared memory; a launch sets its size.
Value KernelEmitter::sharedMemory(unsigned first, unsigned bytes) {
  constexpr StringLiteral kName = "shared_memory";
  auto module = function->getParentOfType<ModuleOp>();
  auto shared = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!shared) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    shared =
        LLVM::GlobalOp::create(builder, kernel.getLoc(), LLVM::LLVMArrayType::get(e.i8, 0),
                               /*isConstant=*/false, LLVM::Linkage::External, kName, Attribute(),
                               /*alignment=*/128, /*addrSpace=*/3);
  }
  // The swizzles of TMA and wgmma repeat every 1024 bytes.
  if (uniformWarp)
    shared.setAlignment(1024);
  sharedBytes = std::max(sharedBytes, first + bytes);
  Value start = LLVM::AddressOfOp::create(e.b, shared);
  if (!first)
    return start;
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(e.integer(first)));
}

Value KernelEmitter::stageAddress(Value buffer, Value stage, Value shift) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  Value start = sharedMemory(*alloc.getOffset(), alloc.getType().getAllBytes());
  Value move = e.mulI(get(stage), e.integer(alloc.getType().getStride()));
  if (shift)
    move = e.addI(move, e.mulI(get(shift), e.integer(alloc.getType().getElementBytes())));
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(move));
}

LogicalResult KernelEmitter::emitWrite(tile::SharedStoreOp write) {
  Type element = elementOf(write.getValue());
  Layout layout = layoutOf(write.getValue());
  storeShared(sharedAccess(write, sharedFeaturesOf(gpu)),
              stageAddress(write.getBuffer(), write.getStage(), write.getShift()),
              tiles.lookup(write.getValue()), element, isOwner(layout, {Dim::Lane, Dim::Warp}));
  return success();
}

LogicalResult KernelEmitter::emitRead(tile::SharedLoadOp read) {
  Type element = elementOf(read);
  Layout memory = read.getBuffer().getType().getMemory();
  LazyRead part{sharedAccess(read, sharedFeaturesOf(gpu)),
                stageAddress(read.getBuffer(), read.getStage(), read.getShift()),
                offsetsOf(memory)(read.getFirstElement())};
  // An MMA loads its operands one k-step after the other, so that few are in registers at once.
  if (isLoadedByFragments(read)) {
    reads[read.getResult()] = part;
    tiles[read.getResult()].assign(countRegisters(read), Value());
  } else {
    tiles[read.getResult()] = loadAll(part, element);
  }
  auto positionOf = [&](unsigned reg) -> Value {
    return LLVM::TruncOp::create(e.b, e.i32,
                                 e.materialize(coordinate(layoutOf(read), reg, Dim::D0)));
  };
  auto limit = [&](Value number) -> Value {
    Value size = e.integer(read.getType().getNumElements());
    return LLVM::TruncOp::create(e.b, e.i32, e.minI(get(number), size));
  };
  Registers &parts = tiles[read.getResult()];
  if (read.getFrom()) {
    Value pad = e.number(cast<TypedAttr>(*read.getPad()), element, 0),
          begin = limit(read.getFrom());
    for (auto [reg, part] : llvm::enumerate(parts))
      part = e.select(e.cmp(LLVM::ICmpPredicate::slt, positionOf(reg), begin), pad, part);
  }
  if (read.getBelow()) {
    Value pad = e.number(cast<TypedAttr>(*read.getPad()), element, 0), end = limit(read.getBelow());
    // In a loop over whole rows, `below` is the size of the row, and instructions are what counts.
    auto left = read.getBelow().getDefiningOp<arith::SubIOp>();
    Registers chosen;
    if (left && isZero(left.getRhs()) && isa<scf::ForOp>(read->getParentOp()))
      chosen = selectBelow(parts, SmallVector<Value>(parts.size(), pad), layoutOf(read), end);
    if (!chosen.empty()) {
      parts = chosen;
      return success();
    }
    for (auto [reg, part] : llvm::enumerate(parts))
      part = e.select(e.cmp(LLVM::ICmpPredicate::slt, positionOf(reg), end), part, pad);
  }
  return success();
}

/// Of several threads with the same element, the owner stores; none: each thread owns its elements.
void KernelEmitter::storeShared(const SharedAccess &access, Value buffer, ArrayRef<Value> parts,
                                Type element, Value owner) {
  unsigned bytes = codegen::Emitter::byteWidth(element),
           width = 1u << (access.registers.vector + access.matrices);
  for (unsigned at = 0; at < 1u << access.registers.distinct; at += width) {
    Registers group;
    for (unsigned i = 0; i < width; ++i)
      group.push_back(parts[access.registers.order(at + i)]);
    Registers words = pack(group, element);
    Ix offset = e.mul(coordinate(access.address, at, Dim::Offset), bytes);
    Value to =
        LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    if (access.kind == SharedAccess::Kind::Plain && !owner) {
      Value value = words[0];
      if (words.size() > 1) {
        value = LLVM::UndefOp::create(e.b,
                                      VectorType::get({int64_t(words.size())}, words[0].getType()));
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
      text = "stmatrix.sync.aligned.m8n8.x" + count +
             (access.kind == SharedAccess::Kind::Transposed ? ".trans" : "") +
             ".shared.b16 [$0], {" + list + "};";
    else
      text = "st.shared" + (words.size() > 1 ? ".v" + count : "") + ".b" +
             std::to_string(width * bytes == 1 ? 8 : bits) + " [$0], " +
             (words.size() > 1 ? "{" + list + "}" : list) + ";";
    if (owner) {
      text = "{ .reg .pred p; setp.ne.b32 p, $" + std::to_string(operands.size()) + ", 0; @p " +
             text + " }";
      operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, owner));
      constraints += ",r";
    }
    assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
  }
}

/// Loads 32-bit words by inline assembly: LLVM would split a vector of 16-bit elements into its
/// halves, at an extra instruction for every other one.
KernelEmitter::Registers KernelEmitter::loadVector(Value from, unsigned count) {
  std::string list, constraints;
  for (unsigned i = 0; i < count; ++i) {
    list += (i ? ", $" : "$") + std::to_string(i);
    constraints += "=r,";
  }
  Type type =
      LLVM::LLVMStructType::getLiteral(kernel.getContext(), SmallVector<Type>(count, e.i32));
  Value place = LLVM::PtrToIntOp::create(e.b, e.i32, from);
  std::string number = std::to_string(count);
  Value loaded = assembly("ld.shared.v" + number + ".b32 {" + list + "}, [$" + number + "];",
                          constraints + "r,~{memory}", type, place, /*hasEffects=*/true);
  Registers words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(e.b, loaded, i));
  return words;
}

/// Loads the elements of one instruction, from number `at` on.
KernelEmitter::Registers KernelEmitter::loadFragment(const LazyRead &read, Type element,
                                                     unsigned at) {
  const SharedAccess &access = read.load;
  unsigned width = 1u << access.registers.vector, bytes = codegen::Emitter::byteWidth(element);
  Ix offset = e.mul(coordinate(access.address, at, Dim::Offset, read.first), bytes);
  Value from = LLVM::GEPOp::create(e.b, read.stage.getType(), e.i8, read.stage,
                                   ValueRange(e.materialize(offset)));
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
                       (access.kind == SharedAccess::Kind::Transposed ? ".trans" : "") +
                       ".shared.b16 {" + list + "}, [$" + std::to_string(matrices) + "];";
    SmallVector<Type> types(matrices, e.i32);
    Type type =
        matrices > 1 ? Type(LLVM::LLVMStructType::getLiteral(kernel.getContext(), types)) : e.i32;
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

/// Loads the fragment that a register of a lazy read belongs to.
Value KernelEmitter::part(Value tile, unsigned reg) {
  Registers &parts = tiles[tile];
  if (!parts[reg]) {
    const LazyRead &lazy = reads.at(tile);
    const RegisterOrder &order = lazy.load.registers;
    unsigned distinct = 1u << order.distinct, number = 0;
    while (order.order(number) != reg)
      ++number;
    unsigned width = 1u << (order.vector + lazy.load.matrices),
             at = number % distinct / width * width;
    Registers loaded = loadFragment(lazy, elementOf(tile), at);
    for (unsigned copy = 0; copy < parts.size(); copy += distinct)
      for (auto [i, value] : llvm::enumerate(loaded))
        parts[order.order(copy + at + i)] = value;
  }
  return parts[reg];
}

KernelEmitter::Registers KernelEmitter::loadAll(const LazyRead &read, Type element) {
  const RegisterOrder &order = read.load.registers;
  Registers loaded;
  for (unsigned at = 0; at < 1u << order.distinct; at = loaded.size())
    loaded.append(loadFragment(read, element, at));
  // Registers with the same element share its load.
  Registers result(order.order.in().size());
  for (unsigned i = 0; i < result.size(); ++i)
    result[order.order(i)] = loaded[i % loaded.size()];
  return result;
}
