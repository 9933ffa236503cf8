//===- StreamedProducts.cpp - Contractions inside a stream -----------------===//
//
// The time of a contraction is that of its MMAs and of the instructions that bring operands to
// them. A warp loads each row and column of its part of a tile, and splits or rounds wide elements:
// small tiles have few MMAs for each operand.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/StreamedProducts.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"
#include "tessera/Target/CudaLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

namespace {

using Dim = KernelShape::Dim;
using Product = KernelShape::Contraction;

class StreamedProducts {
public:
  StreamedProducts(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape)
      : machine(machine), facts(facts), shape(shape) {
    bool isWide = shape.storageBytes > 2;
    const Roofline &roofline = machine.roofline;
    flopPerSecond = !isWide               ? roofline.mma16
                    : shape.roundsFactors ? 3 * roofline.mma32
                                          : roofline.mma32;
    // An ldmatrix loads 256 elements of 16 bits. A wide element is loaded by itself, and rounded
    // (two instructions) or split into two (seven).
    instructionsPerElement = !isWide ? 0.25 : shape.roundsFactors ? 3 : 8;
  }

  bool paysToStore() const {
    double together = 0, alone = 0;
    bool hasInner = false, isChain = false;
    for (const Product &product : shape.contractions) {
      together += secondsInKernel(product);
      alone += secondsAlone(product) + (product.inner ? secondsInMemory(product) : 0);
      hasInner |= product.inner;
      isChain |= product.inner && tilesOfStream(product) > 1 && shape.contractions.size() > 1;
    }
    if (!hasInner)
      return false;
    // Tiles that a mask empties are skipped in a stream alone. What a contraction of the stream
    // reads passes through memory more than once, with statistics of its own.
    double leastGain = isChain ? 2 : 1;
    return isSpilled() || (!shape.masked && together > leastGain * alone);
  }

private:
  /// Whether a thread needs more registers for operands and accumulators than it has.
  bool isSpilled() const { return shape.mmaRegisters > CudaLimits::registersPerThread; }

  const Dim *find(const std::string &name) const {
    return &*llvm::find_if(shape.dims, [&](const Dim &dim) { return dim.name == name; });
  }

  double sizeOf(const std::vector<std::string> &names) const {
    double size = 1;
    for (const std::string &name : names)
      size *= double(std::max<int64_t>(1, facts.hint(find(name)->size)));
    return size;
  }

  double tileOf(const std::vector<std::string> &names) const {
    double tile = 1;
    for (const std::string &name : names)
      tile *= double(find(name)->tile);
    return tile;
  }

  /// Of the whole device, for a tile of rows and columns with a whole K dimension. Rows stay in
  /// registers for `columnTiles` tiles if all of K is one tile.
  double secondsOfTile(double rows, double columns, double depth, double warps,
                       double columnTiles) const {
    constexpr double side = 16, flopPerInstruction = 2;
    rows = std::max(rows, side);
    double below = std::clamp(rows / side, 1.0, warps), across = warps / below;
    double loaded = rows / below / columnTiles + columns / across;
    double instructions = warps * loaded * depth * instructionsPerElement;
    return 2 * rows * columns * depth / flopPerSecond +
           instructions * flopPerInstruction / machine.roofline.vectorFlops;
  }

  /// How often a CTA multiplies a tile of rows and columns: once for each tile of the stream, if
  /// the stream is along one of them.
  double tilesOfStream(const Product &product) const {
    double tiles = 1;
    for (const auto *side : {&product.rows, &product.columns})
      for (const std::string &name : *side)
        if (const Dim *dim = find(name); dim->role == Dim::Stream)
          tiles *= std::ceil(sizeOf({name}) / double(dim->tile));
    return tiles;
  }

  double secondsInKernel(const Product &product) const {
    constexpr double shallowest = 8; // the K dimension of an MMA
    double ctas = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel)
        ctas *= double(llvm::divideCeil(std::max<int64_t>(1, facts.hint(dim.size)), dim.tile));
    double depth = sizeOf(product.over), block = tileOf(product.over);
    double tiles = tilesOfStream(product);
    double warps = double(shape.launch.get(LaunchField::NumWarps).value_or(kDefaultNumWarps));
    double seconds =
        ctas * tiles *
        secondsOfTile(tileOf(product.rows), tileOf(product.columns),
                      depth * std::max(1.0, shallowest / block), warps, block >= depth ? tiles : 1);
    // Parts of a stream that may be split fill the device.
    double busy = shape.canSplit ? 1 : std::min(1.0, ctas / double(machine.cores));
    return seconds / busy;
  }

