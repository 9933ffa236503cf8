//===- ReadyKernels.h - Kernels compiled with the package ------*- C++ -*-===//
//
// The native kernels that interpreted programs launch, for the CPU at hand. Their argument words
// are described in lib/Interpreter/Ready/Words.h.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_INTERPRETER_READYKERNELS_H
#define TESSERA_INTERPRETER_READYKERNELS_H

#include "tessera_rt.h"

#include <span>

namespace tessera {

/// The kernels of the newest level of instructions that this CPU has.
std::span<const tessera_rt_native_kernel> readyKernels();

/// The levels that the package has and this CPU can run, the best one first: "v4", "v3", "base".
std::span<const char *const> readyLevels();
/// The kernels of one of them.
std::span<const tessera_rt_native_kernel> readyKernels(const char *level);

} // namespace tessera

#endif
