//===- TileEvaluator.cpp - Evaluates expanded elementwise programs --------===//
#include "TileEvaluator.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Support/ScalarEval.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

ExpandedMap::ExpandedMap(MLIRContext &context, ScalarOp op, Type type, bool fast) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToStart(module->getBody());
  SmallVector<Type> inputs(scalarOpInfo(op).arity, RankedTensorType::get({}, type));
  auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(inputs, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value result = tile::MapOp::create(builder, loc, op, function.getArguments(), fast);
  func::ReturnOp::create(builder, loc, result);
  function.setType(builder.getFunctionType(inputs, result.getType()));

  tile::expandMath(*module, {});
  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(*module)))
    llvm::report_fatal_error("the expansion failed");
}

func::FuncOp ExpandedMap::function() { return *module->getOps<func::FuncOp>().begin(); }

unsigned ExpandedMap::numOps() {
  unsigned count = 0;
  function().walk([&](Operation *op) { count += isa<tile::MapOp, tile::CastOp>(op); });
  return count;
}

//===----------------------------------------------------------------------===//
// Primitives on the host
//===----------------------------------------------------------------------===//

template <typename T> static T pickLarger(T x, T y, bool larger) {
  if (std::isnan(x) || std::isnan(y))
    return x + y;
  if (x == y)
    return std::signbit(x) == larger ? y : x;
  return (x > y) == larger ? x : y;
}

template <typename T> static T primitive(ScalarOp op, const T *x) {
  switch (op) {
  case ScalarOp::Add:
    return x[0] + x[1];
  case ScalarOp::Sub:
    return x[0] - x[1];
  case ScalarOp::Mul:
    return x[0] * x[1];
  case ScalarOp::Div:
    return x[0] / x[1];
  case ScalarOp::Neg:
    return -x[0];
  case ScalarOp::Abs:
    return std::fabs(x[0]);
  case ScalarOp::Maximum:
    return pickLarger(x[0], x[1], true);
  case ScalarOp::Minimum:
    return pickLarger(x[0], x[1], false);
  case ScalarOp::Sqrt:
    return std::sqrt(x[0]);
  case ScalarOp::Floor:
    return std::floor(x[0]);
  case ScalarOp::Ceil:
    return std::ceil(x[0]);
  case ScalarOp::Round:
    return std::nearbyint(x[0]);
  case ScalarOp::Trunc:
    return std::trunc(x[0]);
  case ScalarOp::Fma:
    return std::fma(x[0], x[1], x[2]);
  case ScalarOp::ScaleB:
    // Exponents outside the supported range are an error.
    if (std::fabs(x[1]) > (sizeof(T) == 4 ? 160 : 1100))
      return T(12345);
    return std::isnan(x[1]) ? x[0] + x[1] : std::ldexp(x[0], int(x[1]));
  default:
    llvm::report_fatal_error("an operation that is not primitive");
  }
}

template <typename T> static bool compare(ScalarOp op, T x, T y) {
  switch (op) {
  case ScalarOp::Eq:
    return x == y;
  case ScalarOp::Ne:
    return x != y;
  case ScalarOp::Lt:
    return x < y;
  case ScalarOp::Le:
    return x <= y;
  case ScalarOp::Gt:
    return x > y;
  default:
    return x >= y;
  }
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// Calls `visit` with a value of the C++ type that holds elements of `type`.
template <typename Visit> static void dispatch(Type type, Visit visit) {
  if (type.isF32())
    visit(float());
  else if (type.isF64())
    visit(double());
  else
    visit(int64_t());
}

static IntegerFormat formatOf(Type type) {
  bool isSigned = !type.isInteger(1) && !type.isUnsignedInteger();
  return {type.getIntOrFloatBitWidth(), isSigned};
}

template <typename T>
static void runMap(tile::MapOp map, ArrayRef<Lanes *> in, Lanes &out, size_t n) {
  ScalarOp op = map.getScalarOp();
  unsigned arity = in.size();
  if (op == ScalarOp::Where) {
    auto &result = lanesOf<T>(out);
    result.resize(n);
    for (size_t i = 0; i < n; ++i)
      result[i] = lanesOf<T>(*in[in[0]->integer[i] ? 1 : 2])[i];
    return;
  }
  if (scalarOpInfo(op).rule == TypeRule::Compare) {
    out.integer.resize(n);
    for (size_t i = 0; i < n; ++i)
      out.integer[i] = compare(op, lanesOf<T>(*in[0])[i], lanesOf<T>(*in[1])[i]);
    return;
  }
  auto &result = lanesOf<T>(out);
  result.resize(n);
  IntegerFormat format = formatOf(elementOf(map.getResult()));
  for (size_t i = 0; i < n; ++i) {
    T x[3];
    for (unsigned k = 0; k < arity; ++k)
      x[k] = lanesOf<T>(*in[k])[i];
    if constexpr (std::is_same_v<T, int64_t>)
      result[i] = evaluateInteger(op, x, format);
    else
      result[i] = primitive<T>(op, x);
  }
}

template <typename From, typename To> static To convert(From x, Type type) {
  if constexpr (!std::is_same_v<To, int64_t>)
    return To(x);
  else if (type.isInteger(1))
    return x != 0;
  else if (!(double(x) > -0x1p63 && double(x) < 0x1p63))
    return 0;
  else
    return formatOf(type).wrap(int64_t(x));
}

template <typename From, typename To> static To reinterpret(From x) {
  To result = 0;
  std::memcpy(&result, &x, std::min(sizeof(From), sizeof(To)));
  // An f32 bit pattern is held as a signed integer, like every other one.
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, int64_t>)
    result = int32_t(result);
  return result;
}

Lanes ExpandedMap::run(ArrayRef<Lanes> inputs, size_t n) {
  llvm::DenseMap<Value, Lanes> values;
  func::FuncOp f = function();
  for (auto [argument, lanes] : llvm::zip(f.getArguments(), inputs))
    values[argument] = lanes;
  for (Operation &op : f.getBody().front()) {
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return values[ret.getOperand(0)];
    Lanes out;
    SmallVector<Lanes *> in;
    for (Value operand : op.getOperands())
      in.push_back(&values[operand]);
    Type type = elementOf(op.getResult(0));
    if (auto constant = dyn_cast<tile::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
        if (type.isF32())
          out.f32.assign(n, number.getValue().convertToFloat());
        else
          out.f64.assign(n, number.getValue().convertToDouble());
      } else {
        APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
        bool isSigned = formatOf(type).isSigned;
        out.integer.assign(n, isSigned ? value.getSExtValue() : value.getZExtValue());
      }
    } else if (auto map = dyn_cast<tile::MapOp>(op)) {
      Type computed = elementOf(map.getInputs().back());
      dispatch(computed, [&](auto zero) { runMap<decltype(zero)>(map, in, out, n); });
    } else {
      bool isCast = isa<tile::CastOp>(op);
      if (!isCast && !isa<tile::BitcastOp>(op))
        llvm::report_fatal_error("an operation that is not elementwise");
      dispatch(elementOf(op.getOperand(0)), [&](auto from) {
        dispatch(type, [&](auto to) {
          using From = decltype(from);
          using To = decltype(to);
          auto &source = lanesOf<From>(*in[0]);
          auto &result = lanesOf<To>(out);
          result.resize(n);
          for (size_t i = 0; i < n; ++i)
            result[i] =
                isCast ? convert<From, To>(source[i], type) : reinterpret<From, To>(source[i]);
        });
      });
    }
    values[op.getResult(0)] = std::move(out);
  }
  llvm::report_fatal_error("a function without a return");
}
