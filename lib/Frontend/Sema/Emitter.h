//===- Emitter.h - Builds the graph -------------------------------------------------*- C++ -*-===//
//
// Converts operations on abstract values to `gir` operations. Type promotion and broadcasting
// happen here, so the graph has neither. Every operation has the source range that the interpreter
// evaluates, and the call stack.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_EMITTER_H
#define TESSERA_LIB_FRONTEND_SEMA_EMITTER_H

#include "Interpreter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include "mlir/IR/Builders.h"

#include <numeric>

namespace tessera::sema {

using Shape = llvm::SmallVector<SymExpr>;

/// 0, 1, …, rank - 1.
inline llvm::SmallVector<int64_t> allDims(int64_t rank) {
  llvm::SmallVector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

class Emitter {
public:
  Emitter(mlir::OpBuilder builder, Diagnostics &diagnostics)
      : builder(builder), diagnostics(diagnostics) {}

  mlir::OpBuilder builder;
  Diagnostics &diagnostics;
  Interpreter *in = nullptr;
  /// Tensors of known indices: each element is at least 0 and below this.
  llvm::DenseMap<mlir::Value, SymExpr> indexEnds;

  /// Operations created in this scope have the location `range`; messages point at `op`, if there
  /// is one.
  class At {
  public:
    At(Emitter *emitter, SourceRange range, SourceRange op = {}) : emitter(emitter) {
      if (emitter) {
        saved = emitter->current;
        savedOp = emitter->op;
        emitter->current = range;
        emitter->op = op;
      }
    }
    ~At() {
      if (emitter)
        restore();
    }

  private:
    void restore() {
      emitter->current = saved;
      emitter->op = savedOp;
    }
    Emitter *emitter;
    SourceRange saved, savedOp;
  };

  mlir::Location loc() const;
  mlir::Location loc(SourceRange range) const;
  mlir::Type type(DType dtype) { return dtypeToMlir(dtype, builder.getContext()); }
  static DType dtype(const Value &tensor) { return *dtypeFromMlir(tensor.type().getElementType()); }

  // Types.
  static bool isFloat(DType type) { return dtypeInfo(type).isFloat; }
  static bool isFloat8(DType type) { return isFloat(type) && dtypeInfo(type).bits == 8; }
  static DType promote(DType a, DType b);
  /// The promoted type of operands as in PyTorch, and whether all of them are Python scalars.
  struct Common {
    DType dtype;
    bool weak;
  };
  static Common commonType(llvm::ArrayRef<Value> operands);

  // Elementwise operations.
  Value map(ScalarOp op, llvm::ArrayRef<Value> operands, llvm::ArrayRef<SourceRange> ranges);
  Value map(ScalarOp op, llvm::ArrayRef<Value> operands) { return map(op, operands, {}); }
  /// A number or tensor as an SSA value of this element type and shape.
  mlir::Value materialise(const Value &value, DType dtype, llvm::ArrayRef<SymExpr> shape);
  /// A number or tensor as a tensor that is not weak.
  Value asTensor(const Value &value);
  Value cast(const Value &tensor, DType dtype, bool isExplicit);
  Value constant(DType dtype, llvm::ArrayRef<SymExpr> shape, const Value &number);
  /// The shape that all operands broadcast to; nothing after an error.
  std::optional<Shape> broadcastShape(llvm::ArrayRef<Value> operands,
                                      llvm::ArrayRef<SourceRange> ranges);

  // Views.
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<SymExpr> shape);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<SymExpr> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Inserts dimensions of size 1 before these dimensions of the result.
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> resultDims);
  mlir::Value dropDims(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<SymExpr> starts,
                    llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<SymExpr> sizes);

  Value iota(llvm::ArrayRef<SymExpr> shape, int64_t dim, DType dtype);
  /// `name` is the operation's name in messages.
  Value matmul(const Value &left, const Value &right, SourceRange leftRange, SourceRange rightRange,
               std::string_view name = "matmul");
  Value index(const Value &base, llvm::ArrayRef<Value> indices, llvm::ArrayRef<SourceRange> ranges);

private:
  bool sliceDim(const Value &slice, SymExpr size, SourceRange range, SymExpr &start, int64_t &step,
                SymExpr &count);
  std::optional<SymExpr> clampBound(SymExpr bound, SymExpr size, SymExpr low, SymExpr high,
                                    SourceRange range);
  bool indexDim(SymExpr index, int64_t dim, SymExpr size, SourceRange range, SymExpr &start);

  /// The location of a message about the whole operation: its operator, otherwise its full range.
  SourceRange place() const { return op.isValid() ? op : current; }

  SourceRange current;
  SourceRange op;
};

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_EMITTER_H
