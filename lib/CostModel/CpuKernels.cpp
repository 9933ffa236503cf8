//===- CpuKernels.cpp - Predicted times of any kernel on CPUs -------------===//
#include "tessera/CostModel/CpuKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

using Dim = KernelShape::Dim;
using Names = std::vector<std::string>;

namespace {

class Predictor {
public:
  Predictor(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape)
      : machine(machine), costs(*machine.cpuCosts), shape(shape) {
    for (const Dim &dim : shape.dims) {
      sizes.push_back(double(std::max<int64_t>(1, facts.hint(dim.size))));
      tiles.push_back(std::min(double(dim.tile), sizes.back()));
      counts.push_back(std::ceil(sizes.back() / tiles.back()));
    }
  }

  PredictedTime run() const {
    double tasks = 1, steps = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (shape.dims[d].role == Dim::Parallel)
        tasks *= counts[d];
      else if (shape.dims[d].role == Dim::Stream)
        steps *= counts[d];
    }
    double instructions = 0, runs = 0;
    for (const KernelShape::Work &work : shape.work) {
      double vectors = vectorsOf(work.dims, runs);
      instructions += vectors * double(work.instructions);
    }
    double products = 0;
    for (const KernelShape::Contraction &c : shape.contractions)
      products += productsOf(c, runs);
    // Cores run rounds of grid tasks; the last one may leave some idle.
    double cores = double(machine.cores);
    double share = std::ceil(tasks / cores) / tasks;
    double arithmetic = instructions * costs.instructionUs * share;
    double contracted = products * costs.productUs * share;
    double loops = runs * costs.runUs * share;
    double stepping = tasks * steps * costs.stepUs * share;
    double starting = tasks * costs.taskUs * share;
    auto [cached, memory] = traffic();
    cached *= share;
    double compute = arithmetic + contracted + loops + stepping;
    // The caches and memory work beside the arithmetic, but not without disturbing it.
    double slowest = std::max({compute, memory, cached});
    double rest = compute + memory + cached - slowest;
    return {slowest + costs.disturbance * rest + starting + costs.launchUs,
            {{"arithmetic", arithmetic},
             {"products", contracted},
             {"loops", loops},
             {"blocks", stepping},
             {"caches", cached},
             {"memory", memory},
             {"grid tasks", starting},
             {"launch", costs.launchUs}}};
  }

private:
  /// How often something with these dimensions is computed: once for each tile along the other
  /// dimensions of the grid.
  double repeats(const Names &dims) const {
    double times = 1;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (shape.dims[d].role == Dim::Parallel && !llvm::is_contained(dims, shape.dims[d].name))
        times *= counts[d];
    return times;
  }

  /// Vectors of a tile's elements along a dimension.
  double vectorsAlong(size_t d) const {
    double lanes = double(machine.vectorBytes) / double(shape.elementBytes);
    double whole = std::floor(sizes[d] / tiles[d]), rest = sizes[d] - whole * tiles[d];
    return whole * std::ceil(tiles[d] / lanes) + std::ceil(rest / lanes);
  }

  /// Vectors of something computed element by element; `runs` becomes at least the number of its
  /// inner loops.
  double vectorsOf(const Names &dims, double &runs) const {
    double outer = repeats(dims), vectors = 1, inner = 1;
    bool isFirst = true;
    for (size_t d = sizes.size(); d-- > 0;) {
      if (!llvm::is_contained(dims, shape.dims[d].name))
        continue;
      if (std::exchange(isFirst, false)) {
        vectors = vectorsAlong(d);
        inner = counts[d];
      } else {
        outer *= sizes[d];
      }
    }
    runs = std::max(runs, outer * inner);
    return outer * vectors;
  }

  static constexpr double productsInRun = 64; ///< multiply-adds of an inner loop, about

