//===- Commands.h - What the command line asks for ------------------------===//
//
// One struct holds the options of all subcommands; each subcommand is one function that returns the
// exit status: 0, 1 for diagnostics in the program, 2 for wrong usage.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TOOLS_TESSERA_COMMANDS_H
#define TESSERA_TOOLS_TESSERA_COMMANDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

enum ExitStatus { Success = 0, Failure = 1, Usage = 2 };

struct Options {
  std::string program; // FILE[::FUNCTION]
  std::vector<std::string> arguments;
  std::vector<std::string> options; // KEY=VALUE
  std::string target;               ///< empty: as the decorator says, else "cpu"
  std::string via = "auto";
  std::string schedule;  ///< what replaces the scheduler's choices
  std::string gradients; ///< parameters, "w,b"
  std::string forward;   ///< parameters of gradients that are asked for later
  std::string emit;
  std::string diagnostics = "text";
  std::string output;

  // compile
  std::string remarks; ///< "missed", "all", or empty

  // explain
  bool missed = false;
  bool candidates = false;

  // build
  std::vector<std::string> programs; // FILE[::FUNCTION]
  std::vector<std::string> architectures;
  std::string header; // FILE

  // devices, simulate
  bool json = false;

  // devices
  bool chips = false;

  // run
  uint64_t seed = 0;
  bool check = false;
  std::string reference; // FILE[::FUNCTION]
  bool time = false;

  // simulate
  uint64_t seeds = 4;
  uint64_t mostRuns = 10000;
  bool exhaustive = false;
  bool mutants = false;

  // cache
  bool clear = false;
  bool verify = false;
  std::string exportTo, importFrom; // FILE
  bool shared = false;

  // reduce
  std::string keep;     // a command that a smaller program must pass
  int64_t seconds = 60; // for one try
};

int compile(const Options &options);
int explain(const Options &options);
int run(const Options &options);
int build(const Options &options);
int simulate(const Options &options);
int devices(const Options &options);
int reduce(const Options &options);
int cache(const Options &options);
/// Hands the words of a command, such as `bench`, to the Python package; returns only if there is
/// no Python to hand them to.
int runPython(const std::string &command, const std::vector<std::string> &words);

/// Writes "tessera: error: MESSAGE" and returns `Usage`.
int usageError(const std::string &message);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_COMMANDS_H
