//===- OnnxTest.cpp - ONNX graphs as programs ----------------------------------===//
#include "tessera/Import/Onnx.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace tessera;

static ImportedProgram imported(llvm::StringRef graph) {
  llvm::Expected<ImportedProgram> program = importOnnx(graph);
  EXPECT_TRUE(bool(program)) << llvm::toString(program.takeError());
  return program ? *program : ImportedProgram();
}

/// The expression of one operator with an fp32 input `x` of shape [2, 3, 8].
static std::string expression(const std::string &op, const std::string &args,
                              const std::string &result = R"({"dtype": "fp32", "shape": ["?"]})") {
  ImportedProgram program = imported(
      R"({"name": "f", "inputs": [{"name": "x", "dtype": "fp32", "shape": [2, 3, 8]},
          {"name": "i", "dtype": "int64", "shape": [4]},
          {"name": "w", "dtype": "fp32", "shape": [6, 3, 3], "weight": true}], "nodes": [
          {"name": "y", "op": ")" +
      op + R"(", "version": 20, "args": )" + args + R"(, "results": [)" + result +
      R"(], "targets": ["y"]}], "outputs": ["y"]})");
  if (!program.unsupported.empty())
    return "unsupported: " + program.unsupported[0].second;
  size_t begin = program.text.find("    y = ") + 8;
  return program.text.substr(begin, program.text.find('\n', begin) - begin);
}

TEST(Onnx, OneStatementForEachOperator) {
  ImportedProgram program = imported(R"({"name": "model",
    "inputs": [{"name": "x", "dtype": "fp32", "shape": ["N", 4]},
               {"name": "w", "dtype": "fp32", "shape": [4, 8], "weight": true},
               {"name": "s", "dtype": "int64", "shape": [2], "weight": true}],
    "nodes": [
      {"name": "a", "op": "MatMul", "version": 13, "args": {"A": {"ref": "x"}, "B": {"ref": "w"}},
       "results": [{"dtype": "fp32", "shape": ["?", 8]}], "targets": ["a"]},
      {"name": "b", "op": "Reshape", "version": 13,
       "args": {"data": {"ref": "a"}, "shape": {"ref": "s", "value": [0, -1]}, "allowzero": 0},
       "results": [{"dtype": "fp32", "shape": ["?", 8]}], "targets": ["b"]},
      {"name": "c", "op": "TopK", "version": 13,
       "args": {"X": {"ref": "b"}, "K": 2, "axis": -1, "largest": 1, "sorted": 1},
       "results": [{"dtype": "fp32", "shape": ["?", 2]}, {"dtype": "int64", "shape": ["?", 2]}],
       "targets": ["c", "c_1"]}],
    "outputs": ["c", "c_1"]})");
  EXPECT_EQ(program.text, "def model(x: Tensor['N', 4, tsr.fp32], w: Tensor[4, 8, tsr.fp32]):\n"
                          "    a = x @ w\n"
                          "    b = a.reshape((a.shape[0], (-1)))\n"
                          "    c, c_1 = tsr.topk(b, 2, dim=(-1), largest=True)\n"
                          "    return (c, c_1)\n");
  EXPECT_EQ(program.parameters, (std::vector<std::string>{"x", "w"}));
}

TEST(Onnx, SlicesWithNegativeSteps) {
  auto slice = [](const std::string &starts, const std::string &ends, const std::string &steps) {
    return expression("Slice", R"({"data": {"ref": "x"}, "axes": [2], "starts": [)" + starts +
                                   R"(], "ends": [)" + ends + R"(], "steps": [)" + steps + "]}");
  };
  EXPECT_EQ(slice("1", "9223372036854775807", "1"), "x[:, :, 1:8]");
  EXPECT_EQ(slice("-3", "-1", "1"), "x[:, :, 5:7]");
  EXPECT_EQ(slice("-1", "-9223372036854775807", "-1"), "tsr.flip(x[:, :, 0:8], (2,))");
  EXPECT_EQ(slice("6", "0", "-2"), "tsr.flip(x[:, :, 2:7:2], (2,))");
  EXPECT_EQ(slice("5", "2", "1"), "x[:, :, 5:5]");
}

TEST(Onnx, PadsOfConvolutions) {
  auto conv = [](const std::string &more) {
    return expression("Conv", R"({"X": {"ref": "x"}, "W": {"ref": "w"}, "group": 1)" + more + "}");
  };
  EXPECT_EQ(conv(R"(, "pads": [1, 1])"), "tsr.conv1d(x, w, None, (1,), (1,), (1,), 1)");
  EXPECT_EQ(conv(R"(, "pads": [0, 2])"),
            "tsr.conv1d(tsr.pad(x, (0, 2), value=0), w, None, (1,), 0, (1,), 1)");
  EXPECT_EQ(conv(R"(, "auto_pad": {"str": "SAME_UPPER"}, "strides": [2])"),
            "tsr.conv1d(tsr.pad(x, (0, 1), value=0), w, None, (2,), 0, (1,), 1)");
}

TEST(Onnx, ReasonsAreGiven) {
  EXPECT_EQ(expression("NonZero", R"({"X": {"ref": "x"}})"),
            "unsupported: the operation is not known");
  EXPECT_EQ(expression("ReduceSum", R"({"data": {"ref": "x"}, "axes": {"ref": "i"}})"),
            "unsupported: the axes must be known");
  EXPECT_EQ(expression("ScatterElements",
                       R"({"data": {"ref": "x"}, "indices": {"ref": "i"}, "axis": 0,
                           "updates": {"ref": "x"}, "reduction": {"str": "mul"}})"),
            "unsupported: only the reductions 'none' and 'add' are supported");
}

/// What the operator needs may be missing or of another kind; the answer is a reason, not a crash.
TEST(Onnx, EveryOperatorWithoutArguments) {
  for (const std::string &op : onnxOperators()) {
    expression(op, "{}");
    expression(op, R"({"X": {"ref": "x"}, "data": {"ref": "x"}, "input": {"ref": "x"},
                       "x": {"ref": "x"}, "axis": 99, "axes": [99], "pads": [1], "strides": []})");
  }
}

TEST(Onnx, GraphsThatAreNotJson) {
  EXPECT_FALSE(bool(llvm::expectedToOptional(importOnnx("{"))));
  EXPECT_FALSE(bool(llvm::expectedToOptional(importOnnx("[]"))));
}

TEST(Onnx, NamesAreInOrder) {
  std::vector<std::string> names = onnxOperators();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_GT(names.size(), 100u);
}
