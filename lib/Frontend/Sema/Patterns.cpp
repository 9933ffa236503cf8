//===- Patterns.cpp - Tensors that are computed from their indices --------===//
//
// Products with positive steps are on the left of a comparison and those with negative steps on the
// right, as a program would write a mask: `j <= i + 3`.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

using namespace tessera;
using namespace tessera::sema;

namespace {

class PatternEmitter {
public:
  PatternEmitter(Emitter &emit, const TensorPattern &pattern) : emit(emit), pattern(pattern) {
    for (int64_t size : pattern.shape)
      shape.push_back(SymExpr(size));
  }

  Value run() {
    if (pattern.values.empty()) {
      Value position = sum([](int64_t step) { return step; }, pattern.offset);
      return emit.cast(position, pattern.dtype, false);
    }
    if (pattern.values.size() == 1)
      return number(pattern.values[0]);
    Value isInside = inside();
    if (pattern.dtype == DType::Bool && pattern.values[0].integer && !pattern.values[1].integer)
      return isInside;
    return emit.map(ScalarOp::Where,
                    {isInside, number(pattern.values[0]), number(pattern.values[1])});
  }

private:
  Value number(const Constant &constant) {
    return emit.constant(pattern.dtype, shape, fromConstant(constant, "", nullptr));
  }

  Value integer(int64_t value) {
    return emit.constant(DType::Int64, shape, Value::ofInt(SymExpr(value)));
  }

  /// The products of indices and steps, and an offset.
  template <typename Step> Value sum(Step stepOf, int64_t offset) {
    std::optional<Value> total;
    for (auto [dim, step] : llvm::enumerate(pattern.steps)) {
      int64_t factor = stepOf(step);
      if (factor == 0)
        continue;
      Value term = emit.iota(shape, int64_t(dim), DType::Int64);
      if (factor != 1)
        term = emit.map(ScalarOp::Mul, {term, integer(factor)});
      total = total ? emit.map(ScalarOp::Add, {*total, term}) : term;
    }
    if (!total)
      return integer(offset);
    return offset == 0 ? *total : emit.map(ScalarOp::Add, {*total, integer(offset)});
  }

  Value inside() {
    auto positive = [](int64_t step) { return std::max<int64_t>(step, 0); };
    auto negative = [](int64_t step) { return std::max<int64_t>(-step, 0); };
    std::optional<Value> both;
    auto require = [&](ScalarOp comparison, int64_t bound) {
      Value holds = emit.map(comparison, {sum(positive, 0), sum(negative, bound - pattern.offset)});
      both = both ? emit.map(ScalarOp::And, {*both, holds}) : holds;
    };
    if (pattern.high)
      require(ScalarOp::Le, *pattern.high);
    if (pattern.low)
      require(ScalarOp::Ge, *pattern.low);
    return both ? *both : emit.constant(DType::Bool, shape, Value::ofBool(true));
  }

  Emitter &emit;
  const TensorPattern &pattern;
  Shape shape;
};

} // namespace

Value sema::emitPattern(Emitter &emit, const TensorPattern &pattern) {
  return PatternEmitter(emit, pattern).run();
}
