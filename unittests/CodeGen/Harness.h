//===- Harness.h - Runs tile kernels in this process -----------*- C++ -*-===//
//
// Compiles the tile kernels of a text for the host (or another target), maps the image and calls
// kernels directly with arrays, like the runtime but without a host program.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_UNITTESTS_CODEGEN_HARNESS_H
#define TESSERA_UNITTESTS_CODEGEN_HARNESS_H

#include "mlir/IR/MLIRContext.h"
#include "tessera/CodeGen/CPU/CPU.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cpu {

/// The strided array of a view argument.
struct Array {
  void *data;
  std::vector<int64_t> sizes, strides;

  /// Row-major.
  static Array dense(void *data, std::vector<int64_t> sizes);
};

class CompiledKernels {
public:
  /// Empty `error()` on success. `amend` may change the lowered kernels before code generation.
  explicit CompiledKernels(const std::string &text, const CpuTarget &target = CpuTarget::host(),
                           const std::function<void(target::ModuleOp)> &amend = nullptr);
  ~CompiledKernels();

  const std::string &error() const { return message; }
  const Image &image() const { return code; }
  std::string assembly(), llvm(), target();

  using Words = std::vector<int64_t>;
  static void append(Words &words, const Array &array);
  /// Runs the whole grid on this thread, or the range of linear indices [begin, end).
  void run(const std::string &kernel, const std::vector<Array> &views,
           const std::vector<int64_t> &scalars, const std::vector<int64_t> &grid, int64_t begin = 0,
           int64_t end = -1);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  target::ModuleOp lowered;
  Image code;
  void *mapped = nullptr;
  std::string message;
};

} // namespace tessera::cpu

#endif
