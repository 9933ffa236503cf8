//===- Wgmma.cpp - Warpgroup MMA ------------------------------------------===//
//
// wgmma.mma_async multiplies 64 rows of a warpgroup by up to 256 columns, 32 bytes deep.
// Descriptors (SharedMatrix.h) locate the operands in shared memory; those of other k-steps differ
// by an address.
//
// The instructions run asynchronously, so nothing may touch the accumulator registers before the
// wait. They are therefore inputs and outputs of each instruction's text and of the wait's. A fence
// is in the text of the wgmma after it, so that LLVM moves nothing into registers between the two.
//
// Two wgmma that are joined (tile-join-wgmma) share their instructions.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Dialect/Common/PtxTypes.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

static constexpr int64_t kWarps = 4, kRows = 64; // of a warpgroup
static constexpr int64_t kUnit = 16;             // bytes, of addresses in descriptors
static constexpr int64_t kAddresses = tile::WgmmaOp::kDescriptorBytes / kUnit;

namespace {
/// The text and the operands of inline assembly that updates accumulators, its first operands.
struct Text {
  std::string text, constraints;
  SmallVector<Value> operands;
  unsigned count; // of accumulator registers

  explicit Text(unsigned count) : count(count) {
    for (unsigned i = 0; i < count; ++i)
      constraints += "=f,";
  }
  std::string add(Value value, StringRef constraint) {
    operands.push_back(value);
    constraints += (constraint + ",").str();
    return "$" + std::to_string(count + operands.size() - 1);
  }
  /// Adds the accumulators as the last inputs.
  void close(ArrayRef<Value> accumulators) {
    for (auto [i, value] : llvm::enumerate(accumulators))
      add(value, std::to_string(i));
    constraints += "~{memory}";
  }
};
} // namespace

int64_t KernelEmitter::WgmmaOperand::unitsTo(uint64_t row, uint64_t column) const {
  return offsets(offsets.in().pack(Point({{Dim::D0, row}, {Dim::D1, column}}))) * bytes / kUnit;
}

/// The registers of the fragment at (row, column), in the fragment's order.
static SmallVector<unsigned> registersOf(const Layout &tile, const Layout &fragment, uint64_t row,
                                         uint64_t column) {
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < tile.in().size(Dim::Register); ++reg)
    held.try_emplace(tile(tile.in().pack(Point({{Dim::Register, reg}}))), reg);
  SmallVector<unsigned> registers;
  for (unsigned reg = 0; reg < fragment.in().size(Dim::Register); ++reg) {
    Point point = fragment(Point({{Dim::Register, reg}}));
    point[Dim::D0] += row;
    point[Dim::D1] += column;
    registers.push_back(held.at(tile.out().pack(point)));
  }
  return registers;
}

/// An operand in shared memory. `over` is its K dimension: 0 of the right operand, 1 of the left
/// one. `leading` replaces the distance between the spans of the matrix unless it is 0.
KernelEmitter::WgmmaOperand KernelEmitter::wgmmaOperand(tile::WgmmaOp mma, Value buffer,
                                                        Value stage, unsigned over,
                                                        int64_t leading) {
  tile::BufferType type = over == 0 ? mma.getRightBuffer() : mma.getLeftBuffer();
  SharedMatrix matrix = *tile::groupMatrix(type, over, mma.getParts(), mma.getSpread());
  if (leading)
    matrix.leading = leading;
  WgmmaOperand operand{Value(), *partOfBlock(type.getMemory())->layout.inverse(),
                       int64_t(type.getElementBytes()), matrix.isAcross};
  Value place = LLVM::PtrToIntOp::create(e.b, e.i32, stageAddress(buffer, stage));
  place = LLVM::LShrOp::create(e.b, place, e.integer(llvm::Log2_64(kUnit), e.i32));
  // In a cluster the bits above are the rank of the CTA, which a descriptor does not hold.
  if (cluster > 1)
    place = e.andI(place, e.integer(kAddresses - 1, e.i32));
  bool hasRowsPerGroup = over == 1 && warps / kWarps > 1;
  if (int64_t step = hasRowsPerGroup ? operand.unitsTo(kRows, 0) : 0) {
    Value group = LLVM::LShrOp::create(e.b, uniformWarp, e.integer(llvm::Log2_64(kWarps), e.i32));
    place = e.addI(place, e.mulI(group, e.integer(step, e.i32)));
  }
  operand.descriptor =
      e.orI(LLVM::ZExtOp::create(e.b, e.i64, place), e.integer(int64_t(matrix.descriptor())));
  return operand;
}

