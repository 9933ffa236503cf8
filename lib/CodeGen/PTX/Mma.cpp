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
using codegen::Ix;

namespace {
/// The names of an instruction's types, and the constraint of its sums.
struct Instruction {
  const char *types, *accumulator;
};
} // namespace

static Instruction instructionFor(Type operand) {
  if (operand.isBF16())
    return {"f32.bf16.bf16.f32", "f"};
  if (operand.isF16())
    return {"f32.f16.f16.f32", "f"};
  return operand.isInteger(8) ? Instruction{"s32.s8.s8.s32", "r"} : Instruction{"f32.tf32.tf32.f32", "f"};
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
  Instruction instruction = instructionFor(operand);
  unsigned depth = *tile::fragmentDepth(mma), bits = 8 * codegen::Emitter::byteWidth(operand);
  int64_t m = mma.getType().getShape()[0], n = mma.getType().getShape()[1];
  int64_t k = cast<RankedTensorType>(mma.getLhs().getType()).getShape()[1];

  /// Fragments of a tile: the elements of one, and where it begins.
  struct Operand {
    Value value;
    Layout tile, fragment;
    llvm::DenseMap<uint64_t, unsigned> held;

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
    return Operand{tile, layout, fragment, holders(layout)};
  };
  Operand a = make(mma.getLhs(), mmaOperandA(16, depth, bits)), b = make(mma.getRhs(), mmaOperandB(depth, 8, bits));
  Operand c = make(mma.getAcc(), mmaAccumulator(16, 8));
  auto words = [&](const Operand &from, ArrayRef<unsigned> registers) {
    SmallVector<Value> elements;
    for (unsigned reg : registers)
      elements.push_back(part(from.value, reg));
    return pack(elements, operand);
  };
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(depth) + ".row.col." + instruction.types +
                     " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  std::string f = instruction.accumulator;
  std::string constraints = "=" + f + ",=" + f + ",=" + f + ",=" + f + ",r,r,r,r,r,r," + f + "," + f + "," + f + "," + f;
  Type four = LLVM::LLVMStructType::getLiteral(mma.getContext(), SmallVector<Type>(4, e.valueType(accumulator)));

  Registers sums = tiles[mma.getAcc()];
  for (int64_t over = 0; over < k; over += depth)
    for (int64_t row = 0; row < m; row += 16)
      for (int64_t column = 0; column < n; column += 8) {
        auto sum = c.at(row, column);
        if (!sum)
          continue; // another warp's
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
  tiles[mma.getResult()] = sums;
  return success();
}
