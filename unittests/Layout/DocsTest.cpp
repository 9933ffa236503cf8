//===- DocsTest.cpp - The examples of docs/layouts.md ---------------------===//
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace tessera;

namespace {

class Docs : public testing::Test {
protected:
  void SetUp() override {
    std::ifstream file(TESSERA_LAYOUT_DOCS);
    std::stringstream text;
    text << file.rdbuf();
    page = text.str();
    ASSERT_FALSE(page.empty());
  }
  void expect(const std::string &text) { EXPECT_NE(page.find(text), std::string::npos) << text; }
  std::string page;
};

TEST_F(Docs, Pictures) {
  Layout mma = mmaAccumulator(16, 8);
  expect(mma.str() + "\n");
  std::istringstream rows(mma.picture());
  std::string row;
  for (unsigned i = 0; std::getline(rows, row); ++i)
    if (i < 3 || i == 8)
      expect(row + "\n");
  Layout rows4 = blocked(std::array{4u, 16u}, {{1, 4}, {4, 2}, {1, 2}, {1, 0}});
  expect(rows4.str() + "\n");
  expect(rows4.picture().substr(0, rows4.picture().find("w0 l1 r1")));
  Layout swizzled = swizzledShared(8, 64, 16, 128), where = swizzled.inverse().value();
  expect(swizzled.str() + "\n");
  for (uint64_t d0 = 0; d0 < 8; ++d0) {
    std::string line;
    for (uint64_t d1 = 0; d1 < 64; d1 += 8) {
      std::string chunk = std::to_string(where({{Dim::D0, d0}, {Dim::D1, d1}})[Dim::Offset] / 8);
      line += std::string(4 - chunk.size(), ' ') + chunk;
    }
    expect(line + "\n");
  }
}

TEST_F(Docs, Conversion) {
  Layout from = blocked(std::array{64u, 64u}, {{1, 8}, {4, 8}, {4, 1}, {1, 0}});
  Layout to = mmaOperandA(16, 64, 16) * Layout::strided(Dim::Warp, Dim::D0, 4);
  SharedExchange plan = planConversion(from, to, 16, {.ldmatrix = true}).value().exchange;
  expect("from   " + from.str() + "\n");
  expect("to     " + to.str() + "\n");
  expect("memory " + plan.memory.str() + "\n");
  EXPECT_EQ(plan.store.registers.vector, 3u);
  EXPECT_EQ(plan.load.kind, SharedAccess::Kind::Matrix);
  EXPECT_EQ(plan.load.matrices, 2u);
  for (const SharedAccess *access : {&plan.store, &plan.load}) {
    EXPECT_EQ(access->accesses, 4u);
    EXPECT_EQ(access->wavefronts, 16u);
  }
}

} // namespace
