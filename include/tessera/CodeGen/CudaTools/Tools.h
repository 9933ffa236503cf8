//===- Tools.h - Finding and running CUDA tools ----------------*- C++ -*-===//
//
// tileiras uses the ptxas and libnvvm beside it, unless CUDA_HOME or CUDA_PATH name another CUDA.
// An older CUDA there fails without a message, so tools run without these variables.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_TOOLS_H
#define TESSERA_CODEGEN_CUDATOOLS_TOOLS_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cuda {

/// A temporary folder that is removed in the end; `path` is empty if it could not be created.
class ScratchFolder {
public:
  explicit ScratchFolder(const std::string &name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::filesystem::path path;
};

std::string readText(const std::filesystem::path &path);

/// Runs a program and returns its exit status: -1 if it did not run, -N if signal N ended it. Its
/// output goes to the file `output`.
int runTool(const std::vector<std::string> &command, const std::filesystem::path &output);

/// The release that a tool prints: "Cuda compilation tools, release 13.4, V13.4.92".
struct Release {
  unsigned major = 0, minor = 0;
  std::string text; // "13.4.92"

  /// To compare: 13.4 is 1304.
  unsigned number() const { return major * 100 + minor; }
};

/// Runs the program to get its release; nothing if it is no CUDA tool. The result is cached until
/// the file changes, because this takes as long as Tessera's part of a compilation.
std::optional<Release> releaseOf(const std::filesystem::path &path);

bool isProgram(const std::filesystem::path &path);

/// The paths where a program of this name may be: the .venv of the tree that this library was built
/// in, $VIRTUAL_ENV, $PATH, and where CUDA is installed.
std::vector<std::filesystem::path> searchPlaces(const std::string &name);

} // namespace tessera::cuda

#endif
