//===- Exchange.cpp - Conversions between layouts -------------------------===//
//
// What lib/Layout plans is carried out here: other registers of the same thread, or a way through
// shared memory, whose addresses are a thread's part and a constant for each access.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Support/GpuDescription.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

/// Before sm_75 there is no ldmatrix.
static SharedFeatures featuresOf(StringRef chip) { return {.ldmatrix = chip != "sm_70"}; }

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
  sharedBytes = std::max(sharedBytes, first + bytes);
  Value start = LLVM::AddressOfOp::create(e.b, shared);
  if (!first)
    return start;
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(e.integer(first)));
}

/// Outside of the loops that use them, buffers are free: a copy is waited for before its loop ends.
Value KernelEmitter::sharedBuffer(unsigned bytes) {
  bool isFree = !insideLoop;
  return sharedMemory(isFree ? 0 : bufferBytes, bytes);
}

Value KernelEmitter::slotAddress(Value buffer, Value slot) {
  auto type = cast<tile::BufferType>(buffer.getType());
  unsigned bytes = llvm::alignTo(type.getBytes(), 128);
  Value start = sharedMemory(buffers.at(buffer), type.getSlots() * bytes);
  return LLVM::GEPOp::create(e.b, start.getType(), e.i8, start, ValueRange(e.mulI(get(slot), e.integer(bytes))));
}

LogicalResult KernelEmitter::emitRead(tile::ReadOp read) {
  Type element = elementOf(read);
  unsigned bytes = codegen::Emitter::byteWidth(element);
  SharedAccess load = planLoad(read.getBuffer().getType().getMemory(), layoutOf(read), 8 * bytes, featuresOf(options.chip));
  Value slot = slotAddress(read.getBuffer(), read.getSlot());
  // A product asks for its operands step by step, so that few of them are in registers at once.
  bool isLazy = llvm::all_of(read->getUsers(), [&](Operation *user) {
    return isa<tile::MmaOp>(user) && user->getBlock() == read->getBlock();
  });
  if (isLazy) {
    reads[read.getResult()] = {load, slot};
    tiles[read.getResult()].assign(countRegisters(read), Value());
  } else {
    tiles[read.getResult()] = loadAll(load, slot, element);
  }
  return success();
}

void KernelEmitter::storeShared(const SharedAccess &access, Value buffer, ArrayRef<Value> parts, Type element) {
  unsigned width = 1u << access.registers.vector, bytes = codegen::Emitter::byteWidth(element);
  for (unsigned at = 0; at < 1u << access.registers.distinct; at += width) {
    Registers group;
    for (unsigned i = 0; i < width; ++i)
      group.push_back(parts[access.registers.order(at + i)]);
    Registers words = pack(group, element);
    Type word = words[0].getType();
    Value value = words[0];
    if (words.size() > 1) {
      value = LLVM::UndefOp::create(e.b, VectorType::get({int64_t(words.size())}, word));
      for (auto [i, each] : llvm::enumerate(words))
        value = e.insert(value, each, i);
    }
    if (width * bytes == 1)
      value = LLVM::TruncOp::create(e.b, e.i8, value);
    Ix offset = e.mul(coordinate(access.address, at, Dim::Offset), bytes);
    Value to = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    LLVM::StoreOp::create(e.b, value, to, /*alignment=*/width * bytes);
  }
}

/// The elements that one instruction loads, from number `at` on.
KernelEmitter::Registers KernelEmitter::loadPiece(const SharedAccess &access, Value buffer, Type element, unsigned at) {
  unsigned width = 1u << access.registers.vector, bytes = codegen::Emitter::byteWidth(element);
  Ix offset = e.mul(coordinate(access.address, at, Dim::Offset), bytes);
  Value from = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
  Registers words;
  if (access.kind == SharedAccess::Kind::Plain) {
    unsigned total = width * bytes;
    Type word = total == 1 ? e.i8 : total == 2 ? e.i16 : bytes == 8 ? e.i64 : e.i32;
    unsigned count = std::max(1u, total * 8 / word.getIntOrFloatBitWidth());
    Type type = count > 1 ? Type(VectorType::get({int64_t(count)}, word)) : word;
    Value value = LLVM::LoadOp::create(e.b, type, from, /*alignment=*/total);
    for (unsigned i = 0; i < count; ++i)
      words.push_back(count > 1 ? e.extract(value, i) : value);
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
    Registers loaded = loadPiece(lazy.load, lazy.slot, elementOf(tile), at);
    for (unsigned copy = 0; copy < parts.size(); copy += distinct)
      for (auto [i, value] : llvm::enumerate(loaded))
        parts[order.order(copy + at + i)] = value;
  }
  return parts[reg];
}

KernelEmitter::Registers KernelEmitter::emitExchange(const SharedExchange &exchange, ArrayRef<Value> parts,
                                                     Type element) {
  unsigned bytes = exchange.memory.in().size(Dim::Offset) * codegen::Emitter::byteWidth(element);
  Value buffer = sharedBuffer(bytes);
  storeShared(exchange.store, buffer, parts, element);
  barrier();
  Registers result = loadAll(exchange.load, buffer, element);
  barrier();
  return result;
}

KernelEmitter::Registers KernelEmitter::loadAll(const SharedAccess &load, Value buffer, Type element) {
  const RegisterOrder &order = load.registers;
  Registers loaded;
  for (unsigned at = 0; at < 1u << order.distinct; at = loaded.size())
    loaded.append(loadPiece(load, buffer, element, at));
  // Copies of an element are made without access.
  Registers result(order.order.in().size());
  for (unsigned i = 0; i < result.size(); ++i)
    result[order.order(i)] = loaded[i % loaded.size()];
  return result;
}

LogicalResult KernelEmitter::emitConvert(tile::ConvertOp convert) {
  Layout from = layoutOf(convert.getInput()), to = layoutOf(convert);
  Type element = elementOf(convert);
  unsigned bits = 8 * codegen::Emitter::byteWidth(element);
  const Registers parts = tiles.lookup(convert.getInput());
  std::optional<ConversionPlan> plan = planConversion(from, to, bits, featuresOf(options.chip));
  if (plan && plan->kind == ConversionPlan::Kind::None) {
    tiles[convert.getResult()] = parts;
    return success();
  }
  bool isStatic = plan && plan->kind == ConversionPlan::Kind::Registers &&
                  llvm::all_of(plan->registers.columnsOf(threadDims), [](uint64_t column) { return !column; });
  if (isStatic) {
    Registers moved;
    for (unsigned reg = 0; reg < countRegisters(convert); ++reg)
      moved.push_back(parts[plan->registers(Point({{Dim::Register, reg}}))[Dim::Register]]);
    tiles[convert.getResult()] = moved;
    return success();
  }
  std::optional<SharedExchange> exchange;
  if (plan && plan->kind == ConversionPlan::Kind::Shared)
    exchange = plan->exchange;
  else
    exchange = planExchange(from, to, bits, featuresOf(options.chip));
  if (!exchange)
    return convert.emitError("expected a layout that holds all elements of the other one");
  uint64_t bytes = from.out().size() * bits / 8;
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  if (uint64_t most = gpu ? gpu->multiprocessor.sharedOfBlock : bytes; bytes > most)
    return convert.emitError("expected a tile of at most ") << most << " bytes to convert on " << options.chip << ", got " << bytes;
  tiles[convert.getResult()] = emitExchange(*exchange, parts, element);
  return success();
}
