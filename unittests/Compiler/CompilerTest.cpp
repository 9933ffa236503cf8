//===- CompilerTest.cpp - The compiler's C++ interface --------------------===//
#include "tessera/CompileModule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

Program matmul(tessera_rt_dtype dtype, int64_t size) {
  Program program;
  program.source = "@tsr.function\ndef matmul(a, b):\n    return a @ b\n";
  program.arguments = {tensor("a", dtype, {size, size}), tensor("b", dtype, {size, size})};
  return program;
}

TargetLoweringOptions forGpu(const char *chip) {
  TargetLoweringOptions options;
  options.platform = Platform::CUDA;
  options.architecture = chip;
  return options;
}

TEST(Compiler, SourceToCall) {
  Program program;
  program.source = "@tsr.function\ndef f(x, scale):\n    return x * scale + 1\n";
  program.arguments = {tensor("x", TESSERA_RT_FP32, {anySize}),
                       scalar("scale", TESSERA_ARGUMENT_FLOAT)};
  Compilation result = compile(program);
  ASSERT_TRUE(result) << result.text();
  Module module = result.load();
  Function<Tensor<float, 1>(View<const float, 1>, double)> f(module, "f");
  std::vector<float> x = {1, 2, 3};
  Tensor<float, 1> y = f({}, View<const float, 1>(x.data(), {3}), 10.0);
  EXPECT_EQ(y.toHost(), (std::vector<float>{11, 21, 31}));
}

TEST(Compiler, WhatIsKnownOfArguments) {
  Program program;
  program.source = "@tsr.function\ndef f(x, n):\n"
                   "    for i in range(n):\n        x = x + i\n    return x\n";
  program.arguments = {tensor("x", TESSERA_RT_FP32, {anySize, 48}),
                       scalar("n", TESSERA_ARGUMENT_INT)};
  ArgumentType &x = program.arguments[0], &n = program.arguments[1];
  // A view of columns: 16 divides their number.
  x.dense = false;
  x.unitStride = 0;
  x.divisors = {16, 0};
  EXPECT_FALSE(compile(program)) << "the length of the loop is not known";
  n.hasValue = true;
  n.integer = 3;
  Compilation result = compile(program, {}, {"graph"});
  ASSERT_TRUE(result) << result.text();
  std::string graph = result.stage("graph");
  EXPECT_NE(graph.find("gir.unit_stride = 0"), std::string::npos) << graph;
  EXPECT_NE(graph.find("divisor = 16"), std::string::npos) << graph;
  EXPECT_EQ(graph.find("gir.contiguous"), std::string::npos) << graph;
  Module module = result.load();
  Function<Tensor<float, 2>(View<const float, 2>, int64_t)> f(module, "f");
  std::vector<float> columns(16 * 48, 1);
  View<const float, 2> view(columns.data(), {16, 48}, {1, 16});
  EXPECT_EQ(f({}, view, 3).toHost(), std::vector<float>(16 * 48, 4));
}

TEST(Compiler, ModuleInMemory) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, gir::GraphDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    func.func @negated(%x: !gir.tensor<S, f32> {gir.name = "x"}) -> !gir.tensor<S, f32> {
      %0 = gir.map neg(%x) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
      return %0 : !gir.tensor<S, f32>
    })mlir",
                                                        &context);
  ASSERT_TRUE(module);
  Compilation result = compileModule(*module);
  ASSERT_TRUE(result) << result.text();
  Module loaded = result.load();
  Function<Tensor<float, 1>(View<const float, 1>)> negated(loaded, "negated");
  std::vector<float> x = {1, 2};
  EXPECT_EQ(negated({}, View<const float, 1>(x.data(), {2})).toHost(),
            (std::vector<float>{-1, -2}));
}

TEST(Compiler, Diagnostics) {
  Program program;
  program.source = "@tsr.function\ndef f(x):\n    return x.sofmax()\n";
  program.arguments = {tensor("x", TESSERA_RT_FP32, {64})};
  Compilation result = compile(program);
  EXPECT_FALSE(result);
  EXPECT_EQ(result.status(), TESSERA_DIAGNOSTICS);
  std::vector<Compilation::Diagnostic> all = result.diagnostics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].line, 3);
  EXPECT_EQ(all[0].column, 14);
  EXPECT_EQ(all[0].endColumn, 20);
  EXPECT_EQ(all[0].message, "a tensor has no attribute 'sofmax'; did you mean 'softmax'?");
  ASSERT_EQ(all[0].fixIts.size(), 1u);
  EXPECT_EQ(all[0].fixIts[0].replacement, "softmax");
  EXPECT_EQ(all[0].fixIts[0].line, 3);
  EXPECT_EQ(all[0].fixIts[0].column, 14);
  EXPECT_EQ(all[0].fixIts[0].endColumn, 20);
  EXPECT_NE(result.text().find("             ^~~~~~\n      |              softmax\n"),
            std::string::npos)
      << result.text();
  EXPECT_EQ(result.bundle(), "");
}

