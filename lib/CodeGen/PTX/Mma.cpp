//===- Mma.cpp - Products on tensor cores ---------------------------------===//
//
// mma.sync takes fragments that a warp's threads hold together (mmaOperandA, mmaOperandB,
// mmaAccumulator of lib/Layout). A tile is a product of such fragments: which registers belong to
// one is read from the layouts.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Layout/Families.h"
#include "tessera/Support/GpuFeatures.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

namespace {
/// An instruction of tensor cores: what a warp multiplies by it, and how its threads hold that.
struct Instruction {
  unsigned m, n, k;
  Layout a, b, c;
  std::string name;
  const char *sum, *word; // the constraints of registers
};
} // namespace

/// What a chip has for operands of this type. Chips with smaller instructions make the products of the larger ones, whose
/// fragments are theirs side by side.
static Instruction instructionFor(Type operand, int chip) {
  auto make = [](unsigned m, unsigned n, unsigned k, unsigned bits, const char *types, const char *sum) {
    std::string shape = "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
    return Instruction{m, n, k, mmaOperandA(m, k, bits), mmaOperandB(k, n, bits), mmaAccumulator(m, n),
                       shape + ".row.col." + types, sum, bits == 64 ? "d" : "r"};
  };
  if (operand.isF64())
    return make(8, 8, 4, 64, "f64.f64.f64.f64", "d");
  if (operand.isBF16())
    return make(16, 8, 16, 16, "f32.bf16.bf16.f32", "f");
  if (operand.isF16() && chip < 75) // by each quarter of the warp
    return {16, 16, 4, voltaOperandA(16, 4), voltaOperandB(4, 16), voltaAccumulator(16, 16), "m8n8k4.row.col.f32.f16.f16.f32",
            "f", "r"};
  if (operand.isF16())
    return make(16, 8, chip < 80 ? 8 : 16, 16, "f32.f16.f16.f32", "f");
  if (operand.isInteger(8)) {
    const char *types = operand.isUnsignedInteger() ? "s32.u8.u8.s32" : "s32.s8.s8.s32";
    return chip < 80 ? make(8, 8, 16, 8, types, "r") : make(16, 8, 32, 8, types, "r");
  }
  if (isFloat8(operand))
    return make(16, 8, 32, 8, isa<Float8E4M3FNType>(operand) ? "f32.e4m3.e4m3.f32" : "f32.e5m2.e5m2.f32", "f");
  return make(16, 8, 8, 32, "f32.tf32.tf32.f32", "f");
}

/// The registers of a tile by the element that they hold in the first thread.
static llvm::DenseMap<uint64_t, unsigned> holders(const Layout &layout) {
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < layout.in().size(Dim::Register); ++reg)
    held.try_emplace(layout(layout.in().pack(Point({{Dim::Register, reg}}))), reg);
  return held;
}

/// Each thread's sums step by step.
LogicalResult KernelEmitter::emitMmaShared(tile::MmaSharedOp mma) {
  RankedTensorType lhs = mma.getLhs().getType().getTile(), rhs = mma.getRhs().getType().getTile();
  Type sum = elementOf(mma.getAcc());
  int64_t depth = lhs.getShape()[1];
  Value left = slotAddress(mma.getLhs(), mma.getLhsSlot()), right = slotAddress(mma.getRhs(), mma.getRhsSlot());
  auto read = [&](Value buffer, RankedTensorType tile, Ix row, Ix column) {
    Type element = tile.getElementType();
    Ix offset = e.mul(e.add(e.mul(row, tile.getShape()[1]), column), codegen::Emitter::byteWidth(element));
    Value from = LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    Value stored = LLVM::LoadOp::create(e.b, e.storageType(element), from);
    return e.cast(e.fromStorage(stored, element), element, sum);
  };
  Layout layout = layoutOf(mma.getResult());
  const Registers initial = tiles[mma.getAcc()];
  tiles[mma.getResult()] = e.loop(e.integer(0), e.integer(depth), 1, initial, [&](Value step, ValueRange sums) {
    // A row's element and a column's are read once.
    std::map<uint64_t, Value> rows, columns;
    Registers next;
    for (auto [reg, old] : llvm::enumerate(sums)) {
      Point point = layout(Point({{Dim::Register, reg}}));
      Value &a = rows[point[Dim::D0]], &b = columns[point[Dim::D1]];
      if (!a)
        a = read(left, lhs, coordinate(layout, reg, Dim::D0), Ix(step));
      if (!b)
        b = read(right, rhs, Ix(step), coordinate(layout, reg, Dim::D1));
      next.push_back(e.mulAdd(a, b, old));
    }
    return next;
  });
  return success();
}

