//===- AllocateShared.cpp - Where buffers lie in shared memory ------------===//
//
// Operations are numbered as they stand. A buffer's time goes from its first access to its last
// one, as the block sees them that the buffer is made in: an access inside a loop counts as the
// whole loop. Buffers whose times meet lie apart; the largest is placed first, each as low as it
// can be.
//
// Two exchanges one after the other in the same memory need a barrier between them, besides the
// barrier that each has between its writes and its reads. A small buffer's time is taken to last
// until the next exchange is over: then that one's own barrier is enough. Mbarriers and dsmem last
// as long as the program: others may open the ones and write to the others at any time.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

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
/// Buffers for which memory is cheaper than a barrier, in bytes.
constexpr int64_t kSmall = 2048;

struct Buffer {
  Operation *op;
  int64_t bytes;
  unsigned first = UINT_MAX, last = 0;
  int64_t alignment = 0;
  int64_t offset = 0;

  bool meets(const Buffer &other) const { return first <= other.last && other.first <= last; }
  int64_t end() const { return offset + bytes; }
};

class Allocation {
public:
  explicit Allocation(KernelOp kernel) {
    number(kernel);
    kernel.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<AllocOp>(op))
        buffers.push_back(timeOf(alloc));
      else if (auto mbarriers = dyn_cast<MbarrierAllocOp>(op))
        buffers.push_back({op, mbarriers.getType().getBytes(), 0, next});
    });
    extendSmall();
  }

  /// The bytes of all.
  int64_t place();

private:
  unsigned number(Operation *op);
  Buffer timeOf(AllocOp alloc);
  void extendSmall();

  SmallVector<Buffer> buffers; // in order of the program
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>>
      numbers; // of the operation, and of the last one inside
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

/// Whether no product is in flight behind an operation.
static bool isFinished(Operation *op) {
  auto wait = dyn_cast<WgmmaWaitOp>(op);
  return wait && wait.getPending() == 0;
}

Buffer Allocation::timeOf(AllocOp alloc) {
  Buffer buffer{alloc, alloc.getAllBytes()};
  if (alloc.getDsmem())
    return {alloc, buffer.bytes, 0, next};
  for (Operation *user : alloc->getUsers()) {
    // Swizzles are of addresses.
    if (auto load = dyn_cast<TmaLoadOp>(user))
      buffer.alignment = std::max(buffer.alignment, load.getBox()->alignment());
    if (auto mma = dyn_cast<WgmmaOp>(user))
      buffer.alignment = std::max(buffer.alignment, mma.getAlignment(alloc));
    Operation *seen = alloc->getBlock()->findAncestorOpInBlock(*user);
    buffer.first = std::min(buffer.first, numbers[seen].first);
    // Other blocks bring something as soon as they know that this one runs.
    if (auto load = dyn_cast<TmaLoadOp>(user); load && load.getMulticast())
      buffer.first = 0;
    // Read until it is waited for. Of a loop's products, those that are in flight behind it are
    // waited for at once.
    if (seen == user && isa<WgmmaOp>(user))
      while (seen->getNextNode() && !isFinished(seen))
        seen = seen->getNextNode();
    buffer.last = std::max(buffer.last, numbers[seen].second);
  }
  if (buffer.first > buffer.last) // nobody uses it
    buffer.first = buffer.last = numbers[alloc].first;
  return buffer;
}

void Allocation::extendSmall() {
  SmallVector<std::pair<unsigned, unsigned>> times;
  for (const Buffer &buffer : buffers)
    times.push_back({buffer.first, buffer.last});
  for (Buffer &buffer : buffers) {
    if (buffer.bytes > kSmall)
      continue;
    unsigned after = UINT_MAX, until = buffer.last;
    for (auto [first, last] : times)
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
      if (buffer->meets(*other) && other->offset < buffer->offset + buffer->bytes)
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
        kernel.emitError("kernel '")
            << kernel.getSymName() << "' is not supported for target '" << gpu->chip
            << "' via 'ptx': it needs " << bytes << " bytes of shared memory, a block has " << most;
        return signalPassFailure();
      }
  }
};
} // namespace
