//===- main.cpp - The command line ----------------------------------------===//
//
// Declares the subcommands and their options, and runs the one that is given. CLI11 parses the
// options and prints the help texts.
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

const char *const programHelp = "FILE or FILE::FUNCTION; .py and .tsr files hold programs, .mlir "
                                "files the IR of any stage; - is standard input";

void addVia(CLI::App &command, Options &options) {
  command
      .add_option("--via", options.via,
                  "the backend for NVIDIA GPUs: CUDA Tile IR or our own PTX; auto chooses for "
                  "each kernel")
      ->check(CLI::IsMember({"auto", "tileir", "ptx"}))
      ->capture_default_str();
}

/// Of the commands that compile only: annotations can stand for arguments.
const char *const annotationHelp =
    "; not needed where an annotation such as Tensor[\"S\", 64, fp16] says type and sizes";

void addProgramOptions(CLI::App &command, Options &options, const std::string &argumentHelp = "") {
  command.add_option("program", options.program, programHelp)->required();
  command
      .add_option(
          "--arg,-a", options.arguments,
          "an argument: q=fp16[2,16,1024,64], of any size x=fp32[S,64], a view x=fp32[64,8:-2] "
          "(size:step), n=3, scale=0.5, on=true" +
              argumentHelp)
      ->take_all()
      ->expected(1);
  command.add_option("--target", options.target,
                     "cpu, a CPU architecture with features, or a GPU such as sm_90; default: that "
                     "of the function's decorator, else cpu");
  addVia(command, options);
  command.add_option("--option", options.options, "a compiler option, KEY=VALUE")
      ->take_all()
      ->expected(1);
  command.add_option(
      "--schedule", options.schedule,
      "choices that replace the scheduler's: 'tile.m=128,num_stages=4' for the first "
      "kernel, 'kernel=1,num_warps=8' for another; several are separated by ';'");
  command.add_option("--grad", options.gradients,
                     "compute the gradients of the function's scalar result with respect to these "
                     "parameters, as names or numbers: w,b");
  command.add_option("--forward", options.forward,
                     "compute the results of the function, and what it saves for gradients with "
                     "respect to these parameters");
  command.add_option("--diagnostics", options.diagnostics, "the format of diagnostics")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

CLI::App *addCompile(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("compile", "compile one function and write code or IR");
  addProgramOptions(*command, options, annotationHelp);
  command
      ->add_option("--emit", options.emit,
                   "the stage to write as text, or bundle; default: bundle if -o is given, else "
                   "only check the program")
      ->check(CLI::IsMember({"graph", "sched", "tile", "placed", "target", "llvm", "asm", "bundle",
                             "ptx", "tileir", "tileir-bytecode", "cubin", "sass", "launcher"}));
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  command
      ->add_option("--remarks", options.remarks,
                   "print what passes report: missed (where one does not apply, and why) or all; "
                   "default: missed")
      ->check(CLI::IsMember({"missed", "all"}))
      ->expected(0, 1)
      ->default_str("missed");
  return command;
}

CLI::App *addRun(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("run", "compile one function and run it on random inputs");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "seed of the random inputs")->capture_default_str();
  command->add_flag("--check", options.check,
                    "compare with the float64 reference and its error bound; gradients also with "
                    "finite differences");
  command->add_option("--reference", options.reference,
                      "check against this program: FILE or FILE::FUNCTION");
  command->add_flag("--time", options.time, "measure the time of a call");
  return command;
}

CLI::App *addExplain(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("explain", "print the scheduler's decisions in words");
  addProgramOptions(*command, options, annotationHelp);
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  command->add_flag("--missed", options.missed,
                    "also print which passes do not apply where they could be expected, and why");
  command->add_flag("--candidates", options.candidates,
                    "also print the schedules that each kernel could have, with predicted times");
  return command;
}

CLI::App *addBuild(CLI::App &app, Options &options) {
  CLI::App *command =
      app.add_subcommand("build", "compile functions for several targets into one bundle");
  command
      ->add_option("programs", options.programs,
                   "FILE::FUNCTION, or FILE for the functions that --arg names as FUNCTION.ARG, "
                   "else for all of its functions")
      ->required();
  command
      ->add_option("--arg,-a", options.arguments,
                   "an argument as for compile, of all functions or of one: FUNCTION.q=fp16[S,64]; "
                   "given again, of the next specialisation" +
                       std::string(annotationHelp))
      ->take_all()
      ->expected(1);
  command
      ->add_option(
          "--arch", options.architectures,
          "targets: GPUs (sm_80, sm_90, …), x86_64, aarch64; GPU code is compiled for the host "
          "architectures in the list")
      ->delimiter(',')
      ->required();
  addVia(*command, options);
  command->add_option("--option", options.options, "a compiler option, KEY=VALUE")
      ->take_all()
      ->expected(1);
  command->add_option("--diagnostics", options.diagnostics, "the format of diagnostics")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "the file to write")->required();
  command->add_option("--header", options.header,
                      "write a C++ header with a typed function for each function of the bundle");
  return command;
}

