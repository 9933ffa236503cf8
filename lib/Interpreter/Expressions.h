//===- Expressions.h - Fused expressions of an interpreted program -*- C++ -*-===//
//
// An expression is the code of one launch of `ready_expression`: leaves that fill registers, and
// instructions on them. Registers of instructions are reused after the last use of their value.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_EXPRESSIONS_H
#define TESSERA_LIB_INTERPRETER_EXPRESSIONS_H

#include "Ready/Words.h"
#include "Views.h"

#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera::interpreter {

/// The argument words of a launch, and its operands.
class LaunchWords {
public:
  explicit LaunchWords(mlir::MLIRContext *context) : context(context) {}

  void number(SymExpr value);
  /// The address of a view's first element.
  void address(const View &view);
  /// The bits of a rank-0 argument.
  void scalar(mlir::Value argument);
  void numbers(llvm::ArrayRef<SymExpr> values) {
    for (SymExpr value : values)
      number(value);
  }

  llvm::SmallVector<mlir::Attribute> words;
  llvm::SmallVector<mlir::Value> operands;

private:
  unsigned operandOf(mlir::Value memory);
  mlir::MLIRContext *context;
};

class Expression {
public:
  /// A value: a leaf or the result of an instruction.
  using Index = unsigned;

  /// Over tensors of these sizes. The iteration space has their dimensions in another order if one
  /// is given: parallel dimensions first.
  explicit Expression(const Shape &tensorSizes, llvm::ArrayRef<unsigned> order = {});

  /// A view of the tensors' sizes.
  Index leaf(View view);
  Index number(int64_t bits, DType dtype);
  /// The memory of a view, for `take`; strides do not matter.
  Index base(const View &view);
  Index instruction(uint16_t op, ready::Compute type, ready::Compute resultType,
                    llvm::ArrayRef<Index> operands, unsigned c = 0);
  Index cast(Index value, ready::Compute to);
  ready::Compute typeOf(Index value) const { return values[value].type; }

  const Shape &iterationSizes() const { return sizes; }
  bool isTooLarge() const;
  /// Whether neighbours in memory are in different rows of a reduction of the trailing dimensions:
  /// then many rows are folded at once.
  bool hasNeighbouringRows(unsigned reduced) const;
  /// Nanoseconds for 64 points.
  int64_t cost() const;
  /// The words of a launch that stores `result` to `to`: a map, or the reduction of the trailing
  /// `reduced` dimensions.
  void write(LaunchWords &words, Index result, const View &to, unsigned reduced, ReduceOp op) const;

private:
  struct Value {
    bool isLeaf;
    ready::Compute type;
    // Leaves.
    ready::LeafWord::Kind kind = ready::LeafWord::Memory;
    View view;
    // Instructions.
    uint16_t op = 0;
    ready::Compute operandType = ready::Compute::F32;
    llvm::SmallVector<Index, 3> operands = {};
    unsigned c = 0;
  };
  std::vector<unsigned> allocateRegisters(Index result, unsigned &count) const;

  llvm::SmallVector<unsigned> order;
  Shape sizes; // in this order
  std::vector<Value> values;
};

} // namespace tessera::interpreter

#endif
