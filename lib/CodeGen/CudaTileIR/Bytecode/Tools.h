//===- Tools.h - Finding and running programs of CUDA ----------*- C++ -*-===//
//
// tileiras finds its own ptxas and libnvvm beside it, unless CUDA_HOME or CUDA_PATH point at another
// CUDA, which may be too old and then fails without saying why: programs are started without them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_TOOLS_H
#define TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_TOOLS_H

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::cudatile {

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

bool isProgram(const std::filesystem::path &path);

/// Where a program of this name may be: in the .venv of the tree that this library was built in, in
/// $VIRTUAL_ENV, on $PATH, where CUDA is installed.
std::vector<std::filesystem::path> searchPlaces(const std::string &name);

} // namespace tessera::cudatile

#endif
