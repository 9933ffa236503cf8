//===- FuzzExpressions.cpp - Sizes and layouts as text --------------------===//
//
// A text is read as a size expression and as a layout. What was read is written and read again, to
// the same; an expression has the same value whether its symbols are replaced before or while it is
// computed; a layout's inverses are inverses.
//
//===----------------------------------------------------------------------===//
#include "Fuzz.h"
#include "tessera/Layout/Layout.h"
#include "tessera/Support/SymExpr.h"

using namespace tessera;

const std::vector<std::string> &fuzz::vocabulary() {
  static const std::vector<std::string> *words = [] {
    auto *made = new std::vector<std::string>{
        "floordiv", "ceildiv", "mod", "min", "max", "B", "S", "T", "->", "+", "*", "-",
        "(",        ")",       "[",   "]",   ",",   ":", "0", "1", "2",  "8", "64"};
    for (unsigned dim = 0; dim < numDims; ++dim)
      made->emplace_back(dimName(Dim(dim)));
    return made;
  }();
  return *words;
}

static void checkExpression(SymExpr expr, std::string_view text) {
  std::string written = expr.str();
  std::optional<SymExpr> again = SymExpr::parse(written);
  fuzz::expect(again && *again == expr, "the same expression from its own text", written);
  fuzz::saw("kind " + std::string(1, char('a' + int(expr.kind()))));
  for (int64_t shift : {2, 3, 64, 1000}) {
    auto sizeOf = [&](const std::string &name) -> int64_t {
      return shift + int64_t(std::hash<std::string>()(name) % 5);
    };
    std::optional<int64_t> value =
        expr.evaluate([&](const std::string &name) { return std::optional(sizeOf(name)); });
    if (!value)
      continue;
    SymExpr replaced = expr.substitute(
        [&](const std::string &name) { return std::optional(SymExpr(sizeOf(name))); });
    if (replaced.isConstant())
      fuzz::expect(replaced.constantValue() == *value, "one value of an expression",
                   std::string(text) + " = " + written + ": " + std::to_string(*value) + " and " +
                       std::to_string(replaced.constantValue()));
    int64_t divisor = expr.divisor();
    fuzz::expect(divisor == 0 ? *value == 0 : *value % divisor == 0, "a divisor that divides",
                 written);
    fuzz::expect(!expr.isNonNegative() || *value >= 0, "a size that is not negative", written);
  }
}

static void checkLayout(const Layout &layout) {
  std::string written = layout.str();
  std::optional<Layout> again = Layout::parse(written);
  fuzz::expect(again && *again == layout, "the same layout from its own text", written);
  std::optional<Layout> right = layout.rightInverse(), left = layout.leftInverse();
  fuzz::expect(bool(right) == layout.isSurjective(), "a right inverse of a surjection", written);
  fuzz::expect(bool(left) == layout.isInjective(), "a left inverse of an injection", written);
  for (uint64_t place = 1; place && place < layout.in().size(); place <<= 1)
    fuzz::expect(!left || (*left)(layout(place)) == place, "an inverse", written);
  for (uint64_t element = 1; element && element < layout.out().size(); element <<= 1)
    fuzz::expect(!right || layout((*right)(element)) == element, "an inverse", written);
  fuzz::saw(left ? "injective" : "not injective");
  fuzz::saw(right ? "surjective" : "not surjective");
  if (layout.out().size() <= 1024)
    layout.picture();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  std::string_view text = fuzz::asText(data, size);
  if (std::optional<SymExpr> expr = SymExpr::parse(text))
    checkExpression(*expr, text);
  if (std::optional<Layout> layout = Layout::parse(text))
    checkLayout(*layout);
  return 0;
}
