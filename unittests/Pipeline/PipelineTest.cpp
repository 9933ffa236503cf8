//===- PipelineTest.cpp - Stages, and faults that do not end the process --===//
#include "tessera/Pipeline/Pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace tessera {
namespace {

TEST(Pipeline, StageNames) {
  for (const char *name : {"graph", "sched", "tile", "target", "llvm", "asm", "tileir",
                           "tileir-bytecode", "ptx", "cubin", "sass", "bundle"}) {
    std::optional<Stage> stage = stageByName(name);
    ASSERT_TRUE(stage) << name;
    EXPECT_EQ(stageName(*stage), name);
  }
  EXPECT_FALSE(stageByName("spirv"));
}

TEST(Pipeline, FaultsComeBack) {
  int reached = 0;
  EXPECT_TRUE(runProtected([&] { ++reached; }));
  EXPECT_FALSE(runProtected([] { std::abort(); }));
  EXPECT_FALSE(runProtected([] {
    volatile int *nowhere = nullptr;
    *nowhere = 1;
  }));
  EXPECT_TRUE(runProtected([&] { ++reached; }));
  std::thread([&] {
    EXPECT_FALSE(runProtected([] { std::abort(); }));
    EXPECT_TRUE(runProtected([&] { ++reached; }));
  }).join();
  EXPECT_EQ(reached, 3);
}

TEST(Pipeline, ContinuesFromIR) {
  CompileRequest request;
  request.isIR = true;
  request.program.source.file = "test.mlir";
  request.program.source.text = R"(
    func.func @twice(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
      %0 = gir.map add(%x, %x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
      return %0 : !gir.tensor<S, f32>
    })";
  request.texts = {Stage::Sched, Stage::Tile};
  request.code = false;
  CompileResult result;
  compile(request, result);
  ASSERT_EQ(result.outcome, Outcome::Ok) << result.diagnostics.render();
  EXPECT_TRUE(result.texts.count(Stage::Sched) && result.texts.count(Stage::Tile));
  EXPECT_FALSE(result.texts.count(Stage::Graph));

  // The dump of a stage can be compiled again.
  CompileRequest next = request;
  next.program.source.text = result.texts[Stage::Sched];
  next.texts = {Stage::Tile};
  CompileResult continued;
  compile(next, continued);
  ASSERT_EQ(continued.outcome, Outcome::Ok) << continued.diagnostics.render();
  EXPECT_EQ(continued.texts[Stage::Tile], result.texts[Stage::Tile]);
}

TEST(Pipeline, WrongIRIsDiagnosedWhereItIs) {
  CompileRequest request;
  request.isIR = true;
  request.program.source.file = "test.mlir";
  request.program.source.text = "func.func @f() {\n  gir.nothing\n}\n";
  CompileResult result;
  compile(request, result);
  EXPECT_EQ(result.outcome, Outcome::Diagnostics);
  EXPECT_NE(result.diagnostics.render().find("test.mlir:2:3: error:"), std::string::npos)
      << result.diagnostics.render();
}

} // namespace
} // namespace tessera
