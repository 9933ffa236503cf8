//===- Build.cpp - `tessera build` ----------------------------------------===//
//
// Each function is compiled for each machine by itself, and the bundles are put together. One
// architecture of CPUs stands for several baselines; the runtime takes the best that fits. An
// argument that is given several times makes several specialisations: the first takes the first
// value of each argument, the second the second or the last there is, and so on. Compilations run
// side by side, since most of their time is the assembler's; messages come in the order of the
// functions.
//
// An argument that is not given is what its annotation says; so a file whose functions are
// annotated with types and sizes needs no arguments at all.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>

namespace tessera::cli {

namespace {

bool isCpu(const std::string &architecture) {
  return architecture == "x86_64" || architecture == "aarch64";
}

/// The compiler's targets, the best for a machine first. Code that came by CUDA Tile IR holds a
/// little code for the host, PTX none.
std::vector<std::string> targetsOf(const std::vector<std::string> &architectures,
                                   const std::string &via) {
  std::vector<std::string> targets;
  for (const std::string &architecture : architectures) {
    if (architecture == "x86_64") {
      targets.insert(targets.end(), {"x86-64-v4", "x86-64-v3", "x86-64-v2"});
    } else if (architecture.starts_with("sm_") && via != "ptx" &&
               std::any_of(architectures.begin(), architectures.end(), isCpu)) {
      for (const std::string &host : architectures)
        if (isCpu(host))
          targets.push_back(architecture + ":" + host);
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

/// Of one function: for each argument its values, "x=fp32[64]", in the order of specialisations.
std::vector<std::vector<std::string>> argumentsOf(const std::vector<std::string> &all,
                                                  const std::string &function) {
  std::vector<std::vector<std::string>> mine;
  for (const std::string &argument : all) {
    std::string owner = functionOf(argument);
    if (!owner.empty() && owner != function)
      continue;
    std::string text = owner.empty() ? argument : argument.substr(owner.size() + 1);
    std::string name = text.substr(0, text.find('=') + 1);
    auto known =
        std::find_if(mine.begin(), mine.end(), [&](const std::vector<std::string> &values) {
          return values.front().starts_with(name);
        });
    if (known == mine.end())
      mine.push_back({text});
    else
      known->push_back(text);
  }
  return mine;
}

/// Adds FILE::FUNCTION of all functions of a file; false after a message.
bool addFunctions(const std::string &file, std::vector<std::string> &programs) {
  Program program;
  if (!program.read(file, Options()))
    return false;
  std::vector<std::string> functions = program.functions();
  for (const std::string &function : functions)
    programs.push_back(file + "::" + function);
  // The compiler says what is wrong with a file without functions.
  if (functions.empty())
    programs.push_back(file);
  return true;
}

/// FILE::FUNCTION of everything that is built; a file without a function stands for those that the
/// arguments name, and where they name none for all of its functions. Nothing after a message.
std::optional<std::vector<std::string>> programsOf(const Options &options) {
  std::vector<std::string> programs;
  for (const std::string &program : options.programs) {
    // Standard input can be read only once.
    if (program.find("::") != std::string::npos || program == "-") {
      programs.push_back(program);
      continue;
    }
    size_t before = programs.size();
    for (const std::string &argument : options.arguments) {
      std::string function = functionOf(argument), whole = program + "::" + function;
      if (!function.empty() && std::find(programs.begin(), programs.end(), whole) == programs.end())
        programs.push_back(whole);
    }
    if (programs.size() == before && !addFunctions(program, programs))
      return std::nullopt;
  }
  return programs;
}

/// Says after an error how one function of a file is built, where all of them were meant.
void noteFunctions(const std::vector<std::string> &programs, const Options &options) {
  if (programs.size() > options.programs.size() && options.diagnostics == "text")
    std::fprintf(stderr, "tessera: note: FILE stands for all of its functions; FILE::FUNCTION "
                         "builds one\n");
}

/// The bundles of all functions, specialisations and machines, in this order.
class Builder {
public:
  explicit Builder(const Options &options) : options(options) {}

  /// Reads what is to be compiled.
  int add(const std::string &name) {
    size_t separator = name.rfind("::");
    std::vector<std::vector<std::string>> arguments = argumentsOf(
        options.arguments, separator == std::string::npos ? "" : name.substr(separator + 2));
    size_t specialisations = 1;
    for (const std::vector<std::string> &values : arguments)
      specialisations = std::max(specialisations, values.size());
    for (size_t i = 0; i < specialisations; ++i) {
      Options one = options;
      one.arguments.clear();
      for (const std::vector<std::string> &values : arguments)
        one.arguments.push_back(values[std::min(i, values.size() - 1)]);
      for (const std::string &target : targetsOf(options.architectures, options.via)) {
        one.target = target;
        programs.push_back(std::make_unique<Program>());
        if (!programs.back()->read(name, one))
          return Usage;
        programs.back()->takeAnnotations();
      }
    }
    return Success;
  }

  /// Compiles everything; the status of the first failure.
  int compile() {
    results.resize(programs.size());
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t i = next++; i < programs.size(); i = next++)
        results[i] = programs[i]->compile(/*code=*/true);
    };
    std::vector<std::thread> threads;
    size_t count = std::min<size_t>(std::thread::hardware_concurrency(), programs.size());
    for (size_t i = 1; i < count; ++i)
      threads.emplace_back(work);
    work();
    for (std::thread &thread : threads)
      thread.join();
    for (const Result &result : results) {
      showDiagnostics(result.get(), options);
      if (int status = exitStatus(tessera_result_status(result.get())))
        return status;
    }
    return Success;
  }

  Result merge() const {
    std::vector<const void *> bundles;
    std::vector<uint64_t> lengths;
    for (const Result &result : results)
      bundles.push_back(tessera_result_bundle(result.get(), &lengths.emplace_back()));
    tessera_result *made = nullptr;
    tessera_merge(bundles.data(), lengths.data(), bundles.size(), &made);
    return Result(made);
  }

private:
  const Options &options;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<Result> results;
};

/// The namespace of a bundle's header: the file's name without folder and ending.
std::string stemOf(const std::string &file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  return name.substr(0, name.find('.'));
}

/// Writes the C++ header of a bundle.
int writeHeader(const void *bundle, uint64_t length, const Options &options) {
  tessera_result *made = nullptr;
  tessera_header(bundle, length, stemOf(options.output).c_str(), &made);
  Result header(made);
  showDiagnostics(header.get(), options);
  if (tessera_status status = tessera_result_status(header.get()); status != TESSERA_OK)
    return exitStatus(status);
  uint64_t bytes = 0;
  const void *text = tessera_result_stage(header.get(), "header", &bytes);
  return writeOutput(options.header, text, bytes) ? Success : Usage;
}

} // namespace

int build(const Options &options) {
  std::optional<std::vector<std::string>> programs = programsOf(options);
  if (!programs)
    return Usage;
  Builder builder(options);
  for (const std::string &name : *programs)
    if (int status = builder.add(name))
      return status;
  if (int status = builder.compile()) {
    noteFunctions(*programs, options);
    return status;
  }
  Result merged = builder.merge();
  showDiagnostics(merged.get(), options);
  if (tessera_status status = tessera_result_status(merged.get()); status != TESSERA_OK)
    return exitStatus(status);
  uint64_t length = 0;
  const void *bundle = tessera_result_bundle(merged.get(), &length);
  if (!writeOutput(options.output, bundle, length))
    return Usage;
  return options.header.empty() ? Success : writeHeader(bundle, length, options);
}

} // namespace tessera::cli
