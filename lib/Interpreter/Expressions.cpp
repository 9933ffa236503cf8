//===- Expressions.cpp - Fused expressions of an interpreted program ------===//
#include "Expressions.h"

#include "tessera/Dialect/Common/ScalarTypes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;
using ready::Compute;
using ready::LeafWord;

unsigned LaunchWords::operandOf(Value memory) {
  auto *at = llvm::find(operands, memory);
  unsigned index = at - operands.begin();
  if (at == operands.end())
    operands.push_back(memory);
  return index;
}

void LaunchWords::number(SymExpr value) {
  words.push_back(
      target::WordAttr::get(context, "integer", 0, StringAttr::get(context, value.str())));
}

void LaunchWords::address(const View &view) {
  SymExpr bytes = view.origin * dtypeBytes(view.dtype);
  words.push_back(target::WordAttr::get(context, "address", operandOf(view.memory),
                                        StringAttr::get(context, bytes.str())));
}

void LaunchWords::scalar(Value argument) {
  words.push_back(
      target::WordAttr::get(context, "scalar", operandOf(argument), StringAttr::get(context, "0")));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Expression::Expression(const Shape &tensorSizes, ArrayRef<unsigned> given) : order(given) {
  for (unsigned d = 0; order.size() < tensorSizes.size(); ++d)
    order.push_back(d);
  for (unsigned d : order)
    sizes.push_back(tensorSizes[d]);
}

Expression::Index Expression::leaf(View view) {
  Shape strides;
  for (unsigned d : order)
    strides.push_back(view.strides[d]);
  view.strides = std::move(strides);
  for (auto [i, value] : llvm::enumerate(values))
    if (value.isLeaf && value.kind != LeafWord::Base && value.view.kind == view.kind &&
        value.view.memory == view.memory && value.view.origin == view.origin &&
        value.view.dtype == view.dtype && value.view.strides == view.strides)
      return i;
  LeafWord::Kind kind = view.kind == View::Memory ? LeafWord::Memory
                        : view.kind == View::Iota ? LeafWord::Iota
                                                  : LeafWord::Constant;
  values.push_back({true, ready::computeOf(view.dtype), kind, view});
  return values.size() - 1;
}

Expression::Index Expression::number(int64_t bits, DType dtype) {
  View view;
  view.kind = View::Number;
  view.dtype = dtype;
  view.origin = bits;
  view.strides.assign(sizes.size(), SymExpr(0));
  return leaf(view);
}

Expression::Index Expression::base(const View &view) {
  values.push_back({true, ready::computeOf(view.dtype), LeafWord::Base, view});
  return values.size() - 1;
}

Expression::Index Expression::instruction(uint16_t op, Compute type, Compute resultType,
                                          ArrayRef<Index> operands, unsigned c) {
  Value value{false, resultType, LeafWord::Memory, {}};
  value.op = op;
  value.operandType = type;
  value.operands.assign(operands.begin(), operands.end());
  value.c = c;
  values.push_back(std::move(value));
  return values.size() - 1;
}

Expression::Index Expression::cast(Index value, Compute to) {
  Compute from = typeOf(value);
  if (from == to)
    return value;
  return instruction(ready::OpCast, to, to, {value}, unsigned(from));
}

bool Expression::isTooLarge() const {
  unsigned leaves = llvm::count_if(values, [](const Value &value) { return value.isLeaf; });
  return leaves > ready::maxLeaves || values.size() - leaves > ready::maxInstructions;
}

bool Expression::hasNeighbouringRows(unsigned reduced) const {
  if (reduced == 0 || reduced == sizes.size())
    return false;
  unsigned row = sizes.size() - reduced - 1, column = sizes.size() - 1;
  return llvm::any_of(values, [&](const Value &value) {
    return value.isLeaf && value.kind == LeafWord::Memory &&
           value.view.strides[row].isConstant(1) && !value.view.strides[column].isConstant(1);
  });
}

/// What an instruction costs, next to one addition.
static int64_t costOf(uint16_t op) {
  switch (op) {
  case unsigned(ScalarOp::Exp):
  case unsigned(ScalarOp::Exp2):
  case unsigned(ScalarOp::Log):
  case unsigned(ScalarOp::Tanh):
  case unsigned(ScalarOp::Erf):
  case unsigned(ScalarOp::Sigmoid):
  case unsigned(ScalarOp::Silu):
  case unsigned(ScalarOp::GeluErf):
  case unsigned(ScalarOp::GeluTanh):
    return 40;
  case unsigned(ScalarOp::Div):
  case unsigned(ScalarOp::Sqrt):
  case unsigned(ScalarOp::Rsqrt):
  case unsigned(ScalarOp::Reciprocal):
    return 20;
  case unsigned(ScalarOp::Pow):
  case unsigned(ScalarOp::Sin):
  case unsigned(ScalarOp::Cos):
  case unsigned(ScalarOp::FloorDiv):
  case unsigned(ScalarOp::Remainder):
  case unsigned(ScalarOp::Philox):
  case unsigned(ScalarOp::PhiloxUpper):
    return 1000;
  case ready::OpTake:
    return 100;
  default:
    return 8;
  }
}

int64_t Expression::cost() const {
  int64_t total = 16;
  for (const Value &value : values)
    total += value.isLeaf ? (value.kind == LeafWord::Constant ? 0 : 12) : costOf(value.op);
  return total;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// A register for each value. Leaves keep theirs: they may stand for memory, or be filled once. The
/// result has one of its own, since it may stand for memory that is written.
std::vector<unsigned> Expression::allocateRegisters(Index result, unsigned &count) const {
  std::vector<unsigned> registers(values.size()), lastUse(values.size(), 0), unused;
  for (auto [i, value] : llvm::enumerate(values))
    for (Index operand : value.operands)
      lastUse[operand] = i;
  lastUse[result] = values.size();
  count = 0;
  for (auto [i, value] : llvm::enumerate(values))
    if (value.isLeaf || i == result)
      registers[i] = count++;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (value.isLeaf)
      continue;
    if (i != result) {
      if (unused.empty())
        unused.push_back(count++);
      registers[i] = unused.back();
      unused.pop_back();
    }
    llvm::SmallVector<Index, 3> ended;
    for (Index operand : value.operands)
      if (!values[operand].isLeaf && operand != result && lastUse[operand] == i &&
          !llvm::is_contained(ended, operand))
        ended.push_back(operand);
    for (Index operand : ended)
      unused.push_back(registers[operand]);
  }
  return registers;
}

void Expression::write(LaunchWords &words, Index result, const View &to, unsigned reduced,
                       ReduceOp op) const {
  unsigned count = 0;
  std::vector<unsigned> registers = allocateRegisters(result, count);
  std::vector<unsigned> leafNumbers(values.size());
  int64_t leaves = 0, instructions = 0;
  for (auto [i, value] : llvm::enumerate(values)) {
    leafNumbers[i] = leaves;
    ++(value.isLeaf ? leaves : instructions);
  }
  words.numbers({SymExpr(int64_t(sizes.size())), SymExpr(int64_t(reduced)), SymExpr(int64_t(op)),
                 SymExpr(int64_t(count)), SymExpr(leaves), SymExpr(instructions),
                 SymExpr(int64_t(registers[result])), SymExpr(int64_t(to.dtype))});
  words.address(to);
  words.numbers(to.strides);
  words.numbers(sizes);
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!value.isLeaf)
      continue;
    const View &view = value.view;
    words.number(LeafWord::encode(value.kind, view.dtype, registers[i]));
    if (view.kind == View::Memory)
      words.address(view);
    else if (view.kind == View::Scalar)
      words.scalar(view.memory);
    else
      words.number(view.origin);
    if (value.kind == LeafWord::Base)
      words.numbers(Shape(sizes.size(), SymExpr(0)));
    else
      words.numbers(view.strides);
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    if (value.isLeaf)
      continue;
    uint16_t fields[3] = {0, 0, uint16_t(value.c)};
    for (auto [k, operand] : llvm::enumerate(value.operands))
      fields[k] = values[operand].kind == LeafWord::Base && values[operand].isLeaf
                      ? leafNumbers[operand]
                      : registers[operand];
    ready::Instruction instruction{value.op,  value.operandType, uint16_t(registers[i]),
                                   fields[0], fields[1],         fields[2]};
    words.number(instruction.encode());
  }
}
