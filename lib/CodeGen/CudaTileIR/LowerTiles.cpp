//===- LowerTiles.cpp - Shapes, reductions and products -------------------===//
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

/// What a monoid leaves as it is.
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
    // All bits set is the largest of the unsigned.
    return isUnsigned ? -1 : infinity;
  }
  llvm_unreachable("all monoids are handled");
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp reduce) {
  mlir::Type element = reduce.getInput().getType().getElementType();
  ReduceOp kind = reduce.getReduceOp();
  double identity = identityOf(kind, element);
  // Bools are joined as 32-bit integers, where and, or are minimum and maximum.
  Value value = get(reduce.getInput());
  bool isBool = element.isInteger(1);
  if (isBool)
    value = b.convert(value, TypeKind::I32);
  if (isBool && identity < 0)
    identity = 1;
  ScalarOp join = reduceOpCombiner(kind);
  if (isBool)
    join = kind == ReduceOp::All || kind == ReduceOp::Min || kind == ReduceOp::Prod
               ? ScalarOp::Minimum
               : ScalarOp::Maximum;
  mlir::Type joined = isBool ? mlir::IntegerType::get(reduce.getContext(), 32) : element;
  // Without care for nan a maximum is one instruction.
  bool isFast = reduce.getSkipNan() && isa<mlir::FloatType>(element);
  Opcode fast = kind == ReduceOp::Max ? Opcode::MaxF : Opcode::MinF;
  for (int64_t dim : llvm::reverse(reduce.getDims()))
    value = b.reduce({value}, dim, {identity}, [&](const Values &arguments) {
      if (isFast)
        return Values{b.elementwise(fast, arguments)};
      return Values{scalar(join, {arguments[0], arguments[1]}, joined)};
    })[0];
  set(reduce, isBool ? b.convert(value, TypeKind::I1) : value);
  return success();
}

/// The tile's own running join behind what came before it.
LogicalResult KernelLowering::lowerScan(tile::ScanOp scan) {
  if (scan.getKey())
    return scan.emitOpError("expected no keys for CUDA Tile IR");
  mlir::Type element = scan.getInput().getType().getElementType();
  ReduceOp kind = scan.getReduceOp();
  bool isBool = element.isInteger(1);
  mlir::Type joined = isBool ? mlir::IntegerType::get(scan.getContext(), 32) : element;
  ScalarOp combiner = !isBool                 ? reduceOpCombiner(kind)
                      : kind == ReduceOp::All ? ScalarOp::Minimum
                                              : ScalarOp::Maximum;
  auto wide = [&](Value value) { return isBool ? b.convert(value, TypeKind::I32) : value; };
  auto narrow = [&](Value value) { return isBool ? b.convert(value, TypeKind::I1) : value; };
  auto join = [&](Value x, Value y) { return scalar(combiner, {x, y}, joined); };
  auto body = [&](const Values &arguments) { return Values{join(arguments[0], arguments[1])}; };
  double identity = identityOf(kind, element);
  unsigned dim = scan.getDim();
  Value input = wide(get(scan.getInput())), init = wide(get(scan.getInit()));
  Builder::Shape shape = shapeOf(scan.getInput().getType()), others;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (d != dim)
      others.push_back(d);
  Value own = b.scan({input}, dim, /*reverse=*/false, {identity}, body)[0];
  Value all = b.reduce({input}, dim, {identity}, body)[0];
  set(scan.getResult(), narrow(join(b.broadcastInDims(init, shape, others), own)));
  set(scan.getTotal(), narrow(join(init, all)));
  return success();
}

/// What a cast to the accumulator's type was made from, if products of that are exact there.
static mlir::Value peel(mlir::Value operand) {
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

/// The matrix product in f32, from all products of two elements.
Value KernelLowering::sumOfProducts(Value lhs, Value rhs) {
  int64_t rows = b.shapeOf(lhs)[0], depth = b.shapeOf(lhs)[1], columns = b.shapeOf(rhs)[1];
  Builder::Shape all{rows, depth, columns};
  Value x = b.broadcast(b.reshape(b.convert(lhs, TypeKind::F32), {rows, depth, 1}), all);
  Value y = b.broadcast(b.reshape(b.convert(rhs, TypeKind::F32), {1, depth, columns}), all);
  auto sum = [&](const Values &pair) { return Values{b.add(pair[0], pair[1])}; };
  return b.reduce({b.mul(x, y)}, 1, {0.0}, sum).front();
}

LogicalResult KernelLowering::lowerMma(tile::MmaOp mma) {
  if (mma.getParts() > 1)
    return mma.emitOpError("expected sums in one part for CUDA Tile IR, got ") << mma.getParts();
  mlir::Value lhs = peel(mma.getLhs()), rhs = peel(mma.getRhs());
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
    return mma.emitError("expected products of floating point numbers or bytes, got ")
           << elementOf(lhs);
  auto factor = [&](mlir::Value value) {
    mlir::Type element = elementOf(value);
    if (!isFloat8(element) || options.sumsFloat8)
      return get(value);
    return b.convert(options.hasFloat8 ? get(value) : fromFloat8(get(value), element), TypeKind::F16);
  };
  Value x = factor(lhs), y = factor(rhs), acc = get(mma.getAcc());
  // What tileiras makes of matrix products over fewer elements is wrong.
  constexpr int64_t shortest = 8;
  if (b.shapeOf(x).back() < shortest && b.elementKindOf(acc) == TypeKind::F32)
    set(mma, b.add(acc, sumOfProducts(x, y)));
  else
    set(mma, b.mma(x, y, acc, signednessOf(elementOf(lhs)), signednessOf(elementOf(rhs))));
  return success();
}

} // namespace tessera::cudatile
