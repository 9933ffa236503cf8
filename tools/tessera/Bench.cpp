//===- Bench.cpp - Commands of the Python package -------------------------===//
//
// The peers that Tessera is timed beside are libraries of Python, and so are the arrays that
// kernels are tuned and profiled with and the readers of models: the commands are parts of the
// Python package, tessera.bench, tessera.profile, tessera.tune, tessera.importing and
// tessera.traces. This finds a Python and the package that lies beside this program, and becomes
// that process.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::cli {

namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The folder that has the package `tessera`: above it in a wheel, beside `bin` in a build and in
/// the archive.
fs::path packageFolder(const fs::path &program) {
  fs::path above = program.parent_path().parent_path();
  std::error_code ignored;
  for (const fs::path &folder : {above.parent_path(), above / "python"})
    if (fs::exists(folder / "tessera" / "bench" / "__main__.py", ignored))
      return folder;
  return {};
}

/// Pythons in the order in which they are tried; names without a folder are looked for in PATH.
std::vector<std::string> pythons(const fs::path &program) {
  std::vector<std::string> found;
  if (std::string named = environment("TESSERA_PYTHON"); !named.empty())
    return {named};
  if (std::string active = environment("VIRTUAL_ENV"); !active.empty())
    found.push_back(active + "/bin/python");
  // The environment of the tree that was built.
  found.push_back(
      (program.parent_path().parent_path().parent_path() / ".venv/bin/python").string());
  found.insert(found.end(), {"python3", "python"});
  return found;
}

} // namespace

int runPython(const std::string &command, const std::vector<std::string> &words) {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path package = packageFolder(program);
  if (!package.empty()) {
    std::string others = environment("PYTHONPATH");
    std::string all = others.empty() ? package.string() : package.string() + ":" + others;
    setenv("PYTHONPATH", all.c_str(), 1);
  }
  std::string module = "tessera." + std::string(command == "import" ? "importing" : command);
  std::vector<char *> arguments = {nullptr, const_cast<char *>("-m"), module.data()};
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  for (const std::string &python : pythons(program)) {
    arguments[0] = const_cast<char *>(python.c_str());
    execvp(python.c_str(), arguments.data());
  }
  return usageError("'" + command +
                    std::string("' needs Python 3.11 or later with NumPy, and found none (") +
                    std::strerror(errno) + "); TESSERA_PYTHON names one");
}

} // namespace tessera::cli
