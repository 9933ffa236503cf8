//===- main.cpp - The command line ----------------------------------------===//
//
// Declares the subcommands and their options, and calls the one that was named. CLI11 reads the
// options and writes the help texts.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "tessera-c/tessera.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <functional>
#include <map>

using namespace tessera::cli;

namespace {

const char *const programHelp = "FILE or FILE::FUNCTION; .py and .tsr hold programs, .mlir the IR "
                                "of any stage, - is standard input";

void addVia(CLI::App &command, Options &options) {
  command
      .add_option("--via", options.via,
                  "the road to NVIDIA's machine code: CUDA Tile IR or our own PTX")
      ->check(CLI::IsMember({"auto", "tileir", "ptx"}))
      ->capture_default_str();
}

void addProgramOptions(CLI::App &command, Options &options) {
  command.add_option("program", options.program, programHelp)->required();
  command
      .add_option(
          "--arg,-a", options.arguments,
          "an argument: q=fp16[2,16,1024,64], of any size x=fp32[S,64], a view x=fp32[64,8:-2] "
          "(size:step), n=3, scale=0.5, on=true")
      ->take_all()
      ->expected(1);
  command
      .add_option("--target", options.target,
                  "cpu, an architecture with features, or a GPU such as sm_90; default: as the "
                  "function's decorator says, else cpu");
  addVia(command, options);
  command.add_option("--option", options.options, "an option of the compiler, KEY=VALUE")
      ->take_all()
      ->expected(1);
  command.add_option("--diagnostics", options.diagnostics, "how messages are written")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

CLI::App *addCompile(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("compile", "compile one function; write code or IR");
  addProgramOptions(*command, options);
  command
      ->add_option("--emit", options.emit,
                   "write this stage as text, or the bundle; default: the bundle if -o names a "
                   "file, else the program is only checked")
      ->check(CLI::IsMember({"graph", "sched", "tile", "placed", "target", "llvm", "asm", "bundle", "ptx",
                             "tileir", "tileir-bytecode", "cubin", "sass", "launcher"}));
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  return command;
}

CLI::App *addRun(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("run", "compile one function and run it on random inputs");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "of the random inputs")->capture_default_str();
  command->add_flag("--check", options.check, "compare with the float64 reference and its bound");
  command->add_option("--reference", options.reference,
                      "check against this program instead: FILE or FILE::FUNCTION");
  command->add_flag("--time", options.time, "measure the time of a call");
  return command;
}

CLI::App *addExplain(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("explain", "the scheduler's decisions in words");
  addProgramOptions(*command, options);
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  return command;
}

CLI::App *addBuild(CLI::App &app, Options &options) {
  CLI::App *command =
      app.add_subcommand("build", "compile functions for several machines into one bundle");
  command
      ->add_option("programs", options.programs,
                   "FILE::FUNCTION, or FILE where --arg names FUNCTION.ARG")
      ->required();
  command
      ->add_option("--arg,-a", options.arguments,
                   "an argument as for compile, of all functions or of one: FUNCTION.q=fp16[S,64]; "
                   "given again, of the next specialisation")
      ->take_all()
      ->expected(1);
  command
      ->add_option(
          "--arch", options.architectures,
          "machines: GPUs (sm_80, sm_90, …), x86_64, aarch64; a GPU's code is for hosts of "
          "the architectures beside it")
      ->delimiter(',')
      ->required();
  addVia(*command, options);
  command->add_option("--option", options.options, "an option of the compiler, KEY=VALUE")
      ->take_all()
      ->expected(1);
  command->add_option("--diagnostics", options.diagnostics, "how messages are written")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "the file to write")->required();
  command->add_option("--header", options.header,
                      "write a C++ header with a typed function for each function of the bundle");
  return command;
}

CLI::App *addSimulate(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand(
      "simulate", "run a GPU's kernels on the CPU, warps and copies in orders that are against them; "
                  "report races, uses of copies before their wait, dead-locks, accesses out of bounds, "
                  "uninitialised reads, bank conflicts and uncoalesced accesses");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "of the random inputs, and the first order")
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "how many orders are tried")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--exhaustive", options.exhaustive,
                    "all orders that differ instead, one of each class");
  command->add_option("--most-runs", options.mostRuns, "of an exhaustive exploration of one launch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--mutants", options.mutants,
                    "spoil each operation of synchronisation, and see whether that is found");
  command->add_flag("--json", options.json, "as JSON, with all that is known");
  return command;
}

CLI::App *addDevices(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("devices", "what this machine has");
  command->add_flag("--json", options.json, "as JSON, with all that is known");
  return command;
}

CLI::App *addReduce(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand(
      "reduce", "shrink a program that fails or answers wrongly, as long as it fails in the same way");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "of the random inputs")->capture_default_str();
  command->add_option("--reference", options.reference,
                      "answers are right if this program gives them: FILE or FILE::FUNCTION");
  command->add_option("--while", options.keep,
                      "keep what this command succeeds for; it is given the file's name");
  command->add_option("--seconds", options.seconds, "a try that takes longer has no end")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  return command;
}

/// Python reads what follows, `--help` too: the peers are Python's libraries.
CLI::App *addBench(CLI::App &app) {
  CLI::App *command =
      app.add_subcommand("bench", "time Tessera beside the peers that are installed; needs Python");
  command->set_help_flag();
  return command->prefix_command();
}

/// What is wrong with the command line: CLI11's words in the style of our own messages.
std::string usageText(const CLI::App &app, const CLI::Error &error, int argc, char **argv) {
  std::string first = argc > 1 ? argv[1] : "";
  auto named = [&](const CLI::App *command) { return command->get_name() == first; };
  if (!first.empty() && first[0] != '-' && app.get_subcommands(named).empty())
    return "there is no command '" + first + "', expected compile, build, run, bench, explain, simulate, reduce or devices";
  std::string message = error.what();
  if (!message.empty())
    message[0] = std::tolower(static_cast<unsigned char>(message[0]));
  return message;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("The Tessera tensor compiler", "tessera");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.set_version_flag("--version", std::string("tessera ") + tessera_version());
  app.set_help_all_flag("--help-all", "print the help of all subcommands and exit");

  std::map<CLI::App *, std::function<int()>> commands;
  commands[addCompile(app, options)] = [&] { return compile(options); };
  commands[addRun(app, options)] = [&] { return run(options); };
  commands[addExplain(app, options)] = [&] { return explain(options); };
  commands[addBuild(app, options)] = [&] { return build(options); };
  commands[addSimulate(app, options)] = [&] { return simulate(options); };
  commands[addDevices(app, options)] = [&] { return devices(options); };
  commands[addReduce(app, options)] = [&] { return reduce(options); };
  CLI::App *benchCommand = addBench(app);
  commands[benchCommand] = [&] { return bench(benchCommand->remaining()); };

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) { // --help, --version
    return app.exit(success);
  } catch (const CLI::Error &error) {
    return usageError(usageText(app, error, argc, argv) + "\nrun 'tessera --help' for the usage");
  }
  for (auto &[command, function] : commands)
    if (command->parsed())
      return function();
  return Usage;
}
