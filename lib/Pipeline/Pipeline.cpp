//===- Pipeline.cpp - The passes from stage to stage ----------------------===//
#include "tessera/Pipeline/Pipeline.h"

#include "Backend.h"
#include "Compilation.h"
#include "Dump.h"
#include "Explain.h"
#include "ExplainPartition.h"
#include "FitTiles.h"
#include "GpuTarget.h"
#include "ListCandidates.h"
#include "MeasuredBackends.h"
#include "Profile.h"
#include "Promotions.h"
#include "RemarkCollector.h"
#include "StagePasses.h"
#include "Tuning.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/Conversion/ScheduleToTile/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/PersistentLoop.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace tessera {

using namespace mlir;

namespace {

/// The last stage that a request needs. An explanation includes what passes for GPUs change of a
/// kernel's launch and tuning, which is complete in Target IR.
Stage lastStage(const CompileRequest &request, bool isGpu) {
  if (request.code)
    return Stage::Bundle;
  bool needsTarget =
      request.launcher || request.remarks != RemarkFilter::None || (request.explain && isGpu);
  Stage last = needsTarget ? Stage::Target : request.explain ? Stage::Sched : Stage::Graph;
  return request.texts.empty() ? last : std::max(last, *request.texts.rbegin());
}

/// What the report says about the program.
void reportProgram(CompileResult &result) {
  llvm::json::Object symbols;
  for (const SymbolInfo &symbol : result.info.symbols)
    symbols[symbol.name] = llvm::json::Object{
        {"divisor", symbol.divisor}, {"hint", symbol.hint}, {"size", symbol.size}};
  llvm::json::Array guards;
  for (const Guard &guard : result.info.guards)
    guards.push_back(guard.text());
  result.report["function"] = result.info.function;
  result.report["class"] = std::move(symbols);
  result.report["guards"] = std::move(guards);
  result.report["writes"] = llvm::json::Array(result.info.written);
}

SizesAtHand sizesAtHand(const FrontendInfo &info) {
  SizesAtHand sizes;
  for (const SymbolInfo &symbol : info.symbols)
    if (symbol.size)
      sizes[symbol.name] = *symbol.size;
  return sizes;
}

/// Whether a request needs machine code, which an assembler makes.
bool needsAssembler(const CompileRequest &request) {
  return request.code || request.texts.count(Stage::Cubin) || request.texts.count(Stage::Sass);
}

/// The backend for kernels that either backend can compile: the measured one, otherwise the
/// schedule chooses for each kernel. All go through PTX where the assembler of CUDA Tile IR is not
/// installed, or refused the program.
std::string backendOfEach(Compilation &compilation, const std::string &measured) {
  compilation.choosesBackend = true;
  std::string error = compilation.request.tileirasRefusal;
  bool isMissing =
      error.empty() && needsAssembler(compilation.request) && !cudatile::findTileiras(error);
  if (!isMissing && compilation.request.tileirasRefusal.empty())
    return measured.empty() ? kBothBackends.str() : measured;
  remark::analysis(compilation.getModule().getLoc(),
                   remark::RemarkOpts::name("NoTileiras").category("backend"))
      << remark::reason("all kernels are compiled through PTX: {0}", error);
  if (isMissing)
    compilation.result.report["missing"] = llvm::json::Array{"tileiras"};
  return "ptx";
}

/// The backend that a GPU's code takes: as the program and its options ask for, or as images say
/// that a module holds already, or its kernels. Where nothing else does, a wish for a stage of one
/// backend decides, and what was measured; without that, each kernel's own.
std::string backendOf(Compilation &compilation) {
  const CompileRequest &request = compilation.request;
  std::string via = compileOption(compilation.getModule(), "via").str();
  std::set<std::string> formats;
  compilation.getModule().walk(
      [&](target::ImageOp image) { formats.insert(image.getFormat().str()); });
  compilation.getModule().walk([&](target::KernelOp kernel) {
    if (kernel.getKernelConfig()) // of threads
      formats.insert("ptx");
  });
  if (!formats.empty())
    via = llvm::join(formats, "+");
  if (request.isIR) // from source these are among what the functions carry
    for (const auto &[name, value] : request.program.options)
      if (name == "via")
        via = value;
  std::optional<GpuTarget> gpu = GpuTarget::parse(request.target);
  if ((!via.empty() && via != "auto") || !gpu || !gpu->backend.empty() ||
      !gpu->gpu.has(GpuFeature::TileIR))
    return via;
  if (request.texts.count(Stage::Ptx) || request.texts.count(Stage::Placed) ||
      compilation.stage() == Stage::Placed)
    return "ptx";
  if (request.texts.count(Stage::TileIR) || request.texts.count(Stage::TileIRBytecode))
    return "tileir";
  if (compilation.stage() != Stage::Graph) {
    std::string via = viaOf(compilation.getModule());
    return via.empty() ? "tileir" : via;
  }
  std::string measured = measuredBackend(compilation.getModule(), gpu->gpu.chip);
  return measured == "ptx" ? measured : backendOfEach(compilation, measured);
}

/// The back end for the request's target. Null after an error.
std::unique_ptr<Backend> findBackend(Compilation &compilation, llvm::StringRef via) {
  const CompileRequest &request = compilation.request;
  std::string error;
  std::unique_ptr<Backend> backend =
      Backend::forTarget(request.target, request.codeOptions, via, error);
  if (!backend) {
    compilation.fail(Outcome::Unsupported, error);
    return nullptr;
  }
  compilation.result.report["target"] = backend->name();
  if (std::string via = backend->via(); !via.empty())
    compilation.result.report["backend"] = via;
  return backend;
}

/// The common backend of a program whose kernels may use both, if the request is for a single
/// cubin: that of its contractions.
std::string commonBackend(Compilation &compilation, const Backend &both) {
  OwningOpRef<ModuleOp> copy = compilation.getModule().clone();
  PassManager manager(copy->getContext());
  addStagePasses(manager, Stage::Graph, both);
  addStagePasses(manager, Stage::Sched, both);
  // Errors of the program are reported when it is compiled.
  ScopedDiagnosticHandler silence(copy->getContext(), [](mlir::Diagnostic &) { return success(); });
  return succeeded(manager.run(*copy)) && llvm::StringRef(viaOf(*copy)).ends_with("tileir")
             ? "tileir"
             : "ptx";
}

/// Whether the stages that are asked for exist; says which does not.
bool checkStages(Compilation &compilation, const Backend &backend) {
  const CompileRequest &request = compilation.request;
  for (Stage stage : request.texts)
    if ((stage > Stage::Target || stage == Stage::Placed) && !backend.hasStage(stage)) {
      std::string via = backend.via();
      compilation.fail(Outcome::Unsupported, "stage '" + std::string(stageName(stage)) +
                                                 "' does not exist for target '" + request.target +
                                                 "'" + (via.empty() ? "" : " via '" + via + "'"));
      return false;
    }
  if (request.launcher && !backend.machine().isGpu) {
    compilation.fail(Outcome::Unsupported, "stage 'launcher' does not exist for target '" +
                                               request.target + "', only for GPUs");
    return false;
  }
  return true;
}

/// Names the kernel whose code another one runs, too: equal kernels became one.
void reportSharing(llvm::json::Object &report, ModuleOp module) {
  SmallVector<StringRef> launched;
  module.walk([&](tile::LaunchOp launch) { launched.push_back(launch.getKernel()); });
  llvm::json::Array *kernels = report.getArray("kernels");
  if (!kernels || kernels->size() != launched.size()) // of IR that was handed in
    return;
  for (auto [value, code] : llvm::zip(*kernels, launched)) {
    llvm::json::Object &kernel = *value.getAsObject();
    if (kernel.getString("name") != code)
      kernel["same_as"] = code.str();
  }
}

/// What became of fields of launch and tuning by now. A kernel that runs the code of another one
/// has its changes.
ChangedFields changesByNow(const llvm::json::Object &report, ModuleOp module) {
  ChangedFields changed = changedFields(module);
  if (const llvm::json::Array *kernels = report.getArray("kernels"))
    for (const llvm::json::Value &value : *kernels) {
      const llvm::json::Object &kernel = *value.getAsObject();
      std::optional<StringRef> same = kernel.getString("same_as");
      if (auto found = same ? changed.find(*same) : changed.end(); found != changed.end())
        changed[kernel.getString("name")->str()] = found->second;
    }
  return changed;
}

void reportChanges(llvm::json::Object &report, const ChangedFields &changed) {
  if (llvm::json::Array *kernels = report.getArray("kernels"))
    for (llvm::json::Value &value : *kernels) {
      llvm::json::Object &kernel = *value.getAsObject();
      if (auto found = changed.find(*kernel.getString("name")); found != changed.end())
        kernel["changed"] = llvm::json::Array(found->second);
    }
}

/// The fields that a user gave, by kernel.
using OverriddenFields = std::map<std::string, std::vector<std::string>>;

OverriddenFields overriddenFields(ModuleOp module) {
  OverriddenFields fields;
  module.walk([&](sched::KernelOp kernel) {
    if (auto names = kernel->getAttrOfType<ArrayAttr>(sched::kOverridden))
      for (StringRef name : names.getAsValueRange<StringAttr>())
        fields[kernel.getSymName().str()].push_back(name.str());
  });
  return fields;
}

/// Reports fields that a user gave and that a pass could not keep: "num_stages 11 -> 4: shared
/// memory".
bool checkOverridden(Compilation &compilation, const OverriddenFields &given,
                     const ChangedFields &changed) {
  bool areKept = true;
  for (const auto &[kernel, names] : given) {
    auto found = changed.find(kernel);
    for (StringRef change : found == changed.end() ? std::vector<std::string>() : found->second) {
      bool isGiven = llvm::any_of(
          names, [&](const std::string &name) { return change.starts_with(name + " "); });
      if (!isGiven || change.ends_with(sched::kUsersSchedule) ||
          change.ends_with(tile::kLoopOverGrid))
        continue;
      compilation.fail(Outcome::Diagnostics,
                       "schedule of kernel '" + kernel + "' cannot be kept: " + change.str());
      areKept = false;
    }
  }
  return areKept;
}

/// Candidates of each kernel that an explanation shows.
constexpr size_t kShownCandidates = 8;

/// A schedule that is explained once later stages are done with it.
struct ExplainedSchedule {
  ScheduleReader reader;
  OwningOpRef<ModuleOp> module;
};

/// What the end of a compilation says about its schedule.
struct ScheduleNotes {
  std::string promotions, partition;
  std::optional<ExplainedSchedule> explained; ///< if an explanation is wanted
  std::vector<KernelCandidates> candidates;   ///< if they are wanted
  OverriddenFields overridden;
};

/// Compiles up to the last requested stage. False after an error. `tuned` is set if a choice of the
/// tuning table was used.
bool runStages(Compilation &compilation, bool &tuned, ScheduleNotes &notes) {
  const CompileRequest &request = compilation.request;
  CompileResult &result = compilation.result;
  // The program may name a backend, which is known once it is parsed.
  std::unique_ptr<Backend> backend = findBackend(compilation, "auto");
  if (!backend || !compilation.start())
    return false;
  if (compilation.stage() == Stage::Graph && backend->machine().isGpu)
    result.report["program"] = programSignature(compilation.getModule());
  // Passes on Graph IR move and merge casts; what the program says is in the graph as it comes.
  if (request.explain && compilation.stage() == Stage::Graph)
    notes.promotions = explainPromotions(compilation.getModule(), result.diagnostics.sources);
  if (request.profile && compilation.stage() == Stage::Graph) {
    result.report["promotions"] =
        reportPromotions(compilation.getModule(), result.diagnostics.sources);
    result.report["views"] = reportViews(compilation.getModule(), result.diagnostics.sources);
  }
  backend = findBackend(compilation, backendOf(compilation));
  if (backend && backend->via() == kBothBackends && compilation.stage() == Stage::Graph &&
      (request.texts.count(Stage::Cubin) || request.launcher))
    backend = findBackend(compilation, commonBackend(compilation, *backend));
  if (!backend || !checkStages(compilation, *backend))
    return false;
  if (request.candidates && compilation.stage() == Stage::Graph)
    notes.candidates = listCandidates(compilation.getModule(), *backend, sizesAtHand(result.info));
  Stage last = lastStage(request, backend->machine().isGpu);
  if (compilation.stage() == Stage::Graph && !request.isIR &&
      !compilation.advance(Stage::Graph, [&](OpPassManager &manager) {
        addStagePasses(manager, Stage::Graph, *backend);
        if (isJoint(compilation.getModule()))
          addPartitionPasses(manager, backend->machine());
      }))
    return false;
  if (std::optional<llvm::json::Object> partition = reportPartition(compilation.getModule())) {
    result.report["partition"] = std::move(*partition);
    notes.partition = explainPartition(compilation.getModule(), backend->roofline().bytesPerSecond);
  }
  while (true) {
    Stage at = compilation.stage();
    if (std::string via = viaOf(compilation.getModule());
        at == Stage::Sched && backend->via() == kBothBackends && via != kBothBackends) {
      forgetBackends(compilation.getModule());
      backend = findBackend(compilation, via.empty() ? "ptx" : via);
      if (!backend)
        return false;
    }
    if (at == Stage::Sched) {
      tuned = isTuned(compilation.getModule());
      std::string via = backend->via();
      ScheduleReader reader{backend->machine(), backend->roofline(),
                            via.empty() ? "" : backend->chip() + " via " + via,
                            sizesAtHand(result.info)};
      result.report["kernels"] = reader.report(compilation.getModule());
      if (request.profile)
        result.report["profile"] = profileKernels(compilation.getModule(), *backend, reader.sizes,
                                                  result.diagnostics.sources);
      if (request.explain)
        notes.explained = {std::move(reader), compilation.getModule().clone()};
      notes.overridden = overriddenFields(compilation.getModule());
    }
    if (at == Stage::Tile)
      reportSharing(result.report, compilation.getModule());
    compilation.keepText();
    if (at >= last)
      return true;
    if (at >= Stage::Tile)
      break;
    Stage next = Stage(int(at) + 1);
    if (!compilation.advance(
            next, [&](OpPassManager &manager) { addStagePasses(manager, next, *backend); }))
      return false;
  }
  return backend->finish(compilation, last);
}

/// The same, with the explanation.
bool runStages(Compilation &compilation, bool &tuned) {
  ScheduleNotes notes;
  if (!runStages(compilation, tuned, notes))
    return false;
  CompileResult &result = compilation.result;
  ChangedFields changed = changesByNow(result.report, compilation.getModule());
  reportChanges(result.report, changed);
  if (!checkOverridden(compilation, notes.overridden, changed))
    return false;
  if (notes.explained)
    result.explanation = notes.promotions + (notes.promotions.empty() ? "" : "\n") +
                         notes.partition + (notes.partition.empty() ? "" : "\n") +
                         notes.explained->reader.explain(*notes.explained->module, changed) +
                         explainCandidates(notes.candidates, kShownCandidates);
  if (compilation.request.candidates)
    result.report["candidates"] = reportCandidates(notes.candidates);
  return true;
}

/// Calls `body` with a compilation; faults of the compiler become diagnostics.
void withCompilation(const CompileRequest &request, CompileResult &result,
                     llvm::function_ref<void(Compilation &)> body) {
  // The compilation is kept apart: after a fault nothing of it can be trusted, not even to be
  // destroyed, while the result was only added to.
  Compilation *compilation = nullptr;
  bool survived = runProtected([&] {
    compilation = new Compilation(request, result);
    body(*compilation);
    delete compilation;
  });
  if (survived)
    return;
  result.outcome = Outcome::Internal;
  result.bundle.clear();
  result.diagnostics.error({}, "internal compiler error; the program is fine or was not diagnosed");
}

} // namespace

