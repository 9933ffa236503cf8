//===- Bundle.h - Target modules to bundles --------------------*- C++ -*-===//
//
// A bundle is what the runtime loads: the host programs of a tessera_target.module as data and its
// kernels as one code image, or as one for each road to a GPU that they take.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_BUNDLE_BUNDLE_H
#define TESSERA_BUNDLE_BUNDLE_H

#include "mlir/Support/LLVM.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera_rt/program.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The runtime's form of a host program.
mlir::FailureOr<rt::Program> makeProgram(target::ProgramOp program);

/// Compiles the kernels and packs the module; `manifest` is JSON text for whoever loads it.
mlir::FailureOr<std::vector<uint8_t>> makeBundle(target::ModuleOp module,
                                                 const std::string &manifest = "{}");

/// A GPU's kernels, assembled, or as PTX that the driver assembles.
struct Cubin {
  std::string target; ///< as the runtime writes it: "sm_90:tileir,x86_64", "sm_90a:ptx"
  std::vector<uint8_t> code;
};
/// Packs a module whose kernels are the entries of cubins, one for each of its images. `target` is what the manifest says of all.
mlir::FailureOr<std::vector<uint8_t>> makeBundle(target::ModuleOp module, const std::string &target, std::vector<Cubin> cubins,
                                                 const std::string &manifest = "{}");

/// What a manifest says about each program: {"function", "target", "arguments": [{"name", "kind"} or
/// {"name", "dtype", "sizes": ["M", "64"]}], "results": [{"dtype", "sizes"}], "guards": ["…"]}. Sizes
/// are named as in the source; guards are what makes a call belong to another specialisation.
llvm::json::Array describeSignatures(target::ModuleOp module, const std::string &target);

/// A C++ header with one typed function for each signature of a bundle's manifest, in a namespace
/// `name`, over tessera/Runtime.h. On failure `error` says why.
std::optional<std::string> makeHeader(const std::string &manifest, const std::string &name,
                                      std::string &error);

/// The host side of a GPU's programs as C++ over CUDA's driver interface: binds sizes, checks guards,
/// computes grids and launches. For people to read and for programs that take no runtime of ours.
mlir::FailureOr<std::string> makeLauncher(target::ModuleOp module);

/// One bundle with the functions of all, in their order. On failure `error` says what is wrong.
std::optional<std::vector<uint8_t>> mergeBundles(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> bundles,
                                                 std::string &error);

} // namespace tessera

#endif
