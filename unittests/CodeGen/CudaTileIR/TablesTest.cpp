//===- TablesTest.cpp - The tables of operations, types, floats -----------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace tessera::cudatile;

TEST(CudaTileTables, OpcodesAndNamesAreUnique) {
  std::set<Opcode> opcodes;
  std::set<std::string_view> names;
  for (const OpSpec &op : allOperations()) {
    EXPECT_TRUE(opcodes.insert(op.opcode).second) << op.name;
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_EQ(opSpec(uint64_t(op.opcode)), &op);
    EXPECT_GE(op.since, 1);
    EXPECT_LE(op.since, kNewestMinor);
    EXPECT_FALSE(op.meaning.empty()) << op.name;
  }
  EXPECT_EQ(opSpec(uint64_t(0x16)), nullptr) << "an entry stands in the function section";
  EXPECT_EQ(opSpec(~uint64_t(0)), nullptr);
}

TEST(CudaTileTables, VariadicOperandsAreUnambiguous) {
  for (const OpSpec &op : allOperations())
    for (size_t i = 0; op.countsOperands && i + 1 < op.operands.size(); ++i)
      EXPECT_EQ(op.operands[i].multiplicity, Multiplicity::One) << op.name;
}

TEST(CudaTileTables, FlagsCountUp) {
  const OpSpec &load = opSpec(Opcode::LoadPtr);
  EXPECT_EQ(load.attributes[load.attribute("memory_scope")].flagBit, 0);
  EXPECT_EQ(load.attributes[load.attribute("optimization_hints")].flagBit, 1);
  EXPECT_EQ(load.operands[load.operand("mask")].flagBit, 2);
  EXPECT_EQ(load.operands[load.operand("token")].flagBit, 4);
  EXPECT_TRUE(load.hasFlags({13, 1}));
  // A loop's only flag came in a later format, and with it the flags field.
  EXPECT_FALSE(opSpec(Opcode::For).hasFlags({13, 1}));
  EXPECT_TRUE(opSpec(Opcode::For).hasFlags({13, 2}));
  EXPECT_FALSE(opSpec(Opcode::AndI).hasFlags({13, 4}));
}

TEST(CudaTileTables, Enumerations) {
  EXPECT_EQ(enumSpec("Rounding")->cases[size_t(Rounding::NearestIntToZero)], "nearest_int_to_zero");
  EXPECT_EQ(enumSpec("AtomicMode")->cases[size_t(AtomicMode::Exchange)], "xchg");
  EXPECT_EQ(enumSpec("Padding")->cases[size_t(Padding::NegInf)], "neg_inf");
  EXPECT_EQ(enumSpec("Nothing"), nullptr);
}

TEST(CudaTileFloats, KnownBits) {
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(encodeFloat(TypeKind::F32, 1.0), 0x3F800000u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, 1.0), 0x3C00u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, -2.0), 0xC000u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, 65519.0), 0x7BFFu);
  EXPECT_EQ(encodeFloat(TypeKind::F16, 65520.0), 0x7C00u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, std::ldexp(1.0, -24)), 1u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, std::ldexp(1.0, -25)), 0u);
  EXPECT_EQ(encodeFloat(TypeKind::F16, inf), 0x7C00u);
  EXPECT_EQ(encodeFloat(TypeKind::BF16, 1.0 + std::ldexp(1.0, -8)), 0x3F80u) << "ties to even";
  EXPECT_EQ(encodeFloat(TypeKind::BF16, 1.0 + std::ldexp(3.0, -8)), 0x3F82u);
  EXPECT_EQ(encodeFloat(TypeKind::BF16, -inf), 0xFF80u);
  EXPECT_EQ(encodeFloat(TypeKind::E4M3, 448.0), 0x7Eu);
  EXPECT_EQ(encodeFloat(TypeKind::E4M3, 1e6), 0x7Eu);
  EXPECT_EQ(encodeFloat(TypeKind::E5M2, 57344.0), 0x7Bu);
  EXPECT_EQ(encodeFloat(TypeKind::E5M2, inf), 0x7Cu);
  EXPECT_EQ(encodeFloat(TypeKind::TF32, 1.0), 0x1FC00u);
  EXPECT_EQ(encodeFloat(TypeKind::E2M1, 6.0), 7u);
  EXPECT_EQ(encodeFloat(TypeKind::E8M0, 1.0), 127u);
}

TEST(CudaTileFloats, EveryPatternComesBack) {
  for (TypeKind kind : {TypeKind::F16, TypeKind::BF16, TypeKind::E4M3, TypeKind::E5M2,
                        TypeKind::E8M0, TypeKind::E2M1, TypeKind::TF32})
    for (uint64_t bits = 0; bits < uint64_t(1) << typeSpec(kind).bits; ++bits) {
      double value = decodeFloat(kind, bits);
      if (!std::isnan(value))
        ASSERT_EQ(encodeFloat(kind, value), bits) << typeSpec(kind).name;
    }
}

TEST(CudaTileFloats, RoundsAsTheMachineDoes) {
  // The host's own rounding to f32, against the general code on a type of the same exponent.
  uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    float value = std::bit_cast<float>(uint32_t(state >> 32));
    if (std::isnan(value))
      continue;
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t lower = bits & 0xFFFF, upper = bits >> 16;
    uint32_t expected = upper + (lower > 0x8000 || (lower == 0x8000 && (upper & 1)));
    ASSERT_EQ(encodeFloat(TypeKind::BF16, value), expected) << value;
  }
}
