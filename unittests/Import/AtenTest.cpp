//===- AtenTest.cpp - Graphs of ATen operations as programs --------------------===//
#include "tessera/Import/Aten.h"

#include "gtest/gtest.h"

using namespace tessera;

static ImportedProgram imported(llvm::StringRef graph) {
  llvm::Expected<ImportedProgram> program = importAten(graph);
  EXPECT_TRUE(bool(program)) << llvm::toString(program.takeError());
  return program ? *program : ImportedProgram();
}

TEST(Aten, OneStatementForEachOperation) {
  ImportedProgram program = imported(R"({"name": "graph",
    "inputs": [{"name": "n", "size": "s0"}, {"name": "x", "dtype": "fp32", "shape": ["s0", 4]},
               {"name": "w", "dtype": "bf16", "shape": [4, 8]}],
    "nodes": [
      {"name": "to", "op": "aten._to_copy.default", "args": {"self": {"ref": "w"}},
       "dtype": "fp32", "shape": [4, 8]},
      {"name": "mm", "op": "aten.mm.default",
       "args": {"self": {"ref": "x"}, "mat2": {"ref": "to"}}, "dtype": "fp32", "shape": ["s0", 8]},
      {"name": "add", "op": "aten.add.Tensor",
       "args": {"self": {"ref": "mm"}, "other": -0.5, "alpha": 2}, "dtype": "fp32",
       "shape": ["s0", 8]},
      {"name": "part", "op": "aten.slice.Tensor",
       "args": {"self": {"ref": "add"}, "dim": -1, "start": 2, "end": 9223372036854775807,
                "step": 1}, "dtype": "fp32", "shape": ["s0", 6]}],
    "outputs": ["part"]})");
  EXPECT_EQ(program.text, "def graph(x: Tensor['s0', 4, tsr.fp32], w: Tensor[4, 8, tsr.bf16]):\n"
                          "    n = s0\n"
                          "    to = w.to(tsr.fp32)\n"
                          "    mm = x @ to\n"
                          "    add = mm + (-0.5) * 2\n"
                          "    part = add[:, 2:]\n"
                          "    return (part,)\n");
}

/// PyTorch's promotion has the last word.
TEST(Aten, ResultsHaveTheTypeOfTheGraph) {
  ImportedProgram program = imported(R"({"name": "f",
    "inputs": [{"name": "x", "dtype": "fp16", "shape": [2]}, {"name": "i", "dtype": "int64",
                "shape": [2]}],
    "nodes": [{"name": "y", "op": "aten.mul.Tensor",
               "args": {"self": {"ref": "x"}, "other": {"ref": "i"}}, "dtype": "fp16",
               "shape": [2]}],
    "outputs": ["y"]})");
  EXPECT_NE(program.text.find("y = (tsr.mul(x, i)).to(tsr.fp16)"), std::string::npos)
      << program.text;
}

TEST(Aten, NumbersThatJsonCannotExpress) {
  ImportedProgram program = imported(R"({"name": "f",
    "inputs": [{"name": "x", "dtype": "fp32", "shape": []}],
    "nodes": [{"name": "y", "op": "aten.mul.Scalar",
               "args": {"self": {"ref": "x"}, "other": {"float": "-inf"}}, "dtype": "fp32",
               "shape": []}],
    "outputs": ["y"]})");
  EXPECT_NE(program.text.find("tsr.mul(x, (-math.inf))"), std::string::npos) << program.text;
  EXPECT_NE(program.text.find("x: Tensor[tsr.fp32]"), std::string::npos) << program.text;
}

TEST(Aten, UnknownOperationsAreNamed) {
  ImportedProgram program = imported(R"({"name": "f",
    "inputs": [{"name": "x", "dtype": "fp32", "shape": [3]}, {"name": "m", "dtype": "bool",
                "shape": [3]}],
    "nodes": [{"name": "y", "op": "aten.histc.default", "args": {"self": {"ref": "x"}},
               "dtype": "fp32", "shape": [100]},
              {"name": "z", "op": "aten.index.Tensor",
               "args": {"self": {"ref": "x"}, "indices": [{"ref": "m"}]}, "dtype": "fp32",
               "shape": ["u0"]}],
    "outputs": ["y", "z"]})");
  ASSERT_EQ(program.unsupported.size(), 2u);
  EXPECT_EQ(program.unsupported[0].first, "y");
  EXPECT_EQ(program.unsupported[1].second, "the operation's arguments are not supported");
  EXPECT_TRUE(program.text.empty());
}

TEST(Aten, MalformedGraphsAreErrors) {
  for (llvm::StringRef text : {"", "[", "[]", "{\"nodes\": [3]"}) {
    llvm::Expected<ImportedProgram> program = importAten(text);
    EXPECT_FALSE(bool(program)) << text.str();
    llvm::consumeError(program.takeError());
  }
  // Parts of the wrong kind are ignored or not supported, and nothing crashes.
  imported("{}");
  EXPECT_EQ(
      imported(R"({"nodes": [{"name": "x"}, 3, {"op": "aten.slice.Tensor"}]})").unsupported.size(),
      2u);
}

/// Names and strings come from files, and the text is executed.
TEST(Aten, NothingInAGraphAddsStatements) {
  ImportedProgram program = imported(R"({"name": "f",
    "inputs": [{"name": "x", "dtype": "fp32", "shape": [4]}],
    "nodes": [{"name": "y", "op": "aten.div.Tensor_mode",
               "args": {"self": {"ref": "x"}, "other": 2,
                        "rounding_mode": {"str": "a'\\\nimport os"}}, "dtype": "fp32",
               "shape": [4]}],
    "outputs": ["y"]})");
  EXPECT_NE(program.text.find(R"(rounding_mode='a\'\\import os')"), std::string::npos)
      << program.text;
  program = imported(R"({"name": "f",
    "inputs": [{"name": "x\nimport os", "dtype": "fp32", "shape": [4]}],
    "nodes": [{"name": "y;z", "op": "aten.relu.default", "args": {"self": {"ref": "x"}},
               "dtype": "fp32", "shape": [4]}],
    "outputs": ["y;z"]})");
  ASSERT_EQ(program.unsupported.size(), 2u);
  EXPECT_EQ(program.unsupported[1].second, "its name is not one of the language");
  EXPECT_TRUE(program.text.empty());
}
