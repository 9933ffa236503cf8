//===- Ptxas.h - PTX to a cubin by ptxas -----------------------*- C++ -*-===//
//
// NVIDIA's assembler `ptxas` is part of CUDA and of PyPI's nvidia-cuda-nvcc. Without it the driver
// assembles the PTX when a bundle is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_PTXAS_H
#define TESSERA_CODEGEN_CUDATOOLS_PTXAS_H

#include "tessera/CodeGen/CudaTools/Tools.h"

#include <cstdint>
#include <string_view>

namespace tessera::cuda {

/// What is required of an assembler.
struct PtxasNeeds {
  std::string chip;           ///< "sm_90a"
  unsigned firstCuda = 1200;  ///< the first release that has it: 12.0
  unsigned lastCuda = 999999; ///< the last one
};

/// An assembler that was found.
struct Ptxas {
  std::string path;
  Release release;
};

/// Whether $TESSERA_PTXAS is `none`: the driver assembles the PTX.
bool isPtxasForbidden();

/// Finds $TESSERA_PTXAS if it is set; otherwise the first one of searchPlaces that knows the chip.
/// If there is none, `error` says how to install one.
std::optional<Ptxas> findPtxas(const PtxasNeeds &needs, std::string &error);

/// The resources of a kernel, as the assembler prints them.
struct KernelUse {
  std::string name;
  unsigned registers = 0; ///< of a thread
  unsigned stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  unsigned sharedBytes = 0;  ///< static shared memory
  bool isSerialized = false; ///< each wgmma waits for the one before it
};

struct PtxasOptions {
  unsigned optimizationLevel = 3;
  bool lineInfo = false;
};

struct AssembledPtx {
  std::vector<uint8_t> cubin;
  std::vector<KernelUse> kernels;
};

/// Assembles PTX for the chip. If that fails, `error` has the messages of the assembler.
std::optional<AssembledPtx> assemble(const Ptxas &ptxas, std::string_view ptx,
                                     const std::string &chip, const PtxasOptions &options,
                                     std::string &error);

} // namespace tessera::cuda

#endif
