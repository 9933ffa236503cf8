//===- BackendChoice.cpp - Which backend compiles a GPU kernel ---------------===//
#include "tessera/CostModel/BackendChoice.h"
#include "tessera/CostModel/WgmmaTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;

namespace {

class BackendChooser {
public:
  BackendChooser(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape)
      : machine(machine), facts(facts), shape(shape) {}

  bool usesPtx() const {
    if (!shape.multiplies)
      return true;
    // Backends add in different orders, and the choice depends on sizes.
    if (shape.batchInvariant)
      return false;
    // A matrix by a vector.
    if (shape.contractions.empty())
      return true;
    // tileiras pipelines the innermost of several K loops.
    if (llvm::any_of(shape.contractions,
                     [](const Product &product) { return product.over.size() > 1; }))
      return true;
    // tileiras multiplies f64 and wide integers without tensor cores.
    if (!shape.onTensorCores && machine.tilesInRegisters)
      return true;
    bool isStream =
        llvm::any_of(shape.contractions, [](const Product &product) { return product.inner; });
    return isStream ? isStreamed() : isSmall() || isGrouped();
  }

private:
  using Dim = KernelShape::Dim;
  using Product = KernelShape::Contraction;

  const Dim &dimOf(const std::string &name) const {
    return *llvm::find_if(shape.dims, [&](const Dim &dim) { return dim.name == name; });
  }

  bool usesWgmma() const { return shape.tuning.get(TuningField::Wgmma) == 1; }

  int64_t sizeOf(const std::vector<std::string> &side) const {
    int64_t size = 1;
    for (const std::string &name : side)
      size *= facts.hint(dimOf(name).size);
    return size;
  }

  /// The number of tiles of this size in the result of a contraction.
  int64_t tilesOf(const Product &product, int64_t height, int64_t width) const {
    int64_t tiles = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && !llvm::is_contained(product.rows, dim.name) &&
          !llvm::is_contained(product.columns, dim.name))
        tiles *= facts.hint(dim.size);
    for (auto [size, side] :
         {std::pair(sizeOf(product.rows), height), std::pair(sizeOf(product.columns), width)})
      tiles *= llvm::divideCeil(size, side);
    return tiles;
  }

  /// Whether the result of a contraction has too few tiles for the device, even narrow ones: a
  /// cluster splits its K dimension, for which the other backend needs a second kernel, and its
  /// loads are in flight long before they are needed.
  bool isSmall() const {
    constexpr int64_t height = 64, width = 32;
    return shape.contractions.size() == 1 && machine.cluster > 1 &&
           !grouped::fillsDevice(tilesOf(shape.contractions.front(), height, width), machine.cores);
  }

  /// Whether warpgroups compute contractions of tensors in memory, followed by elementwise
  /// operations only.
  bool isGrouped() const {
    constexpr int64_t fewestBytes = 256; // of an operand along K
    return usesWgmma() && shape.onlyMaps &&
           llvm::all_of(shape.contractions, [&](const Product &product) {
             return product.dense &&
                    sizeOf(product.over) * product.parts * int64_t(shape.storageBytes) >=
                        fewestBytes;
           });
  }

  /// Whether contractions are a stream by warpgroups: two with few instructions between them, or
  /// more. With a small head dimension, the other backend runs more CTAs at once, which hides their
  /// start and end.
  bool isStreamed() const {
    using namespace grouped;
    constexpr int64_t height = 128, brief = 512, fewInstructions = 6;
    // The other backend visits all blocks between the first and the last live one.
    if (shape.listsBlocks)
      return true;
    // The tiles of more contractions are chosen by the registers of these warpgroups.
    if (shape.contractions.size() > 2)
      return usesWgmma();
    if (shape.contractions.size() != 2 || !usesWgmma() || shape.passes != 1 ||
        shape.streamInstructions > fewInstructions)
      return false;
    bool isFirst = shape.contractions.front().inner;
    const Product &first = shape.contractions[isFirst ? 0 : 1],
                  &second = shape.contractions[isFirst ? 1 : 0];
    if (!first.inner || second.inner || !first.dense || !second.dense)
      return false;
    auto deepest = [&](const std::vector<std::string> &side) {
      return facts.max(dimOf(side.back()).size);
    };
    int64_t depth = sizeOf(first.over);
    return depth > kShallow && depth <= kDeep && deepest(second.columns) <= kDeep &&
           sizeOf(second.over) > brief &&
           fillsDevice(tilesOf(second, height, kDeep), machine.cores);
  }

  const MachineModel &machine;
  const SizeFacts &facts;
  const KernelShape &shape;
};

} // namespace

bool tessera::usesPtx(const MachineModel &machine, const SizeFacts &facts,
                      const KernelShape &shape) {
  return BackendChooser(machine, facts, shape).usesPtx();
}
