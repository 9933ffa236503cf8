//===- Assembler.cpp - Finding and running tileiras -----------------------===//
//
// tileiras may exit with status 0 after an error, so its output is checked as well.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/CodeGen/CudaTools/Tools.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace fs = std::filesystem;
using namespace tessera::cudatile;
using namespace tessera::cuda;

//===----------------------------------------------------------------------===//
// Finding the assembler
//===----------------------------------------------------------------------===//

static constexpr const char *kHowToGet =
    "install it with `make tileiras` or `pip install nvidia-cuda-tileiras nvidia-cuda-nvcc "
    "nvidia-nvvm`, all of one version from 13.3 on, or install CUDA 13.3 or later; "
    "TESSERA_TILEIRAS can name the program";

/// Returns nothing if the program is not part of CUDA.
static std::optional<Tileiras> ask(const fs::path &path) {
  std::optional<Release> release = releaseOf(path);
  if (!release)
    return std::nullopt;
  // Later releases read every earlier format.
  unsigned minor =
      release->major > 13 ? kNewestMinor : std::min<unsigned>(release->minor, kNewestMinor);
  Version newest = release->number() < 1303 ? Version{0, 0} : Version{13, uint8_t(minor)};
  return Tileiras{path.string(), release->text, newest};
}

std::optional<Tileiras> tessera::cudatile::findTileiras(std::string &error) {
  error.clear();
  std::string tooOld;
  auto accept = [&](const fs::path &path) -> std::optional<Tileiras> {
    std::error_code failure;
    fs::path real = fs::canonical(path, failure);
    std::optional<Tileiras> found = failure ? std::nullopt : ask(real);
    if (found && found->newestFormat.major)
      return found;
    if (found)
      tooOld = found->path + " is release " + found->release + ", expected 13.3 or later; ";
    return std::nullopt;
  };
  if (const char *named = std::getenv("TESSERA_TILEIRAS")) {
    if (auto found = isProgram(named) ? accept(named) : std::nullopt)
      return found;
    error = tooOld.empty() ? std::string("TESSERA_TILEIRAS names '") + named +
                                 "', which is not NVIDIA's assembler; " + kHowToGet
                           : tooOld + kHowToGet;
    return std::nullopt;
  }
  for (const fs::path &place : searchPlaces("tileiras"))
    if (isProgram(place))
      if (auto found = accept(place))
        return found;
  error = (tooOld.empty() ? "NVIDIA's assembler tileiras was not found; " : tooOld) + kHowToGet;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

static std::string hostArchitecture() {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86_64";
#endif
}

std::optional<Cubin> tessera::cudatile::assemble(const Tileiras &tileiras,
                                                 std::span<const uint8_t> bytecode,
                                                 const AssembleOptions &options,
                                                 std::string &error) {
  error.clear();
  ScratchFolder scratch("tessera-tileiras");
  fs::path input = scratch.path / "in.tileirbc", output = scratch.path / "out.cubin";
  std::ofstream file(input, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytecode.data()), bytecode.size());
  file.close();
  if (scratch.path.empty() || !file) {
    error = "cannot write a temporary file for the assembler";
    return std::nullopt;
  }
  std::string host =
      options.hostArchitecture.empty() ? hostArchitecture() : options.hostArchitecture;
  std::vector<std::string> command = {tileiras.path,
                                      "--gpu-name=" + options.architecture,
                                      "--opt-level=" + std::to_string(options.optimizationLevel),
                                      "--host-arch=" + host,
                                      "--host-os=linux",
                                      input.string(),
                                      "-o",
                                      output.string()};
  if (options.lineInfo)
    command.push_back("--lineinfo");
  if (options.remarks)
    command.push_back("--remarks=all");
  int status = runTool(command, scratch.path / "messages");
  Cubin cubin;
  cubin.messages = readText(scratch.path / "messages");
  std::string bytes = readText(output);
  if (status != 0 || bytes.empty() || cubin.messages.find("error:") != std::string::npos) {
    error = "tileiras " + tileiras.release + " refused a module for " + options.architecture +
            " (status " + std::to_string(status) + "): " + cubin.messages;
    return std::nullopt;
  }
  cubin.bytes.assign(bytes.begin(), bytes.end());
  return cubin;
}
