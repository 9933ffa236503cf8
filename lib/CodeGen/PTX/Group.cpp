//===- Group.cpp - Products that groups of four warps begin ---------------===//
//
// wgmma.mma_async multiplies 64 rows of a group by up to 256 columns, 32 bytes deep. It finds operands in shared
// memory by descriptors (SharedMatrix.h), of which parts are other addresses. Registers of sums go through
// the text of each instruction and of the wait: nobody takes them in between. A fence is in the text of the product
// behind it, so that LLVM puts nothing into registers between the two; so has each product that finds sums which neither a
// product nor a loop has left in their registers. Two narrow products of one left operand, such as the halves that RoPE turns, are
// made by the same instructions: more columns for each row that is read.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

static constexpr int64_t kGroup = 4, kRows = 64;        // warps and rows of a group
static constexpr int64_t kUnit = 16, kPlaces = 1 << 14; // bytes that descriptors count, and how many places they tell apart

namespace {
/// An operand in shared memory: its descriptor, and by how much those of its parts differ.
struct Matrix {
  Value descriptor;
  Layout offsets; // element -> offset
  int64_t bytes;  // of an element

  int64_t at(uint64_t row, uint64_t column) const {
    return offsets(offsets.in().pack(Point({{Dim::D0, row}, {Dim::D1, column}}))) * bytes / kUnit;
  }
};

/// The text and the operands of one piece of assembly, of which the first are sums that it changes.
struct Text {
  std::string text, constraints;
  SmallVector<Value> operands;
  unsigned count; // of sums

  explicit Text(unsigned count) : count(count) {
    for (unsigned i = 0; i < count; ++i)
      constraints += "=f,";
  }
  std::string add(Value value, StringRef constraint) {
    operands.push_back(value);
    constraints += (constraint + ",").str();
    return "$" + std::to_string(count + operands.size() - 1);
  }
  /// The sums come last.
  void close(ArrayRef<Value> sums) {
    for (auto [i, sum] : llvm::enumerate(sums))
      add(sum, std::to_string(i));
    constraints += "~{memory}";
  }
};
} // namespace

