//===- SymExprTest.cpp - Symbolic sizes against their values --------------===//
#include "tessera/Support/SymExpr.h"

#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>

using namespace tessera;

namespace {

const SymExpr a = SymExpr::symbol("A"), b = SymExpr::symbol("B"), c = SymExpr::symbol("C");

TEST(SymExpr, EqualityIsStructural) {
  EXPECT_EQ((a + b) * 2, b * 2 + a * 2);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(a - a, SymExpr(0));
  EXPECT_EQ(a * 0, SymExpr());
  EXPECT_NE(a * b, a + b);
  EXPECT_EQ(SymExpr::min(a, b), SymExpr::min(b, a));
  EXPECT_EQ(SymExpr::max(a + 1, a), a + 1);
  EXPECT_EQ(SymExpr::min(a.ceilDiv(8) * 8, a), a);
  EXPECT_EQ(SymExpr::max(a, a.ceilDiv(8) * 8), a.ceilDiv(8) * 8);
  EXPECT_EQ(SymExpr::symbol("A").opaque(), a.opaque());
}

TEST(SymExpr, DivisionOfMultiples) {
  EXPECT_EQ((a * 64).floorDiv(64), a);
  EXPECT_EQ((a * 64 + 3).floorDiv(64), a);
  EXPECT_EQ((a * 64 + 3).ceilDiv(64), a + 1);
  EXPECT_EQ((a * 64 + b).floorDiv(64), a + b.floorDiv(64));
  EXPECT_EQ((a * 64 + b).mod(64), b.mod(64));
  EXPECT_EQ((a * b + c).mod(b), c.mod(b));
  EXPECT_EQ((a * b * 6).floorDiv(b * 3), a * 2);
  EXPECT_EQ(a.mod(1), SymExpr(0));
  EXPECT_EQ(SymExpr(-7).floorDiv(2), SymExpr(-4));
  EXPECT_EQ(SymExpr(-7).ceilDiv(2), SymExpr(-3));
  EXPECT_EQ(SymExpr(-7).mod(2), SymExpr(1));
}

TEST(SymExpr, DivisionByZeroIsKept) {
  EXPECT_EQ(a.floorDiv(0).kind(), SymExpr::Kind::FloorDiv);
  EXPECT_FALSE(a.floorDiv(0).evaluate([](auto &) { return 3; }));
}

TEST(SymExpr, Text) {
  EXPECT_EQ((a + b * 2 - 1).str(), "A + 2*B - 1");
  EXPECT_EQ((SymExpr(3) - a).str(), "-A + 3");
  EXPECT_EQ((a * b - c * 4).str(), "A*B - 4*C");
  EXPECT_EQ(a.ceilDiv(64).str(), "ceildiv(A, 64)");
  EXPECT_EQ(((a + 1).floorDiv(b)).str(), "floordiv(A + 1, B)");
  EXPECT_EQ(SymExpr::parse("2 * (A + B) - A"), a + b * 2);
  EXPECT_EQ(SymExpr::parse("x.0"), SymExpr::symbol("x.0"));
  EXPECT_EQ(SymExpr::parse("#3"), SymExpr::symbol("#3"));
}

TEST(SymExpr, BadText) {
  for (const char *text : {"", "A +", "+ A", "(A", "A)", "A B", "floordiv(A)", "sqrt(A, B)", "2A*",
                           "A,", "99999999999999999999"})
    EXPECT_FALSE(SymExpr::parse(text)) << text;
  EXPECT_FALSE(SymExpr::parse(std::string(100000, '(')));
  EXPECT_FALSE(SymExpr::parse(std::string(100000, '-') + "A"));
}

TEST(SymExpr, Overflow) {
  SymExpr big = a * (int64_t(1) << 40);
  EXPECT_FALSE((big * big).evaluate([](auto &) { return int64_t(1) << 20; }));
  EXPECT_FALSE((big + big).evaluate([](auto &) { return int64_t(1) << 40; }));
}

TEST(SymExpr, Divisor) {
  auto facts = [](const std::string &name) { return name == "A" ? int64_t(16) : int64_t(1); };
  EXPECT_EQ((a * 4).divisor(facts), 64);
  EXPECT_EQ((a * 4 + 32).divisor(facts), 32);
  EXPECT_EQ((a * b).divisor(facts), 16);
  EXPECT_EQ((a + b).divisor(facts), 1);
  EXPECT_EQ(SymExpr::max(a, a * 3 + 8).divisor(facts), 8);
}

/// A random expression built twice: as SymExpr, and as its value computed directly.
class RandomExpr {
public:
  explicit RandomExpr(unsigned seed) : random(seed) {
    for (const char *name : {"A", "B", "C", "D"})
      values[name] = 1 + random() % 9;
  }

