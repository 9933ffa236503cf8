//===- StableHloTest.cpp - StableHLO modules as programs -------------------------===//
#include "tessera/Import/StableHlo.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace tessera;

/// The program of a function of `x`, fp32 [4, 6], whose result is %r.
static std::string program(const std::string &body, const std::string &type = "tensor<4x6xf32>") {
  llvm::Expected<ImportedModule> module =
      importStableHlo("func.func @main(%x: tensor<4x6xf32>, %i: tensor<i32>) -> " + type + " {\n" +
                      body + "\nreturn %r : " + type + "\n}\n");
  if (!module)
    return "error: " + llvm::toString(module.takeError());
  if (!module->program.unsupported.empty())
    return module->program.unsupported[0].first + ": " + module->program.unsupported[0].second;
  size_t begin = module->program.text.find('\n') + 1;
  return module->program.text.substr(begin);
}

static std::string constant(const std::string &name, const std::string &value,
                            const std::string &type) {
  return "%" + name + " = \"stablehlo.constant\"() <{value = dense<" + value + "> : " + type +
         "}> : () -> " + type + "\n";
}

TEST(StableHlo, NumbersAreWrittenAsSuch) {
  EXPECT_EQ(program(constant("c", "2.5", "tensor<f32>") +
                    "%b = \"stablehlo.broadcast_in_dim\"(%c) <{broadcast_dimensions = array<i64>}> "
                    ": (tensor<f32>) -> tensor<4x6xf32>\n"
                    "%r = \"stablehlo.multiply\"(%x, %b) : (tensor<4x6xf32>, tensor<4x6xf32>) -> "
                    "tensor<4x6xf32>"),
            "    v0 = x0 * 2.5\n    return (v0,)\n");
}

TEST(StableHlo, SlicesAtKnownPositions) {
  std::string slice = "%r = \"stablehlo.dynamic_slice\"(%x, %a, %b) <{slice_sizes = array<i64: 4, "
                      "2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>";
  std::string starts = constant("a", "0", "tensor<i32>") + constant("b", "9", "tensor<i32>");
  EXPECT_EQ(program(starts + slice, "tensor<4x2xf32>"), "    v2 = x0[:, 4:6]\n    return (v2,)\n");
}

static std::string reduce(const std::string &region) {
  return program(constant("z", "0.0", "tensor<f32>") +
                     "%r = \"stablehlo.reduce\"(%x, %z) <{dimensions = array<i64: 1>}> ({\n"
                     "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" +
                     region + "}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>",
                 "tensor<4xf32>");
}

TEST(StableHlo, Reducers) {
  EXPECT_EQ(reduce("%c = \"stablehlo.add\"(%b, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                   "\"stablehlo.return\"(%c) : (tensor<f32>) -> ()\n"),
            "    v1 = tsr.sum(x0, dim=(1,))\n    return (v1,)\n");
  // Neighbours are combined.
  EXPECT_NE(reduce("%n = \"stablehlo.negate\"(%a) : (tensor<f32>) -> tensor<f32>\n"
                   "%c = \"stablehlo.add\"(%n, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                   "\"stablehlo.return\"(%c) : (tensor<f32>) -> ()\n")
                .find("x0[:, 0:5:2]"),
            std::string::npos);
  EXPECT_EQ(reduce("%c = \"stablehlo.fft\"(%a) : (tensor<f32>) -> tensor<f32>\n"
                   "\"stablehlo.return\"(%c) : (tensor<f32>) -> ()\n"),
            "stablehlo.fft (line 5): the operation is not known");
}

TEST(StableHlo, WhatIsNotReadIsOmitted) {
  EXPECT_EQ(program("%u = \"stablehlo.tanh\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"
                    "%r = \"stablehlo.abs\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>"),
            "    v1 = tsr.abs(x0)\n    return (v1,)\n");
}

TEST(StableHlo, Reasons) {
  EXPECT_EQ(program("%r = \"stablehlo.mystery\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>"),
            "stablehlo.mystery (line 2): the operation is not known");
  EXPECT_EQ(program("%r = \"stablehlo.convert\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xui32>",
                    "tensor<4x6xui32>"),
            "stablehlo.convert (line 2): the language has no type ui32");
  EXPECT_EQ(program("%r = stablehlo.abs %x : tensor<4x6xf32>").substr(0, 14), "error: line 2:");
}

/// Operands and attributes may be missing or of another kind; the answer is a reason, not a crash.
TEST(StableHlo, EveryOperationWithoutItsForm) {
  for (const std::string &op : stableHloOperations()) {
    std::string name = (op.find('.') == std::string::npos ? "stablehlo." : "") + op;
    program("%r = \"" + name + "\"() : () -> tensor<4x6xf32>");
    program("%r = \"" + name + "\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>");
    program("%r = \"" + name + "\"(%i, %x) : (tensor<i32>, tensor<4x6xf32>) -> tensor<4x6xf32>");
    program("%r = \"" + name +
            "\"(%x, %i, %x) <{dimensions = array<i64: 99>, padding = dense<-7> : "
            "tensor<9x2xi64>, window_dimensions = array<i64: 0, -1>, dimension_numbers = "
            "#stablehlo.gather<offset_dims = [7], start_index_map = [5], index_vector_dim = 4>, "
            "slice_sizes = array<i64: 9>}> : (tensor<4x6xf32>, tensor<i32>, tensor<4x6xf32>) -> "
            "tensor<4x6xf32>");
  }
}

TEST(StableHlo, NamesAreInOrder) {
  std::vector<std::string> names = stableHloOperations();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_GT(names.size(), 80u);
  EXPECT_TRUE(std::none_of(names.begin(), names.end(),
                           [](const std::string &name) { return name[0] == '.'; }));
}
