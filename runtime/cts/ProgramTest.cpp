//===- ProgramTest.cpp - Host programs: evaluation, encoding, validation --===//

#include "Plan.h"
#include "Print.h"
#include "Programs.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tessera::rt;

static int64_t eval(ExprOp op, int64_t a, int64_t b, bool *overflowed = nullptr) {
  bool overflow = false;
  int64_t value =
      evaluate(Expr::binary(op, Expr::constant(a), Expr::constant(b)), nullptr, overflow);
  if (overflowed)
    *overflowed = overflow;
  else
    EXPECT_FALSE(overflow);
  return value;
}

TEST(Expr, DivisionRoundsAsInPython) {
  const int64_t expected[][5] = {// a, b, a // b, ceil, a % b
                                 {7, 2, 3, 4, 1},    {-7, 2, -4, -3, 1}, {7, -2, -4, -3, -1},
                                 {-7, -2, 3, 4, -1}, {6, 3, 2, 2, 0},    {0, 5, 0, 0, 0},
                                 {5, 0, 0, 0, 0},    {5, -1, -5, -5, 0}};
  for (auto &row : expected) {
    EXPECT_EQ(eval(ExprOp::FloorDiv, row[0], row[1]), row[2]) << row[0] << " // " << row[1];
    EXPECT_EQ(eval(ExprOp::CeilDiv, row[0], row[1]), row[3]) << row[0] << " ceildiv " << row[1];
    EXPECT_EQ(eval(ExprOp::Mod, row[0], row[1]), row[4]) << row[0] << " % " << row[1];
  }
}

TEST(Expr, ComparisonsAndLogic) {
  EXPECT_EQ(eval(ExprOp::Lt, 1, 2), 1);
  EXPECT_EQ(eval(ExprOp::Le, 2, 2), 1);
  EXPECT_EQ(eval(ExprOp::Gt, 1, 2), 0);
  EXPECT_EQ(eval(ExprOp::Ge, 2, 2), 1);
  EXPECT_EQ(eval(ExprOp::Eq, 3, 3), 1);
  EXPECT_EQ(eval(ExprOp::Ne, 3, 3), 0);
  EXPECT_EQ(eval(ExprOp::And, 5, 0), 0);
  EXPECT_EQ(eval(ExprOp::Or, 0, 5), 1);
  EXPECT_EQ(eval(ExprOp::Min, -1, 5), -1);
  EXPECT_EQ(eval(ExprOp::Max, -1, 5), 5);
  bool overflow = false;
  Expr chosen =
      Expr::select(Expr::logicalNot(Expr::slot(0)), Expr::constant(10), Expr::constant(20));
  int64_t slots[] = {0};
  EXPECT_EQ(evaluate(chosen, slots, overflow), 10);
  slots[0] = 7;
  EXPECT_EQ(evaluate(chosen, slots, overflow), 20);
}

TEST(Expr, OverflowIsNoticed) {
  constexpr int64_t big = std::numeric_limits<int64_t>::max(),
                    least = std::numeric_limits<int64_t>::min();
  bool overflow;
  eval(ExprOp::Add, big, 1, &overflow);
  EXPECT_TRUE(overflow);
  eval(ExprOp::Mul, 1ll << 40, 1ll << 40, &overflow);
  EXPECT_TRUE(overflow);
  eval(ExprOp::Sub, least, 1, &overflow);
  EXPECT_TRUE(overflow);
  eval(ExprOp::FloorDiv, least, -1, &overflow);
  EXPECT_TRUE(overflow);
  eval(ExprOp::Mod, least, -1, &overflow);
  EXPECT_FALSE(overflow);
}

