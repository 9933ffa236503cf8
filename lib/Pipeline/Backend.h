//===- Backend.h - From Tile IR to machine code ----------------*- C++ -*-===//
//
// The last stages of a compilation for one machine: target → llvm → asm → bundle.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_BACKEND_H
#define TESSERA_LIB_PIPELINE_BACKEND_H

#include "Compilation.h"
#include "tessera/Analysis/CostModel.h"
#include "tessera/CodeGen/CPU/CPU.h"

namespace tessera {

class Backend {
public:
  /// "cpu", a baseline ("x86-64-v3", "aarch64"), or an architecture with features
  /// ("x86_64:avx2,fma"); nothing for another name.
  static std::optional<Backend> forTarget(const std::string &name);
  static std::string supportedTargets();

  std::string name() const { return target.runtimeTarget(); }
  /// What the cost model knows of the machine.
  MachineModel machine() const;

  /// Goes on from Tile or Target IR to stage `last`. False after an error.
  bool finish(Compilation &compilation, Stage last) const;

private:
  explicit Backend(cpu::CpuTarget target) : target(std::move(target)) {}
  bool lower(Compilation &compilation) const;
  bool keepTexts(Compilation &compilation, target::ModuleOp module) const;

  cpu::CpuTarget target;
};

} // namespace tessera

#endif
