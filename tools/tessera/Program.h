//===- Program.h - A program given on the command line --------------------===//
//
// Reads FILE[::FUNCTION] and its arguments, compiles it, and shows what the compiler has to say
// about it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TOOLS_TESSERA_PROGRAM_H
#define TESSERA_TOOLS_TESSERA_PROGRAM_H

#include "ArgumentSpec.h"
#include "Commands.h"
#include "tessera/Compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {

struct ResultRelease {
  void operator()(tessera_result *result) const { tessera_result_release(result); }
};
using Result = std::unique_ptr<tessera_result, ResultRelease>;

class Program {
public:
  /// Reads the file and the `--arg`s; false after a message when the usage is wrong.
  bool read(const std::string &program, const Options &options);

  /// Arguments without `--arg` are what the function's annotations say.
  void takeAnnotations() { program.fromAnnotations = true; }

  /// The functions of the file, without methods; none of a module, and of a file that is wrong,
  /// which compiling it reports.
  std::vector<std::string> functions();

  /// Whether arguments can be made up; false after a message when a size is no number.
  bool hasAllSizes() const;

  /// Sets an option of the compiler.
  void setOption(std::string key, std::string value) {
    program.options.emplace_back(std::move(key), std::move(value));
  }

  /// Asks for the text of a stage.
  void want(const std::string &stage) { stages.push_back(stage); }

  Result compile(bool code);
  Result simulate(const std::vector<tessera_rt_value> &values, const tessera_simulation &how);
  Result reference(const std::vector<tessera_rt_value> &values);

  const std::vector<ArgumentSpec> &arguments() const { return specs; }
  const std::string &fileName() const { return program.file; }

private:
  bool readFile();

  tessera::Program program;
  tessera::TargetLoweringOptions target;
  std::vector<ArgumentSpec> specs;
  std::vector<std::string> stages;
};

/// Writes the diagnostics to standard error, as text or JSON.
void showDiagnostics(const tessera_result *result, const Options &options);

/// The exit status for a compiler's status.
int exitStatus(tessera_status status);

/// Whether standard error (or output) is a terminal that wants colour.
bool wantsColour(int descriptor);

/// Writes to FILE, to standard output for "" and "-"; false after a message.
bool writeOutput(const std::string &file, const void *bytes, size_t length);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_PROGRAM_H
