//===- Emitter.h - Builds the graph -------------------------------------------------*- C++ -*-===//
//
// Turns operations on abstract values into `gir` operations: type promotion and broadcasting happen
// here, so the graph has neither. Every operation carries the source range at which the interpreter
// is, and the calls that led there.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_EMITTER_H
#define TESSERA_LIB_FRONTEND_SEMA_EMITTER_H

#include "Interpreter.h"

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
  /// Tensors that hold indices by what they are: each element is at least 0 and below this.
  llvm::DenseMap<mlir::Value, SymExpr> indexEnds;

  /// Operations made while this lives come from `range`; messages point at `op`, if there is one.
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
  static DType dtype(const Value &tensor) {
    return *dtypeFromMlir(tensor.type().getElementType());
  }

  // Types.
  static bool isFloat8(DType type) { return type >= DType::FP8E4M3; }
  static bool isFloat(DType type) { return type <= DType::FP16 || isFloat8(type); }
  static DType promote(DType a, DType b);
  /// The common type of operands as PyTorch has it, and whether all of them are Python scalars.
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
  /// Inserts dimensions of size 1 in front of these dimensions of the result.
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> resultDims);
  mlir::Value dropDims(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<SymExpr> starts,
                    llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<SymExpr> sizes);

  Value iota(llvm::ArrayRef<SymExpr> shape, int64_t dim, DType dtype);
  /// `name` is what messages call the product.
  Value matmul(const Value &left, const Value &right, SourceRange leftRange, SourceRange rightRange,
               std::string_view name = "matmul");
  Value index(const Value &base, llvm::ArrayRef<Value> indices, llvm::ArrayRef<SourceRange> ranges);

private:
  bool sliceDim(const Value &slice, SymExpr size, SourceRange range, SymExpr &start, int64_t &step,
                SymExpr &count);
  std::optional<SymExpr> clampBound(SymExpr bound, SymExpr size, SymExpr low, SymExpr high,
                                    SourceRange range);
  bool indexDim(SymExpr index, int64_t dim, SymExpr size, SourceRange range, SymExpr &start);

  /// Where a message about the whole operation points: its operator, else all of it.
  SourceRange place() const { return op.isValid() ? op : current; }

  SourceRange current;
  SourceRange op;
};

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_EMITTER_H
