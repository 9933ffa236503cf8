//===- Messages.h - Resource usage from assembler messages -----*- C++ -*-===//
#ifndef TESSERA_LIB_CODEGEN_CUDATOOLS_MESSAGES_H
#define TESSERA_LIB_CODEGEN_CUDATOOLS_MESSAGES_H

#include "tessera/CodeGen/CudaTools/Ptxas.h"

namespace tessera::cuda {

/// Reads the verbose messages of ptxas or nvJitLink:
///
///   ptxas info    : Compiling entry function 'k' for 'sm_90a'
///   ptxas info    : Function properties for k
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 32 registers, used 1 barriers, 4096 bytes smem
std::vector<KernelUse> usesOf(const std::string &messages);

} // namespace tessera::cuda

#endif
