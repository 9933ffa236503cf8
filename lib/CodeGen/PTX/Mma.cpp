//===- Mma.cpp - Warp-level MMA -------------------------------------------===//
//
// mma.sync multiplies fragments that the threads of a warp hold together (mmaOperandA, mmaOperandB,
// mmaAccumulator of lib/Layout). The layout of a tile is built of such fragments and says which
// registers belong to each.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

namespace {
/// An mma.sync instruction, and the fragments that its threads hold.
struct Instruction {
  unsigned m, n, k;
  Layout a, b, c;
  std::string name;
  const char *accumulator, *word; // the constraints of registers
};
} // namespace

/// The largest instruction that a chip has for operands of this type. The fragments of a larger one
/// are those of smaller ones side by side, so that layouts do not depend on the chip.
static Instruction instructionFor(Type operand, const GpuDescription &gpu) {
  auto make = [](unsigned m, unsigned n, unsigned k, unsigned bits, const char *types,
                 const char *accumulator) {
    std::string shape = "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
    return Instruction{m,
                       n,
                       k,
                       mmaOperandA(m, k, bits),
                       mmaOperandB(k, n, bits),
                       mmaAccumulator(m, n),
                       shape + ".row.col." + types,
                       accumulator,
                       bits == 64 ? "d" : "r"};
  };
  if (operand.isF64())
    return make(8, 8, 4, 64, "f64.f64.f64.f64", "d");
  if (operand.isBF16())
    return make(16, 8, 16, 16, "f32.bf16.bf16.f32", "f");
  if (operand.isF16() && !gpu.has(GpuFeature::MmaFp16K8)) // one in each quad pair
    return {16,
            16,
            4,
            voltaOperandA(16, 4),
            voltaOperandB(4, 16),
            voltaAccumulator(16, 16),
            "m8n8k4.row.col.f32.f16.f16.f32",
            "f",
            "r"};
  if (operand.isF16())
    return make(16, 8, gpu.has(GpuFeature::MmaFp16K16) ? 16 : 8, 16, "f32.f16.f16.f32", "f");
  if (operand.isInteger(8)) {
    const char *types = operand.isUnsignedInteger() ? "s32.u8.u8.s32" : "s32.s8.s8.s32";
    return gpu.has(GpuFeature::MmaInt8M16) ? make(16, 8, 32, 8, types, "r")
                                           : make(8, 8, 16, 8, types, "r");
  }
  if (isFloat8(operand))
    return make(16, 8, 32, 8,
                isa<Float8E4M3FNType>(operand) ? "f32.e4m3.e4m3.f32" : "f32.e5m2.e5m2.f32", "f");
  return make(16, 8, 8, 32, "f32.tf32.tf32.f32", "f");
}

/// The registers of a tile by the element that they hold in the first thread.
static llvm::DenseMap<uint64_t, unsigned> holders(const Layout &layout) {
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < layout.in().size(Dim::Register); ++reg)
    held.try_emplace(layout(layout.in().pack(Point({{Dim::Register, reg}}))), reg);
  return held;
}

