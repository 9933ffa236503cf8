//===- Assembler.h - From bytecode to a cubin ------------------*- C++ -*-===//
//
// NVIDIA's assembler `tileiras` is a program that users install (`make tileiras`, or CUDA 13.3 and
// later); it is looked for when it is needed, and everything else works without it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_BYTECODE_ASSEMBLER_H
#define TESSERA_CODEGEN_CUDATILEIR_BYTECODE_ASSEMBLER_H

#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"

namespace tessera::cudatile {

/// An assembler that was found.
struct Tileiras {
  std::string path;
  std::string release; // as it says of itself: "13.4.92"
  Version newestFormat;
};

/// Looks at $TESSERA_TILEIRAS alone if it is set; else in the .venv of the tree that this library
/// was built in, in $VIRTUAL_ENV, on $PATH and where CUDA is installed, for the first one that is
/// 13.3 or later. If there is none, `error` says how to get it.
std::optional<Tileiras> findTileiras(std::string &error);

struct AssembleOptions {
  /// sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120 or another that the assembler knows.
  std::string architecture = "sm_90";
  unsigned optimizationLevel = 3;
  /// Of the machine with the GPU, x86_64 or aarch64: a cubin holds a little host code. Empty: this
  /// machine.
  std::string hostArchitecture = {};
  bool lineInfo = false;
  /// Ask what became of memory accesses and matrix products.
  bool remarks = false;
};

struct Cubin {
  std::vector<uint8_t> bytes;
  std::string messages; // warnings and remarks
};

/// Assembles bytecode. What the assembler says when it refuses is in `error`.
std::optional<Cubin> assemble(const Tileiras &tileiras, std::span<const uint8_t> bytecode,
                              const AssembleOptions &options, std::string &error);

} // namespace tessera::cudatile

#endif
