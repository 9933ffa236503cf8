//===- Ptxas.cpp - Finding and running ptxas ------------------------------===//
#include "tessera/CodeGen/CudaTools/Ptxas.h"

#include "Messages.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace fs = std::filesystem;
using namespace tessera::cuda;

//===----------------------------------------------------------------------===//
// Finding the assembler
//===----------------------------------------------------------------------===//

static std::string releaseText(unsigned number) {
  return std::to_string(number / 100) + "." + std::to_string(number % 100);
}

static std::string howToGet(const PtxasNeeds &needs) {
  bool isLate = needs.lastCuda >= 1300;
  std::string package = isLate ? "nvidia-cuda-nvcc" : "nvidia-cuda-nvcc-cu12";
  std::string with = needs.firstCuda <= 1200 && isLate
                         ? "CUDA"
                         : "CUDA " + releaseText(isLate ? needs.firstCuda : needs.lastCuda);
  return "install it with `pip install " + package + "` or with " + with +
         "; TESSERA_PTXAS can name the program";
}

/// Sets `found` and returns "" if the program assembles for the chip; otherwise says why not.
static std::string problemOf(const fs::path &path, const PtxasNeeds &needs,
                             std::optional<Ptxas> &found) {
  std::error_code failure;
  fs::path real = fs::canonical(path, failure);
  std::optional<Release> release;
  if (!failure && isProgram(real))
    release = releaseOf(real);
  if (!release)
    return "'" + path.string() + "' is not NVIDIA's assembler";
  std::string says = real.string() + " is release " + release->text + ", which does not know " +
                     needs.chip + ": expected ";
  if (release->number() < needs.firstCuda)
    return says + releaseText(needs.firstCuda) + " or later";
  if (release->number() > needs.lastCuda)
    return says + releaseText(needs.lastCuda) + " or earlier";
  found = Ptxas{real.string(), *release};
  return "";
}

bool tessera::cuda::isPtxasForbidden() {
  const char *named = std::getenv("TESSERA_PTXAS");
  return named && !std::strcmp(named, "none");
}

std::optional<Ptxas> tessera::cuda::findPtxas(const PtxasNeeds &needs, std::string &error) {
  std::optional<Ptxas> found;
  error.clear();
  if (isPtxasForbidden()) {
    error = "TESSERA_PTXAS is 'none'";
    return std::nullopt;
  }
  if (const char *named = std::getenv("TESSERA_PTXAS")) {
    std::string problem = problemOf(named, needs, found);
    if (!found)
      error = "TESSERA_PTXAS: " + problem + "; " + howToGet(needs);
    return found;
  }
  for (const fs::path &place : searchPlaces("ptxas")) {
    if (!isProgram(place))
      continue;
    std::string problem = problemOf(place, needs, found);
    if (found) {
      error.clear();
      return found;
    }
    error = problem;
  }
  error =
      (error.empty() ? "NVIDIA's assembler ptxas was not found" : error) + "; " + howToGet(needs);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

std::optional<AssembledPtx> tessera::cuda::assemble(const Ptxas &ptxas, std::string_view ptx,
                                                    const std::string &chip,
                                                    const PtxasOptions &options,
                                                    std::string &error) {
  error.clear();
  ScratchFolder scratch("tessera-ptxas");
  fs::path input = scratch.path / "in.ptx", output = scratch.path / "out.cubin";
  std::ofstream file(input, std::ios::binary);
  file.write(ptx.data(), static_cast<std::streamsize>(ptx.size()));
  file.close();
  if (scratch.path.empty() || !file) {
    error = "cannot write a temporary file for the assembler";
    return std::nullopt;
  }
  std::vector<std::string> command = {ptxas.path,
                                      "--gpu-name=" + chip,
                                      "--opt-level=" + std::to_string(options.optimizationLevel),
                                      "--verbose",
                                      input.string(),
                                      "--output-file",
                                      output.string()};
  if (options.lineInfo)
    command.insert(command.begin() + 4, "--generate-line-info");
  int status = runTool(command, scratch.path / "messages");
  std::string messages = readText(scratch.path / "messages"), bytes = readText(output);
  if (status != 0 || bytes.empty()) {
    error = "ptxas " + ptxas.release.text + " refused code for " + chip + " (status " +
            std::to_string(status) + "): " + messages;
    return std::nullopt;
  }
  return AssembledPtx{{bytes.begin(), bytes.end()}, usesOf(messages)};
}
