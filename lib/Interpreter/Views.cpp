//===- Views.cpp - Values of an interpreted program -----------------------===//
#include "Views.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

Shape interpreter::denseStrides(ArrayRef<SymExpr> sizes) {
  Shape strides(sizes.size(), SymExpr(1));
  SymExpr stride = 1;
  for (unsigned d = sizes.size(); d-- > 0; stride = stride * sizes[d])
    strides[d] = stride;
  return strides;
}

SymExpr interpreter::product(ArrayRef<SymExpr> sizes) {
  SymExpr result = 1;
  for (SymExpr size : sizes)
    result = result * size;
  return result;
}

bool View::isDense() const {
  SymExpr expected = 1;
  for (unsigned d = sizes.size(); d-- > 0; expected = expected * sizes[d])
    if (strides[d] != expected && !sizes[d].isConstant(1))
      return false;
  return kind == Memory;
}

View View::with(Shape newSizes, Shape newStrides) const {
  View result = *this;
  result.sizes = std::move(newSizes);
  result.strides = std::move(newStrides);
  return result;
}

bool interpreter::isView(Operation *op) {
  return isa<gir::BroadcastOp, gir::TransposeOp, gir::SliceOp, gir::WindowOp, gir::ReshapeOp,
             gir::MaterializeOp, gir::RecomputeOp, gir::StopGradientOp, gir::CheckpointNameOp>(op);
}

static View slice(gir::SliceOp op, const View &input, Shape sizes) {
  View result = input.with(std::move(sizes), input.strides);
  if (input.kind == View::Number || input.kind == View::Scalar)
    return result;
  for (unsigned d = 0; d < input.rank(); ++d) {
    result.origin = result.origin + input.strides[d] * op.getStart(d);
    result.strides[d] = input.strides[d] * op.getSteps()[d];
  }
  return result;
}

static View window(gir::WindowOp op, const View &input, Shape sizes) {
  Shape strides = input.strides;
  for (auto [j, d] : llvm::enumerate(op.getDims()))
    strides.push_back(input.strides[d] * op.getDilations()[j]);
  for (auto [j, d] : llvm::enumerate(op.getDims()))
    strides[d] = input.strides[d] * op.getSteps()[j];
  return input.with(std::move(sizes), std::move(strides));
}

/// The strides of the new shape where only dimensions of size 1 come or go.
static std::optional<Shape> reshapeUnits(const View &input, ArrayRef<SymExpr> sizes) {
  Shape strides(sizes.size(), SymExpr(0));
  unsigned from = 0;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    if (size.isConstant(1))
      continue;
    while (from < input.rank() && input.sizes[from].isConstant(1))
      ++from;
    if (from == input.rank() || input.sizes[from] != size)
      return std::nullopt;
    strides[d] = input.strides[from++];
  }
  while (from < input.rank() && input.sizes[from].isConstant(1))
    ++from;
  return from == input.rank() ? std::optional(strides) : std::nullopt;
}

static std::optional<View> reshape(const View &input, Shape sizes) {
  if (input.kind == View::Number || input.kind == View::Scalar) {
    Shape strides(sizes.size(), SymExpr(0));
    return input.with(std::move(sizes), std::move(strides));
  }
  if (std::optional<Shape> strides = reshapeUnits(input, sizes))
    return input.with(std::move(sizes), std::move(*strides));
  if (!input.isDense())
    return std::nullopt;
  Shape strides = denseStrides(sizes);
  return input.with(std::move(sizes), std::move(strides));
}

std::optional<View> interpreter::viewOf(Operation *op, const View &input) {
  Shape sizes(cast<gir::TensorType>(op->getResult(0).getType()).getShape());
  return llvm::TypeSwitch<Operation *, std::optional<View>>(op)
      .Case([&](gir::BroadcastOp broadcast) {
        Shape strides(sizes.size(), SymExpr(0));
        for (auto [i, d] : llvm::enumerate(broadcast.getDims()))
          if (input.sizes[i] == sizes[d])
            strides[d] = input.strides[i];
        return input.with(sizes, strides);
      })
      .Case([&](gir::TransposeOp transpose) {
        Shape strides;
        for (int64_t d : transpose.getPermutation())
          strides.push_back(input.strides[d]);
        return input.with(sizes, strides);
      })
      .Case([&](gir::SliceOp op) { return slice(op, input, sizes); })
      .Case([&](gir::WindowOp op) { return window(op, input, sizes); })
      .Case([&](gir::ReshapeOp) { return reshape(input, sizes); })
      .Case<gir::MaterializeOp, gir::RecomputeOp, gir::StopGradientOp, gir::CheckpointNameOp>(
          [&](Operation *) { return input; })
      .Default([](Operation *) { return std::nullopt; });
}
