//===- GroupVerify.cpp - What makes products of four warps well formed ----===//
#include "Verify.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr unsigned kGroup = 4, kRowsOfWarp = 16, kColumns = 8; // warps of a group; an instruction's least part

static bool isGrouped(ArrayRef<int64_t> shape, unsigned warps) {
  return shape.size() == 2 && warps % kGroup == 0 && shape[0] >= int64_t(kRowsOfWarp * warps) &&
         llvm::all_of(shape, llvm::isPowerOf2_64) && llvm::isPowerOf2_32(warps);
}

std::optional<Layout> tile::groupSums(ArrayRef<int64_t> shape, unsigned warps, Spread spread) {
  if (shape.size() == 3) {
    std::optional<Layout> part = groupSums(shape.drop_front(), warps);
    return part ? std::optional(part->insertDim(0) * Layout::strided(Dim::Block, Dim::D0, shape[0])) : std::nullopt;
  }
  if (shape.size() != 2)
    return std::nullopt;
  SmallVector<int64_t> part(shape);
  part[spread.dim] /= spread.blocks;
  if (!isGrouped(part, warps) || part[1] < kColumns)
    return std::nullopt;
  Layout sums = wgmmaAccumulator(kColumns, warps / kGroup).fit(spaceOf(part), std::array{1u, 0u});
  return spread.blocks > 1 ? sums * Layout::strided(Dim::Block, tensorDim(spread.dim), spread.blocks) : sums;
}

std::optional<Layout> tile::groupLeft(ArrayRef<int64_t> shape, unsigned bits, unsigned warps, unsigned parts, Spread spread) {
  int64_t depth = 256 / bits; // all instructions are 32 bytes deep
  SmallVector<int64_t> part(shape);
  part.back() /= parts;
  part.front() /= spread.along(0);
  if (!isGrouped(part, warps) || part[1] < depth)
    return std::nullopt;
  Layout left = wgmmaOperandA(depth, bits, warps / kGroup).fit(spaceOf(part), std::array{1u, 0u});
  if (parts > 1)
    return left * Layout::strided(Dim::Block, Dim::D1, parts);
  return spread.along(0) > 1 ? left * Layout::strided(Dim::Block, Dim::D0, spread.blocks)
                             : left * Layout::broadcast(Dim::Block, spread.blocks);
}

std::optional<SharedMatrix> tile::groupMatrix(BufferType buffer, unsigned over, unsigned parts, Spread spread) {
  std::optional<BlockPart> part = partOfBlock(buffer.getMemory());
  unsigned dim = parts > 1 ? over : 1 - over, blocks = parts > 1 ? parts : spread.along(1 - over);
  if (!part || part->blocks != blocks || (blocks > 1 && part->dim != dim))
    return std::nullopt;
  return sharedMatrix(part->layout, over, 8 * buffer.getElementBytes());
}

Spread tile::spreadOf(Value sums) {
  std::optional<Layout> layout = layoutOf(sums);
  std::optional<BlockPart> part = layout ? partOfBlock(*layout) : std::nullopt;
  return part && part->dim < 2 ? Spread{part->dim, part->blocks} : Spread();
}

bool tile::areGroupSums(Value sums, unsigned warps) {
  ArrayRef<int64_t> shape = tileType(sums).getShape();
  return layoutOf(sums) == groupSums(shape, warps, shape.size() == 2 ? spreadOf(sums) : Spread());
}

/// Sums that are under way are for products to add to, for loops to carry there, and to be waited for.
static LogicalResult verifyUses(MmaAsyncOp op, Value sums, llvm::SmallPtrSetImpl<OpOperand *> &seen) {
  for (OpOperand &use : sums.getUses()) {
    Operation *user = use.getOwner();
    auto next = dyn_cast<MmaAsyncOp>(user);
    if (isa<MmaWaitOp>(user) || (next && use.get() != next.getLhs()) || !seen.insert(&use).second)
      continue;
    bool isYield = isa<scf::YieldOp>(user);
    auto loop = dyn_cast<scf::ForOp>(isYield ? user->getParentOp() : user);
    if (!loop)
      return op.emitOpError("expected sums that are added to or waited for before anything else takes them")
                 .attachNote(user->getLoc())
             << "they are taken here";
    unsigned number = use.getOperandNumber() - (isYield ? 0 : loop.getNumControlOperands());
    if (failed(verifyUses(op, loop.getRegionIterArg(number), seen)) ||
        (isYield && failed(verifyUses(op, loop.getResult(number), seen))))
      return failure();
  }
  return success();
}