/// Where a thread holds the elements of a fragment that begins there, in the fragment's order.
static SmallVector<unsigned> registersOf(const Layout &tile, const Layout &fragment, uint64_t row, uint64_t column) {
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

/// How far behind the right operand of a product that of the next one lies, in bytes, where one instruction makes both: they have the
/// same left operand in shared memory, and each a right one of which all lines are one piece. To the instruction these are the
/// pieces of one matrix. 0 where it does not.
static int64_t distanceToNext(tile::MmaAsyncOp mma) {
  constexpr int64_t mostColumns = 256;
  auto next = dyn_cast_or_null<tile::MmaAsyncOp>(mma->getNextNode());
  if (!next || mma.getParts() > 1 || mma.getSpread().blocks > 1 || !mma.getLhsSlot() || next.getLhs() != mma.getLhs() || next.getLhsSlot() != mma.getLhsSlot() ||
      next.getRhsSlot() != mma.getRhsSlot() || next.getRhs().getType() != mma.getRhs().getType() || next.getAcc() == mma.getResult() ||
      next.getAcc().getType() != mma.getAcc().getType())
    return 0;
  auto room = cast<tile::BufferType>(mma.getRhs().getType());
  std::optional<SharedMatrix> how = tile::groupMatrix(room, /*over=*/0, /*parts=*/1);
  int64_t n = mma.getMatrix()[1];
  auto first = mma.getRhs().getDefiningOp<tile::AllocOp>(), second = next.getRhs().getDefiningOp<tile::AllocOp>();
  if (!how->isAcross || n * room.getElementBytes() != how->span || 2 * n > mostColumns || !first || !second || !first.getOffset() ||
      !second.getOffset())
    return 0;
  int64_t distance = int64_t(*second.getOffset()) - int64_t(*first.getOffset());
  return distance > 0 && distance < kUnit * kPlaces ? distance : 0;
}

/// Whether a product was made by the instructions of the one before it.
static bool isMadeBefore(tile::MmaAsyncOp mma) {
  auto before = dyn_cast_or_null<tile::MmaAsyncOp>(mma->getPrevNode());
  return before && distanceToNext(before) && !isMadeBefore(before);
}

LogicalResult KernelEmitter::emitMmaAsync(tile::MmaAsyncOp mma) {
  if (isMadeBefore(mma))
    return success();
  SmallVector<tile::MmaAsyncOp, 2> products = {mma};
  int64_t distance = distanceToNext(mma);
  if (distance)
    products.push_back(cast<tile::MmaAsyncOp>(mma->getNextNode()));
  RankedTensorType lhs = mma.getLeft(), sumType = mma.getResult().getType();
  Type element = lhs.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth(), depth = 256 / bits, rows = kRows * (warps / kGroup);
  tile::Spread spread = mma.getSpread();
  int64_t m = mma.getMatrix()[0] / spread.along(0), n = mma.getMatrix()[1] / spread.along(1), k = lhs.getShape()[1] / mma.getParts();
  auto matrix = [&](Value buffer, Value slot, unsigned over) {
    auto room = cast<tile::BufferType>(buffer.getType());
    Layout memory = partOfBlock(room.getMemory())->layout;
    SharedMatrix how = *tile::groupMatrix(room, over, mma.getParts(), spread);
    if (over == 0 && distance)
      how.leading = distance;
    Matrix made{Value(), *memory.inverse(), bits / 8};
    Value place = LLVM::PtrToIntOp::create(e.b, e.i32, slotAddress(buffer, slot));
    place = LLVM::LShrOp::create(e.b, place, e.integer(llvm::Log2_64(kUnit), e.i32));
    // In a cluster, the bits above say whose memory it is, which a descriptor has no room for.
    if (blocks > 1)
      place = e.andI(place, e.integer(kPlaces - 1, e.i32));
    if (int64_t ofGroup = over == 1 && rows > kRows ? made.at(kRows, 0) : 0) {
      Value group = LLVM::LShrOp::create(e.b, sameWarp, e.integer(llvm::Log2_64(kGroup), e.i32));
      place = e.addI(place, e.mulI(group, e.integer(ofGroup, e.i32)));
    }
    made.descriptor = e.orI(LLVM::ZExtOp::create(e.b, e.i64, place), e.integer(int64_t(how.descriptor())));
    return std::pair(made, how.isAcross);
  };
  auto [right, isRightAcross] = matrix(mma.getRhs(), mma.getRhsSlot(), 0);
  std::optional<std::pair<Matrix, bool>> left;
  if (mma.getLhsSlot())
    left = matrix(mma.getLhs(), mma.getLhsSlot(), 1);

  Layout layout = partOfBlock(layoutOf(mma.getAcc()))->layout;
  if (mma.getParts() > 1)
    layout = layout.withoutDim(0);
  SmallVector<Registers, 2> sums;
  // What is put into registers for a part comes before that part.
  bool isMoved = false;
  for (tile::MmaAsyncOp product : products) {
    sums.push_back(tiles[product.getAcc()]);
    isMoved |= !isa<BlockArgument>(product.getAcc()) && !product.getAcc().getDefiningOp<tile::MmaAsyncOp>();
  }
  isFenced |= isMoved;
  std::string type = element.isBF16() ? "bf16" : "f16";
  std::string name = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n * int64_t(products.size())) + "k" +
                     std::to_string(depth) + ".f32." + type + "." + type;
  for (int64_t row = 0; row < m; row += rows) {
    SmallVector<unsigned> held = registersOf(layout, mmaAccumulator(16, n), row, 0);
    SmallVector<Value> before;
    for (const Registers &each : sums)
      for (unsigned reg : held)
        before.push_back(each[reg]);
    Text part(before.size());
    std::string list, b = part.add(right.descriptor, "l"), a = left ? part.add(left->first.descriptor, "l") : "";
    for (unsigned i = 0; i < before.size(); ++i)
      list += (i ? ", $" : "$") + std::to_string(i);
    part.text = std::string("{ .reg .b64 a, b;") + (isFenced ? " wgmma.fence.sync.aligned;" : "");
    isFenced = isMoved || !left;
    auto moved = [&](StringRef to, const std::string &from, int64_t by) {
      part.text += (" add.s64 " + to + ", " + from + ", ").str() + std::to_string(by) + ";";
      return to.str();
    };
    for (int64_t over = 0; over < k; over += depth) {
      std::string rowsText;
      if (left) {
        rowsText = moved("a", a, left->first.at(row, over));
      } else {
        SmallVector<Value> words;
        for (unsigned reg : registersOf(partOfBlock(layoutOf(mma.getLhs()))->layout, mmaOperandA(16, depth, bits), row, over))
          words.push_back(tiles[mma.getLhs()][reg]);
        for (Value word : pack(words, element))
          rowsText += (rowsText.empty() ? "{" : ", ") + part.add(word, "r");
        rowsText += "}";
      }
      std::string columns = moved("b", b, right.at(over, 0));
      part.text += " " + name + " {" + list + "}, " + rowsText + ", " + columns + ", 1, 1, 1" +
                   (left ? left->second ? ", 1" : ", 0" : "") + (isRightAcross ? ", 1;" : ", 0;");
    }
    part.text += " }";
    part.close(before);
    Type result = LLVM::LLVMStructType::getLiteral(mma.getContext(),
                                                   SmallVector<Type>(before.size(), e.valueType(sumType.getElementType())));
    Value made = assembly(part.text, part.constraints, result, part.operands, /*hasEffects=*/true);
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

/// What was reduced last since products were begun or waited for.
static tile::ReduceOp reducedBefore(tile::MmaWaitOp wait) {
  for (Operation *op = wait->getPrevNode(); op && !isa<tile::MmaCommitOp, tile::MmaWaitOp>(op); op = op->getPrevNode())
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return reduce;
  return nullptr;
}

/// The assembler moves a wait before what does not need it, which then is not computed beside products. It leaves it behind an
/// instruction with effects: such a one stands here, under a condition on what was computed that is hardly ever fulfilled and does no harm then.
void KernelEmitter::computeBefore(tile::MmaWaitOp wait) {
  constexpr unsigned kMost = 4; // registers to look at
  tile::ReduceOp reduce = reducedBefore(wait);
  if (!reduce || !elementOf(reduce).isF32() || tiles[reduce.getResult()].size() > kMost)
    return;
  std::string text = "{ .reg .pred p;", constraints;
  for (auto [i, value] : llvm::enumerate(tiles[reduce.getResult()])) {
    std::string number = std::to_string(i);
    text += (i ? " setp.eq.and.f32 p, $" + number + ", 0fFF7FFFFF, p;" : " setp.eq.f32 p, $" + number + ", 0fFF7FFFFF;");
    constraints += "f,";
  }
  assembly(text + " @p nanosleep.u32 0; }", constraints + "~{memory}", Type(), tiles[reduce.getResult()], /*hasEffects=*/true);
}

LogicalResult KernelEmitter::emitMmaWait(tile::MmaWaitOp wait) {
  computeBefore(wait);
  Registers sums;
  for (Value tile : wait.getSums())
    sums.append(tiles[tile]);
  Text part(sums.size());
  // What a product reads in registers stays there until then.
  for (Value tile : wait.getSums())
    if (auto mma = tile.getDefiningOp<tile::MmaAsyncOp>(); mma && !mma.getLhsSlot())
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
  for (auto [before, behind] : llvm::zip_equal(wait.getSums(), wait.getResults()))
    for (size_t i = 0; i < tiles[before].size(); ++i)
      tiles[behind].push_back(LLVM::ExtractValueOp::create(e.b, made, number++));
  return success();
}

/// Sums that a loop begins with, in their registers before it. LLVM would put them there behind the loop as well, for when that has
/// no turn; the assembler takes that to be between a product and its wait, and makes products one by one.
KernelEmitter::Registers KernelEmitter::settled(Registers sums) {
  Text part(sums.size());
  part.close(sums);
  Type result = LLVM::LLVMStructType::getLiteral(kernel.getContext(), SmallVector<Type>(sums.size(), sums.front().getType()));
  Value made = assembly(part.text, part.constraints, result, part.operands, /*hasEffects=*/true);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(e.b, made, i);
  return sums;
}
