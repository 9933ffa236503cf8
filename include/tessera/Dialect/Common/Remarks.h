//===- Remarks.h - Optimization remarks of passes ---------------*- C++ -*-===//
//
// A pass that leaves code alone where a reader would expect it to apply says why, by a remark of
// MLIR (mlir/IR/Remarks.h):
//
//   missed(load, "tile-lower-tma-loads", "UnalignedRows")
//       << remark::reason("rows are {0}-byte aligned, and TMA needs 16", alignment);
//
// The remark's category is the pass, its location the operation's, its function the kernel. Nothing
// is formatted unless remarks are requested: `tessera compile --remarks`, `tessera explain
// --missed`, `tessera-opt --remarks-filter-missed=.`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_REMARKS_H
#define TESSERA_DIALECT_COMMON_REMARKS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

namespace tessera {

/// The name of the innermost symbol that contains an operation: its kernel or function.
inline llvm::StringRef symbolAround(mlir::Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto name = op->getAttrOfType<mlir::StringAttr>(mlir::SymbolTable::getSymbolAttrName()))
      return name.getValue();
  return "";
}

/// A remark that a pass does not apply at an operation. `name` identifies the reason in CamelCase;
/// the text is added by `<< remark::reason(…)`.
inline mlir::remark::detail::InFlightRemark missed(mlir::Operation *op, llvm::StringRef pass,
                                                   llvm::StringRef name) {
  if (!op->getContext()->getRemarkEngine())
    return {};
  return mlir::remark::missed(
      op->getLoc(), mlir::remark::RemarkOpts::name(name).category(pass).function(symbolAround(op)));
}

} // namespace tessera

#endif
