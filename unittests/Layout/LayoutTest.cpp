//===- LayoutTest.cpp - The algebra of layouts against enumeration --------===//
#include "RandomLayouts.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tessera;

namespace {

Layout parsed(const char *text) {
  std::optional<Layout> layout = Layout::parse(text);
  EXPECT_TRUE(layout) << text;
  return layout.value_or(Layout());
}

/// A random layout: small or empty, swizzled or not, surjective or not.
Layout anyLayout(RandomLayouts &random) {
  Space in = random.places(random.upTo(3), random.upTo(3), random.upTo(2), random.upTo(1));
  Space out = random.tile(random.upTo(in.bits()));
  return random.upTo(3) ? random.covering(in, out, random.upTo(1) * 8) : random.any(in, out);
}

TEST(Layout, ReadsAsWritten) {
  Layout mma = parsed("register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8");
  EXPECT_EQ(mma({{Dim::Register, 3}, {Dim::Lane, 6}}), (Point{{Dim::D0, 9}, {Dim::D1, 5}}));
  EXPECT_EQ(mma.str(), "register[d1:1, d0:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:16 d1:8");
  EXPECT_EQ(parsed(" lane [ 0 ,d0:1+ d1:2]->d1:4  d0:2").str(), "lane[0, d0:1+d1:2] -> d0:2 d1:4");
  EXPECT_EQ(Layout().str(), "->");
  EXPECT_EQ(parsed("->"), Layout());
  EXPECT_EQ(parsed("register[0] ->"), Layout::broadcast(Dim::Register, 2));
  EXPECT_EQ(Layout::strided(Dim::Lane, Dim::D0, 4, 2).str(), "lane[d0:2, d0:4] -> d0:8");
}

TEST(Layout, BadText) {
  for (const char *text : {"", "lane", "lane[", "lane[]->", "lane[d0:1] d0:2", "lane[d0:2] -> d0:2",
                           "lane[d0:0] -> d0:2", "lane[d0:1] -> d0:3", "lane[d0:1] lane[0] -> d0:2",
                           "rank[d0:1] -> d0:2", "-> d0:2 d0:4", "lane[d0:1+d0:1] -> d0:2",
                           "lane[d0:1,] -> d0:2", "-> d0:1", "-> d0:99999999999999999999",
                           "-> d0:4294967296 d1:4294967296", "-> d0:2 lane", "lane[d0] -> d0:2"})
    EXPECT_FALSE(Layout::parse(text)) << text;
}

TEST(Layout, Picture) {
  EXPECT_EQ(parsed("register[d1:1] lane[d0:1, d1:2] -> d0:2 d1:4").picture(),
            "l0 r0 | l0 r1 | l2 r0 | l2 r1\nl1 r0 | l1 r1 | l3 r0 | l3 r1\n");
  EXPECT_EQ(Layout::strided(Dim::Lane, Dim::D0, 4).picture(), "l0 | l1 | l2 | l3\n");
  EXPECT_EQ(parsed("lane[d0:1] -> d0:4").picture(), ""); // not surjective
}

TEST(Layout, IsLinearAndRoundTrips) {
  RandomLayouts random(3);
  for (unsigned trial = 0; trial < 3000; ++trial) {
    Layout layout = anyLayout(random);
    std::optional<Layout> again = Layout::parse(layout.str());
    ASSERT_TRUE(again) << layout.str();
    ASSERT_EQ(*again, layout);
    uint64_t a = random.word(layout.in().bits()), b = random.word(layout.in().bits());
    ASSERT_EQ(layout(a ^ b), layout(a) ^ layout(b));
    ASSERT_EQ(layout.out().pack(layout(layout.in().unpack(a))), layout(a));
  }
}

TEST(Layout, CompositionAndInverses) {
  RandomLayouts random(4);
  unsigned inverted = 0;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    Layout first = anyLayout(random);
    Layout second = random.any(first.out(), random.tile(random.upTo(6)));
    Layout both = first.then(second);
    std::set<uint64_t> held;
    for (uint64_t place = 0; place < first.in().size(); ++place) {
      ASSERT_EQ(both(place), second(first(place)));
      held.insert(first(place));
    }
    ASSERT_EQ(first.isSurjective(), held.size() == first.out().size());
    ASSERT_EQ(first.isInjective(), held.size() == first.in().size());
    ASSERT_EQ(first.rightInverse().has_value(), first.isSurjective());
    ASSERT_EQ(first.leftInverse().has_value(), first.isInjective());
    if (auto right = first.rightInverse()) {
      ASSERT_EQ(right->then(first), Layout::identity(first.out()));
      for (uint64_t element = 0; element < first.out().size(); ++element)
        ASSERT_EQ((*right)(element)&first.freeBits(), 0u);
    }
    if (auto left = first.leftInverse()) {
      ASSERT_EQ(first.then(*left), Layout::identity(first.in()));
    }
    if (auto inverse = first.inverse()) {
      ++inverted;
      ASSERT_EQ(*inverse, *first.leftInverse());
      ASSERT_EQ(inverse->inverse(), first);
    }
  }
  EXPECT_GT(inverted, 100u);
}

