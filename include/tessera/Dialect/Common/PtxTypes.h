//===- PtxTypes.h - Element types as PTX names them ------------*- C++ -*-===//
//
// The names by which lib/Target/TensorCores.cpp lists the types of MMA instructions.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_PTXTYPES_H
#define TESSERA_DIALECT_COMMON_PTXTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {

/// "bf16", "e4m3", "s8"; empty for a type that no MMA has.
inline llvm::StringRef ptxTypeName(mlir::Type type) {
  return llvm::TypeSwitch<mlir::Type, llvm::StringRef>(type)
      .Case([](mlir::Float64Type) { return "f64"; })
      .Case([](mlir::Float32Type) { return "f32"; })
      .Case([](mlir::FloatTF32Type) { return "tf32"; })
      .Case([](mlir::BFloat16Type) { return "bf16"; })
      .Case([](mlir::Float16Type) { return "f16"; })
      .Case([](mlir::Float8E4M3FNType) { return "e4m3"; })
      .Case([](mlir::Float8E5M2Type) { return "e5m2"; })
      .Case([](mlir::Float6E2M3FNType) { return "e2m3"; })
      .Case([](mlir::Float6E3M2FNType) { return "e3m2"; })
      .Case([](mlir::Float4E2M1FNType) { return "e2m1"; })
      .Case([](mlir::IntegerType integer) -> llvm::StringRef {
        if (integer.getWidth() == 32)
          return integer.isUnsigned() ? "u32" : "s32";
        return integer.getWidth() != 8 ? "" : integer.isUnsigned() ? "u8" : "s8";
      })
      .Default([](mlir::Type) { return ""; });
}

} // namespace tessera

#endif
