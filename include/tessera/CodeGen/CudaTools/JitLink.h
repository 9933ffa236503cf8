//===- JitLink.h - PTX to a cubin by nvJitLink -----------------*- C++ -*-===//
//
// NVIDIA's library nvJitLink is part of CUDA from 12 on and is installed with PyTorch. It assembles
// within this process where there is no ptxas. ptxas is preferred, because its code uses slightly
// fewer registers.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_JITLINK_H
#define TESSERA_CODEGEN_CUDATOOLS_JITLINK_H

#include "tessera/CodeGen/CudaTools/Ptxas.h"

namespace tessera::cuda {

/// The library, which stays loaded.
struct JitLink {
  void *library = nullptr;
  Release release;
};

/// Loads $TESSERA_NVJITLINK if it is set (`none`: no library); otherwise the first library of CUDA,
/// of PyPI's wheels or of the loader's path that knows the chip.
std::optional<JitLink> findJitLink(const PtxasNeeds &needs, std::string &error);

std::optional<AssembledPtx> assemble(const JitLink &jitLink, std::string_view ptx,
                                     const std::string &chip, const PtxasOptions &options,
                                     std::string &error);

} // namespace tessera::cuda

#endif
