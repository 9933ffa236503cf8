//===- FuzzBytecode.cpp - CUDA Tile IR bytecode ---------------------------===//
//
// Bytes are read as a module; malformed bytes are reported. A module that was read can be checked
// and printed, right or wrong, and what is written of it is read back to the same.
//
//===----------------------------------------------------------------------===//
#include "Fuzz.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  std::string error;
  std::optional<cudatile::Module> module = cudatile::readModule({data, size}, error);
  fuzz::expect(bool(module) == error.empty(), "a module or an error", error);
  if (!module) {
    fuzz::saw(error.substr(std::min(error.find(": "), error.size())));
    return 0;
  }
  std::optional<std::string> wrong = cudatile::verifyModule(*module);
  fuzz::saw(wrong ? *wrong : "a valid module");
  std::string text = cudatile::printModule(*module);
  std::optional<std::vector<uint8_t>> bytes = cudatile::writeModule(*module, error);
  if (!bytes) {
    fuzz::expect(!error.empty(), "bytes or an error");
    fuzz::saw(error);
    return 0;
  }
  std::optional<cudatile::Module> again = cudatile::readModule(*bytes, error);
  fuzz::expect(bool(again), "a module from what was written", error);
  fuzz::expect(cudatile::printModule(*again) == text, "the same text of what was written", text);
  return 0;
}
