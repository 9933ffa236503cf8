//===- MixedBackend.cpp - Kernels of one program by both backends ---------===//
//
// Tile IR names the backend of each kernel (`tile.backend`). The module is split into one per
// backend, each with all memory of the program and its own kernels and launches, and each backend
// lowers its own. Then the host programs are merged again, with the launches in their order, and
// the module has an image for each backend.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "GpuTarget.h"
#include "MeasuredBackends.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/IR/BackendAttr.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

/// A function that is lowered in parts.
struct Whole {
  SmallVector<bool> launches;    ///< in their order: whether they are our own backend's
  SmallVector<unsigned> results; ///< numbers of pieces of memory
};

class MixedBackend final : public GpuBackend {
public:
  MixedBackend(std::unique_ptr<GpuBackend> threads, std::unique_ptr<GpuBackend> tiles)
      : threads(std::move(threads)), tiles(std::move(tiles)) {}

  std::string name() const override {
    std::string name = tiles->name();
    return name.insert(name.find(':') + 1, threads->via() + "+");
  }
  std::string via() const override { return kBothBackends.str(); }
  bool hasStage(Stage stage) const override { return stage == Stage::Sass; }
  std::string specification() const override { return chip() + ":" + kBothBackends.str(); }
  MachineModel machine() const override {
    MachineModel machine = threads->machine();
    machine.byTiles = std::make_shared<MachineModel>(tiles->machine());
    return machine;
  }

  LogicalResult lower(ModuleOp module) const override;
  LogicalResult assemble(Compilation &compilation, target::ImageOp image, Stage last,
                         Cubin &cubin) const override {
    return backendOf(image.getFormat())->assemble(compilation, image, last, cubin);
  }
  LogicalResult makeImages(target::ModuleOp module) const override {
    return threads->makeImages(module);
  }

protected:
  const GpuBackend *backendOf(StringRef format) const override {
    return format == threads->via() ? threads.get()
           : format == tiles->via() ? tiles.get()
                                    : nullptr;
  }

private:
  std::unique_ptr<GpuBackend> threads, tiles;
};

} // namespace

static bool usesPtx(tile::KernelOp kernel) {
  auto backend = kernel->getAttrOfType<StringAttr>(tile::kBackendAttr);
  return backend && backend == sched::kPtx;
}

/// Leaves the launches and kernels of one backend. All memory is returned, so that it stays, in its
/// order.
static SmallVector<Whole> keepBackend(ModuleOp module, bool threads) {
  SmallVector<Whole> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    Whole &whole = functions.emplace_back();
    for (auto launch : llvm::make_early_inc_range(function.getOps<tile::LaunchOp>())) {
      bool isOwn = usesPtx(module.lookupSymbol<tile::KernelOp>(launch.getKernel()));
      whole.launches.push_back(isOwn);
      if (isOwn != threads)
        launch.erase();
    }
    if (!threads)
      for (auto print : llvm::make_early_inc_range(function.getOps<gir::PrintOp>()))
        print.erase();
    SmallVector<Value> memory;
    for (auto empty : function.getOps<tile::EmptyOp>())
      memory.push_back(empty.getResult());
    Operation *end = function.front().getTerminator();
    for (Value result : end->getOperands())
      whole.results.push_back(llvm::find(memory, result) - memory.begin());
    end->setOperands(memory);
    function.setFunctionType(FunctionType::get(module.getContext(), function.getArgumentTypes(),
                                               ValueRange(memory).getTypes()));
    function.removeResAttrsAttr();
  }
  for (auto kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
    bool isOwn = usesPtx(kernel);
    kernel->removeAttr(tile::kBackendAttr);
    if (isOwn != threads)
      kernel.erase();
  }
  return functions;
}

/// Puts the launches of `other` among those of `program`, and leaves the function's own results.
static void join(target::ProgramOp program, target::ProgramOp other, const Whole &whole) {
  Block &body = program.getBody().front();
  auto take = [](target::ProgramOp from, auto kind) {
    return llvm::to_vector(from.getBody().getOps<decltype(kind)>());
  };
  IRMapping mapping;
  for (auto [mine, theirs] :
       llvm::zip_equal(take(program, target::ArgumentOp()), take(other, target::ArgumentOp())))
    mapping.map(theirs.getResult(), mine.getResult());
  SmallVector<target::ResultOp> memory = take(program, target::ResultOp());
  for (auto [mine, theirs] : llvm::zip_equal(memory, take(other, target::ResultOp())))
    mapping.map(theirs.getValue(), mine.getValue());

  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  SmallVector<target::GuardOp> guards = take(program, target::GuardOp());
  for (target::GuardOp guard : take(other, target::GuardOp()))
    if (llvm::none_of(guards, [&](target::GuardOp known) {
          return known->getAttrDictionary() == guard->getAttrDictionary();
        }))
      builder.clone(*guard);
  SmallVector<target::LaunchOp> mine = take(program, target::LaunchOp()),
                                theirs = take(other, target::LaunchOp());
  for (auto [own, next, place] = std::tuple(mine.begin(), theirs.begin(), whole.launches.begin());
       place != whole.launches.end(); ++place)
    if (*place)
      (*own++)->moveBefore(&body, body.end());
    else
      builder.clone(**next++, mapping);
  SmallVector<Value> results;
  for (unsigned number : whole.results)
    results.push_back(memory[number].getValue());
  for (target::PrintOp print : take(program, target::PrintOp()))
    print->moveBefore(&body, body.end());
  for (target::ResultOp result : memory)
    result.erase();
  for (Value result : results)
    target::ResultOp::create(builder, program.getLoc(), result);
}

LogicalResult MixedBackend::lower(ModuleOp module) const {
  OwningOpRef<ModuleOp> other = module.clone();
  SmallVector<Whole> functions = keepBackend(module, /*threads=*/true);
  keepBackend(*other, /*threads=*/false);
  if (failed(threads->place(module)) || failed(threads->convertToTarget(module)) ||
      failed(tiles->convertToTarget(*other)))
    return failure();
  auto first = *module.getOps<target::ModuleOp>().begin(),
       second = *other->getOps<target::ModuleOp>().begin();
  for (auto [program, part, whole] :
       llvm::zip_equal(llvm::to_vector(first.getBody().getOps<target::ProgramOp>()),
                       llvm::to_vector(second.getBody().getOps<target::ProgramOp>()), functions))
    join(program, part, whole);
  for (auto image : llvm::to_vector(second.getBody().getOps<target::ImageOp>())) {
    image->moveBefore(&first.getBody().front(), first.getBody().front().end());
    image.setSymName("tiles");
  }
  first.setFeatures(name().substr(name().find(':') + 1));
  return success();
}

std::unique_ptr<GpuBackend> createMixedBackend(std::unique_ptr<GpuBackend> threads,
                                               std::unique_ptr<GpuBackend> tiles) {
  return std::make_unique<MixedBackend>(std::move(threads), std::move(tiles));
}

} // namespace tessera
