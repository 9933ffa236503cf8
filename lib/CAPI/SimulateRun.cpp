//===- SimulateRun.cpp - Simulations of the C ABI -------------------------===//
#include "SimulateRun.h"
#include "Binding.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Simulator/Print.h"

namespace tessera::capi {

using namespace mlir;

namespace {

/// The expected results; nothing for IR below Graph IR, which has no reference.
std::vector<reference::Result> evaluateReference(const CompileRequest &request,
                                                 std::span<const tessera_rt_value> values) {
  std::vector<reference::Result> expected;
  CompileResult apart; // the simulation reports errors of the program, too
  withGraph(request, apart, [&](ModuleOp module) -> LogicalResult {
    Binding binding(request, apart.info, values);
    func::FuncOp function = binding.bind(module);
    if (!function)
      return failure();
    auto evaluated = reference::evaluate(function, binding.arguments, binding.symbols);
    if (succeeded(evaluated))
      expected = std::move(*evaluated);
    return success(succeeded(evaluated));
  });
  return expected;
}

std::string typeText(const simulator::Tensor &tensor) {
  std::string text = dtypeName(tensor.dtype);
  text += '[';
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.sizes[i]);
  return text + ']';
}

simulator::Checked check(const simulator::Tensor &tensor, const reference::Result &expected) {
  reference::HostTensor host;
  host.dtype = tensor.dtype;
  host.sizes = tensor.sizes;
  host.strides.assign(tensor.sizes.size(), 1);
  for (size_t dim = tensor.sizes.size(); dim-- > 1;)
    host.strides[dim - 1] = host.strides[dim] * host.sizes[dim];
  host.data = tensor.bytes.data();
  return {typeText(tensor), reference::compare(expected, host)};
}

/// Each finding at the later access, with a note at the earlier one.
void tell(const simulator::Report &report) {
  for (const simulator::Finding &finding : report.findings) {
    InFlightDiagnostic error = emitError(finding.op->getLoc(), finding.text);
    if (finding.count > 1)
      error << " (" << finding.count << " times)";
    if (finding.other)
      error.attachNote(finding.other->getLoc()) << finding.otherText;
  }
}

} // namespace

void runSimulation(const CompileRequest &request, std::span<const tessera_rt_value> values,
                   const tessera_simulation &given, CompileResult &result, std::string &text) {
  simulator::Options options;
  options.seeds = given.seeds ? given.seeds : options.seeds;
  options.firstSeed = given.first_seed;
  options.isExhaustive = given.exhaustive != 0;
  options.mostRuns = given.most_runs ? given.most_runs : options.mostRuns;
  std::vector<reference::Result> expected;
  if (!request.isIR)
    expected = evaluateReference(request, values);
  withPlaced(request, result, [&](ModuleOp module) {
    Binding binding(request, result.info, values);
    func::FuncOp function = binding.bind(module);
    if (!function)
      return Outcome::BadRequest;
    std::string target = result.report.getString("target").value_or("").str();
    if (!module->hasAttr(kTargetAttr)) // placed Tile IR that was handed in
      setTarget(module, llvm::StringRef(target).split(':').first);
    auto report = simulator::simulate(function, binding.arguments, binding.symbols, options);
    if (failed(report))
      return Outcome::Unsupported;
    std::vector<simulator::Checked> checked;
    bool isWrong = !report->findings.empty();
    for (size_t i = 0; i < std::min(expected.size(), report->results.size()); ++i) {
      checked.push_back(check(report->results[i], expected[i]));
      isWrong |= !checked.back().comparison.ok();
    }
    std::vector<simulator::Mutant> mutants;
    if (given.mutants) {
      auto tried = simulator::tryMutants(function, binding.arguments, binding.symbols, options);
      if (failed(tried))
        return Outcome::Unsupported;
      mutants = std::move(*tried);
      isWrong |= llvm::any_of(mutants, [](const auto &each) {
        return each.isReached && !each.isKilled && !each.isProven;
      });
    }
    tell(*report);
    for (const auto &[i, each] : llvm::enumerate(checked))
      if (!each.comparison.ok())
        emitError(function.getLoc())
            << "result " << i << " is wrong: " << each.comparison.wrong << " of "
            << each.comparison.checked << " elements, the first is number "
            << each.comparison.firstWrong;
    simulator::Summary summary{result.info.function, target, *report, checked, mutants,
                               given.mutants != 0};
    text = simulator::printText(summary);
    result.report["simulation"] = simulator::toJson(summary);
    return isWrong ? Outcome::Diagnostics : Outcome::Ok;
  });
}

} // namespace tessera::capi
