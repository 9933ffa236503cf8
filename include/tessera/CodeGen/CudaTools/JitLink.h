//===- JitLink.h - From PTX to a cubin within this process -----*- C++ -*-===//
//
// NVIDIA's library nvJitLink comes with CUDA 12 and later and beside PyTorch. It assembles where there
// is no ptxas. Its code takes some more registers than that of ptxas, which therefore comes first.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_JITLINK_H
#define TESSERA_CODEGEN_CUDATOOLS_JITLINK_H

#include "tessera/CodeGen/CudaTools/Ptxas.h"

namespace tessera::cuda {

/// The library's functions; it stays loaded.
struct JitLink {
  void *library = nullptr;
  Release release;
};

/// Loads $TESSERA_NVJITLINK alone if it is set (`none`: no library); else one that lies where CUDA or
/// PyPI's wheels put it, or that the loader finds, if it has the chip.
std::optional<JitLink> findJitLink(const PtxasNeeds &needs, std::string &error);

std::optional<AssembledPtx> assemble(const JitLink &jitLink, std::string_view ptx,
                                     const std::string &chip, const PtxasOptions &options,
                                     std::string &error);

} // namespace tessera::cuda

#endif
