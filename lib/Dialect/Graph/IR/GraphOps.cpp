//===- GraphOps.cpp - Textual form and construction of graph operations ---===//
//
// The custom parts of the operations' assembly formats, and the builders that infer result types.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "tessera/Dialect/Common/Numbers.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include <charconv>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

//===----------------------------------------------------------------------===//
// Custom directives: attributes without their types or quotes, types with their mnemonic
//===----------------------------------------------------------------------===//

static ParseResult parsePlainInt(OpAsmParser &parser, IntegerAttr &attr) {
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  attr = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

static void printPlainInt(OpAsmPrinter &printer, Operation *, IntegerAttr attr) {
  printer << attr.getInt();
}

static ParseResult parsePlainFloat(OpAsmParser &parser, FloatAttr &attr) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  attr = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

/// The shortest decimal form that gives the same double.
static void printPlainFloat(OpAsmPrinter &printer, Operation *, FloatAttr attr) {
  if (!attr.getValue().isFinite())
    return printer.printFloat(attr.getValue());
  char buffer[32];
  auto end = std::to_chars(buffer, std::end(buffer), attr.getValueAsDouble()).ptr;
  std::string text(buffer, end);
  if (text.find('.') == std::string::npos) // MLIR distinguishes floats from integers by the point
    text.insert(std::min(text.find('e'), text.size()), ".0");
  printer << text;
}

static ParseResult parseKeyword(OpAsmParser &parser, StringAttr &attr) {
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  attr = parser.getBuilder().getStringAttr(keyword);
  return success();
}

static void printKeyword(OpAsmPrinter &printer, Operation *, StringAttr attr) {
  printer << attr.getValue();
}

static ParseResult parseFullType(OpAsmParser &parser, Type &type) { return parser.parseType(type); }

static void printFullType(OpAsmPrinter &printer, Operation *, Type type) { printer << type; }

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static StringRef toStringRef(std::string_view text) { return StringRef(text.data(), text.size()); }

void ConstantOp::build(OpBuilder &builder, OperationState &state, gir::TensorType type,
                       double value) {
  build(builder, state, type, numberAttr(builder, type.getElementType(), value));
}

void SizeOp::build(OpBuilder &builder, OperationState &state, SymExpr size) {
  build(builder, state, gir::TensorType::get({}, builder.getI64Type()), size.str());
}

void MapOp::build(OpBuilder &builder, OperationState &state, ScalarOp op, ValueRange inputs) {
  SmallVector<Type> elements;
  for (Value input : inputs)
    elements.push_back(tensorType(input).getElementType());
  gir::TensorType type =
      tensorType(inputs.front()).withElementType(scalarOpResultType(op, elements));
  build(builder, state, type, toStringRef(scalarOpInfo(op).name), inputs);
}

void CastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType,
                   bool isExplicit) {
  build(builder, state, tensorType(input).withElementType(elementType), input, isExplicit);
}

void ArgSortOp::build(OpBuilder &builder, OperationState &state, Value input, bool descending,
                      std::optional<int64_t> first) {
  SmallVector<SymExpr> shape(tensorType(input).getShape());
  if (first)
    shape.back() = SymExpr(*first);
  build(builder, state, gir::TensorType::get(shape, builder.getI64Type()), input, descending,
        first ? builder.getI64IntegerAttr(*first) : IntegerAttr());
}

void BroadcastOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<SymExpr> shape, ArrayRef<int64_t> dims) {
  build(builder, state, tensorType(input).withShape(shape), input, dims);
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> permutation) {
  gir::TensorType type = tensorType(input);
  SmallVector<SymExpr> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDim(dim));
  build(builder, state, type.withShape(shape), input, permutation);
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value input,
                      ArrayRef<SymExpr> shape) {
  build(builder, state, tensorType(input).withShape(shape), input);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input,
                    ArrayRef<SymExpr> starts, ArrayRef<int64_t> steps, ArrayRef<SymExpr> sizes) {
  SmallVector<Attribute> texts;
  for (SymExpr start : starts)
    texts.push_back(builder.getStringAttr(start.str()));
  build(builder, state, tensorType(input).withShape(sizes), input, builder.getArrayAttr(texts),
        steps);
}

SymExpr SliceOp::getStart(unsigned dim) {
  return *SymExpr::parse(cast<StringAttr>(getStarts()[dim]).getValue().str());
}

SmallVector<SymExpr> WindowOp::inferShape(gir::TensorType from, ArrayRef<int64_t> dims,
                                          ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps,
                                          ArrayRef<int64_t> dilations) {
  SmallVector<SymExpr> shape(from.getShape());
  for (auto [j, dim] : llvm::enumerate(dims)) {
    SymExpr room = shape[dim] - SymExpr(dilations[j] * (sizes[j] - 1) + 1);
    shape[dim] = room.floorDiv(SymExpr(steps[j])) + SymExpr(1);
  }
  for (int64_t size : sizes)
    shape.push_back(SymExpr(size));
  return shape;
}

void WindowOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> dims,
                     ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps,
                     ArrayRef<int64_t> dilations) {
  gir::TensorType from = tensorType(input);
  build(builder, state, from.withShape(inferShape(from, dims, sizes, steps, dilations)), input,
        dims, sizes, steps, dilations);
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, int64_t dim, ValueRange inputs) {
  SmallVector<SymExpr> shape(tensorType(inputs.front()).getShape());
  for (Value input : inputs.drop_front())
    shape[dim] = shape[dim] + tensorType(input).getDim(dim);
  build(builder, state, tensorType(inputs.front()).withShape(shape), dim, inputs);
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Value input, ValueRange indices,
                     ArrayRef<int64_t> dims, ArrayRef<int64_t> rest) {
  build(builder, state, tensorType(input).withShape(tensorType(indices.front()).getShape()), input,
        indices, dims, rest);
}

void gir::ReduceOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op,
                          Value input, ArrayRef<int64_t> dims) {
  gir::TensorType type = tensorType(input);
  SmallVector<SymExpr> shape;
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDim(dim));
  build(builder, state, type.withShape(shape), toStringRef(reduceOpName(op)), input, dims);
}

void ScanOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op, Value input,
                   int64_t dim) {
  build(builder, state, input.getType(), toStringRef(reduceOpName(op)), input, Value(), dim,
        IntegerAttr());
}

void ScanOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op, Value input,
                   int64_t dim, Value key, int64_t below) {
  build(builder, state, input.getType(), toStringRef(reduceOpName(op)), input, key, dim,
        builder.getI64IntegerAttr(below));
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                       ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                       ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract) {
  SmallVector<SymExpr> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(tensorType(lhs).getDim(dim));
  auto appendFree = [&](gir::TensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        shape.push_back(type.getDim(dim));
  };
  appendFree(tensorType(lhs), lhsBatch, lhsContract);
  appendFree(tensorType(rhs), rhsBatch, rhsContract);
  build(builder, state, tensorType(lhs).withShape(shape), lhs, rhs, lhsBatch, rhsBatch, lhsContract,
        rhsContract);
}
