//===- ScalarTypes.h - Type rules of scalar operations ---------*- C++ -*-===//
//
// The type rules of ScalarOps.def on MLIR element types. Every dialect with a `map` infers and
// verifies types by these functions, so that one operation has one rule at every level.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_SCALARTYPES_H
#define TESSERA_DIALECT_COMMON_SCALARTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "tessera/Support/DType.h"
#include "tessera/Support/ScalarOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

inline mlir::Type dtypeToMlir(DType dtype, mlir::MLIRContext *context) {
  switch (dtype) {
#define TESSERA_FLOAT(Enum, name, library, dlpack, cpp, mlirType, ...)                             \
  case DType::Enum:                                                                                \
    return mlir::mlirType::get(context);
#define TESSERA_INTEGER(Enum, name, library, dlpack, cpp, bits, isSigned)                          \
  case DType::Enum:                                                                                \
    return mlir::IntegerType::get(context, bits,                                                   \
                                  isSigned || bits == 1 ? mlir::IntegerType::Signless              \
                                                        : mlir::IntegerType::Unsigned);
#include "tessera_rt/dtypes.def"
  }
  return {};
}

inline std::optional<DType> dtypeFromMlir(mlir::Type type) {
  for (unsigned i = 0; i < numDTypes; ++i)
    if (dtypeToMlir(DType(i), type.getContext()) == type)
      return DType(i);
  return std::nullopt;
}

/// Element types of tensors and tiles, for messages.
inline constexpr llvm::StringLiteral kElementTypes =
    "f64 f32 bf16 f16 f8E4M3FN f8E5M2 i64 i32 i16 i8 ui8 i1";

/// Storage-only types: computation on them is in f32.
inline bool isFloat8(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

inline bool isElementType(mlir::Type type) { return dtypeFromMlir(type).has_value(); }

/// The element type of `op`'s result on operands of these element types.
inline mlir::Type scalarOpResultType(ScalarOp op, llvm::ArrayRef<mlir::Type> operands) {
  switch (scalarOpInfo(op).rule) {
  case TypeRule::Compare:
  case TypeRule::Test:
    return mlir::IntegerType::get(operands.front().getContext(), 1);
  case TypeRule::Order:
    return mlir::IntegerType::get(operands.front().getContext(), 64);
  case TypeRule::Select:
    return operands[1];
  default:
    return operands.front();
  }
}

/// Verifies the number and element types of the operands, and the result's element type.
inline mlir::LogicalResult verifyScalarOp(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                          llvm::StringRef kind, llvm::ArrayRef<mlir::Type> operands,
                                          mlir::Type result) {
  std::optional<ScalarOp> op = scalarOpByName(std::string_view(kind.data(), kind.size()));
  if (!op)
    return emitError() << "expected an operation of the scalar vocabulary, got '" << kind << "'";
  const ScalarOpInfo &info = scalarOpInfo(*op);
  if (operands.size() != info.arity)
    return emitError() << "expected " << info.arity << " operand" << (info.arity == 1 ? "" : "s")
                       << " for '" << kind << "', got " << operands.size();
  llvm::ArrayRef<mlir::Type> values = operands;
  if (info.rule == TypeRule::Select) {
    if (!operands.front().isInteger(1))
      return emitError() << "expected a condition of type i1, got " << operands.front();
    values = operands.drop_front();
  }
  mlir::Type type = values.front();
  for (mlir::Type other : values.drop_front())
    if (other != type)
      return emitError() << "expected operands of one element type, got " << type << " and "
                         << other;
  bool isFloat = llvm::isa<mlir::FloatType>(type), isBool = type.isInteger(1);
  bool needsFloat =
      info.rule == TypeRule::Float || info.rule == TypeRule::Test || info.rule == TypeRule::Order;
  if (needsFloat && !isFloat)
    return emitError() << "expected floating point operands for '" << kind << "', got " << type;
  if (info.rule == TypeRule::Integer && isFloat)
    return emitError() << "expected integer or bool operands for '" << kind << "', got " << type;
  if (info.rule == TypeRule::Int64 && !type.isSignlessInteger(64))
    return emitError() << "expected operands of type i64 for '" << kind << "', got " << type;
  if (info.rule == TypeRule::Number && isBool)
    return emitError() << "expected numbers as operands of '" << kind << "', got " << type;
  mlir::Type expected = scalarOpResultType(*op, operands);
  if (result != expected)
    return emitError() << "expected a result of element type " << expected << " for '" << kind
                       << "', got " << result;
  return mlir::success();
}

} // namespace tessera

#endif
