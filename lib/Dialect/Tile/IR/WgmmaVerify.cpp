//===- WgmmaVerify.cpp - Layouts and verifiers of warpgroup MMA -----------===//
//
// The layouts of accumulators and operands that `wgmma.mma_async` requires, and the rule that an
// accumulator in flight is used by nothing but another MMA or a wait.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

// Warps of a warpgroup; rows of an instruction per warp, and its fewest columns.
static constexpr unsigned kGroup = 4, kRowsOfWarp = 16, kColumns = 8;

/// Whether warpgroups can divide the rows of a matrix.
static bool isDividedByWarpgroups(ArrayRef<int64_t> shape, unsigned warps) {
  return shape.size() == 2 && warps % kGroup == 0 && shape[0] >= int64_t(kRowsOfWarp * warps) &&
         llvm::all_of(shape, llvm::isPowerOf2_64) && llvm::isPowerOf2_32(warps);
}

std::optional<Layout> tile::groupSums(ArrayRef<int64_t> shape, unsigned warps, Spread spread) {
  if (shape.size() == 3) {
    std::optional<Layout> part = groupSums(shape.drop_front(), warps);
    return part ? std::optional(part->insertDim(0) * Layout::strided(Dim::Block, Dim::D0, shape[0]))
                : std::nullopt;
  }
  if (shape.size() != 2)
    return std::nullopt;
  SmallVector<int64_t> part(shape);
  part[spread.dim] /= spread.blocks;
  if (!isDividedByWarpgroups(part, warps) || part[1] < kColumns)
    return std::nullopt;
  Layout acc = wgmmaAccumulator(kColumns, warps / kGroup).fit(spaceOf(part), std::array{1u, 0u});
  return spread.blocks > 1 ? acc * Layout::strided(Dim::Block, tensorDim(spread.dim), spread.blocks)
                           : acc;
}

std::optional<Layout> tile::groupLeft(ArrayRef<int64_t> shape, unsigned bits, unsigned warps,
                                      unsigned parts, Spread spread) {
  int64_t depth = 256 / bits; // K of an instruction is 32 bytes
  SmallVector<int64_t> part(shape);
  part.back() /= parts;
  part.front() /= spread.along(0);
  if (!isDividedByWarpgroups(part, warps) || part[1] < depth)
    return std::nullopt;
  Layout left = wgmmaOperandA(depth, bits, warps / kGroup).fit(spaceOf(part), std::array{1u, 0u});
  if (parts > 1)
    return left * Layout::strided(Dim::Block, Dim::D1, parts);
  return spread.along(0) > 1 ? left * Layout::strided(Dim::Block, Dim::D0, spread.blocks)
                             : left * Layout::broadcast(Dim::Block, spread.blocks);
}

std::optional<SharedMatrix> tile::groupMatrix(BufferType buffer, unsigned over, unsigned parts,
                                              Spread spread) {
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

/// An accumulator in flight is used by another MMA, carried to one by loops, or waited for.
static LogicalResult verifyUses(WgmmaOp op, Value acc, llvm::SmallPtrSetImpl<OpOperand *> &seen) {
  for (OpOperand &use : acc.getUses()) {
    Operation *user = use.getOwner();
    auto next = dyn_cast<WgmmaOp>(user);
    auto wait = dyn_cast<WgmmaWaitOp>(user);
    if ((wait && use.get() != wait.getAfter()) || (next && use.get() != next.getLhs()) ||
        !seen.insert(&use).second)
      continue;
    bool isYield = isa<scf::YieldOp>(user);
    auto loop = dyn_cast<scf::ForOp>(isYield ? user->getParentOp() : user);
    if (!loop)
      return op.emitOpError("expected an accumulator that is waited for before other operations "
                            "use it")
                 .attachNote(user->getLoc())
             << "it is used here";
    unsigned number = use.getOperandNumber() - (isYield ? 0 : loop.getNumControlOperands());
    if (failed(verifyUses(op, loop.getRegionIterArg(number), seen)) ||
        (isYield && failed(verifyUses(op, loop.getResult(number), seen))))
      return failure();
  }
  return success();
}

bool WgmmaOp::canJoin(WgmmaOp next) {
  return getLhsStage() && next.getLhs() == getLhs() && next.getLhsStage() == getLhsStage() &&
         next.getRhsStage() == getRhsStage() && next.getRightBuffer() == getRightBuffer() &&
         next.getLhsTransposed() == getLhsTransposed() && next.getAcc() != getResult() &&
         next.getAcc().getType() == getAcc().getType();
}

bool WgmmaOp::isJoinedToPrevious() {
  auto before = dyn_cast_or_null<WgmmaOp>((*this)->getPrevNode());
  return before && before.getJoin();
}

int64_t WgmmaOp::getRowBlocks() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  int64_t warps = kernel ? kernel.getNumWarps() : kDefaultNumWarps;
  return getMatrix()[0] / getSpread().along(0) / (kRowsOfWarp * warps);
}

/// The MMA before a joined one has the fences of both.
static LogicalResult verifyFence(WgmmaOp op) {
  if ((op.getFence() || op.getFenceRows()) && op.isJoinedToPrevious())
    return op.emitOpError("expected no fence, as the tile.wgmma before it has join");
  if (op.getFenceRows() && op.getRowBlocks() == 1)
    return op.emitOpError("expected several blocks of rows for fence_rows, got 1");
  return success();
}