  /// Vectors of multiply-adds of a contraction, more where few rows share a vector.
  double productsOf(const KernelShape::Contraction &c, double &runs) const {
    Names dims = c.rows;
    dims.insert(dims.end(), c.columns.begin(), c.columns.end());
    dims.insert(dims.end(), c.over.begin(), c.over.end());
    double rows = 1;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (llvm::is_contained(c.rows, shape.dims[d].name))
        rows *= tiles[d];
    const Names &along = !c.columns.empty() ? c.columns : !c.over.empty() ? c.over : c.rows;
    double total = repeats(dims);
    for (size_t d = 0; d < sizes.size(); ++d)
      if (llvm::is_contained(dims, shape.dims[d].name))
        total *= shape.dims[d].name == along.back() ? vectorsAlong(d) : sizes[d];
    double shared = std::min(rows, double(costs.microRows));
    runs = std::max(runs, total / productsInRun);
    return total * (1 + costs.loadsOfProduct / shared);
  }

  /// Times of the L2 cache, per core, and of memory.
  std::pair<double, double> traffic() const {
    double unique = 0, moved = 0;
    for (const KernelShape::Operand &operand : shape.operands) {
      double bytes = double(operand.bytes);
      for (size_t d = 0; d < sizes.size(); ++d)
        if (llvm::is_contained(operand.dims, shape.dims[d].name))
          bytes *= sizes[d];
      unique += bytes;
      moved += bytes * repeats(operand.dims);
    }
    bool isCached = unique <= double(costs.l2Bytes);
    double dram = isCached ? 0 : unique / costs.dramBytesPerUs;
    return {moved / costs.l2BytesPerUs, dram};
  }

  const MachineModel &machine;
  const CpuCosts &costs;
  const KernelShape &shape;
  std::vector<double> sizes, tiles, counts;
};

/// All combinations of tiles of the dimensions.
class TileSpace {
public:
  TileSpace(const SizeFacts &facts, const KernelShape &shape) : shape(shape) {
    // Coarser steps where many dimensions have large sizes.
    size_t count = 1;
    for (int64_t factor : {2, 4, 8}) {
      options.clear();
      count = 1;
      for (const Dim &dim : shape.dims) {
        options.push_back(tilesOf(std::max<int64_t>(1, facts.max(dim.size)), factor));
        count *= options.back().size();
      }
      if (count <= most)
        break;
    }
    // Many dimensions: the outermost ones have tiles of one element.
    for (std::vector<int64_t> &tiles : options) {
      if (count <= most)
        break;
      count /= tiles.size();
      tiles.resize(1);
    }
  }

  std::vector<KernelShape> run() {
    std::vector<KernelShape> result;
    KernelShape current = shape;
    add(0, current, result);
    return result;
  }

private:
  static constexpr size_t most = 6000;           ///< combinations
  static constexpr int64_t longest = 4096;       ///< tile
  static constexpr int64_t mostElements = 65536; ///< of something that is computed in a tile

  static std::vector<int64_t> tilesOf(int64_t size, int64_t factor) {
    std::vector<int64_t> tiles;
    for (int64_t tile = 1; tile < size && tile <= longest; tile *= factor)
      tiles.push_back(tile);
    if (size <= longest)
      tiles.push_back(size);
    return tiles;
  }

  void add(size_t d, KernelShape &current, std::vector<KernelShape> &result) {
    if (d == current.dims.size()) {
      if (fits(current))
        result.push_back(current);
      return;
    }
    for (int64_t tile : options[d]) {
      current.dims[d].tile = tile;
      add(d + 1, current, result);
    }
  }

  static bool fits(const KernelShape &current) {
    return llvm::all_of(current.work, [&](const KernelShape::Work &work) {
      int64_t elements = 1;
      for (const Dim &dim : current.dims)
        if (llvm::is_contained(work.dims, dim.name))
          elements *= dim.tile;
      return elements <= mostElements;
    });
  }

  const KernelShape &shape;
  std::vector<std::vector<int64_t>> options;
};

} // namespace

PredictedTime tessera::predictCpuKernel(const MachineModel &machine, const SizeFacts &facts,
                                        const KernelShape &shape) {
  return Predictor(machine, facts, shape).run();
}

std::vector<KernelShape> tessera::cpuKernelTiles(const SizeFacts &facts, const KernelShape &shape) {
  return TileSpace(facts, shape).run();
}
