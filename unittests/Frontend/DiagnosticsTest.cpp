//===- DiagnosticsTest.cpp - Rendering and the helpers of diagnostics -------------------------===//
#include "tessera/Support/Diagnostics.h"

#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// A collector with one buffer, and ranges found by text.
struct Fixture {
  Diagnostics diagnostics;
  std::string text;

  explicit Fixture(std::string source, uint32_t firstLine = 1) : text(source) {
    diagnostics.sources.add("f.py", std::move(source), firstLine);
  }
  SourceRange at(std::string_view part) {
    size_t offset = text.find(part);
    return {0, uint32_t(offset), uint32_t(offset + part.size())};
  }
};

TEST(Diagnostics, CaretAndRange) {
  Fixture f("x = foo(1)\ny = 2\n", 10);
  f.diagnostics.error(f.at("foo"), "unknown name 'foo'").didYouMean("for").note(f.at("y"), "here");
  EXPECT_EQ(f.diagnostics.render(), "f.py:10:5: error: unknown name 'foo'; did you mean 'for'?\n"
                                    "   10 | x = foo(1)\n"
                                    "      |     ^~~\n"
                                    "      |     for\n"
                                    "f.py:11:1: note: here\n"
                                    "   11 | y = 2\n"
                                    "      | ^\n"
                                    "1 error generated\n");
}

TEST(Diagnostics, TabsAndWideCharacters) {
  Fixture tab("\tx = y\n");
  tab.diagnostics.error(tab.at("y"), "m");
  EXPECT_EQ(tab.diagnostics.render(), "f.py:1:6: error: m\n"
                                      "    1 |         x = y\n"
                                      "      |             ^\n"
                                      "1 error generated\n");
  Fixture wide("'日本' + y\n");
  wide.diagnostics.error(wide.at("y"), "m");
  EXPECT_NE(wide.diagnostics.render().find("f.py:1:8: error"), std::string::npos);
  EXPECT_NE(wide.diagnostics.render().find("      |          ^\n"), std::string::npos);
}

TEST(Diagnostics, HugeLineIsClipped) {
  std::string line(10'000'000, 'a');
  line += " ? ";
  line.append(1000, 'b');
  Fixture f(line);
  f.diagnostics.error(f.at("?"), "unexpected");
  std::string text = f.diagnostics.render();
  EXPECT_LT(text.size(), 600u);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_NE(text.find("^"), std::string::npos);
}

TEST(Diagnostics, EndOfFileAndControlCharacters) {
  Fixture f("a\x01z");
  f.diagnostics.error({0, 3, 3}, "at the end");
  std::string text = f.diagnostics.render();
  EXPECT_NE(text.find("a?z\n"), std::string::npos);
  EXPECT_NE(text.find("|    ^\n"), std::string::npos);
  Fixture empty("");
  empty.diagnostics.error({0, 0, 0}, "nothing");
  EXPECT_NE(empty.diagnostics.render().find("f.py:1:1: error: nothing"), std::string::npos);
}

TEST(Diagnostics, Colour) {
  Fixture f("x\n");
  f.diagnostics.warning(f.at("x"), "w");
  EXPECT_EQ(f.diagnostics.render().find('\033'), std::string::npos);
  EXPECT_NE(f.diagnostics.render({.color = true}).find("\033[1;35mwarning: "), std::string::npos);
  EXPECT_FALSE(f.diagnostics.hasErrors());
}

TEST(Diagnostics, Json) {
  Fixture f("x = \"q\"\n");
  f.diagnostics.error(f.at("\"q\""), "bad \"q\"\n").note({}, "no place");
  EXPECT_EQ(f.diagnostics.renderJson(),
            "[{\"severity\": \"error\", \"file\": \"f.py\", \"line\": 1, \"column\": 5, "
            "\"end_line\": 1, \"end_column\": 8, \"message\": \"bad \\\"q\\\"\\n\", "
            "\"fixits\": [], "
            "\"notes\": [{\"severity\": \"note\", \"file\": null, \"line\": 0, \"column\": 0, "
            "\"end_line\": 0, \"end_column\": 0, \"message\": \"no place\", \"fixits\": [], "
            "\"notes\": []}]}]\n");
}

TEST(Diagnostics, Limit) {
  Fixture f("x\n");
  for (int i = 0; i < 1000; ++i)
    f.diagnostics.error(f.at("x"), "e").note(f.at("x"), "n");
  EXPECT_EQ(f.diagnostics.all().size(), Diagnostics::errorLimit);
  EXPECT_EQ(f.diagnostics.errorCount(), 1000u);
  EXPECT_NE(f.diagnostics.render().find("936 more errors are not shown"), std::string::npos);
}

TEST(Diagnostics, Utf8) {
  EXPECT_EQ(findInvalidUtf8("aé日😀"), std::string_view::npos);
  EXPECT_EQ(findInvalidUtf8("a\xff"), 1u);
  EXPECT_EQ(findInvalidUtf8("\xc0\x80"), 0u);     // overlong
  EXPECT_EQ(findInvalidUtf8("\xed\xa0\x80"), 0u); // surrogate
  EXPECT_EQ(findInvalidUtf8("ab\xe6\x97"), 2u);   // cut short
}

TEST(Diagnostics, ClosestName) {
  std::string_view names[] = {"softmax", "log_softmax", "matmul", "sum", "exp", "exp2"};
  EXPECT_EQ(closestName("sofmax", names), "softmax");
  const std::string_view letters[] = {"gt", "T", "mT"};
  EXPECT_EQ(closestName("t", letters), "T");
  EXPECT_EQ(closestName("mt", letters), "mT");
  EXPECT_EQ(closestName("mutmal", names), "matmul");
  EXPECT_EQ(closestName("exq", names), "exp");
  EXPECT_EQ(closestName("zzz", names), "");
  EXPECT_EQ(closestName("convolution", names), "");
}

} // namespace