static LogicalResult verifyJoin(WgmmaOp op) {
  constexpr int64_t kUnit = 16; // bytes, of addresses in descriptors
  if (!op.getJoin())
    return success();
  int64_t distance = *op.getJoin();
  if (distance <= 0 || distance >= WgmmaOp::kDescriptorBytes || distance % kUnit)
    return op.emitOpError() << "expected a positive multiple of " << kUnit << " below "
                            << WgmmaOp::kDescriptorBytes << " for join, got " << distance;
  auto next = dyn_cast_or_null<WgmmaOp>(op->getNextNode());
  if (!next || next.getJoin() || !op.canJoin(next))
    return op.emitOpError("expected a tile.wgmma with the same lhs and the same types after one "
                          "with join");
  return success();
}

LogicalResult WgmmaOp::verify() {
  RankedTensorType lhs = getLeft(), rhs = getRightBuffer().getTile(), acc = tileType(getAcc());
  BufferType left = getLeftBuffer();
  if (bool(left) != bool(getLhsStage()))
    return emitOpError()
           << "expected a stage for lhs in a buffer and none for lhs in registers, got "
           << getLhs().getType();
  if (getLhsTransposed() && !left)
    return emitOpError() << "expected lhs in a buffer for lhs_transposed, got " << lhs;
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || (acc.getRank() != 2 && acc.getRank() != 3))
    return emitOpError() << "expected matrices, got ranks " << lhs.getRank() << ", "
                         << rhs.getRank() << " and " << acc.getRank();
  ArrayRef<int64_t> matrix = getMatrix();
  if (failed(expectShape(*this, "rhs", {lhs.getDimSize(1), matrix[1]}, rhs.getShape())) ||
      failed(expectShape(*this, "acc", {lhs.getDimSize(0), rhs.getDimSize(1)}, matrix)) ||
      failed(expectElement(*this, "rhs", lhs.getElementType(), rhs.getElementType())))
    return failure();
  Type element = lhs.getElementType();
  if (!(element.isBF16() || element.isF16() || element.isTF32()) || !acc.getElementType().isF32())
    return emitOpError() << "expected operands of bf16, f16 or tf32 and an accumulator of f32, got "
                         << element << " and " << acc.getElementType();
  if (element.isTF32() && !left)
    return emitOpError() << "expected lhs of tf32 in a buffer, got " << lhs;
  constexpr int64_t kMost = 256;
  Spread spread = getSpread();
  if (int64_t columns = matrix[1] / spread.along(1); columns > kMost)
    return emitOpError() << "expected at most " << kMost << " columns, got " << columns;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  unsigned warps = kernel ? kernel.getNumWarps() : kDefaultNumWarps;
  unsigned bits = 8 * getRhs().getType().getElementBytes();
  std::optional<Layout> fragment = groupLeft(lhs.getShape(), bits, warps, getParts(), spread);
  if (!fragment || !areGroupSums(getAcc(), warps))
    return emitOpError() << "expected the layout of a wgmma accumulator of " << warps
                         << " warps, got " << acc;
  if (!left && layoutOf(getLhs()) != fragment)
    return emitOpError() << "expected the layout of a wgmma left operand of " << warps
                         << " warps, got " << lhs;
  if (left && !groupMatrix(left, /*over=*/1, getParts(), spread))
    return emitOpError() << "expected a layout that wgmma reads for lhs, got " << left;
  if (!groupMatrix(getRightBuffer(), /*over=*/0, getParts(), spread))
    return emitOpError() << "expected a layout that wgmma reads for rhs, got "
                         << getRhs().getType();
  for (Value buffer : {Value(getLhs()), Value(getRhs())}) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    if (alloc && alloc.getOffset() && *alloc.getOffset() % getAlignment(buffer))
      return emitOpError() << "expected a buffer at a multiple of " << getAlignment(buffer)
                           << " bytes, got offset " << int64_t(*alloc.getOffset());
  }
  if (failed(verifyJoin(*this)) || failed(verifyFence(*this)))
    return failure();
  llvm::SmallPtrSet<OpOperand *, 4> seen;
  return verifyUses(*this, getResult(), seen);
}

LogicalResult WgmmaOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                        DictionaryAttr, OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(operands.back().getType());
  return success();
}

Spread WgmmaOp::getSpread() { return getParts() > 1 ? Spread() : spreadOf(getAcc()); }

int64_t WgmmaOp::getAlignment(Value buffer) {
  bool isRight = buffer == getRhs();
  std::optional<SharedMatrix> matrix =
      groupMatrix(isRight ? getRightBuffer() : getLeftBuffer(),
                  /*over=*/isRight ? 0 : 1, getParts(), getSpread());
  return matrix ? matrix->stride : 1;
}

LogicalResult WgmmaFenceOp::verify() { return success(); }
LogicalResult WgmmaCommitOp::verify() { return success(); }

LogicalResult WgmmaWaitOp::verify() {
  if (failed(expectPending(*this, getPending())))
    return failure();
  if (!getAfter())
    return success();
  std::optional<Layout> layout = layoutOf(getAfter());
  if (!getAfter().getType().getElementType().isF32() || !layout ||
      layout->in().size(Dim::Register) > kMaxRegistersAfter)
    return emitOpError() << "expected a tile of f32 in at most " << kMaxRegistersAfter
                         << " registers of a thread for after, got " << getAfter().getType();
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getSums().getTypes());
  return success();
}
