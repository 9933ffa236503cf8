//===- Tools.h - Finding and running programs of CUDA ----------*- C++ -*-===//
//
// tileiras finds its own ptxas and libnvvm beside it, unless CUDA_HOME or CUDA_PATH point at another
// CUDA, which may be too old and then fails without saying why: programs are started without them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_TOOLS_H
#define TESSERA_CODEGEN_CUDATOOLS_TOOLS_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cuda {

/// A folder that is removed with all that is in it; `path` is empty where none could be made.
class ScratchFolder {
public:
  explicit ScratchFolder(const std::string &name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::filesystem::path path;
};

std::string readText(const std::filesystem::path &path);

/// Runs a program and returns its exit status: -1 if it did not run, -N if signal N ended it. What
/// it prints goes to the file `output`.
int runTool(const std::vector<std::string> &command, const std::filesystem::path &output);

/// What a program says of itself: "Cuda compilation tools, release 13.4, V13.4.92".
struct Release {
  unsigned major = 0, minor = 0;
  std::string text; // "13.4.92"

  /// To compare: 13.4 is 1304.
  unsigned number() const { return major * 100 + minor; }
};

/// Asks for it, once per program and process unless the file changes: asking takes as long as our
/// part of a compilation. Nothing if the program is none of CUDA's.
std::optional<Release> releaseOf(const std::filesystem::path &path);

bool isProgram(const std::filesystem::path &path);

/// Where a program of this name may be: in the .venv of the tree that this library was built in, in
/// $VIRTUAL_ENV, on $PATH, where CUDA is installed.
std::vector<std::filesystem::path> searchPlaces(const std::string &name);

} // namespace tessera::cuda

#endif