TEST(Layout, ProductAndQuotient) {
  RandomLayouts random(5);
  for (unsigned trial = 0; trial < 3000; ++trial) {
    Layout tile = anyLayout(random), outer = anyLayout(random);
    Layout product = tile * outer;
    ASSERT_EQ(product.divideLeft(tile), outer);
    for (unsigned sample = 0; sample < 8; ++sample) {
      Point in = tile.in().unpack(random.word(tile.in().bits()));
      Point out = tile(in);
      Point inOuter = outer.in().unpack(random.word(outer.in().bits())), outOuter = outer(inOuter);
      for (unsigned d = 0; d < numDims; ++d) {
        in.values[d] |= inOuter.values[d] << tile.in().bits(Dim(d));
        out.values[d] |= outOuter.values[d] << tile.out().bits(Dim(d));
      }
      ASSERT_EQ(product(in), out);
    }
    // A quotient always multiplies back; a layout that is no product has none.
    if (auto quotient = outer.divideLeft(tile)) {
      ASSERT_EQ(tile * *quotient, outer);
    }
  }
  EXPECT_FALSE(parsed("lane[d0:2, d0:1] -> d0:4").divideLeft(parsed("lane[d0:1] -> d0:2")));
}

TEST(Layout, PartsAndFreeBits) {
  RandomLayouts random(6);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    Layout layout = anyLayout(random);
    Layout part = layout.sublayout({Dim::Lane, Dim::Block}, {Dim::D0, Dim::D2});
    for (uint64_t place = 0; place < part.in().size(); ++place) {
      Point whole = layout(part.in().unpack(place)), some = part(part.in().unpack(place));
      ASSERT_EQ(some, (Point{{Dim::D0, whole[Dim::D0]}, {Dim::D2, whole[Dim::D2]}}));
    }
    std::set<uint64_t> all, pinned;
    for (uint64_t place = 0; place < layout.in().size(); ++place) {
      all.insert(layout(place));
      if (!(place & layout.freeBits()))
        ASSERT_TRUE(pinned.insert(layout(place)).second);
    }
    ASSERT_EQ(all, pinned);
    Layout lean = layout.withoutFreeBits(allDims);
    ASSERT_TRUE(lean.isInjective());
    ASSERT_EQ(lean.in().size(), all.size());
    Layout wide = layout.broadcastTo(random.places(4, 4, 4));
    ASSERT_EQ(wide.in().size(Dim::Warp), 16u);
    for (unsigned sample = 0; sample < 8; ++sample) {
      Point place = wide.in().unpack(random.word(wide.in().bits()));
      Point small;
      for (unsigned d = 0; d < numDims; ++d)
        small.values[d] = place.values[d] & (layout.in().size(Dim(d)) - 1);
      ASSERT_EQ(wide(place), layout(small));
    }
  }
}

TEST(Layout, Shapes) {
  RandomLayouts random(7);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    Layout layout = anyLayout(random);
    Layout turned = layout.transpose({2, 0, 1}), added = layout.insertDim(1);
    Layout joined = layout.joinDims(1), dropped = layout.dropDim(1);
    Layout split = joined.splitDim(1, layout.out().size(Dim::D2));
    Layout flat = layout.reshape({{Dim::D0, layout.out().size()}});
    ASSERT_EQ(split, layout);
    ASSERT_EQ(added.dropDim(1), layout.withoutFreeBits({Dim::Register}));
    ASSERT_EQ(turned.transpose({1, 2, 0}), layout);
    Layout expanded = added.expandDim(1, 4);
    ASSERT_EQ(expanded.in().size(Dim::Register), layout.in().size(Dim::Register) * 4);
    std::map<uint64_t, std::set<uint64_t>> columns; // by thread: the columns that it holds
    std::map<uint64_t, std::set<uint64_t>> left;
    unsigned registers = layout.in().bits(Dim::Register);
    for (uint64_t p = 0; p < layout.in().size(); ++p) {
      Point place = layout.in().unpack(p), at = layout(place);
      uint64_t d0 = at[Dim::D0], d1 = at[Dim::D1], d2 = at[Dim::D2],
               size2 = layout.out().size(Dim::D2);
      ASSERT_EQ(turned(place), (Point{{Dim::D0, d2}, {Dim::D1, d0}, {Dim::D2, d1}}));
      ASSERT_EQ(added(place), (Point{{Dim::D0, d0}, {Dim::D2, d1}, {Dim::D3, d2}}));
      ASSERT_EQ(joined(place), (Point{{Dim::D0, d0}, {Dim::D1, d1 * size2 + d2}}));
      ASSERT_EQ(flat(place)[Dim::D0], (d0 * layout.out().size(Dim::D1) + d1) * size2 + d2);
      for (uint64_t copy = 0; copy < 4; ++copy) {
        Point further = place;
        further[Dim::Register] += copy << registers;
        ASSERT_EQ(expanded(further),
                  (Point{{Dim::D0, d0}, {Dim::D1, copy}, {Dim::D2, d1}, {Dim::D3, d2}}));
      }
      columns[p >> registers].insert(d0 * size2 + d2);
    }
    for (uint64_t p = 0; p < dropped.in().size(); ++p) {
      Point at = dropped(dropped.in().unpack(p));
      uint64_t thread = p >> dropped.in().bits(Dim::Register);
      left[thread].insert(at[Dim::D0] * layout.out().size(Dim::D2) + at[Dim::D1]);
      ASSERT_LE(left[thread].size(), dropped.in().size(Dim::Register));
    }
    ASSERT_EQ(left, columns); // a reduction leaves the rows of a thread
  }
}

TEST(Layout, Fits) {
  Layout tile = parsed("register[d1:1] lane[d0:1, d0:2] -> d0:4 d1:2");
  std::array order{1u, 0u};
  EXPECT_EQ(tile.fit(Space::tensor({8, 8}), order).str(),
            "register[d1:1, d1:2, d1:4, d0:4] lane[d0:1, d0:2] -> d0:8 d1:8");
  EXPECT_EQ(tile.fit(Space::tensor({2, 4}), order).str(),
            "register[d1:1, d1:2] lane[d0:1, 0] -> d0:2 d1:4");
}

} // namespace
