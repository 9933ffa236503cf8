//===- LowerTiles.cpp - Shapes, reductions and MMA ------------------------===//
#include "KernelLowering.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using mlir::LogicalResult;
using mlir::success;

namespace tessera::cudatile {

LogicalResult KernelLowering::lowerShape(mlir::Operation &op) {
  auto vec = [](llvm::ArrayRef<int64_t> list) { return Builder::Shape(list.begin(), list.end()); };
  Value result =
      llvm::TypeSwitch<mlir::Operation *, Value>(&op)
          .Case([&](tile::ProgramIdOp id) { return b.convert(blockId[id.getDim()], indexKind()); })
          .Case([&](tile::DimOp dim) { return tensors[dim.getView()].sizes[dim.getDim()]; })
          .Case([&](tile::ConstantOp constant) {
            Type type = typeOf(constant.getType());
            if (auto number = dyn_cast<mlir::FloatAttr>(constant.getValue()))
              return b.constantBits(type, number.getValue().bitcastToAPInt().getZExtValue());
            return b.constantBits(
                type, cast<mlir::IntegerAttr>(constant.getValue()).getValue().getZExtValue());
          })
          .Case([&](tile::SplatOp splatOp) {
            mlir::RankedTensorType type = splatOp.getType();
            Value scalar = b.convert(get(splatOp.getScalar()), kindOf(type.getElementType()));
            return splat(scalar, shapeOf(type));
          })
          .Case([&](tile::IotaOp iota) {
            TypeKind kind = kindOf(iota.getType().getElementType());
            Value count = b.iota(kind, iota.getType().getDimSize(0));
            return b.add(count, splat(b.convert(get(iota.getStart()), kind), b.shapeOf(count)));
          })
          .Case([&](tile::ExtractOp extract) {
            return b.convert(get(extract.getTile()), kindOf(extract.getResult().getType()));
          })
          .Case([&](tile::BitcastOp bitcast) {
            return b.bitcast(get(bitcast.getInput()), kindOf(bitcast.getType().getElementType()));
          })
          .Case([&](tile::BroadcastOp broadcast) {
            return b.broadcastInDims(get(broadcast.getInput()), shapeOf(broadcast.getType()),
                                     vec(broadcast.getDims()));
          })
          .Case([&](tile::TransposeOp transpose) {
            return b.permute(get(transpose.getInput()), vec(transpose.getPermutation()));
          })
          .Case([&](tile::ReshapeOp reshape) {
            return b.reshape(get(reshape.getInput()), shapeOf(reshape.getType()));
          })
          .Default([](mlir::Operation *) { return Value(); });
  if (!result)
    return op.emitError("is not lowered to CUDA Tile IR");
  set(op.getResult(0), result);
  return success();
}

/// The neutral element of a reduction.
static double identityOf(ReduceOp kind, mlir::Type element) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool isUnsigned = signednessOf(element) == Signedness::Unsigned;
  switch (kind) {
  case ReduceOp::Sum:
  case ReduceOp::Any:
    return 0;
  case ReduceOp::Prod:
  case ReduceOp::All:
    return 1;
  case ReduceOp::Max:
    return isUnsigned ? 0 : -infinity;
  case ReduceOp::Min:
    // All bits set: the largest unsigned value.
    return isUnsigned ? -1 : infinity;
  }
  llvm_unreachable("all reductions are handled");
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp reduce) {
  mlir::Type element = reduce.getInput().getType().getElementType();
  ReduceOp kind = reduce.getReduceOp();
  double identity = identityOf(kind, element);
  // Bools are reduced as 32-bit integers: `and` is the minimum, `or` the maximum.
  Value value = get(reduce.getInput());
  bool isBool = element.isInteger(1);
  if (isBool)
    value = b.convert(value, TypeKind::I32);
  if (isBool && identity < 0)
    identity = 1;
  ScalarOp combiner = reduceOpCombiner(kind);
  if (isBool)
    combiner = kind == ReduceOp::All || kind == ReduceOp::Min || kind == ReduceOp::Prod
                   ? ScalarOp::Minimum
                   : ScalarOp::Maximum;
  mlir::Type reduced = isBool ? mlir::IntegerType::get(reduce.getContext(), 32) : element;
  // A maximum that may drop a nan is one instruction.
  bool isFast = reduce.getSkipNan() && isa<mlir::FloatType>(element);
  Opcode fast = kind == ReduceOp::Max ? Opcode::MaxF : Opcode::MinF;
  for (int64_t dim : llvm::reverse(reduce.getDims()))
    value = b.reduce({value}, dim, {identity}, [&](const Values &arguments) {
      if (isFast)
        return Values{b.elementwise(fast, arguments)};
      return Values{scalar(combiner, {arguments[0], arguments[1]}, reduced)};
    })[0];
  set(reduce, isBool ? b.convert(value, TypeKind::I1) : value);
  return success();
}

