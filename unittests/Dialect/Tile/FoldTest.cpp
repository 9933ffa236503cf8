//===- FoldTest.cpp - Folding and expansion agree -------------------------===//
//
// Signed zeros, integer expansions, and the folders against the evaluator: an expanded function of
// a constant folds to the same bits as its evaluation.
//
//===----------------------------------------------------------------------===//
#include "TileEvaluator.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Support/ScalarEval.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

struct TileFold : testing::Test {
  TileFold() { context.loadDialect<tile::TileDialect, func::FuncDialect>(); }
  MLIRContext context;

  /// The value of `op` on constants, through expansion and folding alone.
  TypedAttr foldExpanded(ScalarOp op, ArrayRef<TypedAttr> operands) {
    OpBuilder builder(&context);
    Location loc = builder.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
    builder.setInsertionPointToStart(module->getBody());
    auto type = RankedTensorType::get({4}, operands[0].getType());
    auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    SmallVector<Value> inputs;
    for (TypedAttr operand : operands)
      inputs.push_back(tile::ConstantOp::create(builder, loc, type, operand));
    Value result = tile::MapOp::create(builder, loc, op, inputs);
    func::ReturnOp::create(builder, loc, result);
    function.setType(builder.getFunctionType({}, result.getType()));
    tile::expandMath(*module, {});
    PassManager passes(&context);
    passes.addPass(createCanonicalizerPass());
    if (failed(passes.run(*module)))
      return {};
    Value returned = function.getBody().front().getTerminator()->getOperand(0);
    auto constant = returned.getDefiningOp<tile::ConstantOp>();
    return constant ? cast<TypedAttr>(constant.getValue()) : TypedAttr();
  }
};

TEST_F(TileFold, FoldsToWhatIsEvaluated) {
  Type f32 = Float32Type::get(&context), f64 = Float64Type::get(&context);
  ScalarOp ops[] = {ScalarOp::Exp,   ScalarOp::Log,  ScalarOp::Tanh, ScalarOp::Erf,
                    ScalarOp::Sin,   ScalarOp::Acos, ScalarOp::Atan, ScalarOp::Expm1,
                    ScalarOp::Log1p, ScalarOp::Silu, ScalarOp::Erfc, ScalarOp::Tan,
                    ScalarOp::Sinh,  ScalarOp::Exp2};
  for (ScalarOp op : ops) {
    ExpandedMap narrow(context, op, f32), wide(context, op, f64);
    for (double x : {0.0, 0.3, -0.9, 1.0, 2.5, 1e-40, 77.0}) {
      Lanes f32Lane, f64Lane;
      f32Lane.f32 = {float(x)};
      f64Lane.f64 = {x};
      auto folded = dyn_cast_or_null<FloatAttr>(foldExpanded(op, {FloatAttr::get(f32, float(x))}));
      ASSERT_TRUE(folded) << scalarOpInfo(op).name << " of " << x;
      float expected = narrow.run(f32Lane, 1).f32[0];
      float got = folded.getValue().convertToFloat();
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : std::memcmp(&got, &expected, 4) == 0)
          << scalarOpInfo(op).name << " of " << x << ": " << got << ", " << expected;
      folded = dyn_cast_or_null<FloatAttr>(foldExpanded(op, {FloatAttr::get(f64, x)}));
      ASSERT_TRUE(folded) << scalarOpInfo(op).name << " of " << x;
      double expected64 = wide.run(f64Lane, 1).f64[0], got64 = folded.getValue().convertToDouble();
      EXPECT_TRUE(std::isnan(expected64) ? std::isnan(got64)
                                         : std::memcmp(&got64, &expected64, 8) == 0)
          << scalarOpInfo(op).name << " of " << x << ": " << got64 << ", " << expected64;
    }
  }
}

TEST_F(TileFold, SignsHaveOneZero) {
  Lanes x;
  x.f32 = {0.0f, -0.0f};
  Lanes result = ExpandedMap(context, ScalarOp::Sign, Float32Type::get(&context)).run(x, 2);
  for (int i : {0, 1})
    EXPECT_TRUE(result.f32[i] == 0 && !std::signbit(result.f32[i]));
}

TEST_F(TileFold, OddFunctionsKeepTheSignOfZero) {
  ScalarOp odd[] = {ScalarOp::Expm1, ScalarOp::Log1p, ScalarOp::Sin,  ScalarOp::Tan, ScalarOp::Asin,
                    ScalarOp::Atan,  ScalarOp::Sinh,  ScalarOp::Tanh, ScalarOp::Erf};
  for (ScalarOp op : odd) {
    ExpandedMap narrow(context, op, Float32Type::get(&context));
    ExpandedMap wide(context, op, Float64Type::get(&context));
    Lanes x;
    x.f32 = {0.0f, -0.0f};
    x.f64 = {0.0, -0.0};
    Lanes f32 = narrow.run(x, 2), f64 = wide.run(x, 2);
    for (int i : {0, 1}) {
      EXPECT_TRUE(f32.f32[i] == 0 && std::signbit(f32.f32[i]) == (i == 1)) << scalarOpInfo(op).name;
      EXPECT_TRUE(f64.f64[i] == 0 && std::signbit(f64.f64[i]) == (i == 1)) << scalarOpInfo(op).name;
    }
  }
}

TEST_F(TileFold, IntegersAreExact) {
  std::pair<Type, IntegerFormat> types[] = {
      {IntegerType::get(&context, 8), {8, true}},
      {IntegerType::get(&context, 8, IntegerType::Unsigned), {8, false}},
      {IntegerType::get(&context, 32), {32, true}},
      {IntegerType::get(&context, 64), {64, true}}};
  for (auto [type, format] : types) {
    for (ScalarOp op :
         {ScalarOp::Pow, ScalarOp::Sign, ScalarOp::Square, ScalarOp::Relu, ScalarOp::Round}) {
      unsigned arity = scalarOpInfo(op).arity;
      ExpandedMap expanded(context, op, type);
      std::vector<Lanes> x(arity);
      for (int64_t a : {0, 1, -1, 2, -2, 3, -7, 10, 100, 127, -128})
        for (int64_t b : {0, 1, 2, 3, 5, 17, 31, 64, 100, -1, -2, -3}) {
          x[0].integer.push_back(format.wrap(a));
          if (arity == 2)
            x[1].integer.push_back(format.wrap(b));
        }
      size_t n = x[0].integer.size();
      Lanes result = expanded.run(x, n);
      for (size_t i = 0; i < n; ++i) {
        int64_t operands[] = {x[0].integer[i], arity == 2 ? x[1].integer[i] : 0};
        EXPECT_EQ(result.integer[i], evaluateInteger(op, operands, format))
            << scalarOpInfo(op).name << " of " << operands[0] << ", " << operands[1] << " with "
            << format.width << " bits";
      }
    }
  }
}

TEST_F(TileFold, ConstantPowersAreProducts) {
  Type f32 = Float32Type::get(&context);
  for (double y : {0.0, 1.0, 2.0, 3.0, 7.0, -1.0, -2.0, 0.5})
    for (double x : {0.0, 1.0, 1.5, 3.0}) {
      auto folded = dyn_cast_or_null<FloatAttr>(
          foldExpanded(ScalarOp::Pow, {FloatAttr::get(f32, x), FloatAttr::get(f32, y)}));
      ASSERT_TRUE(folded);
      float exact = float(std::pow(x, y));
      float got = folded.getValue().convertToFloat();
      EXPECT_TRUE(got == exact || std::fabs(got - exact) <= 4e-7f * exact) << x << "^" << y;
    }
}

} // namespace
