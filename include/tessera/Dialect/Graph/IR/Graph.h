//===- Graph.h - The Graph IR dialect --------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_GRAPH_H
#define TESSERA_DIALECT_GRAPH_IR_GRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"

#include <optional>

namespace tessera {
/// Lets sizes be parameters of types and attributes.
inline llvm::hash_code hash_value(SymExpr e) { return llvm::hash_value(e.opaque()); }
} // namespace tessera

namespace tessera::gir {

/// What an operation computes at one point of its iteration space, from its operands' elements
/// there.
struct ScalarBody {
  enum Kind {
    Identity, ///< the operand's element (views)
    Map,      ///< `op` of all operands' elements
    Cast,     ///< the operand's element in the result's element type
    Product,  ///< product of the two operands (contractions)
    Constant, ///< `value`
    Index,    ///< the iteration index of dimension `dim`
    Size,     ///< the size expression `size`
  } kind;
  ScalarOp op = ScalarOp::Add;
  mlir::TypedAttr value = {};
  unsigned dim = 0;
  SymExpr size = {};
};

/// The symbol that stands for iteration dimension `i` in index expressions: `#i`, which no size is
/// called.
SymExpr iterationSymbol(unsigned i);

/// The symbol that stands for an index that operand `i` holds: `$i`, and the operand of such a
/// symbol.
SymExpr operandSymbol(unsigned i);
std::optional<unsigned> operandOfSymbol(SymExpr index);

/// The type in which sums and products of elements of `type` are accumulated.
mlir::Type accumulationType(mlir::Type type);

/// The index into a row-major tensor of shape `from` of the element at `index` in the same elements
/// seen with shape `to`. Dimensions that both shapes share keep their index; only within a group of
/// dimensions that is merged or split do divisions appear.
llvm::SmallVector<SymExpr> reshapeIndex(llvm::ArrayRef<SymExpr> from, llvm::ArrayRef<SymExpr> to,
                                        llvm::ArrayRef<SymExpr> index);

// Names of attributes on functions and their arguments (see the dialect's description).
inline constexpr llvm::StringLiteral kNameAttr = "gir.name";
inline constexpr llvm::StringLiteral kUnitStrideAttr = "gir.unit_stride";
inline constexpr llvm::StringLiteral kContiguousAttr = "gir.contiguous";
inline constexpr llvm::StringLiteral kWritesAttr = "gir.writes";
inline constexpr llvm::StringLiteral kScalarAttr = "gir.scalar";
inline constexpr llvm::StringLiteral kNumericsAttr = "gir.numerics";
inline constexpr llvm::StringLiteral kSymbolsAttr = "gir.symbols";
inline constexpr llvm::StringLiteral kGuardsAttr = "gir.guards";
/// The 16-bit type that the operands of all products in a function have, where they have one: a
/// tensor core may be given values rounded to it.
inline constexpr llvm::StringLiteral kProductTypeAttr = "gir.product_type";
/// The narrow type of all floating point arguments and results of a function in which nothing asks
/// for a wider one: what kernels carry between them need not be more exact.
inline constexpr llvm::StringLiteral kValueTypeAttr = "gir.value_type";

/// The value of an option of the function's numerics policy; "" where it is not given.
llvm::StringRef numericsOption(mlir::Operation *function, llvm::StringRef name);

} // namespace tessera::gir

#include "tessera/Dialect/Graph/IR/GraphDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphAttrs.h.inc"

#include "tessera/Dialect/Graph/IR/GraphInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphOps.h.inc"

#endif
