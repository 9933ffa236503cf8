//===- PipelineLoops.cpp - Pipeline the loads of a loop by cp.async -------===//
//
// A load whose tile is known ahead becomes a cp.async into a stage of shared memory, several
// iterations before the iteration that reads it. Each iteration waits for its commit group, starts
// the copies of a later iteration, and reads its stage.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"
#include "FirstUse.h"
#include "Numerics/Zero.h"
#include "PipelinedLoads.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Reduction.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPIPELINELOOPS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-pipeline-loops";

namespace {
/// The pipelined loads of one loop.
class Pipeline {
public:
  Pipeline(scf::ForOp loop, const Coordinates &coordinates, unsigned stages,
           SharedFeatures features)
      : loop(loop), coordinates(coordinates), stages(stages), features(features), builder(loop),
        loc(loop.getLoc()) {}

  /// Finds the loads that cp.async can do; returns the bytes of their stages.
  uint64_t find();
  uint64_t exchanged() { return exchangedBytesBeside(found, loop, features); }
  void rewrite();
  bool isEmpty() const { return found.empty(); }

private:
  std::optional<PipelinedLoad> matchLoad(LoadOp load);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  /// Starts the copies of an iteration into a stage, if there is such an iteration.
  void copyIteration(Value iteration, Value stage);

  scf::ForOp loop;
  const Coordinates &coordinates;
  unsigned stages;
  SharedFeatures features;
  OpBuilder builder;
  Location loc;
  SmallVector<PipelinedLoad> found;
};
} // namespace

std::optional<PipelinedLoad> Pipeline::matchLoad(LoadOp load) {
  constexpr unsigned kChunk = 16; // bytes of a cp.async
  constexpr int64_t kWarpBytes = 32 * kChunk;
  RankedTensorType type = load.getType();
  unsigned bytes = type.getElementTypeBitWidth() / 8;
  auto decline = [&](StringRef name) {
    // Nobody expects copies of less than one per lane to be pipelined.
    return type.getNumElements() * bytes < kWarpBytes ? remark::detail::InFlightRemark()
                                                      : missed(load, kPass, name);
  };
  if (load->use_empty())
    return std::nullopt;
  if (!isKnownAhead(loop, load)) {
    remarkLoadedIndex(loop, load, kPass);
    return std::nullopt;
  }
  if (!isZeroOrNone(load.getPad())) {
    decline("PaddingNotZero") << remark::reason(
        "the tile is padded with {0}, and cp.async pads with 0", Attribute(*load.getPad()));
    return std::nullopt;
  }
  if (load.getView().getDefiningOp<AlignedRowOp>())
    return std::nullopt;
  Operation *converted = convertedOf(load);
  if (converted->getBlock() != load->getBlock())
    return std::nullopt;
  Layout from = *layoutOf(load), to = *layoutOf(converted->getResult(0));
  unsigned width =
      coordinates.accessWidth(load.getView(), load.getDims(), from, load.getPad().has_value()) *
      bytes;
  if (width != kChunk) {
    decline("AccessWidth") << remark::reason(
        "a thread can access {0} contiguous aligned bytes at once, and cp.async needs {1}", width,
        kChunk);
    return std::nullopt;
  }
  std::optional<SharedExchange> exchange =
      planCopy(from, to, 8 * bytes, llvm::Log2_32(kChunk / bytes), features);
  if (!exchange) {
    decline("SharedLayout") << remark::reason(
        "no layout in shared memory serves both the copy and the reads of the tile");
    return std::nullopt;
  }
  RankedTensorType held = withLayout(type, inAllBlocks(exchange->memory, from));
  return PipelinedLoad{load, converted, BufferType::get(load.getContext(), stages, held), Value()};
}

uint64_t Pipeline::find() {
  uint64_t bytes = 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (std::optional<PipelinedLoad> match = matchLoad(load)) {
      found.push_back(*match);
      bytes += stages * match->type.getBytes();
    }
  return bytes;
}

