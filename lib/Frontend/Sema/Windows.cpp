//===- Windows.cpp - Windows that slide along dimensions ------------------===//
#include "Windows.h"

using namespace tessera;
using namespace tessera::sema;

int64_t sema::spatialRank(const Args &args) {
  for (char c : args.builtin.name)
    if (c >= '1' && c <= '3')
      return c - '0';
  return 1;
}

std::string sema::nameOf(const Args &args, size_t i) {
  return "'" + std::string(args.builtin.params[i].name) + "' of '" +
         std::string(args.builtin.name) + "'";
}

std::optional<Numbers> sema::perDim(Args &args, size_t i, int64_t count, int64_t least) {
  Numbers numbers;
  std::vector<Value> given =
      args[i].isSequence() ? *args[i].elements : std::vector<Value>(count, args[i]);
  if (given.size() == 1)
    given.resize(count, given[0]);
  if (int64_t(given.size()) != count) {
    args.error(i, "expected a number or " + std::to_string(count) + " numbers for " +
                      nameOf(args, i) + ", found " + std::to_string(given.size()));
    return std::nullopt;
  }
  for (size_t k = 0; k < given.size(); ++k) {
    std::optional<int64_t> number = args.in.toInt(given[k], args.part(i, k), nameOf(args, i));
    if (!number)
      return std::nullopt;
    if (*number < least) {
      args.in.error(args.part(i, k), "expected at least " + std::to_string(least) + " for " +
                                         nameOf(args, i) + ", found " + std::to_string(*number));
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Numbers sema::range(int64_t first, int64_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

mlir::Value sema::padded(Emitter &emit, mlir::Value x, int64_t dim, SymExpr before, SymExpr after,
                         const Value &number) {
  auto type = llvm::cast<gir::TensorType>(x.getType());
  auto isNegative = [](SymExpr width) { return width.isConstant() && width.constantValue() < 0; };
  if (isNegative(before) || isNegative(after)) {
    Shape starts(type.getRank(), SymExpr(0)), sizes(type.getShape());
    SymExpr front = isNegative(before) ? SymExpr(0) - before : SymExpr(0);
    SymExpr back = isNegative(after) ? SymExpr(0) - after : SymExpr(0);
    starts[dim] = front;
    sizes[dim] = sizes[dim] - front - back;
    x = emit.slice(x, starts, Numbers(type.getRank(), 1), sizes);
    type = llvm::cast<gir::TensorType>(x.getType());
  }
  llvm::SmallVector<mlir::Value> parts;
  auto addPart = [&](SymExpr width) {
    if (width.isConstant(0) || isNegative(width))
      return;
    Shape shape(type.getShape());
    shape[dim] = width;
    parts.push_back(emit.constant(*dtypeFromMlir(type.getElementType()), shape, number).tensor);
  };
  addPart(before);
  parts.push_back(x);
  addPart(after);
  if (parts.size() == 1)
    return x;
  return gir::ConcatOp::create(emit.builder, emit.loc(), dim, mlir::ValueRange(parts));
}

/// The view [.., positions.., elements..] of windows that fit. Windows of one element are a slice.
static mlir::Value viewWindows(Emitter &emit, mlir::Value tensor, const Windows &windows) {
  int64_t count = windows.sizes.size();
  auto type = llvm::cast<gir::TensorType>(tensor.getType());
  int64_t rank = type.getRank(), first = rank - count;
  if (llvm::any_of(windows.sizes, [](int64_t size) { return size != 1; }))
    return gir::WindowOp::create(emit.builder, emit.loc(), tensor, range(first, count),
                                 windows.sizes, windows.steps, windows.dilations);
  Shape shape(type.getShape());
  Numbers steps(rank, 1);
  for (int64_t j = 0; j < count; ++j) {
    steps[first + j] = windows.steps[j];
    shape[first + j] = shape[first + j].ceilDiv(SymExpr(windows.steps[j]));
  }
  mlir::Value slice = emit.slice(tensor, Shape(rank, SymExpr(0)), steps, shape);
  return emit.unsqueeze(slice, range(rank, count));
}

std::optional<mlir::Value> sema::windowsOf(Args &args, const Value &x, const Windows &windows,
                                           const Value &padding) {
  Emitter &emit = args.emit();
  int64_t count = windows.sizes.size(), first = int64_t(x.rank()) - count;
  mlir::Value tensor = x.tensor;
  for (int64_t j = 0; j < count; ++j) {
    tensor = padded(emit, tensor, first + j, SymExpr(windows.before[j]), SymExpr(windows.after[j]),
                    padding);
    SymExpr size = llvm::cast<gir::TensorType>(tensor.getType()).getDim(first + j);
    if (args.in.sizes.nonNegative(size - SymExpr(windows.extent(j)), args.range) != true) {
      args.error(0, "expected at least " + std::to_string(windows.extent(j)) +
                        " elements with padding in dimension " + std::to_string(first + j) +
                        " for '" + std::string(args.builtin.name) + "', found " + size.str());
      return std::nullopt;
    }
  }
  return viewWindows(emit, tensor, windows);
}
