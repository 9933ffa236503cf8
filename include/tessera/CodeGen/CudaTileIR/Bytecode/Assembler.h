//===- Assembler.h - From bytecode to a cubin ------------------*- C++ -*-===//
//
// NVIDIA's assembler `tileiras` is a program that users install (`make tileiras`, or CUDA 13.3 and
// later). It is searched for on first use; everything else works without it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_BYTECODE_ASSEMBLER_H
#define TESSERA_CODEGEN_CUDATILEIR_BYTECODE_ASSEMBLER_H

#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"

namespace tessera::cudatile {

/// An assembler that was found.
struct Tileiras {
  std::string path;
  std::string release; // its own version string: "13.4.92"
  Version newestFormat;
};

/// Uses $TESSERA_TILEIRAS alone if it is set. Otherwise searches the .venv of the tree that this
/// library was built in, $VIRTUAL_ENV, $PATH and CUDA's installation directories for the first
/// tileiras of version 13.3 or later. If there is none, `error` says how to install it.
std::optional<Tileiras> findTileiras(std::string &error);

struct AssembleOptions {
  /// sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120 or another chip that the assembler
  /// supports.
  std::string architecture = "sm_90";
  unsigned optimizationLevel = 3;
  /// The architecture of the host with the GPU, x86_64 or aarch64: a cubin contains some host code.
  /// Empty: this host.
  std::string hostArchitecture = {};
  bool lineInfo = false;
  /// Request remarks on memory accesses and MMAs.
  bool remarks = false;
};

struct Cubin {
  std::vector<uint8_t> bytes;
  std::string messages; // warnings and remarks
};

/// Assembles bytecode. On failure `error` holds the assembler's messages.
std::optional<Cubin> assemble(const Tileiras &tileiras, std::span<const uint8_t> bytecode,
                              const AssembleOptions &options, std::string &error);

} // namespace tessera::cudatile

#endif