CLI::App *addSimulate(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand(
      "simulate",
      "run GPU kernels on the CPU in adversarial orders; report data races, uses of copies before "
      "their wait, dead-locks, accesses out of bounds, uninitialised reads, bank conflicts and "
      "uncoalesced accesses");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "seed of the random inputs and of the first order")
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "number of orders to run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--exhaustive", options.exhaustive,
                    "run all orders that differ, one of each class");
  command->add_option("--most-runs", options.mostRuns, "most runs of a launch with --exhaustive")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--mutants", options.mutants,
                    "break each synchronization operation and check that this is found");
  command->add_flag("--json", options.json, "print the full report as JSON");
  return command;
}

CLI::App *addDevices(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("devices", "list the CPU and the GPUs of this machine");
  command->add_flag("--chips", options.chips,
                    "list the GPUs that code can be compiled for instead, as JSON");
  command->add_flag("--json", options.json, "print all known properties as JSON");
  return command;
}

CLI::App *addCache(CLI::App &app, Options &options, bool &stat) {
  CLI::App *command = app.add_subcommand(
      "cache", "how much compiled code is kept, and where; check it, empty it, carry it to another "
               "machine");
  command->require_subcommand(0, 1);
  auto *group = command->add_option_group("action", "one of these; without any, --stat");
  group->add_flag("--stat", stat, "entries, bytes, limit and folders");
  group->add_flag("--verify", options.verify,
                  "check all entries; say which would not be loaded, and why: exit status 1 if "
                  "there are any");
  group->add_flag("--clear", options.clear, "remove all entries; tables of measurements stay");
  group->require_option(0, 1);
  CLI::App *out = command->add_subcommand("export", "write all entries and tables as one file");
  out->add_option("file", options.exportTo, "the file to write")->required();
  CLI::App *in = command->add_subcommand(
      "import", "check all entries and tables of such a file, then take them; import only what you "
                "would run");
  in->add_option("file", options.importFrom, "a file that export wrote")->required();
  in->add_flag("--shared", options.shared,
               "into the folder that TESSERA_SHARED_CACHE names, for everyone to read, in place of "
               "this user's own");
  return command;
}

CLI::App *addReduce(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand(
      "reduce",
      "shrink a program while it fails in the same way: an error, a crash or a wrong result");
  addProgramOptions(*command, options);
  command->add_option("--seed", options.seed, "seed of the random inputs")->capture_default_str();
  command->add_option("--reference", options.reference,
                      "results are right if this program returns them: FILE or FILE::FUNCTION");
  command->add_option("--while", options.keep,
                      "keep a change if this command succeeds; its argument is the file");
  command->add_option("--seconds", options.seconds, "time limit of one try")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "the file to write, - for standard output");
  return command;
}

/// A command whose options Python parses, `--help` too.
CLI::App *addPython(CLI::App &app, const std::string &name, const std::string &help) {
  CLI::App *command = app.add_subcommand(name, help + "; needs Python");
  command->set_help_flag();
  return command->prefix_command();
}

/// The error in the command line: CLI11's message in the style of our own.
std::string usageText(const CLI::App &app, const CLI::Error &error, int argc, char **argv) {
  std::string first = argc > 1 ? argv[1] : "";
  auto named = [&](const CLI::App *command) { return command->get_name() == first; };
  if (!first.empty() && first[0] != '-' && app.get_subcommands(named).empty())
    return "there is no command '" + first +
           "', expected compile, build, run, bench, profile, tune, import, explain, simulate, "
           "reduce, devices, cache or traces";
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
  bool stat = false; // what `cache` does anyway
  commands[addCache(app, options, stat)] = [&] { return cache(options); };
  for (const auto &[name, help] :
       {std::pair("bench", "time Tessera and the installed peers"),
        std::pair("profile", "say where the time of a function's kernels goes, line by line"),
        std::pair("tune", "measure schedules of a function's kernels and keep the fastest"),
        std::pair("import", "print the program of an ONNX model or a StableHLO module"),
        std::pair("traces", "what was found out about calls, for the next process: list, show, "
                            "export, import, clear")}) {
    CLI::App *command = addPython(app, name, help);
    commands[command] = [=] { return runPython(command->get_name(), command->remaining()); };
  }

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
