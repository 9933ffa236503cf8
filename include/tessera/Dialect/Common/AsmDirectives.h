//===- AsmDirectives.h - Assembly directives of all dialects ---*- C++ -*-===//
//
// `custom<PlainInt>`, `custom<PlainFloat>` and `custom<Keyword>` in assembly formats: attributes
// without their types or quotes. A dialect includes this before its generated operations.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_ASMDIRECTIVES_H
#define TESSERA_DIALECT_COMMON_ASMDIRECTIVES_H

#include "mlir/IR/OpImplementation.h"

namespace tessera {

inline mlir::ParseResult parsePlainInt(mlir::OpAsmParser &parser, mlir::IntegerAttr &attr) {
  int64_t value;
  if (parser.parseInteger(value))
    return mlir::failure();
  attr = parser.getBuilder().getI64IntegerAttr(value);
  return mlir::success();
}

inline void printPlainInt(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::IntegerAttr attr) {
  printer << attr.getInt();
}

inline mlir::ParseResult parsePlainFloat(mlir::OpAsmParser &parser, mlir::FloatAttr &attr) {
  double value;
  if (parser.parseFloat(value))
    return mlir::failure();
  attr = parser.getBuilder().getF64FloatAttr(value);
  return mlir::success();
}

inline void printPlainFloat(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::FloatAttr attr) {
  printer.printFloat(attr.getValue());
}

inline mlir::ParseResult parseKeyword(mlir::OpAsmParser &parser, mlir::StringAttr &attr) {
  llvm::StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return mlir::failure();
  attr = parser.getBuilder().getStringAttr(keyword);
  return mlir::success();
}

inline void printKeyword(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::StringAttr attr) {
  printer << attr.getValue();
}

} // namespace tessera

#endif