LogicalResult MmaAsyncOp::verify() {
  RankedTensorType lhs = getLeft(), rhs = getRhs().getType().getTile(), acc = tileType(getAcc());
  auto left = dyn_cast<BufferType>(getLhs().getType());
  if (bool(left) != bool(getLhsSlot()))
    return emitOpError() << "expected a slot for a buffer on the left and none for a tile, got " << getLhs().getType();
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || (acc.getRank() != 2 && acc.getRank() != 3))
    return emitOpError() << "expected matrices, got ranks " << lhs.getRank() << ", " << rhs.getRank() << " and "
                         << acc.getRank();
  ArrayRef<int64_t> matrix = getMatrix();
  if (failed(expectShape(*this, "rhs", {lhs.getDimSize(1), matrix[1]}, rhs.getShape())) ||
      failed(expectShape(*this, "acc", {lhs.getDimSize(0), rhs.getDimSize(1)}, matrix)) ||
      failed(expectElement(*this, "rhs", lhs.getElementType(), rhs.getElementType())))
    return failure();
  Type element = lhs.getElementType();
  if (!(element.isBF16() || element.isF16()) || !acc.getElementType().isF32())
    return emitOpError() << "expected a product of bf16 or f16 in f32, got " << element << " in " << acc.getElementType();
  constexpr int64_t kMost = 256;
  Spread spread = getSpread();
  if (int64_t columns = matrix[1] / spread.along(1); columns > kMost)
    return emitOpError() << "expected at most " << kMost << " columns, got " << columns;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  unsigned warps = getHint(kernel ? kernel.getHintsAttr() : DictionaryAttr(), "warps").value_or(4);
  unsigned bits = element.getIntOrFloatBitWidth();
  std::optional<Layout> rows = groupLeft(lhs.getShape(), bits, warps, getParts(), spread);
  if (!rows || !areGroupSums(getAcc(), warps))
    return emitOpError() << "expected sums as groups of four of " << warps << " warps hold them, got " << acc;
  if (!left && layoutOf(getLhs()) != rows)
    return emitOpError() << "expected a left operand as groups of four of " << warps << " warps hold it, got " << lhs;
  if (left && !groupMatrix(left, /*over=*/1, getParts(), spread))
    return emitOpError() << "expected a matrix as tensor copies write it, got " << left;
  if (!groupMatrix(getRhs().getType(), /*over=*/0, getParts(), spread))
    return emitOpError() << "expected a matrix as tensor copies write it, got " << getRhs().getType();
  for (Value buffer : {Value(getLhs()), Value(getRhs())}) {
    auto room = buffer.getDefiningOp<AllocOp>();
    if (room && room.getOffset() && *room.getOffset() % getAlignment(buffer))
      return emitOpError() << "expected a buffer at an offset that " << getAlignment(buffer) << " divides, got "
                           << int64_t(*room.getOffset());
  }
  llvm::SmallPtrSet<OpOperand *, 4> seen;
  return verifyUses(*this, getResult(), seen);
}

LogicalResult MmaAsyncOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
                                           OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  types.push_back(operands.back().getType());
  return success();
}

Spread MmaAsyncOp::getSpread() { return getParts() > 1 ? Spread() : spreadOf(getAcc()); }

int64_t MmaAsyncOp::getAlignment(Value buffer) {
  auto type = cast<BufferType>(buffer.getType());
  std::optional<SharedMatrix> matrix = groupMatrix(type, /*over=*/buffer == getRhs() ? 0 : 1, getParts(), getSpread());
  return matrix ? matrix->stride : 1;
}

LogicalResult MmaFenceOp::verify() { return success(); }
LogicalResult MmaCommitOp::verify() { return success(); }

LogicalResult MmaWaitOp::verify() { return expectPending(*this, getPending()); }

LogicalResult MmaWaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}
