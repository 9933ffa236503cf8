//===- Disassembler.cpp - SASS of a cubin ---------------------------------===//
#include "tessera/CodeGen/CudaTools/Disassembler.h"
#include "tessera/CodeGen/CudaTools/Tools.h"

#include <cstdlib>
#include <fstream>

namespace fs = std::filesystem;
using namespace tessera::cuda;

static fs::path findDisassembler() {
  if (const char *named = std::getenv("TESSERA_NVDISASM"))
    return isProgram(named) ? named : fs::path();
  for (const char *name : {"nvdisasm", "cuobjdump"})
    for (const fs::path &place : searchPlaces(name))
      if (isProgram(place))
        return place;
  return {};
}

std::optional<std::string> tessera::cuda::disassemble(std::span<const uint8_t> cubin,
                                                      std::string &error) {
  fs::path program = findDisassembler();
  if (program.empty()) {
    error = "neither nvdisasm nor cuobjdump was found; install one with `pip install "
            "nvidia-cuda-nvdisasm` or with CUDA; TESSERA_NVDISASM can name the program";
    return std::nullopt;
  }
  ScratchFolder scratch("tessera-sass");
  fs::path input = scratch.path / "in.cubin", output = scratch.path / "out";
  std::ofstream file(input, std::ios::binary);
  file.write(reinterpret_cast<const char *>(cubin.data()), cubin.size());
  file.close();
  if (scratch.path.empty() || !file) {
    error = "cannot write a temporary file for the disassembler";
    return std::nullopt;
  }
  bool isDump = program.filename().string().find("cuobjdump") != std::string::npos;
  int status = runTool({program.string(), isDump ? "-sass" : "-c", input.string()}, output);
  std::string text = readText(output);
  if (status == 0)
    return text;
  error = program.string() + " failed (status " + std::to_string(status) + "): " + text;
  return std::nullopt;
}
