//===- Compile.cpp - `tessera compile` and `tessera explain` --------------===//
#include "Program.h"

#include <cstdio>
#include <cstring>

namespace tessera::cli {

/// Writes the text of a stage; what was asked for but not reached is an error.
static int emitStage(const tessera_result *result, const std::string &stage,
                     const Options &options) {
  uint64_t length = 0;
  const void *text = tessera_result_stage(result, stage.c_str(), &length);
  if (!text)
    return usageError("there is no stage '" + stage + "' for target '" +
                      (options.target.empty() ? "cpu" : options.target) + "'");
  return writeOutput(options.output, text, length) ? Success : Usage;
}

int compile(const Options &options) {
  Program program;
  if (!program.read(options.program, options))
    return Usage;
  program.takeAnnotations();
  if (!options.remarks.empty())
    program.setOption("remarks", options.remarks);
  bool emits = !options.emit.empty() && options.emit != "bundle";
  if (emits)
    program.want(options.emit);
  Result result = program.compile(/*code=*/!emits);
  showDiagnostics(result.get(), options);
  tessera_status status = tessera_result_status(result.get());
  if (status != TESSERA_OK)
    return exitStatus(status);
  if (emits)
    return emitStage(result.get(), options.emit, options);
  if (options.output.empty() && options.emit.empty())
    return Success;
  uint64_t length = 0;
  const void *bundle = tessera_result_bundle(result.get(), &length);
  return writeOutput(options.output, bundle, length) ? Success : Usage;
}

/// Prints what a call of the function saves if its gradients are asked for later: the first
/// paragraph of the explanation of its forward part. Says nothing of functions that have none.
static void explainSaved(const Options &options) {
  Options ofForward = options;
  ofForward.forward = options.gradients;
  ofForward.gradients.clear();
  Program program;
  if (!program.read(options.program, ofForward))
    return;
  program.takeAnnotations();
  program.want("explain");
  Result result = program.compile(/*code=*/false);
  if (tessera_result_status(result.get()) != TESSERA_OK)
    return;
  uint64_t length = 0;
  const auto *text =
      static_cast<const char *>(tessera_result_stage(result.get(), "explain", &length));
  std::string_view explanation(text ? text : "", text ? length : 0);
  explanation = explanation.substr(0, explanation.find("\n\n"));
  std::printf("called before its gradients:\n%.*s\n\n", int(explanation.size()),
              explanation.data());
}

int explain(const Options &options) {
  Program program;
  if (!program.read(options.program, options))
    return Usage;
  program.takeAnnotations();
  program.want("explain");
  if (options.candidates)
    program.want("candidates");
  if (options.missed)
    program.setOption("remarks", "missed");
  Result result = program.compile(/*code=*/false);
  showDiagnostics(result.get(), options);
  tessera_status status = tessera_result_status(result.get());
  if (status != TESSERA_OK)
    return exitStatus(status);
  if (!options.gradients.empty())
    explainSaved(options);
  return emitStage(result.get(), "explain", options);
}

} // namespace tessera::cli