/// MMA on the CUDA cores: each thread computes its own accumulators, one k-step after the other.
LogicalResult KernelEmitter::emitMmaShared(tile::MmaSharedOp mma) {
  RankedTensorType lhs = mma.getLhs().getType().getTile(), rhs = mma.getRhs().getType().getTile();
  Type accumulator = elementOf(mma.getAcc());
  int64_t depth = lhs.getShape()[1];
  Value left = stageAddress(mma.getLhs(), mma.getLhsStage()),
        right = stageAddress(mma.getRhs(), mma.getRhsStage());
  auto read = [&](Value buffer, RankedTensorType tile, Ix row, Ix column) {
    Type element = tile.getElementType();
    Ix offset =
        e.mul(e.add(e.mul(row, tile.getShape()[1]), column), codegen::Emitter::byteWidth(element));
    Value from =
        LLVM::GEPOp::create(e.b, buffer.getType(), e.i8, buffer, ValueRange(e.materialize(offset)));
    Value stored = LLVM::LoadOp::create(e.b, e.storageType(element), from);
    return e.cast(e.fromStorage(stored, element), element, accumulator);
  };
  Layout layout = layoutOf(mma.getResult());
  const Registers initial = tiles[mma.getAcc()];
  tiles[mma.getResult()] =
      e.loop(e.integer(0), e.integer(depth), 1, initial, [&](Value step, ValueRange sums) {
        // Registers of one row, or of one column, share their operand.
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

namespace {
/// A tile that consists of fragments along its last two dimensions.
struct FragmentedTile {
  Value value;
  Layout tile, fragment;
  llvm::DenseMap<uint64_t, unsigned> held;
  int64_t rank;

  FragmentedTile(Value value, const Layout &fragment)
      : value(value), tile(*tile::layoutOf(value)), fragment(fragment), held(holders(tile)),
        rank(cast<RankedTensorType>(value.getType()).getRank()) {}

  /// The registers of the fragment at an element; none where this thread does not hold it.
  std::optional<SmallVector<unsigned>> at(uint64_t row, uint64_t column, uint64_t part = 0) const {
    SmallVector<unsigned> registers;
    uint64_t columns = tile.out().size(rank == 3 ? Dim::D2 : Dim::D1),
             rows = tile.out().size(rank == 3 ? Dim::D1 : Dim::D0);
    for (unsigned reg = 0; reg < fragment.in().size(Dim::Register); ++reg) {
      Point point = fragment(Point({{Dim::Register, reg}}));
      // A packed element is its row-major index.
      auto found =
          held.find((part * rows + point[Dim::D0] + row) * columns + point[Dim::D1] + column);
      if (found == held.end())
        return std::nullopt;
      registers.push_back(found->second);
    }
    return registers;
  }
};

/// The text and the constraints of `{d} = {a} · {b} + {c}`.
struct MmaText {
  std::string text, constraints;
  unsigned operands = 0;

  MmaText(const Instruction &instruction, unsigned operandBits)
      : text("mma.sync.aligned." + instruction.name) {
    unsigned count = instruction.c.in().size(Dim::Register);
    auto words = [&](const Layout &fragment) {
      return fragment.in().size(Dim::Register) * operandBits / std::max(32u, operandBits);
    };
    add(" ", std::string("=") + instruction.accumulator, count);
    add(", ", instruction.word, words(instruction.a));
    add(", ", instruction.word, words(instruction.b));
    add(", ", instruction.accumulator, count);
    text += ";";
  }

private:
  void add(const char *separator, const std::string &constraint, unsigned registers) {
    text += separator;
    for (unsigned i = 0; i < registers; ++i, ++operands) {
      text += (i ? ", $" : "{$") + std::to_string(operands);
      constraints += (operands ? "," : "") + constraint;
    }
    text += "}";
  }
};
} // namespace

LogicalResult KernelEmitter::emitMma(tile::MmaOp mma) {
  if (!tile::fragmentDepth(mma))
    return mma.emitError("expected an mma with an instruction of tensor cores");
  Type operand = elementOf(mma.getLhs()), accumulator = elementOf(mma.getResult());
  Instruction instruction = instructionFor(operand, gpu);
  int64_t m = mma.getMatrix()[0], n = mma.getMatrix()[1];
  int64_t k = cast<RankedTensorType>(mma.getLhs().getType()).getShape()[1],
          partDepth = k / mma.getParts();
  FragmentedTile a(mma.getLhs(), instruction.a), b(mma.getRhs(), instruction.b),
      c(mma.getAcc(), instruction.c);
  auto words = [&](const FragmentedTile &from, ArrayRef<unsigned> registers) {
    SmallVector<Value> elements;
    for (unsigned reg : registers)
      elements.push_back(part(from.value, reg));
    return operand.isF64() ? elements : pack(elements, operand);
  };
  MmaText text(instruction, e.storageType(operand).getIntOrFloatBitWidth());
  Type result = LLVM::LLVMStructType::getLiteral(
      mma.getContext(),
      SmallVector<Type>(instruction.c.in().size(Dim::Register), e.valueType(accumulator)));

  // Where tensor cores accumulate with less precision than fp32, the result of each instruction is
  // added on the CUDA cores.
  bool addsOutside = isFloat8(operand) && !gpu.has(GpuFeature::MmaFp8Fp32);
  Registers sums = tiles[mma.getAcc()];
  for (int64_t over = 0; over < k; over += instruction.k)
    for (int64_t row = 0; row < m; row += instruction.m)
      for (int64_t column = 0; column < n; column += instruction.n) {
        auto sum = c.at(row, column, over / partDepth);
        if (!sum)
          continue; // of another warp or CTA
        auto left = a.at(row, over), right = b.at(over, column);
        if (!left || !right)
          return mma.emitError("expected operands in the layouts of tensor cores");
        SmallVector<Value> operands = words(a, *left);
        operands.append(words(b, *right));
        for (unsigned reg : *sum)
          operands.push_back(addsOutside ? e.real(0, accumulator) : sums[reg]);
        Value next = assembly(text.text, text.constraints, result, operands);
        for (auto [i, reg] : llvm::enumerate(*sum)) {
          Value each = LLVM::ExtractValueOp::create(e.b, next, i);
          sums[reg] = addsOutside ? Value(LLVM::FAddOp::create(e.b, sums[reg], each)) : each;
        }
      }
  tiles[mma.getResult()] = sums;
  return success();
}
