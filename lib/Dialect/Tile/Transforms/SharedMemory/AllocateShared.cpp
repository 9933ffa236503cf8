//===- AllocateShared.cpp - Place buffers in shared memory ----------------===//
//
// Operations are numbered in program order. A buffer is live from its first access to its last one,
// as seen from the block of its allocation: an access in a loop counts as the whole loop. Buffers
// whose live ranges overlap get different bytes. The largest buffer is placed first, each at the
// lowest offset that fits.
//
// Two layout conversions that reuse the same memory need a barrier between them, beside the barrier
// between the writes and the reads of each. A small buffer therefore stays live until the next
// conversion is over, whose own barrier then suffices. Mbarriers and distributed shared memory are
// live in the whole kernel: TMA and other CTAs access them at any time.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/TooLarge.h"

#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEALLOCATESHARED
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
constexpr int64_t kBanks = 128, kAccess = 16; // bytes of all banks, of the widest access
/// The largest buffer, in bytes, for which memory is cheaper than a barrier.
constexpr int64_t kSmall = 2048;

struct Buffer {
  Operation *op;
  int64_t bytes;
  unsigned first = UINT_MAX, last = 0;
  int64_t alignment = 0;
  int64_t offset = 0;

  bool overlaps(const Buffer &other) const { return first <= other.last && other.first <= last; }
  int64_t end() const { return offset + bytes; }
};

class Allocation {
public:
  explicit Allocation(KernelOp kernel) {
    number(kernel);
    kernel.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<AllocOp>(op))
        buffers.push_back(liveRangeOf(alloc));
      else if (auto mbarriers = dyn_cast<MbarrierAllocOp>(op))
        buffers.push_back({op, mbarriers.getType().getBytes(), 0, next});
    });
    extendSmall();
  }

  /// Sets the offsets; returns the bytes of the kernel.
  int64_t place();

private:
  unsigned number(Operation *op);
  Buffer liveRangeOf(AllocOp alloc);
  void extendSmall();

  SmallVector<Buffer> buffers; // in program order
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>>
      numbers; // of the operation, and of the last one in its regions
  unsigned next = 0;
};
} // namespace

unsigned Allocation::number(Operation *op) {
  unsigned first = next++;
  for (Region &region : op->getRegions())
    for (Operation &inside : region.getOps())
      number(&inside);
  numbers[op] = {first, next - 1};
  return first;
}

/// Whether no wgmma is in flight after an operation.
static bool completesWgmma(Operation *op) {
  auto wait = dyn_cast<WgmmaWaitOp>(op);
  return wait && wait.getPending() == 0;
}

Buffer Allocation::liveRangeOf(AllocOp alloc) {
  Buffer buffer{alloc, alloc.getAllBytes()};
  if (alloc.getDsmem())
    return {alloc, buffer.bytes, 0, next};
  for (Operation *user : alloc->getUsers()) {
    // TMA and wgmma compute swizzles from addresses.
    if (auto load = dyn_cast<TmaLoadOp>(user))
      buffer.alignment = std::max(buffer.alignment, load.getBox()->alignment());
    if (auto mma = dyn_cast<WgmmaOp>(user))
      buffer.alignment = std::max(buffer.alignment, mma.getAlignment(alloc));
    Operation *seen = alloc->getBlock()->findAncestorOpInBlock(*user);
    buffer.first = std::min(buffer.first, numbers[seen].first);
    // Other CTAs multicast into the buffer as soon as this one has started.
    if (auto load = dyn_cast<TmaLoadOp>(user); load && load.getMulticast())
      buffer.first = 0;
    // wgmma reads until the wait. A wait right after a loop completes the wgmma of the loop.
    if (seen == user && isa<WgmmaOp>(user))
      while (seen->getNextNode() && !completesWgmma(seen))
        seen = seen->getNextNode();
    buffer.last = std::max(buffer.last, numbers[seen].second);
  }
  if (buffer.first > buffer.last) // unused
    buffer.first = buffer.last = numbers[alloc].first;
  return buffer;
}

void Allocation::extendSmall() {
  SmallVector<std::pair<unsigned, unsigned>> ranges;
  for (const Buffer &buffer : buffers)
    ranges.push_back({buffer.first, buffer.last});
  for (Buffer &buffer : buffers) {
    if (buffer.bytes > kSmall)
      continue;
    unsigned after = UINT_MAX, until = buffer.last;
    for (auto [first, last] : ranges)
      if (first > buffer.last && first < after) {
        after = first;
        until = last;
      }
    buffer.last = until;
  }
}

int64_t Allocation::place() {
  SmallVector<Buffer *> order, placed;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  int64_t total = 0;
  for (Buffer *buffer : order) {
    int64_t alignment = std::max(buffer->alignment, buffer->bytes < kBanks ? kAccess : kBanks);
    llvm::sort(placed, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
    for (Buffer *other : placed)
      if (buffer->overlaps(*other) && other->offset < buffer->offset + buffer->bytes)
        buffer->offset = std::max<int64_t>(buffer->offset, llvm::alignTo(other->end(), alignment));
    placed.push_back(buffer);
    if (auto alloc = dyn_cast<AllocOp>(buffer->op))
      alloc.setOffset(buffer->offset);
    else
      cast<MbarrierAllocOp>(buffer->op).setOffset(buffer->offset);
    total = std::max(total, buffer->end());
  }
  return total;
}

namespace {
struct TileAllocateShared : tile::impl::TileAllocateSharedBase<TileAllocateShared> {
  using TileAllocateSharedBase::TileAllocateSharedBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    uint64_t most = sharedFeaturesOf(*gpu).memoryBytes;
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (uint64_t bytes = Allocation(kernel).place(); bytes > most) {
        InFlightDiagnostic error = kernel.emitError("kernel '");
        error << kernel.getSymName() << "' is not supported for target '" << gpu->chip
              << "' via 'ptx': it needs " << bytes << " bytes of shared memory, a CTA has " << most;
        tooLarge(std::move(error), kernel).report();
        return signalPassFailure();
      }
  }
};
} // namespace
