//===- ListCandidates.cpp - The schedules that kernels could have ---------===//
#include "ListCandidates.h"

#include "StagePasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

KernelCandidates candidatesOf(sched::KernelOp kernel, const Backend &backend,
                              const SizesAtHand &sizes) {
  MachineModel machine = backend.machine();
  auto via = kernel->getAttrOfType<StringAttr>(sched::kBackend);
  if (machine.byTiles && via && via == sched::kCudaTile)
    machine = MachineModel(*machine.byTiles);
  // Code is chosen for a class of sizes, and so are its candidates.
  SizeFacts facts(kernel->getParentOfType<func::FuncOp>());
  Roofline roofline = backend.roofline();
  KernelCost cost = estimateCost(kernel, machine, roofline, sizes);
  KernelWork work;
  work.bytes = cost.bytes;
  work.memoryUs = cost.bytes / roofline.bytesPerSecond * 1e6;
  work.arithmeticUs = cost.arithmeticMicroseconds;
  work.launchUs = roofline.launchSeconds * 1e6;
  return {kernel.getSymName().str(), sched::signatureOf(kernel),
          enumerateCandidates(machine, facts, describeKernel(kernel, facts), work)};
}

/// The part of a predicted time that is most above that of the best candidate.
std::string whySlower(const PredictedTime &time, const PredictedTime &best) {
  const TimeTerm *most = nullptr;
  double excess = 0;
  for (const TimeTerm &term : time.terms) {
    double other = 0;
    for (const TimeTerm &same : best.terms)
      if (same.name == term.name)
        other = same.microseconds;
    if (term.microseconds - other > excess) {
      excess = term.microseconds - other;
      most = &term;
    }
  }
  return most ? llvm::formatv("{0} +{1:f1} us", most->name, excess).str() : "";
}

} // namespace

std::vector<KernelCandidates> listCandidates(ModuleOp graph, const Backend &backend,
                                             const SizesAtHand &sizes) {
  OwningOpRef<ModuleOp> copy = graph.clone();
  PassManager manager(copy->getContext());
  addCandidatePasses(manager, backend);
  // Errors of the program are reported when it is compiled.
  ScopedDiagnosticHandler silence(copy->getContext(), [](mlir::Diagnostic &) { return success(); });
  std::vector<KernelCandidates> kernels;
  if (succeeded(manager.run(*copy)))
    copy->walk(
        [&](sched::KernelOp kernel) { kernels.push_back(candidatesOf(kernel, backend, sizes)); });
  return kernels;
}

std::string explainCandidates(const std::vector<KernelCandidates> &kernels, size_t most) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[number, kernel] : llvm::enumerate(kernels)) {
    const std::vector<Candidate> &all = kernel.candidates;
    os << llvm::formatv("\ncandidates of kernel {0} {1}: {2}{3}\n", number, kernel.name, all.size(),
                        all.size() > most ? llvm::formatv(", the best {0}", most).str() : "");
    auto print = [&](const Candidate &candidate) {
      std::string terms;
      for (const TimeTerm &term : candidate.time.terms)
        terms += (terms.empty() ? "" : ", ") +
                 llvm::formatv("{0} {1:f1}", term.name, term.microseconds).str();
      std::string why = candidate.isChosen ? "chosen" : whySlower(candidate.time, all.front().time);
      os << llvm::formatv(
          "  {0,9:f1} us  {1}\n               {2}{3}{4}\n", candidate.time.microseconds,
          scheduleText(candidate.shape, candidate.shape), terms, why.empty() ? "" : "; ", why);
    };
    size_t shown = std::min(most, all.size());
    for (size_t i = 0; i < shown; ++i)
      print(all[i]);
    for (size_t i = shown; i < all.size(); ++i)
      if (all[i].isChosen) {
        os << llvm::formatv("  … {0} others\n", i - shown);
        print(all[i]);
      }
  }
  return text;
}

llvm::json::Array reportCandidates(const std::vector<KernelCandidates> &kernels) {
  llvm::json::Array list;
  for (const KernelCandidates &kernel : kernels) {
    auto chosen = llvm::find_if(kernel.candidates,
                                [](const Candidate &candidate) { return candidate.isChosen; });
    llvm::json::Array candidates;
    for (const Candidate &candidate : kernel.candidates) {
      llvm::json::Object terms;
      for (const TimeTerm &term : candidate.time.terms)
        terms[term.name] = term.microseconds;
      const KernelShape &base = chosen == kernel.candidates.end() ? candidate.shape : chosen->shape;
      candidates.push_back(llvm::json::Object{{"schedule", scheduleText(candidate.shape, base)},
                                              {"predicted_us", candidate.time.microseconds},
                                              {"terms", std::move(terms)},
                                              {"chosen", candidate.isChosen}});
    }
    list.push_back(llvm::json::Object{{"name", kernel.name},
                                      {"signature", kernel.signature},
                                      {"candidates", std::move(candidates)}});
  }
  return list;
}

} // namespace tessera