void compile(const CompileRequest &given, CompileResult &result) {
  CompileRequest request = withDecorator(given);
  request.program.sortsSequentially = !GpuTarget::parse(request.target);
  std::optional<Dump> dump = Dump::fromEnvironment(request);
  const CompileRequest &wanted = dump ? dump->request() : request;
  bool tuned = false, canUsePtx = false;
  std::string refusal;
  auto perform = [&](const CompileRequest &each) {
    std::string tooLarge;
    withCompilation(each, result, [&](Compilation &compilation) {
      runStages(compilation, tuned);
      reportProgram(result);
      tooLarge = compilation.tooLargeKernel();
      refusal = llvm::StringRef(compilation.tileirasRefusal).rtrim().str();
      canUsePtx = compilation.choosesBackend;
    });
    return tooLarge;
  };
  fitTiles(wanted, result, perform);
  relieveRegisters(wanted, result, perform);
  if (!refusal.empty() && canUsePtx && result.outcome != Outcome::Ok) {
    CompileRequest throughPtx = wanted;
    throughPtx.tileirasRefusal = refusal;
    result = CompileResult();
    fitTiles(throughPtx, result, perform);
  }
  if (tuned && result.outcome != Outcome::Ok) {
    // Choices that were measured with another assembler may not compile with this one.
    CompileRequest plain = wanted;
    plain.codeOptions.tuning = false;
    result = CompileResult();
    fitTiles(plain, result, perform);
    if (result.outcome == Outcome::Ok)
      tellUnusableTuning(llvm::StringRef(wanted.target).split(':').first.str());
  }
  if (!refusal.empty() && !canUsePtx && result.outcome != Outcome::Ok) {
    // Some kernels that the assembler's optimizations crash on are valid.
    CompileRequest unoptimized = wanted;
    unoptimized.tileirasRefusal = refusal;
    unoptimized.codeOptions.optimizationLevel = 0;
    unoptimized.codeOptions.tuning = false;
    CompileResult again;
    std::swap(result, again);
    fitTiles(unoptimized, result, perform);
    if (result.outcome != Outcome::Ok) {
      std::swap(result, again);
      CompileRequest smaller = wanted;
      smaller.codeOptions.tuning = false;
      avoidRefusal(smaller, result, perform);
    }
  }
  if (request.remarks != RemarkFilter::None && result.outcome == Outcome::Ok) {
    if (request.explain)
      result.explanation += "\n" + explainRemarks(result.remarks, result.diagnostics.sources);
    else
      addRemarks(result.remarks, result.diagnostics);
  }
  if (dump)
    dump->write(result);
}

