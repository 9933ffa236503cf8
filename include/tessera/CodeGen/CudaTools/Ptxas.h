//===- Ptxas.h - From PTX to a cubin ---------------------------*- C++ -*-===//
//
// NVIDIA's assembler `ptxas` comes with every CUDA and with PyPI's nvidia-cuda-nvcc. It is looked for
// when it is needed; without it the driver assembles PTX when it is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_PTXAS_H
#define TESSERA_CODEGEN_CUDATOOLS_PTXAS_H

#include "tessera/CodeGen/CudaTools/Tools.h"

#include <cstdint>
#include <string_view>

namespace tessera::cuda {

/// What an assembler must know.
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

/// Whether $TESSERA_PTXAS is `none`: PTX is left to the driver.
bool isPtxasForbidden();

/// Looks at $TESSERA_PTXAS alone if it is set; else where searchPlaces says, for the first one that
/// has the chip. If there is none, `error` says how to get it.
std::optional<Ptxas> findPtxas(const PtxasNeeds &needs, std::string &error);

/// What the assembler says of a kernel.
struct KernelUse {
  std::string name;
  unsigned registers = 0; ///< of a thread
  unsigned stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  unsigned sharedBytes = 0; ///< that the code itself declares
};

struct PtxasOptions {
  unsigned optimizationLevel = 3;
  bool lineInfo = false;
};

struct AssembledPtx {
  std::vector<uint8_t> cubin;
  std::vector<KernelUse> kernels;
};

/// Assembles PTX for the chip. What the assembler says when it refuses is in `error`.
std::optional<AssembledPtx> assemble(const Ptxas &ptxas, std::string_view ptx,
                                     const std::string &chip, const PtxasOptions &options,
                                     std::string &error);

} // namespace tessera::cuda

#endif
