//===- Simulate.cpp - `tessera simulate` ----------------------------------===//
#include "Inputs.h"
#include "Program.h"

#include <cstdio>

namespace tessera::cli {

int simulate(const Options &options) {
  Program program;
  if (!program.read(options.program, options) || !program.hasAllSizes())
    return Usage;
  Inputs inputs;
  if (!inputs.make(program.arguments(), options.seed))
    return Usage;
  tessera_simulation how = {};
  how.struct_bytes = sizeof how;
  how.seeds = options.seeds;
  how.first_seed = options.seed;
  how.most_runs = options.mostRuns;
  how.exhaustive = options.exhaustive;
  how.mutants = options.mutants;
  Result result = program.simulate(inputs.values, how);
  showDiagnostics(result.get(), options);
  if (options.json)
    std::printf("%s\n", tessera_result_report(result.get()));
  else if (const char *text = tessera_result_ir(result.get(), "simulation"))
    std::fputs(text, stdout);
  return exitStatus(tessera_result_status(result.get()));
}

} // namespace tessera::cli