/// Adds the registers of a left operand to the text, as a list.
static std::string addRegisters(Text &text, ArrayRef<Value> words) {
  std::string list;
  for (Value word : words)
    list += (list.empty() ? "{" : ", ") + text.add(word, "r");
  return list + "}";
}

LogicalResult KernelEmitter::emitWgmma(tile::WgmmaOp mma) {
  if (mma.isJoinedToPrevious())
    return success();
  SmallVector<tile::WgmmaOp, 2> products = {mma};
  int64_t distance = mma.getJoin().value_or(0);
  if (distance)
    products.push_back(cast<tile::WgmmaOp>(mma->getNextNode()));
  RankedTensorType lhs = mma.getLeft();
  Type element = lhs.getElementType(), accumulator = mma.getResult().getType().getElementType();
  int64_t bits = 8 * mma.getRhs().getType().getElementBytes(), depth = 256 / bits,
          rows = kRows * (warps / kWarps);
  tile::Spread spread = mma.getSpread();
  int64_t m = mma.getMatrix()[0] / spread.along(0), n = mma.getMatrix()[1] / spread.along(1),
          k = lhs.getShape()[1] / mma.getParts();
  WgmmaOperand right = wgmmaOperand(mma, mma.getRhs(), mma.getRhsStage(), 0, distance);
  std::optional<WgmmaOperand> left;
  if (mma.getLhsStage())
    left = wgmmaOperand(mma, mma.getLhs(), mma.getLhsStage(), 1, 0);

  Layout layout = partOfBlock(layoutOf(mma.getAcc()))->layout;
  if (mma.getParts() > 1)
    layout = layout.withoutDim(0);
  SmallVector<Registers, 2> sums;
  for (tile::WgmmaOp product : products)
    sums.push_back(tiles[product.getAcc()]);
  isFenced |= mma.getFence();
  std::string type = ptxTypeName(element).str();
  // Whether the operands are transposed is said of 16-bit operands only.
  auto transposition = [&](bool isTransposed) {
    return bits == 16 ? isTransposed ? ", 1" : ", 0" : "";
  };
  std::string name = "wgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(n * int64_t(products.size())) + "k" + std::to_string(depth) +
                     ".f32." + type + "." + type;
  for (int64_t row = 0; row < m; row += rows) {
    SmallVector<unsigned> held = registersOf(layout, mmaAccumulator(16, n), row, 0);
    SmallVector<Value> before;
    for (const Registers &each : sums)
      for (unsigned reg : held)
        before.push_back(each[reg]);
    Text text(before.size());
    std::string list, b = text.add(right.descriptor, "l"),
                      a = left ? text.add(left->descriptor, "l") : "";
    for (unsigned i = 0; i < before.size(); ++i)
      list += (i ? ", $" : "$") + std::to_string(i);
    text.text = std::string("{ .reg .b64 a, b;") + (isFenced ? " wgmma.fence.sync.aligned;" : "");
    isFenced = mma.getFenceRows();
    auto moved = [&](StringRef to, const std::string &from, int64_t by) {
      text.text += (" add.s64 " + to + ", " + from + ", ").str() + std::to_string(by) + ";";
      return to.str();
    };
    for (int64_t over = 0; over < k; over += depth) {
      std::string leftText;
      if (left) {
        leftText = moved("a", a, left->unitsTo(row, over));
      } else {
        SmallVector<Value> elements;
        for (unsigned reg : registersOf(partOfBlock(layoutOf(mma.getLhs()))->layout,
                                        mmaOperandA(16, depth, bits), row, over))
          elements.push_back(tiles[mma.getLhs()][reg]);
        leftText = addRegisters(text, pack(elements, element));
      }
      std::string rightText = moved("b", b, right.unitsTo(over, 0));
      text.text += " " + name + " {" + list + "}, " + leftText + ", " + rightText + ", 1, 1, 1" +
                   (left ? transposition(left->isTransposed) : "") +
                   transposition(right.isTransposed) + ";";
    }
    text.text += " }";
    text.close(before);
    Type result = LLVM::LLVMStructType::getLiteral(
        mma.getContext(), SmallVector<Type>(before.size(), e.valueType(accumulator)));
    Value made = assembly(text.text, text.constraints, result, text.operands, /*hasEffects=*/true);
    unsigned number = 0;
    for (Registers &each : sums)
      for (unsigned reg : held)
        each[reg] = LLVM::ExtractValueOp::create(e.b, made, number++);
  }
  isFenced = false;
  for (auto [product, each] : llvm::zip_equal(products, sums))
    tiles[product.getResult()] = each;
  return success();
}