/// Both operands with the names of their sizes, where these were bound, and the call stack.
TEST(Compiler, DiagnosticsOfAHelper) {
  Program program;
  program.source = "@tsr.function\ndef add(a, b):\n    return a + b\n\n"
                   "@tsr.function\ndef f(x: Tensor['B', 'S'], y: Tensor['B', 'T']):\n"
                   "    return add(x, y)\n";
  program.function = "f";
  program.arguments = {tensor("x", TESSERA_RT_FP32, {8, 64}),
                       tensor("y", TESSERA_RT_FP32, {8, 32})};
  std::vector<std::string> messages;
  for (const Compilation::Diagnostic &one : compile(program).diagnostics())
    messages.push_back(std::to_string(one.line) + ":" + std::to_string(one.column) + " " +
                       one.message);
  std::vector<std::string> expected = {"3:14 sizes do not match in dimension -1: 'S' and 'T'",
                                       "3:12 this is a tensor of fp32[B, S]",
                                       "3:16 this is a tensor of fp32[B, T]",
                                       "6:22 'S' (64 in this call) is bound here",
                                       "6:43 'T' (32 in this call) is bound here",
                                       "7:12 in the call of 'add' here"};
  EXPECT_EQ(messages, expected);
}

TEST(Compiler, WrongOptions) {
  TargetLoweringOptions options;
  options.optimizationLevel = 7;
  Compilation result = compile(matmul(TESSERA_RT_FP32, 64), options);
  EXPECT_EQ(result.status(), TESSERA_REQUEST);
  EXPECT_NE(result.text().find("expected 0, 1, 2 or 3, got '7'"), std::string::npos);
  EXPECT_EQ(compile(matmul(TESSERA_RT_FP32, 64), forGpu("sm_12")).status(), TESSERA_UNSUPPORTED);
}

TEST(Compiler, TensorCores) {
  TargetLoweringOptions options = forGpu("sm_90");
  Program program = matmul(TESSERA_RT_BF16, 512);
  std::string with = compile(program, options, {"tileir"}, false).stage("tileir");
  options.tensorCores = false;
  std::string without = compile(program, options, {"tileir"}, false).stage("tileir");
  EXPECT_NE(with.find("mmaf"), std::string::npos);
  EXPECT_EQ(with.find("ftof"), with.rfind("ftof")) << "the result alone is rounded";
  // Both operands become f32 before the product.
  EXPECT_NE(without.find("ftof"), without.rfind("ftof")) << without;
}

TEST(Compiler, ReportOfAProduct) {
  Compilation result = compile(matmul(TESSERA_RT_BF16, 4096), forGpu("sm_90"), {"tile"}, false);
  ASSERT_TRUE(result) << result.text();
  std::vector<KernelReport> kernels = result.report();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "matmul_0");
  EXPECT_DOUBLE_EQ(kernels[0].flops, 2 * 4096.0 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(kernels[0].bytes, 3 * 4096.0 * 4096 * 2);
  EXPECT_EQ(kernels[0].bound, "compute");
  // 139 µs at 989 TFLOP/s; partial waves add to it.
  EXPECT_GT(kernels[0].predictedMicroseconds, 139);
  EXPECT_LT(kernels[0].predictedMicroseconds, 300);
  EXPECT_EQ(kernels[0].tiles.size(), 3u);
  EXPECT_NE(result.reportJson().find("\"predicted_us\""), std::string::npos);
}

/// Half of a causal mask's blocks are empty, and not counted.
TEST(Compiler, ReportOfAMaskedStream) {
  auto flops = [](const char *mask) {
    Program program;
    program.source = std::string("@tsr.function\ndef f(q, k, v):\n    s = q @ k.mT\n") + mask +
                     "    return tsr.softmax(s, -1) @ v\n";
    for (const char *name : {"q", "k", "v"})
      program.arguments.push_back(tensor(name, TESSERA_RT_BF16, {64, 8192, 128}));
    Compilation result = compile(program, forGpu("sm_90"), {"tile"}, false);
    return result && result.report().size() == 1 ? result.report()[0].flops : 0;
  };
  double full = flops("");
  double causal = flops("    s = tsr.where(tsr.iota(s.shape, dim=-1) <= tsr.iota(s.shape, dim=-2), "
                        "s, -tsr.inf)\n");
  double products = 64 * 4 * 8192.0 * 8192 * 128;
  EXPECT_GT(full, products);
  EXPECT_LT(full, 1.05 * products);
  EXPECT_NEAR(causal / full, 0.5, 0.03);
}

TEST(Compiler, Launcher) {
  Compilation result =
      compile(matmul(TESSERA_RT_BF16, 4096), forGpu("sm_90"), {"launcher"}, /*code=*/false);
  ASSERT_TRUE(result) << result.text();
  EXPECT_NE(result.stage("launcher").find("cuLaunchKernelEx"), std::string::npos);
  EXPECT_EQ(compile(matmul(TESSERA_RT_BF16, 64), {}, {"launcher"}).status(), TESSERA_UNSUPPORTED);
}

TEST(Compiler, ProfiledCallsAreTimed) {
  TargetLoweringOptions options;
  options.profiling = true;
  options.optimizationLevel = 0;
  Compilation result = compile(matmul(TESSERA_RT_FP32, 16), options);
  ASSERT_TRUE(result) << result.text();
  Module module = result.load();
  EXPECT_TRUE(tessera_rt_get_profiling());
  Function<Tensor<float, 2>(View<const float, 2>, View<const float, 2>)> product(module, "matmul");
  std::vector<float> ones(256, 1);
  View<const float, 2> view(ones.data(), {16, 16});
  EXPECT_EQ(product({}, view, view).view()(3, 4), 16);
  tessera_rt_set_profiling(0);
  char *text = tessera_rt_metrics_text();
  EXPECT_NE(std::string(text).find("function=\"matmul\",kernel=\"matmul_0\""), std::string::npos);
  tessera_rt_free(text);
}

} // namespace