  double batches() const {
    double batches = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && isBatch(dim))
        batches *= double(std::max<int64_t>(1, facts.hint(dim.size)));
    return batches;
  }

  double secondsAlone(const Product &product) const {
    constexpr double side = 128, warps = 8;
    double rows = sizeOf(product.rows), columns = sizeOf(product.columns);
    double tiles = rows / std::min(rows, side) * columns / std::min(columns, side);
    return batches() * tiles *
           secondsOfTile(std::min(rows, side), std::min(columns, side), sizeOf(product.over), warps,
                         1);
  }

  /// Of a result that is stored and read again.
  double secondsInMemory(const Product &product) const {
    double elements = batches() * sizeOf(product.rows) * sizeOf(product.columns);
    return 2 * elements * shape.storageBytes / machine.roofline.bytesPerSecond +
           machine.roofline.launchSeconds;
  }

  /// Whether both operands of a contraction have a dimension. Those of other contractions alone are
  /// in its tiles as a whole.
  bool isBatch(const Dim &dim) const {
    return llvm::none_of(shape.contractions, [&](const Product &each) {
      return llvm::is_contained(each.rows, dim.name) || llvm::is_contained(each.columns, dim.name);
    });
  }

  const MachineModel &machine;
  const SizeFacts &facts;
  const KernelShape &shape;
  double flopPerSecond, instructionsPerElement;
};

} // namespace

bool tessera::paysToStoreProducts(const MachineModel &machine, const SizeFacts &facts,
                                  const KernelShape &shape) {
  return machine.isGpu && shape.onTensorCores &&
         StreamedProducts(machine, facts, shape).paysToStore();
}

bool tessera::repeatsProducts(const SizeFacts &facts, const KernelShape &shape) {
  auto dimOf = [&](llvm::StringRef name) {
    return llvm::find_if(shape.dims, [&](const Dim &dim) { return dim.name == name; });
  };
  auto uses = [](const Product &product, const std::string &name) {
    return llvm::any_of(llvm::ArrayRef{product.rows, product.columns, product.over},
                        [&](const auto &names) { return llvm::is_contained(names, name); });
  };
  for (const Product &outer : shape.contractions)
    for (const std::string &name : outer.columns) {
      auto dim = dimOf(name);
      bool isDivided = !outer.inner && dim != shape.dims.end() && dim->role == Dim::Parallel &&
                       facts.hint(dim->size) > dim->tile;
      if (isDivided && llvm::any_of(shape.contractions, [&](const Product &each) {
            return each.inner && !uses(each, name);
          }))
        return true;
    }
  return false;
}

/// The multiplications and additions of a contraction.
static double flopOf(gir::ContractOp product, const SizeFacts &facts) {
  double flop = 2;
  for (SymExpr size : llvm::cast<gir::GraphOpInterface>(product.getOperation()).getIterationSizes())
    flop *= double(std::max<int64_t>(1, facts.hint(size)));
  return flop;
}

bool tessera::paysToRecompute(const MachineModel &machine, const SizeFacts &facts,
                              gir::ContractOp product, unsigned kernels) {
  // Inside a stream, all of the K dimension is one tile.
  constexpr double deepest = 256;
  double depth = 1;
  for (int64_t dim : product.getLhsContract())
    depth *= double(std::max<int64_t>(1, facts.hint(product.getLhs().getType().getDim(dim))));
  // Sums of narrow elements are stored as they were accumulated. What the caches of a CPU hold is
  // read from there.
  constexpr double sumBytes = 4;
  double elements = double(facts.hint(product.getResult().getType().getNumElements()));
  auto function = product->getParentOfType<mlir::func::FuncOp>();
  bool isCached = !machine.isGpu && elements * sumBytes <= double(machine.l2Bytes * machine.cores);
  if (isCached || depth > deepest || elements <= gir::largestElements(function, facts))
    return false;
  double all = 0;
  function.walk([&](gir::ContractOp each) { all += flopOf(each, facts); });
  return (kernels - 1) * flopOf(product, facts) <= all;
}
