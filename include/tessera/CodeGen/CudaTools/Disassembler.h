//===- Disassembler.h - Machine instructions of a cubin --------*- C++ -*-===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_DISASSEMBLER_H
#define TESSERA_CODEGEN_CUDATOOLS_DISASSEMBLER_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tessera::cuda {

/// The machine instructions of a cubin as text, by nvdisasm or cuobjdump of any CUDA: as
/// $TESSERA_NVDISASM names, or found as assemblers are. If there is none, `error` says how to get it.
std::optional<std::string> disassemble(std::span<const uint8_t> cubin, std::string &error);

} // namespace tessera::cuda

#endif
