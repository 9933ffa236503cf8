//===- Exchange.cpp - Conversions between layouts -------------------------===//
//
// What lib/Layout plans is carried out here: other registers of the same thread, or a way through
// shared memory, whose addresses are a thread's part and a constant for each access.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

/// Shared memory for a moment: what is in it is read before the next one asks. All kernels of a module know it by one
/// name, and a launch says how much it is.
Value KernelEmitter::sharedBuffer(unsigned bytes) {
  constexpr StringLiteral kName = "shared_memory";
  auto module = function->getParentOfType<ModuleOp>();
  auto shared = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!shared) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    shared = LLVM::GlobalOp::create(builder, kernel.getLoc(), LLVM::LLVMArrayType::get(e.i8, 0),
                                    /*isConstant=*/false, LLVM::Linkage::External, kName, Attribute(),
                                    /*alignment=*/128, /*addrSpace=*/3);
  }
  sharedBytes = std::max(sharedBytes, bytes);
  return LLVM::AddressOfOp::create(e.b, shared);
}

/// What a block may have.
static unsigned mostShared(StringRef chip) {
  return llvm::StringSwitch<unsigned>(chip)
      .Case("sm_70", 96 << 10)
      .Case("sm_75", 64 << 10)
      .Case("sm_80", 163 << 10)
      .Cases({"sm_86", "sm_89", "sm_120a"}, 99 << 10)
      .Default(227 << 10);
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

KernelEmitter::Registers KernelEmitter::loadShared(const SharedAccess &access, Value buffer, Type element) {
  unsigned width = 1u << access.registers.vector, bytes = codegen::Emitter::byteWidth(element);
  unsigned count = 1u << access.registers.distinct, total = width * bytes;
  Type word = total == 1 ? e.i8 : total == 2 ? e.i16 : bytes == 8 ? e.i64 : e.i32;
  unsigned words = std::max(1u, total * 8 / word.getIntOrFloatBitWidth());
  Registers loaded(count);
  for (unsigned at = 0; at < count; at += width) {
    Ix offset = e.mul(coordinate(access.address, at, Dim::Offset), bytes);
    Value from = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    Type type = words > 1 ? Type(VectorType::get({int64_t(words)}, word)) : word;
    Value value = LLVM::LoadOp::create(e.b, type, from, /*alignment=*/total);
    Registers each;
    for (unsigned i = 0; i < words; ++i)
      each.push_back(words > 1 ? e.extract(value, i) : value);
    Registers elements = unpack(each, element);
    std::copy_n(elements.begin(), width, loaded.begin() + at);
  }
  return loaded;
}

/// ldmatrix: lane l gives the address of row l % 8 of matrix l / 8.
KernelEmitter::Registers KernelEmitter::loadMatrices(const SharedAccess &access, Value buffer, Type element) {
  bool isTransposed = access.kind == SharedAccess::Kind::Transposed;
  unsigned matrices = 1u << access.matrices, width = 1u << access.registers.vector;
  Registers loaded;
  for (unsigned n = 0; n < 1u << access.registers.distinct; n += matrices * width) {
    Ix offset = e.mul(coordinate(access.address, n, Dim::Offset), codegen::Emitter::byteWidth(element));
    Value from = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    Value place = LLVM::PtrToIntOp::create(e.b, e.i32, from);
    std::string list, constraints;
    for (unsigned i = 0; i < matrices; ++i) {
      list += (i ? ", $" : "$") + std::to_string(i);
      constraints += "=r,";
    }
    std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + (isTransposed ? ".trans" : "") +
                       ".shared.b16 {" + list + "}, [$" + std::to_string(matrices) + "];";
    SmallVector<Type> types(matrices, e.i32);
    Type type = matrices > 1 ? Type(LLVM::LLVMStructType::getLiteral(kernel.getContext(), types)) : e.i32;
    Value words = assembly(text, constraints + "r,~{memory}", type, place, /*hasEffects=*/true);
    for (unsigned i = 0; i < matrices; ++i) {
      Value word = matrices > 1 ? Value(LLVM::ExtractValueOp::create(e.b, words, i)) : words;
      Registers elements = unpack(word, element);
      loaded.append(elements.begin(), elements.begin() + width);
    }
  }
  return loaded;
}

KernelEmitter::Registers KernelEmitter::emitExchange(const SharedExchange &exchange, ArrayRef<Value> parts,
                                                     Type element) {
  unsigned bytes = exchange.memory.in().size(Dim::Offset) * codegen::Emitter::byteWidth(element);
  Value buffer = sharedBuffer(bytes);
  storeShared(exchange.store, buffer, parts, element);
  barrier();
  bool isPlain = exchange.load.kind == SharedAccess::Kind::Plain;
  Registers loaded = isPlain ? loadShared(exchange.load, buffer, element) : loadMatrices(exchange.load, buffer, element);
  barrier();
  // Copies of an element are made without access.
  const RegisterOrder &order = exchange.load.registers;
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
  std::optional<ConversionPlan> plan = planConversion(from, to, bits, {.ldmatrix = true});
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
    exchange = planExchange(from, to, bits, {.ldmatrix = true});
  if (!exchange)
    return convert.emitError("expected a layout that holds all elements of the other one");
  uint64_t bytes = from.out().size() * bits / 8;
  if (unsigned most = mostShared(options.chip); bytes > most)
    return convert.emitError("expected a tile of at most ") << most << " bytes to convert on " << options.chip << ", got " << bytes;
  tiles[convert.getResult()] = emitExchange(*exchange, parts, element);
  return success();
}
