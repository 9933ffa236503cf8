//===- SimulatorTest.cpp - Orders, findings and element types ------------===//
#include "tessera/Simulator/Simulator.h"
#include "../../lib/Simulator/Values.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Simulator/Print.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

namespace {

/// A function from one vector x to another, by one launch of @k over `grid`.
class Simulated {
public:
  Simulated(int64_t size, const std::string &grid, const std::string &view,
            const std::string &kernel)
      : size(size) {
    context.loadDialect<func::FuncDialect, gir::GraphDialect, tile::TileDialect, scf::SCFDialect,
                        arith::ArithDialect>();
    std::string n = std::to_string(size), tensor = "!gir.tensor<" + n + ", f32>";
    std::string text = "func.func @f(%x: " + tensor + ") -> " + tensor +
                       " {\n  %y = tile.empty : <" + n + ", f32>\n" + "  tile.launch @k grid [\"" +
                       grid + "\"] (%x, %y) views [#tile.operand<offset \"0\", sizes [\"" + n +
                       "\"], strides [\"1\"]>, " + view + "] sizes [] : " + tensor + ", " + tensor +
                       "\n  return %y : " + tensor + "\n}\n" + kernel;
    module = parseSourceString<ModuleOp>(text, &context);
    setTarget(*module, "sm_90a");
  }

  Report run(const Options &options) {
    std::vector<float> x(size);
    for (int64_t i = 0; i < size; ++i)
      x[i] = float(i);
    reference::HostTensor host;
    host.dtype = DType::FP32;
    host.sizes = {size};
    host.strides = {1};
    host.data = x.data();
    auto report = simulate(module->lookupSymbol<func::FuncOp>("f"), host, {}, options);
    EXPECT_TRUE(succeeded(report));
    return succeeded(report) ? std::move(*report) : Report();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  int64_t size;
};

const char *const allOverOne = "#tile.operand<offset \"0\", sizes [\"4\"], strides [\"0\"]>";

/// Warps that write different values to one element.
std::string writers(int warps) {
  return "#each = #tile.layout<\"warp[d0:1, d0:2] -> d0:4\">\n"
         "tile.kernel @k(%x: !tile.view<1xf32, strides = [1]>, %y: !tile.view<4xf32, strides = "
         "[0]>) grid 1 launch <num_warps = " +
         std::to_string(warps) +
         "> {\n  %c0 = arith.constant 0 : index\n  %i = tile.iota %c0 : tensor<4xi32, #each>\n"
         "  %f = tile.cast %i : tensor<4xi32, #each> -> tensor<4xf32, #each>\n"
         "  tile.store %f, %y[%c0] dims [0] : tensor<4xf32, #each>, !tile.view<4xf32, strides = "
         "[0]>\n  tile.return\n}\n";
}

bool has(const Report &report, FindingKind kind) {
  return llvm::any_of(report.findings,
                      [&](const Finding &finding) { return finding.kind == kind; });
}

TEST(Simulator, RunsAllOrdersOfConflictingWrites) {
  Simulated program(1, "1", allOverOne, writers(4));
  ASSERT_TRUE(program.module);
  Options options;
  options.isExhaustive = true;
  Report report = program.run(options);
  EXPECT_EQ(report.launches[0].runs, 24u); // 4!
  EXPECT_TRUE(report.launches[0].isComplete);
  EXPECT_TRUE(has(report, FindingKind::Race));
  EXPECT_TRUE(has(report, FindingKind::Order));
}

TEST(Simulator, ReportsIncompleteExploration) {
  Simulated program(1, "1", allOverOne, writers(4));
  Options options;
  options.isExhaustive = true;
  options.mostRuns = 5;
  EXPECT_FALSE(program.run(options).launches[0].isComplete);
}

TEST(Simulator, IndependentCtasHaveOneOrder) {
  Simulated program(
      256, "4", "#tile.operand<offset \"0\", sizes [\"256\"], strides [\"1\"]>",
      "#rows = #tile.layout<\"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64\">\n"
      "!v = !tile.view<256xf32, strides = [1]>\n"
      "tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 1> {\n  %i = tile.program_id 0\n"
      "  %t = tile.load %x[%i] dims [0] : !v -> tensor<64xf32, #rows>\n"
      "  %d = tile.map add(%t, %t) : (tensor<64xf32, #rows>, tensor<64xf32, #rows>) -> "
      "tensor<64xf32, #rows>\n"
      "  tile.store %d, %y[%i] dims [0] : tensor<64xf32, #rows>, !v\n  tile.return\n}\n");
  ASSERT_TRUE(program.module);
  Options options;
  options.isExhaustive = true;
  Report report = program.run(options);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.launches[0].runs, 1u);
  EXPECT_TRUE(report.launches[0].isComplete);
  const float *y = reinterpret_cast<const float *>(report.results[0].bytes.data());
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], 2.0f * float(i));
}

TEST(Simulator, JsonHasNoInfinities) {
  Report report;
  SmallVector<Checked> checked(3);
  const double worst[] = {INFINITY, NAN, 0.5};
  for (unsigned i = 0; i < 3; ++i)
    checked[i].comparison.worst = worst[i];
  std::string text =
      llvm::formatv("{0}", llvm::json::Value(toJson({"f", "sm_90", report, checked, {}, false})))
          .str();
  llvm::Expected<llvm::json::Value> read = llvm::json::parse(text);
  ASSERT_TRUE(bool(read)) << text;
  const llvm::json::Array &results = *read->getAsObject()->getArray("results");
  EXPECT_TRUE(results[0].getAsObject()->getNull("error_of_bound"));
  EXPECT_TRUE(results[1].getAsObject()->getNull("error_of_bound"));
  EXPECT_EQ(results[2].getAsObject()->getNumber("error_of_bound"), 0.5);
}

TEST(Values, SmallFloatsRoundTrip) {
  MLIRContext context;
  for (Type type : {Type(Float16Type::get(&context)), Type(BFloat16Type::get(&context)),
                    Type(Float8E4M3FNType::get(&context)), Type(Float8E5M2Type::get(&context))}) {
    Element element = *Element::of(type);
    for (uint64_t bits = 0; bits < uint64_t(1) << 8 * element.bytes(); ++bits) {
      Number number = element.decode(bits);
      if (std::isnan(number.real))
        EXPECT_TRUE(std::isnan(element.decode(element.encode(number)).real)) << bits;
      else
        EXPECT_EQ(element.encode(number), bits);
      if (!std::isnan(number.real))
        EXPECT_EQ(element.round(number.real), number.real);
    }
  }
}

TEST(Values, IntegersWrapAndFloatsTruncate) {
  MLIRContext context;
  Element i8 = *Element::of(IntegerType::get(&context, 8)),
          f32 = *Element::of(Float32Type::get(&context)),
          boolean = *Element::of(IntegerType::get(&context, 1));
  EXPECT_EQ(i8.convert(integer(300), i8).integer, 44);
  EXPECT_EQ(i8.convert(real(-3.9), f32).integer, -3);
  EXPECT_EQ(boolean.convert(real(0.5), f32).integer, 1);
  EXPECT_EQ(f32.convert(integer(16777217), i8).real, 16777216.0);
}

} // namespace