  std::pair<SymExpr, int64_t> make(unsigned depth) {
    if (depth == 0 || random() % 6 == 0) {
      if (random() % 3 == 0) {
        int64_t v = random() % 12;
        return {SymExpr(v), v};
      }
      auto it = std::next(values.begin(), random() % values.size());
      return {SymExpr::symbol(it->first), it->second};
    }
    auto [x, vx] = make(depth - 1);
    auto [y, vy] = make(depth - 1);
    auto floorDivide = [](int64_t p, int64_t q) { return (p - ((p % q) + q) % q) / q; };
    unsigned kind = random() % 9;
    if (kind >= 5 && kind <= 7 && vy <= 0)
      kind = 0;
    switch (kind) {
    case 0:
    case 1:
      return {x + y, vx + vy};
    case 2:
      return {x - y, vx - vy};
    case 3:
      return {x * y, vx * vy};
    case 4:
      return {SymExpr::min(x, y), std::min(vx, vy)};
    case 5:
      return {x.floorDiv(y), floorDivide(vx, vy)};
    case 6:
      return {x.ceilDiv(y), -floorDivide(-vx, vy)};
    case 7:
      return {x.mod(y), vx - floorDivide(vx, vy) * vy};
    default:
      return {SymExpr::max(x, y), std::max(vx, vy)};
    }
  }

  std::optional<int64_t> lookup(const std::string &name) const {
    auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }

  std::mt19937 random;
  std::map<std::string, int64_t> values;
};

TEST(SymExpr, RandomIdentities) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomExpr generator(seed);
    auto [expr, value] = generator.make(4);
    auto lookup = [&](const std::string &name) { return generator.lookup(name); };
    EXPECT_EQ(expr.evaluate(lookup), value) << expr.str();
    auto parsed = SymExpr::parse(expr.str());
    ASSERT_TRUE(parsed) << expr.str();
    EXPECT_EQ(*parsed, expr) << expr.str();

    // Substituting all values gives the constant.
    SymExpr substituted = expr.substitute([&](const std::string &name) -> std::optional<SymExpr> {
      return name == "A" ? std::optional(SymExpr(*lookup(name))) : std::nullopt;
    });
    EXPECT_EQ(substituted.evaluate(lookup), value) << expr.str();
    if (value != 0)
      EXPECT_EQ(value % expr.divisor(), 0) << expr.str();
  }
}

TEST(SymExpr, RemaindersHaveTheSignOfTheDivisor) {
  EXPECT_TRUE(a.mod(b).isNonNegative());
  EXPECT_FALSE(a.mod(b * -1).isNonNegative());
}

TEST(SymExpr, LargeNumbers) {
  // A divisor stays valid where products overflow.
  EXPECT_EQ((SymExpr(2147483647) * 4 * a).divisor(), 4);
  EXPECT_EQ((SymExpr(3) * a * b).divisor([](const std::string &) { return 1 << 20; }), 1 << 30);
  auto none = [](const std::string &) { return std::optional<int64_t>(); };
  SymExpr least(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(least.divisor(), 1 << 30);
  EXPECT_EQ(SymExpr::parse((least * a).str()), least * a);
  EXPECT_EQ(SymExpr::parse((a + least).str()), a + least);
  for (SymExpr e : {least.floorDiv(-1), least.ceilDiv(-1), least.mod(-1), (least * a).floorDiv(-1)})
    EXPECT_FALSE(e.evaluate(none)) << e.str();
  EXPECT_EQ(least.ceilDiv(3).evaluate(none), -3074457345618258602);
  // A product of many sums would have a term for each choice of summands.
  SymExpr product(1);
  for (int i = 0; i < 60; ++i)
    product = product * (SymExpr::symbol("x" + std::to_string(i)) + 1);
  EXPECT_LT(product.str().size(), 100000u);
}

TEST(SymExpr, SymbolsAreCollected) {
  std::set<std::string> names;
  (a.floorDiv(b) + SymExpr::max(c, 4)).collectSymbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"A", "B", "C"}));
}

} // namespace