/// ptxas hoists a wait over computations that do not depend on it, which then no longer overlap
/// with the wgmma. It does not hoist over an instruction with effects. This emits one, predicated
/// on a value of the tile that hardly ever occurs, where it does no harm.
void KernelEmitter::computeBefore(Value tile) {
  std::string text = "{ .reg .pred p;", constraints;
  for (auto [i, value] : llvm::enumerate(tiles[tile])) {
    std::string number = std::to_string(i);
    text += (i ? " setp.eq.and.f32 p, $" + number + ", 0fFF7FFFFF, p;"
               : " setp.eq.f32 p, $" + number + ", 0fFF7FFFFF;");
    constraints += "f,";
  }
  assembly(text + " @p nanosleep.u32 0; }", constraints + "~{memory}", Type(), tiles[tile],
           /*hasEffects=*/true);
}

LogicalResult KernelEmitter::emitWgmmaWait(tile::WgmmaWaitOp wait) {
  if (wait.getAfter())
    computeBefore(wait.getAfter());
  Registers sums;
  for (Value tile : wait.getSums())
    sums.append(tiles[tile]);
  Text part(sums.size());
  // The wgmma reads its left operand from registers until it is complete.
  for (Value tile : wait.getSums())
    if (auto mma = tile.getDefiningOp<tile::WgmmaOp>(); mma && !mma.getLhsStage())
      for (Value word : pack(tiles[mma.getLhs()], elementOf(mma.getLhs())))
        part.add(word, "r");
  part.close(sums);
  part.text = "wgmma.wait_group.sync.aligned " + std::to_string(wait.getPending()) + ";";
  SmallVector<Type> types;
  for (Value sum : sums)
    types.push_back(sum.getType());
  Type result = sums.empty() ? Type() : LLVM::LLVMStructType::getLiteral(wait.getContext(), types);
  Value made = assembly(part.text, part.constraints, result, part.operands, /*hasEffects=*/true);
  unsigned number = 0;
  for (auto [before, after] : llvm::zip_equal(wait.getSums(), wait.getResults()))
    for (size_t i = 0; i < tiles[before].size(); ++i)
      tiles[after].push_back(LLVM::ExtractValueOp::create(e.b, made, number++));
  return success();
}

/// Pins the initial accumulators of a loop to their registers before the loop. Otherwise LLVM also
/// moves them there after the loop, for the case of no iteration; ptxas takes that for an access
/// between a wgmma and its wait, and serializes the wgmma.
KernelEmitter::Registers KernelEmitter::pinned(Registers sums) {
  Text part(sums.size());
  part.close(sums);
  Type result = LLVM::LLVMStructType::getLiteral(
      kernel.getContext(), SmallVector<Type>(sums.size(), sums.front().getType()));
  Value made = assembly(part.text, part.constraints, result, part.operands, /*hasEffects=*/true);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(e.b, made, i);
  return sums;
}
