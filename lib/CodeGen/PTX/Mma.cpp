//===- Mma.cpp - Products on tensor cores ---------------------------------===//
//
// mma.sync takes fragments that a warp's threads hold together (mmaOperandA, mmaOperandB,
// mmaAccumulator of lib/Layout). A tile is a product of such fragments: which registers belong to
// one is read from the layouts.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

namespace {
/// An instruction: its depth, and the names of its types.
struct Instruction {
  unsigned depth;
  const char *types, *accumulator;
};
} // namespace

static std::optional<Instruction> instructionFor(Type operand, Type accumulator) {
  if (accumulator.isF32() && operand.isBF16())
    return Instruction{16, "f32.bf16.bf16.f32", "f"};
  if (accumulator.isF32() && operand.isF16())
    return Instruction{16, "f32.f16.f16.f32", "f"};
  if (accumulator.isInteger(32) && operand.isInteger(8) && !operand.isUnsignedInteger())
    return Instruction{32, "s32.s8.s8.s32", "r"};
  return std::nullopt;
}

/// The registers of a tile by the element that they hold in the first thread.
static llvm::DenseMap<uint64_t, unsigned> holders(const Layout &layout) {
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < layout.in().size(Dim::Register); ++reg)
    held.try_emplace(layout(layout.in().pack(Point({{Dim::Register, reg}}))), reg);
  return held;
}

LogicalResult KernelEmitter::emitMma(tile::MmaOp mma) {
  Type operand = elementOf(mma.getLhs()), accumulator = elementOf(mma.getResult());
  std::optional<Instruction> instruction = instructionFor(operand, accumulator);
  if (!instruction || elementOf(mma.getRhs()) != operand)
    return mma.emitError("has no instruction on this target: products of ")
           << operand << " and " << elementOf(mma.getRhs()) << " summed in " << accumulator;
  unsigned bits = operand.getIntOrFloatBitWidth(), depth = instruction->depth;
  int64_t m = mma.getType().getShape()[0], n = mma.getType().getShape()[1];
  int64_t k = cast<RankedTensorType>(mma.getLhs().getType()).getShape()[1];

  /// Fragments of a tile: the elements of one, and where it begins.
  struct Operand {
    Layout tile, fragment;
    llvm::DenseMap<uint64_t, unsigned> held;
    ArrayRef<Value> parts;

    /// The registers of the fragment that begins at an element; empty where this thread has none of it.
    std::optional<SmallVector<unsigned>> at(uint64_t row, uint64_t column) const {
      SmallVector<unsigned> registers;
      for (unsigned reg = 0; reg < fragment.in().size(Dim::Register); ++reg) {
        Point point = fragment(Point({{Dim::Register, reg}}));
        auto found = held.find(tile.out().pack(Point({{Dim::D0, point[Dim::D0] + row}, {Dim::D1, point[Dim::D1] + column}})));
        if (found == held.end())
          return std::nullopt;
        registers.push_back(found->second);
      }
      return registers;
    }
  };
  auto make = [&](Value tile, Layout fragment) {
    Layout layout = layoutOf(tile);
    return Operand{layout, fragment, holders(layout), tiles[tile]};
  };
  Operand a = make(mma.getLhs(), mmaOperandA(16, depth, bits)), b = make(mma.getRhs(), mmaOperandB(depth, 8, bits));
  Operand c = make(mma.getAcc(), mmaAccumulator(16, 8));
  auto words = [&](const Operand &from, ArrayRef<unsigned> registers) {
    SmallVector<Value> elements;
    for (unsigned reg : registers)
      elements.push_back(from.parts[reg]);
    return pack(elements, operand);
  };
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(depth) + ".row.col." + instruction->types +
                     " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  std::string f = instruction->accumulator;
  std::string constraints = "=" + f + ",=" + f + ",=" + f + ",=" + f + ",r,r,r,r,r,r," + f + "," + f + "," + f + "," + f;
  Type four = LLVM::LLVMStructType::getLiteral(mma.getContext(), SmallVector<Type>(4, e.valueType(accumulator)));

  Registers sums(c.parts.begin(), c.parts.end());
  for (int64_t row = 0; row < m; row += 16)
    for (int64_t column = 0; column < n; column += 8) {
      auto sum = c.at(row, column);
      if (!sum)
        continue; // another warp's
      for (int64_t over = 0; over < k; over += depth) {
        auto left = a.at(row, over), right = b.at(over, column);
        if (!left || !right)
          return mma.emitError("expected operands in the layouts of tensor cores");
        SmallVector<Value> operands = words(a, *left);
        operands.append(words(b, *right));
        for (unsigned reg : *sum)
          operands.push_back(sums[reg]);
        Value next = assembly(text, constraints, four, operands);
        for (auto [i, reg] : llvm::enumerate(*sum))
          sums[reg] = LLVM::ExtractValueOp::create(e.b, next, i);
      }
    }
  tiles[mma.getResult()] = sums;
  return success();
}
