//===- CpuTarget.h - A CPU that code is generated for ----------*- C++ -*-===//
#ifndef TESSERA_TARGET_LLVM_CPUTARGET_H
#define TESSERA_TARGET_LLVM_CPUTARGET_H

#include "tessera/Target/CpuDescription.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tessera {

/// A CPU as LLVM names it. `features` is a comma-separated list of "+name" and "-name".
struct CpuTarget {
  std::string triple, cpu, features;

  static CpuTarget host();
  /// One of "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"; nothing for an unknown name.
  static std::optional<CpuTarget> baseline(llvm::StringRef name);
  /// "cpu" for this machine, a baseline, an architecture with features ("x86_64:avx2,fma"), or what
  /// `specification` gives; nothing for another name.
  static std::optional<CpuTarget> parse(llvm::StringRef name);
  /// The target in a form that `parse` reads back: "triple;cpu;features".
  std::string specification() const { return triple + ";" + cpu + ";" + features; }
  /// The target without AMX, or without BFMMLA on AArch64, which are to a CPU what tensor cores are
  /// to a GPU.
  CpuTarget withoutMatrixInstructions() const;

  CpuDescription describe() const;
  /// The target string of an image: architecture and the features that the code needs, as the
  /// runtime compares them.
  std::string runtimeTarget() const;
};

} // namespace tessera

#endif
