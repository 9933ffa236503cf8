//===- Disassembler.h - SASS of a cubin ------------------------*- C++ -*-===//
#ifndef TESSERA_CODEGEN_CUDATOOLS_DISASSEMBLER_H
#define TESSERA_CODEGEN_CUDATOOLS_DISASSEMBLER_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tessera::cuda {

/// Disassembles a cubin by nvdisasm or cuobjdump of any CUDA release: $TESSERA_NVDISASM, or the
/// first one of searchPlaces. If there is none, `error` says how to install one.
std::optional<std::string> disassemble(std::span<const uint8_t> cubin, std::string &error);

} // namespace tessera::cuda

#endif