void withGraph(const CompileRequest &request, CompileResult &result,
               llvm::function_ref<LogicalResult(ModuleOp)> consume) {
  withCompilation(request, result, [&](Compilation &compilation) {
    if (!compilation.start())
      return;
    if (compilation.stage() != Stage::Graph)
      return compilation.fail(Outcome::BadRequest,
                              "expected source text or IR of stage 'graph', got stage '" +
                                  std::string(stageName(compilation.stage())) + "'");
    if (!compilation.advance(Stage::Graph, [&](OpPassManager &manager) {
          manager.addPass(gir::createGraphDifferentiate());
          if (isJoint(compilation.getModule()))
            addPartitionPasses(manager, MachineModel());
        }))
      return;
    compilation.consume([&] { return consume(compilation.getModule()); });
  });
}

void withPlaced(const CompileRequest &request, CompileResult &result,
                llvm::function_ref<Outcome(ModuleOp)> consume) {
  CompileRequest wanted = withDecorator(request);
  if (wanted.target.empty() || wanted.target == "cpu")
    wanted.target = "sm_90";
  llvm::erase_if(wanted.program.options, [](const auto &option) { return option.first == "via"; });
  wanted.program.options.emplace_back("via", "ptx");
  wanted.texts = {Stage::Placed};
  wanted.code = false;
  fitTiles(wanted, result, [&](const CompileRequest &each) {
    std::string tooLarge;
    withCompilation(each, result, [&](Compilation &compilation) {
      bool tuned = false;
      if (!runStages(compilation, tuned)) {
        tooLarge = compilation.tooLargeKernel();
        return;
      }
      if (compilation.stage() != Stage::Placed)
        return compilation.fail(
            Outcome::BadRequest,
            "expected source text or IR of a stage up to 'placed', got stage '" +
                std::string(stageName(compilation.stage())) + "'");
      result.outcome = consume(compilation.getModule());
    });
    return tooLarge;
  });
}

} // namespace tessera
