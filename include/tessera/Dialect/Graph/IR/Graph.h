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
/// Allows size expressions as parameters of types and attributes.
inline llvm::hash_code hash_value(SymExpr e) { return llvm::hash_value(e.opaque()); }
} // namespace tessera

namespace tessera::gir {

/// The scalar body of an operation: its result at one point of the iteration space, from the
/// operands' elements there.
struct ScalarBody {
  enum Kind {
    Identity, ///< the operand's element (views)
    Map,      ///< `op` of all operands' elements
    Cast,     ///< the operand's element in the result's element type
    Product,  ///< product of the two operands' elements (contractions)
    Constant, ///< `value`
    Index,    ///< the iteration index of dimension `dim`
    Size,     ///< the size expression `size`
  } kind;
  ScalarOp op = ScalarOp::Add;
  mlir::TypedAttr value = {};
  unsigned dim = 0;
  SymExpr size = {};
};

/// The symbol of iteration dimension `i` in index expressions: `#i`, which is not a valid size
/// name.
SymExpr iterationSymbol(unsigned i);

/// The symbol of an index that operand `i` holds: `$i`, and the operand of such a symbol.
SymExpr operandSymbol(unsigned i);
std::optional<unsigned> operandOfSymbol(SymExpr index);

/// The type in which sums and products of elements of `type` are accumulated.
mlir::Type accumulationType(mlir::Type type);

/// Maps the index of an element from shape `to` to shape `from` of the same row-major elements.
/// Dimensions that both shapes share keep their index; divisions appear only within a group of
/// dimensions that is merged or split.
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
/// The common 16-bit operand type of all contractions in a function, if there is one: tensor cores
/// may use values rounded to it.
inline constexpr llvm::StringLiteral kProductTypeAttr = "gir.product_type";
/// The narrow type of all floating-point arguments and results of a function without explicit
/// widening: values stored between kernels need no higher precision.
inline constexpr llvm::StringLiteral kValueTypeAttr = "gir.value_type";
/// On `gir.reduce max` and `min` of one dimension: the gradient goes to the first of equal elements
/// instead of all of them. `gir-differentiate` removes it.
inline constexpr llvm::StringLiteral kFirstTieAttr = "gir.first_tie";
/// On `gir.map sqrt`: the derivative at 0 is 0, as that of a norm. `gir-differentiate` removes it.
inline constexpr llvm::StringLiteral kZeroAtZeroAttr = "gir.zero_at_zero";

/// The value of an option of the function's numerics policy; "" if it is not set.
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