LogicalResult KernelEmitter::emitMma(tile::MmaOp mma) {
  if (!tile::fragmentDepth(mma))
    return mma.emitError("expected a product that tensor cores have");
  Type operand = elementOf(mma.getLhs()), accumulator = elementOf(mma.getResult());
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  Instruction instruction = instructionFor(operand, gpu ? gpu->number() : 80);
  int64_t m = mma.getMatrix()[0], n = mma.getMatrix()[1];
  int64_t k = cast<RankedTensorType>(mma.getLhs().getType()).getShape()[1], inPart = k / mma.getParts();

  /// Fragments of a tile: the elements of one, and where it begins.
  struct Operand {
    Value value;
    Layout tile, fragment;
    llvm::DenseMap<uint64_t, unsigned> held;
    int64_t rank;

    /// The registers of the fragment that begins at an element; empty where this thread has none of it. Fragments lie along
    /// the last two dimensions.
    std::optional<SmallVector<unsigned>> at(uint64_t row, uint64_t column, uint64_t part = 0) const {
      SmallVector<unsigned> registers;
      uint64_t columns = tile.out().size(rank == 3 ? Dim::D2 : Dim::D1), rows = tile.out().size(rank == 3 ? Dim::D1 : Dim::D0);
      for (unsigned reg = 0; reg < fragment.in().size(Dim::Register); ++reg) {
        Point point = fragment(Point({{Dim::Register, reg}}));
        // A packed element is its row-major index.
        auto found = held.find((part * rows + point[Dim::D0] + row) * columns + point[Dim::D1] + column);
        if (found == held.end())
          return std::nullopt;
        registers.push_back(found->second);
      }
      return registers;
    }
  };
  auto make = [&](Value tile, Layout fragment) {
    Layout layout = layoutOf(tile);
    return Operand{tile, layout, fragment, holders(layout), cast<RankedTensorType>(tile.getType()).getRank()};
  };
  Operand a = make(mma.getLhs(), instruction.a), b = make(mma.getRhs(), instruction.b);
  Operand c = make(mma.getAcc(), instruction.c);
  auto words = [&](const Operand &from, ArrayRef<unsigned> registers) {
    SmallVector<Value> elements;
    for (unsigned reg : registers)
      elements.push_back(part(from.value, reg));
    return operand.isF64() ? elements : pack(elements, operand);
  };
  // {sums} = {rows} · {columns} + {sums}
  unsigned count = instruction.c.in().size(Dim::Register);
  auto wordsOf = [&](const Layout &fragment) {
    unsigned bits = std::max(32u, unsigned(e.storageType(operand).getIntOrFloatBitWidth()));
    return fragment.in().size(Dim::Register) * e.storageType(operand).getIntOrFloatBitWidth() / bits;
  };
  std::string text = "mma.sync.aligned." + instruction.name, constraints;
  unsigned number = 0;
  auto add = [&](const char *before, const std::string &constraint, unsigned registers) {
    text += before;
    for (unsigned i = 0; i < registers; ++i, ++number) {
      text += (i ? ", $" : "{$") + std::to_string(number);
      constraints += (number ? "," : "") + constraint;
    }
    text += "}";
  };
  add(" ", std::string("=") + instruction.sum, count);
  add(", ", instruction.word, wordsOf(instruction.a));
  add(", ", instruction.word, wordsOf(instruction.b));
  add(", ", instruction.sum, count);
  text += ";";
  Type result = LLVM::LLVMStructType::getLiteral(mma.getContext(), SmallVector<Type>(count, e.valueType(accumulator)));

  // Where tensor cores keep fewer digits of a sum than fp32 has, each instruction's is added to those before it.
  bool isAddedApart = isFloat8(operand) && gpu && !findGpuFeature("mma fp8 sums")->isIn(*gpu);
  Registers sums = tiles[mma.getAcc()];
  for (int64_t over = 0; over < k; over += instruction.k)
    for (int64_t row = 0; row < m; row += instruction.m)
      for (int64_t column = 0; column < n; column += instruction.n) {
        auto sum = c.at(row, column, over / inPart);
        if (!sum)
          continue; // another warp's, or another block's
        auto left = a.at(row, over), right = b.at(over, column);
        if (!left || !right)
          return mma.emitError("expected operands in the layouts of tensor cores");
        SmallVector<Value> operands = words(a, *left);
        operands.append(words(b, *right));
        for (unsigned reg : *sum)
          operands.push_back(isAddedApart ? e.real(0, accumulator) : sums[reg]);
        Value next = assembly(text, constraints, result, operands);
        for (auto [i, reg] : llvm::enumerate(*sum)) {
          Value each = LLVM::ExtractValueOp::create(e.b, next, i);
          sums[reg] = isAddedApart ? Value(LLVM::FAddOp::create(e.b, sums[reg], each)) : each;
        }
      }
  tiles[mma.getResult()] = sums;
  return success();
}
