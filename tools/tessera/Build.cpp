//===- Build.cpp - `tessera build` ----------------------------------------===//
//
// Each function is compiled for each machine by itself, and the bundles are put together. One
// architecture of CPUs stands for several baselines; the runtime takes the best that fits.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <algorithm>

namespace tessera::cli {

namespace {

bool isCpu(const std::string &architecture) {
  return architecture == "x86_64" || architecture == "aarch64";
}

/// The compiler's targets, the best for a machine first.
std::vector<std::string> targetsOf(const std::vector<std::string> &architectures) {
  std::vector<std::string> targets;
  for (const std::string &architecture : architectures) {
    if (architecture == "x86_64") {
      targets.insert(targets.end(), {"x86-64-v4", "x86-64-v3", "x86-64-v2"});
    } else if (architecture.starts_with("sm_") &&
               std::any_of(architectures.begin(), architectures.end(), isCpu)) {
      for (const std::string &host : architectures)
        if (isCpu(host))
          targets.push_back(architecture + ":tileir," + host);
    } else {
      targets.push_back(architecture);
    }
  }
  return targets;
}

/// The function that an argument belongs to, "" for all.
std::string functionOf(const std::string &argument) {
  size_t dot = argument.find('.'), equals = argument.find('=');
  return dot < equals ? argument.substr(0, dot) : "";
}

/// The arguments of one function, without its name.
std::vector<std::string> argumentsOf(const std::vector<std::string> &all,
                                     const std::string &function) {
  std::vector<std::string> mine;
  for (const std::string &argument : all) {
    std::string owner = functionOf(argument);
    if (owner.empty())
      mine.push_back(argument);
    else if (owner == function)
      mine.push_back(argument.substr(owner.size() + 1));
  }
  return mine;
}

/// FILE::FUNCTION of everything that is built; a file without a function stands for those that the
/// arguments name.
std::vector<std::string> programsOf(const Options &options) {
  std::vector<std::string> programs;
  for (const std::string &program : options.programs) {
    if (program.find("::") != std::string::npos) {
      programs.push_back(program);
      continue;
    }
    size_t before = programs.size();
    for (const std::string &argument : options.arguments) {
      std::string function = functionOf(argument), whole = program + "::" + function;
      if (!function.empty() && std::find(programs.begin(), programs.end(), whole) == programs.end())
        programs.push_back(whole);
    }
    if (programs.size() == before)
      programs.push_back(program);
  }
  return programs;
}

} // namespace

int build(const Options &options) {
  std::vector<Result> results;
  std::vector<const void *> bundles;
  std::vector<uint64_t> lengths;
  for (const std::string &name : programsOf(options))
    for (const std::string &target : targetsOf(options.architectures)) {
      size_t separator = name.rfind("::");
      Options one = options;
      one.target = target;
      one.arguments = argumentsOf(
          options.arguments, separator == std::string::npos ? "" : name.substr(separator + 2));
      Program program;
      if (!program.read(name, one))
        return Usage;
      Result result = program.compile(/*code=*/true);
      showDiagnostics(result.get(), options);
      if (tessera_status status = tessera_result_status(result.get()); status != TESSERA_OK)
        return exitStatus(status);
      bundles.push_back(tessera_result_bundle(result.get(), &lengths.emplace_back()));
      results.push_back(std::move(result));
    }
  tessera_result *made = nullptr;
  tessera_merge(bundles.data(), lengths.data(), bundles.size(), &made);
  Result merged(made);
  showDiagnostics(merged.get(), options);
  if (tessera_status status = tessera_result_status(merged.get()); status != TESSERA_OK)
    return exitStatus(status);
  uint64_t length = 0;
  const void *bundle = tessera_result_bundle(merged.get(), &length);
  return writeOutput(options.output, bundle, length) ? Success : Usage;
}

} // namespace tessera::cli