TEST(Scalars, RoundToTheArgumentType) {
  EXPECT_EQ(scalarBits(1.0, DType::FP32), 0x3f800000u);
  EXPECT_EQ(scalarBits(1.0, DType::BF16), 0x3f80u);
  EXPECT_EQ(scalarBits(1.0, DType::FP16), 0x3c00u);
  EXPECT_EQ(scalarBits(65519.0, DType::FP16), 0x7bffu);
  EXPECT_EQ(scalarBits(65520.0, DType::FP16), 0x7c00u);
  EXPECT_EQ(scalarBits(-0.0, DType::FP16), 0x8000u);
  EXPECT_EQ(scalarBits(0x1p-24, DType::FP16), 1u);
  EXPECT_EQ(scalarBits(0x1p-25, DType::FP16), 0u);
  EXPECT_EQ(scalarBits(0x1.8p-25, DType::FP16), 1u);
  EXPECT_EQ(scalarBits(0x1.ffcp-15, DType::FP16),
            0x0400u); // rounds up to the smallest normal number
  EXPECT_EQ(scalarBits(1.0, DType::FP8E5M2), 0x3cu);
  EXPECT_EQ(scalarBits(57344.0, DType::FP8E5M2), 0x7bu);
  EXPECT_EQ(scalarBits(61440.0, DType::FP8E5M2), 0x7cu);
  EXPECT_EQ(scalarBits(1.0, DType::FP8E4M3), 0x38u);
  EXPECT_EQ(scalarBits(int64_t(-448), DType::FP8E4M3), 0xfeu);
  EXPECT_EQ(scalarBits(464.0, DType::FP8E4M3), 0x7eu);
  EXPECT_EQ(scalarBits(465.0, DType::FP8E4M3), 0x7fu); // there is no infinity
  EXPECT_EQ(scalarBits(0x1p-9, DType::FP8E4M3), 0x01u);
  EXPECT_EQ(scalarBits(std::nan(""), DType::FP16), 0x7e00u);
  EXPECT_EQ(scalarBits(-INFINITY, DType::BF16), 0xff80u);
  EXPECT_EQ(scalarBits(int64_t(-1), DType::Int16), 0xffffu);
  EXPECT_EQ(scalarBits(int64_t(300), DType::UInt8), 44u);
  EXPECT_EQ(scalarBits(int64_t(300), DType::Bool), 1u);
  EXPECT_EQ(scalarBits(int64_t(3), DType::FP32), 0x40400000u);
  EXPECT_EQ(scalarBits(1e300, DType::Int64),
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

TEST(Scalars, Bf16AgreesWithRoundingOfFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    uint32_t bits = random();
    float value = std::bit_cast<float>(bits);
    if (std::isnan(value))
      continue;
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    EXPECT_EQ(scalarBits(double(value), DType::BF16), rounded) << value;
  }
}

TEST(Program, RoundTrip) {
  Program program = test::axpy(), again;
  std::string error;
  std::vector<uint8_t> bytes = encode(program);
  ASSERT_TRUE(decode(bytes, again, error)) << error;
  EXPECT_EQ(encode(again), bytes);
  EXPECT_EQ(toString(again), toString(program));
  EXPECT_NE(toString(program).find(
                "launch scale grid (s4) (&arg0, s2, s0, fp32(arg2), &temp0, &result0)"),
            std::string::npos)
      << toString(program);
}

/// A change that makes axpy() invalid.
struct Damage {
  const char *name;
  void (*apply)(Program &);
};

TEST(Program, ValidationRefuses) {
  const Damage cases[] = {
      {"an empty expression", [](Program &p) { p.slots[4].expr = {}; }},
      {"a missing operand",
       [](Program &p) { p.slots[4].expr.code.erase(p.slots[4].expr.code.begin()); }},
      {"a value left over",
       [](Program &p) {
         p.steps[0].grid[0].code.insert(p.steps[0].grid[0].code.begin(), {ExprOp::Const, 1});
       }},
      {"a later slot", [](Program &p) { p.slots[4].expr = Expr::slot(4); }},
      {"a slot that is not there", [](Program &p) { p.guards[0].condition = Expr::slot(99); }},
      {"a negative slot", [](Program &p) { p.guards[0].condition.code = {{ExprOp::Slot, -1}}; }},
      {"an unknown operation",
       [](Program &p) { p.guards[0].condition.code.back().op = static_cast<ExprOp>(77); }},
      {"an argument that is not there", [](Program &p) { p.slots[0].arg = 3; }},
      {"a dimension that is not there", [](Program &p) { p.slots[0].dim = 1; }},
      {"the size of a scalar", [](Program &p) { p.slots[0].arg = 2; }},
      {"a float as an integer", [](Program &p) { p.slots[0] = {Slot::ArgInt, 2, 0, {}}; }},
      {"a kernel that is not there", [](Program &p) { p.steps[0].kernel = 2; }},
      {"no grid", [](Program &p) { p.steps[0].grid.clear(); }},
      {"a grid of four", [](Program &p) { p.steps[0].grid.resize(4, Expr::constant(1)); }},
      {"no grain", [](Program &p) { p.steps[0].grain = 0; }},
      {"a dead temporary", [](Program &p) { p.temporaries[0].lastStep = 0; }},
      {"a temporary beyond the steps", [](Program &p) { p.temporaries[0].lastStep = 2; }},
      {"a result that is not there", [](Program &p) { p.steps[1].words[5].index = 1; }},
      {"the address of a scalar", [](Program &p) { p.steps[1].words[0].index = 2; }},
      {"a tensor as a scalar", [](Program &p) { p.steps[1].words[3].index = 0; }},
      {"an unknown type", [](Program &p) { p.results[0].dtype = static_cast<DType>(50); }},
      {"too deep a stack",
       [](Program &p) {
         Expr e = Expr::constant(1);
         for (unsigned i = 0; i < maxExprDepth; ++i)
           e = Expr::binary(ExprOp::Add, Expr::constant(1), e);
         p.slots[4].expr = e;
       }},
  };
  for (const Damage &damage : cases) {
    Program program = test::axpy(), decoded;
    damage.apply(program);
    std::string error;
    EXPECT_FALSE(validate(program, error)) << damage.name;
    EXPECT_FALSE(decode(encode(program), decoded, error)) << damage.name;
    EXPECT_EQ(error.rfind("invalid host program: ", 0), 0u) << error;
  }
}

/// A program that prints its first result and a temporary.
static Program printing() {
  Program program = test::axpy();
  program.prints.push_back({"out", false, 0, program.results[0].dtype, program.results[0].sizes});
  program.prints.push_back({"t", true, 0, DType::Int8, {Expr::constant(2)}});
  return program;
}

TEST(Program, PrintsAreKept) {
  std::vector<uint8_t> bytes = encode(printing());
  Program program;
  std::string error;
  ASSERT_TRUE(decode(bytes, program, error)) << error;
  ASSERT_EQ(program.prints.size(), 2u);
  EXPECT_EQ(program.prints[1].label, "t");
  EXPECT_TRUE(program.prints[1].isTemporary);
  EXPECT_EQ(encode(program), bytes);
  EXPECT_NE(toString(program).find("print \"t\" int8[2] temp0"), std::string::npos);
  program.prints[0].index = 7;
  EXPECT_FALSE(validate(program, error));
  EXPECT_NE(error.find("the print of 'out'"), std::string::npos) << error;
}

TEST(Program, TensorMapsAreKept) {
  Program program = test::launchOnly(0, {Expr::constant(1)});
  program.arguments.push_back({Argument::Tensor, "x", DType::FP16, 2});
  Step &step = program.steps[0];
  step.words.resize(5);
  for (Word &word : step.words)
    word.expr = Expr::constant(64);
  step.words[0].kind = Word::ArgAddress;
  step.maps = {{0, 2, 64, 2, {1, 0}, {32, 8}}};
  std::vector<uint8_t> bytes = encode(program);
  Program read;
  std::string error;
  ASSERT_TRUE(decode(bytes, read, error)) << error;
  EXPECT_EQ(encode(read), bytes);
  EXPECT_NE(
      toString(read).find(
          "tensor map of word 0, elements of 2 bytes, 2 spans of 64, boxes (dim 1: 32, dim 0: 8)"),
      std::string::npos);
  auto refuses = [&](auto change) {
    Program other = program;
    change(other.steps[0].maps[0]);
    return !validate(other, error);
  };
  EXPECT_TRUE(refuses([](TensorMap &map) { map.word = 1; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.word = 4000000000u; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.elementBytes = 3; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.span = 48; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.spans = 0; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.dims = {1, 1}; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.dims = {2, 0}; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.sizes = {32, 257}; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.sizes = {16, 8}; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.dims = {}, map.sizes = {}; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.rounded = 1; }));
  EXPECT_FALSE(refuses([](TensorMap &) {}));

  // Maps that round need a newer runtime, others do not.
  EXPECT_EQ(bytes[0], 4);
  step.maps = {{0, 4, 64, 2, {1, 0}, {16, 8}, 1}};
  bytes = encode(program);
  EXPECT_EQ(bytes[0], 5);
  ASSERT_TRUE(decode(bytes, read, error)) << error;
  EXPECT_EQ(encode(read), bytes);
  EXPECT_NE(toString(read).find("dim 0: 8), rounded to tf32"), std::string::npos);
}

// Enough digits to distinguish every value of a small type from its neighbours.
TEST(Print, SmallFloatsComeBack) {
  for (DType dtype : {DType::FP16, DType::BF16, DType::FP8E4M3, DType::FP8E5M2})
    for (uint32_t bits = 0; bits < 1u << 8 * dtypeBytes(dtype); ++bits) {
      char data[4];
      std::memcpy(data, &bits, 4);
      std::string text = formatTensor("", dtype, {}, data);
      double value = std::strtod(text.c_str() + text.find('\n'), nullptr);
      if (!std::isnan(value))
        EXPECT_EQ(scalarBits(value, dtype), bits) << text;
    }
}

TEST(Print, LongTensorsAreCut) {
  std::vector<int64_t> sizes = {1000, 2};
  std::vector<int8_t> data(2000, 7);
  EXPECT_EQ(
      formatTensor("x", DType::Int8, sizes, reinterpret_cast<char *>(data.data())),
      "x: int8[1000, 2]\n[[7, 7],\n [7, 7],\n [7, 7],\n ...,\n [7, 7],\n [7, 7],\n [7, 7]]\n");
}

TEST(Program, EveryTruncationIsRefused) {
  std::vector<uint8_t> bytes = encode(printing());
  for (size_t length = 0; length < bytes.size(); ++length) {
    Program program;
    std::string error;
    EXPECT_FALSE(decode({bytes.data(), length}, program, error)) << length;
  }
}

// Programs have no checksum of their own: random corruption must be rejected or give a valid
// program.
TEST(Program, MutationsNeverCrash) {
  const std::vector<uint8_t> good = encode(printing());
  std::mt19937 random(2);
  for (int round = 0; round < 40000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i)
      bytes[random() % bytes.size()] =
          static_cast<uint8_t>(random() % 3 ? random() % 24 : random());
    Program program;
    std::string error;
    if (!decode(bytes, program, error))
      continue;
    Plan plan(program);
    std::vector<int64_t> slots(plan.slots.size(), 3);
    bool overflow = false;
    for (const PlanGuard &guard : plan.guards)
      plan.evaluate(guard.condition, slots.data(), overflow);
    for (PlanExpr size : plan.resultSizes)
      plan.evaluate(size, slots.data(), overflow);
    EXPECT_FALSE(toString(program).empty());
  }
}