void Pipeline::copyIteration(Value iteration, Value stage) {
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, iteration,
                                       loop.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, exists);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (PipelinedLoad &each : found) {
      LoadOp load = each.load;
      SmallVector<Value> coords = llvm::map_to_vector(load.getCoords(), [&](Value coordinate) {
        return atIteration(builder, loop, coordinate, iteration);
      });
      CpAsyncOp::create(builder, load.getLoc(), load.getView(), coords, load.getDims(), each.buffer,
                        stage,
                        /*condition=*/Value(), LayoutAttr::get(loop.getContext(), *layoutOf(load)),
                        load.getPad().has_value());
    }
  }
  CpAsyncCommitOp::create(builder, loc);
}

void Pipeline::rewrite() {
  if (found.empty())
    return;
  for (PipelinedLoad &load : found)
    load.buffer = AllocOp::create(builder, loc, load.type);
  Value iteration = loop.getLowerBound();
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    copyIteration(iteration, index(stage));
    iteration = arith::AddIOp::create(builder, loc, iteration, loop.getStep());
  }
  // The loop carries the stage that it reads and the stage that it fills.
  Value first = index(0), last = index(stages - 1);
  IRRewriter rewriter(builder);
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {first, last}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inside.saveInsertionPoint());
        return {nextStage(builder, loc, carried[0], stages),
                nextStage(builder, loc, carried[1], stages)};
      }));
  loop = replaced;
  Value stage = loop.getRegionIterArgs().end()[-2], free = loop.getRegionIterArgs().end()[-1];
  builder.setInsertionPointToStart(loop.getBody());
  CpAsyncWaitOp::create(builder, loc, stages - 2);
  Value ahead = loop.getInductionVar();
  for (unsigned i = 1; i < stages; ++i)
    ahead = arith::AddIOp::create(builder, loc, ahead, loop.getStep());
  copyIteration(ahead, free);
  for (PipelinedLoad &load : found) {
    Value result = load.converted->getResult(0);
    builder.setInsertionPoint(firstUse(result));
    Value read = SharedLoadOp::create(builder, load.converted->getLoc(), result.getType(),
                                      load.buffer, stage);
    result.replaceAllUsesWith(read);
    if (load.converted != load.load)
      load.converted->erase();
    load.load.erase();
  }
  builder.setInsertionPointAfter(loop);
  CpAsyncWaitOp::create(builder, loc, 0);
}

/// The distributed shared memory of reductions after the loops, which is allocated for the whole
/// kernel.
static uint64_t dsmemOfReductions(KernelOp kernel, SharedFeatures features) {
  uint64_t bytes = 0;
  for (auto reduce : kernel.getBody().front().getOps<tile::ReduceOp>()) {
    SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
    if (!planReduction(*layoutOf(reduce.getInput()), dims).blocks.empty())
      bytes += exchangedBytes(reduce, features);
  }
  return bytes;
}

namespace {
struct TilePipelineLoops : tile::impl::TilePipelineLoopsBase<TilePipelineLoops> {
  using TilePipelineLoopsBase::TilePipelineLoopsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Coordinates coordinates(kernel);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      SharedFeatures features = sharedFeaturesOf(*gpu);
      unsigned numStages = kernel.getField(TuningField::NumStages).value_or(stages);
      uint64_t left =
          sharedBytesLeft(kernel, sharedBytes ? sharedBytes : features.memoryBytes, *gpu);
      left -= std::min(left, dsmemOfReductions(kernel, features));
      for (scf::ForOp loop : loops) {
        Pipeline pipeline(loop, coordinates, numStages, features);
        uint64_t bytes = pipeline.find(), needed = bytes + pipeline.exchanged();
        if (needed <= left) {
          left -= bytes;
          pipeline.rewrite();
        } else if (!pipeline.isEmpty()) {
          missed(loop, kPass, "SharedMemory")
              << remark::reason("{0} stages need {1} bytes of shared memory with the loop's layout "
                                "conversions, and {2} are left",
                                numStages, needed, left);
        }
      }
    }
  }
};
} // namespace