/// Scans the tile and combines the initial value with each element.
LogicalResult KernelLowering::lowerScan(tile::ScanOp scan) {
  if (scan.getKey())
    return scan.emitOpError("expected no keys for CUDA Tile IR");
  mlir::Type element = scan.getInput().getType().getElementType();
  ReduceOp kind = scan.getReduceOp();
  bool isBool = element.isInteger(1);
  mlir::Type scanned = isBool ? mlir::IntegerType::get(scan.getContext(), 32) : element;
  ScalarOp combiner = !isBool                 ? reduceOpCombiner(kind)
                      : kind == ReduceOp::All ? ScalarOp::Minimum
                                              : ScalarOp::Maximum;
  auto wide = [&](Value value) { return isBool ? b.convert(value, TypeKind::I32) : value; };
  auto narrow = [&](Value value) { return isBool ? b.convert(value, TypeKind::I1) : value; };
  auto combine = [&](Value x, Value y) { return scalar(combiner, {x, y}, scanned); };
  auto body = [&](const Values &arguments) { return Values{combine(arguments[0], arguments[1])}; };
  double identity = identityOf(kind, element);
  unsigned dim = scan.getDim();
  Value input = wide(get(scan.getInput())), init = wide(get(scan.getInit()));
  Builder::Shape shape = shapeOf(scan.getInput().getType()), others;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (d != dim)
      others.push_back(d);
  Value own = b.scan({input}, dim, /*reverse=*/false, {identity}, body)[0];
  Value all = b.reduce({input}, dim, {identity}, body)[0];
  set(scan.getResult(), narrow(combine(b.broadcastInDims(init, shape, others), own)));
  set(scan.getTotal(), narrow(combine(init, all)));
  return success();
}

/// The operand before a cast to the accumulator's type, if its products are exact there.
static mlir::Value beforeCast(mlir::Value operand) {
  auto cast = operand.getDefiningOp<tile::CastOp>();
  if (!cast)
    return operand;
  mlir::Type from = cast.getInput().getType().getElementType();
  mlir::Type to = cast.getType().getElementType();
  bool isSmallFloat = isa<mlir::FloatType>(from) && from.getIntOrFloatBitWidth() <= 16;
  bool isByte = from.isInteger(8) || from.isUnsignedInteger(8);
  if ((isSmallFloat && to.isF32()) || (isByte && to.isSignlessInteger(32)))
    return cast.getInput();
  return operand;
}

/// An MMA in f32 as elementwise multiplications and a reduction over K.
Value KernelLowering::elementwiseMma(Value lhs, Value rhs) {
  int64_t rows = b.shapeOf(lhs)[0], depth = b.shapeOf(lhs)[1], columns = b.shapeOf(rhs)[1];
  Builder::Shape all{rows, depth, columns};
  Value x = b.broadcast(b.reshape(b.convert(lhs, TypeKind::F32), {rows, depth, 1}), all);
  Value y = b.broadcast(b.reshape(b.convert(rhs, TypeKind::F32), {1, depth, columns}), all);
  auto sum = [&](const Values &pair) { return Values{b.add(pair[0], pair[1])}; };
  return b.reduce({b.mul(x, y)}, 1, {0.0}, sum).front();
}

LogicalResult KernelLowering::lowerMma(tile::MmaOp mma) {
  if (mma.getParts() > 1)
    return mma.emitOpError("expected one partial accumulator for CUDA Tile IR, got ")
           << mma.getParts();
  mlir::Value lhs = beforeCast(mma.getLhs()), rhs = beforeCast(mma.getRhs());
  auto elementOf = [](mlir::Value value) {
    return cast<mlir::RankedTensorType>(value.getType()).getElementType();
  };
  bool isFloat = isa<mlir::FloatType>(elementOf(lhs));
  bool fits = isFloat ? elementOf(lhs) == elementOf(rhs)
                      : elementOf(lhs).getIntOrFloatBitWidth() == 8 &&
                            elementOf(rhs).getIntOrFloatBitWidth() == 8;
  if (!fits || !options.tensorCores) {
    lhs = mma.getLhs();
    rhs = mma.getRhs();
  }
  if (!isFloat && elementOf(lhs).getIntOrFloatBitWidth() != 8)
    return mma.emitError("expected operands of a floating-point or 8-bit integer type, got ")
           << elementOf(lhs);
  auto operand = [&](mlir::Value value) {
    mlir::Type element = elementOf(value);
    if (!isFloat8(element) || options.hasFloat8Mma)
      return get(value);
    return b.convert(options.hasFloat8 ? get(value) : fromFloat8(get(value), element),
                     TypeKind::F16);
  };
  Value x = operand(lhs), y = operand(rhs), acc = get(mma.getAcc());
  // tileiras miscompiles an mma with a smaller K dimension.
  constexpr int64_t minDepth = 8;
  if (b.shapeOf(x).back() < minDepth && b.elementKindOf(acc) == TypeKind::F32)
    set(mma, b.add(acc, elementwiseMma(x, y)));
  else
    set(mma, b.mma(x, y, acc, signednessOf(elementOf(lhs)), signednessOf(elementOf(rhs))));
  return success();
}

} // namespace tessera::cudatile
