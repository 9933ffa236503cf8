//===- PipelineLoops.cpp - Copies run ahead of a loop ---------------------===//
#include "BulkRows.h"
#include "FirstUse.h"
#include "Numerics/Zero.h"
#include "PipelinedLoads.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
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

namespace {
class Pipeline {
public:
  Pipeline(scf::ForOp loop, const Coordinates &coordinates, unsigned stages,
           SharedFeatures features)
      : loop(loop), coordinates(coordinates), stages(stages), features(features), builder(loop),
        loc(loop.getLoc()) {}

  /// The bytes of the streams that were found.
  uint64_t find();
  uint64_t exchanged() { return exchangedBeside(streams, loop, features); }
  void rewrite();

private:
  std::optional<Stream> streamOf(LoadOp load);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  /// The copies of a step, if there is such a step.
  void copyStep(Value step, Value stage);

  scf::ForOp loop;
  const Coordinates &coordinates;
  unsigned stages;
  SharedFeatures features;
  OpBuilder builder;
  Location loc;
  SmallVector<Stream> streams;
};
} // namespace

std::optional<Stream> Pipeline::streamOf(LoadOp load) {
  constexpr unsigned kChunk = 16;
  if (load->use_empty() || !isKnownAhead(loop, load) || !isZeroOrNone(load.getPad()) ||
      load.getView().getDefiningOp<AlignedRowOp>())
    return std::nullopt;
  Operation *wanted = wantedOf(load);
  if (wanted->getBlock() != load->getBlock())
    return std::nullopt;
  RankedTensorType type = load.getType();
  Layout from = *layoutOf(load), to = *layoutOf(wanted->getResult(0));
  unsigned bytes = type.getElementTypeBitWidth() / 8;
  if (coordinates.accessWidth(load.getView(), load.getDims(), from, load.getPad().has_value()) *
          bytes !=
      kChunk)
    return std::nullopt;
  std::optional<SharedExchange> exchange =
      planCopy(from, to, 8 * bytes, llvm::Log2_32(kChunk / bytes), features);
  if (!exchange)
    return std::nullopt;
  RankedTensorType held = withLayout(type, inAllBlocks(exchange->memory, from));
  return Stream{load, wanted, BufferType::get(load.getContext(), stages, held), Value()};
}

uint64_t Pipeline::find() {
  uint64_t bytes = 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (std::optional<Stream> stream = streamOf(load)) {
      streams.push_back(*stream);
      bytes += stages * stream->buffer.getBytes();
    }
  return bytes;
}

void Pipeline::copyStep(Value step, Value stage) {
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, step, loop.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, exists);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (Stream &stream : streams) {
      CpAsyncOp::create(builder, stream.load.getLoc(), stream.load.getView(),
                        coordsIn(stream.load, loop, step), stream.load.getDims(), stream.room,
                        stage, /*condition=*/Value(),
                        LayoutAttr::get(loop.getContext(), *layoutOf(stream.load)),
                        stream.load.getPad().has_value());
    }
  }
  CpAsyncCommitOp::create(builder, loc);
}

void Pipeline::rewrite() {
  if (streams.empty())
    return;
  for (Stream &stream : streams)
    stream.room = AllocOp::create(builder, loc, stream.buffer);
  Value step = loop.getLowerBound();
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    copyStep(step, index(stage));
    step = arith::AddIOp::create(builder, loc, step, loop.getStep());
  }
  // The loop carries the stage that it reads and the one that it fills.
  Value first = index(0), last = index(stages - 1);
  IRRewriter rewriter(builder);
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {first, last}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inside.saveInsertionPoint());
        return {stageAfter(builder, loc, carried[0], stages),
                stageAfter(builder, loc, carried[1], stages)};
      }));
  loop = replaced;
  Value stage = loop.getRegionIterArgs().end()[-2], free = loop.getRegionIterArgs().end()[-1];
  builder.setInsertionPointToStart(loop.getBody());
  CpAsyncWaitOp::create(builder, loc, stages - 2);
  Value ahead = loop.getInductionVar();
  for (unsigned i = 1; i < stages; ++i)
    ahead = arith::AddIOp::create(builder, loc, ahead, loop.getStep());
  copyStep(ahead, free);
  for (Stream &stream : streams) {
    Value result = stream.wanted->getResult(0);
    builder.setInsertionPoint(firstUse(result));
    Value read = SharedLoadOp::create(builder, stream.wanted->getLoc(), result.getType(),
                                      stream.room, stage);
    result.replaceAllUsesWith(read);
    if (stream.wanted != stream.load)
      stream.wanted->erase();
    stream.load.erase();
  }
  builder.setInsertionPointAfter(loop);
  CpAsyncWaitOp::create(builder, loc, 0);
}

/// What dsmem of reductions behind loops take, which are there all the time.
static uint64_t dsmemAfter(KernelOp kernel, SharedFeatures features) {
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
      unsigned numStages = getHint(kernel.getHintsAttr(), "num_stages").value_or(stages);
      uint64_t left = sharedBytesLeft(kernel, most ? most : features.memoryBytes, *gpu);
      left -= std::min(left, dsmemAfter(kernel, features));
      for (scf::ForOp loop : loops) {
        Pipeline pipeline(loop, coordinates, numStages, features);
        if (uint64_t bytes = pipeline.find(); bytes + pipeline.exchanged() <= left) {
          left -= bytes;
          pipeline.rewrite();
        }
      }
    }
  }
};
} // namespace
