//===- Bundle.h - Target modules to bundles --------------------*- C++ -*-===//
//
// A bundle is the file that the runtime loads: the host programs of a tessera_target.module as data
// and its kernels as one code image, or one for each GPU backend.
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

/// Converts a host program to the runtime's form.
mlir::FailureOr<rt::Program> makeProgram(target::ProgramOp program);

/// Compiles the kernels and packs the module; `manifest` is JSON text for the loader.
mlir::FailureOr<std::vector<uint8_t>> makeBundle(target::ModuleOp module,
                                                 const std::string &manifest = "{}");

/// The kernels of a GPU, as a cubin, or as PTX that the driver assembles.
struct Cubin {
  std::string target; ///< in the runtime's form: "sm_90:tileir,x86_64", "sm_90a:ptx"
  std::vector<uint8_t> code;
};
/// Packs a module whose kernels are the entries of cubins, one for each of its images. `target` is
/// the target in the manifest.
mlir::FailureOr<std::vector<uint8_t>> makeBundle(target::ModuleOp module, const std::string &target,
                                                 std::vector<Cubin> cubins,
                                                 const std::string &manifest = "{}");

/// The manifest's entry of each program: {"function", "target", "arguments": [{"name", "kind"} or
/// {"name", "dtype", "sizes": ["M", "64"]}], "results": [{"dtype", "sizes"}], "guards": ["…"]}.
/// Sizes have their names in the source; a call that violates a guard belongs to another
/// specialisation.
llvm::json::Array describeSignatures(target::ModuleOp module, const std::string &target);

/// A C++ header with one typed function for each signature of a bundle's manifest, in a namespace
/// `name`, over tessera/Runtime.h. On failure `error` holds the message.
std::optional<std::string> makeHeader(const std::string &manifest, const std::string &name,
                                      std::string &error);

/// The host code of GPU programs as C++ over the CUDA driver API: binds sizes, checks guards,
/// computes grids and launches. For readers, and for programs that do not use our runtime.
mlir::FailureOr<std::string> makeLauncher(target::ModuleOp module);

/// One bundle with the functions of all, in their order. On failure `error` holds the message.
std::optional<std::vector<uint8_t>> mergeBundles(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> bundles,
                                                 std::string &error);

} // namespace tessera

#endif
