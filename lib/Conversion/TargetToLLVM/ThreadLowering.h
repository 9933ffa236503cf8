//===- ThreadLowering.h - Operations of one thread to LLVM -----*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_TARGETTOLLVM_THREADLOWERING_H
#define TESSERA_LIB_CONVERSION_TARGETTOLLVM_THREADLOWERING_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// Replaces the operations of `tessera_target` in a function by `llvm` and `scf`. The function has
/// a copy of the operations of `kernel`.
class ThreadLowering {
public:
  ThreadLowering(target::KernelOp kernel, mlir::LLVM::LLVMFuncOp function, mlir::ModuleOp functions)
      : kernel(kernel), function(function), functions(functions),
        b(kernel.getLoc(), kernel.getContext()) {}

  void run();
  /// The first version of PTX that has all emitted instructions.
  unsigned getPtxVersion() const { return ptxVersion; }

private:
  void lower(mlir::Operation *op);
  mlir::Value lower(target::SpecialRegisterOp op);
  mlir::Value lower(target::AllocateOp op);
  void lower(target::MemcpyOp op);
  void lower(target::BarrierOp op);
  void lower(target::AssertOp op);
  llvm::SmallVector<mlir::Value> lower(target::TensorCoreOp op);
  llvm::SmallVector<mlir::Value> lower(target::PtxInstrOp op);

  void fillShared(mlir::Value memory, int64_t bytes, int64_t alignment);
  void copy(mlir::Value to, mlir::Value from, mlir::Value offset, int64_t bytes);
  mlir::Value special(llvm::StringRef name, mlir::Type type);
  mlir::Value sharedMemory(int64_t offset);
  mlir::Value text(llvm::StringRef text);
  mlir::Value integer(int64_t value, unsigned bits = 32);
  mlir::Value advance(mlir::Value pointer, mlir::Value bytes);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);
  void callIntrinsic(llvm::StringRef name, mlir::ValueRange operands);
  llvm::SmallVector<mlir::Value> assembly(llvm::StringRef text, mlir::TypeRange results,
                                          mlir::ValueRange operands, bool isPure);

  target::KernelOp kernel;
  mlir::LLVM::LLVMFuncOp function;
  mlir::ModuleOp functions;
  mlir::ImplicitLocOpBuilder b;
  llvm::SmallVector<int64_t> sharedOffsets; // of each shared `allocate`, in order
  size_t nextShared = 0;
  unsigned ptxVersion = 0;
};

} // namespace tessera

#endif
