//===- LayoutText.cpp - The text form of layouts --------------------------===//
//
// Prints and parses `register[d1:1, d0:8+d1:2] lane[d1:4, 0] -> d0:16 d1:8`: for each input
// dimension the list of its bases, each a sum of coordinates or 0, then the sizes. Also prints the
// picture of a layout, a table of the location of each element.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/Layout.h"

#include <algorithm>
#include <cctype>
#include <charconv>

using namespace tessera;

std::string_view tessera::dimName(Dim dim) {
  static constexpr std::string_view names[numDims] = {"register", "lane", "warp", "block", "round",
                                                      "offset",   "d7",   "d6",   "d5",    "d4",
                                                      "d3",       "d2",   "d1",   "d0"};
  return names[unsigned(dim)];
}

/// Output dimensions are printed from the last of `Dim` to the first: d0, d1, ….
static std::string coordinates(const Point &point, const char *separator) {
  std::string text;
  for (unsigned i = numDims; i-- > 0;)
    if (point.values[i]) {
      text += text.empty() ? "" : separator;
      text += dimName(Dim(i));
      text += ":" + std::to_string(point.values[i]);
    }
  return text;
}

std::string Layout::str() const {
  std::string text;
  for (unsigned i = 0; i < numDims; ++i) {
    if (!inSpace.bits(Dim(i)))
      continue;
    text += dimName(Dim(i));
    const char *before = "[";
    for (uint64_t column : columns(Dim(i))) {
      text += before;
      text += column ? coordinates(outSpace.unpack(column), "+") : "0";
      before = ", ";
    }
    text += "] ";
  }
  Point sizes;
  for (unsigned i = 0; i < numDims; ++i)
    sizes.values[i] = outSpace.bits(Dim(i)) ? outSpace.size(Dim(i)) : 0;
  std::string shape = coordinates(sizes, " ");
  return text + (shape.empty() ? "->" : "-> " + shape);
}

namespace {
class Parser {
public:
  explicit Parser(std::string_view text) : rest(text) {}

  std::optional<Layout> layout() {
    std::array<std::vector<Point>, numDims> bases;
    while (!take("->")) {
      std::optional<Dim> dim = name();
      if (!dim || !bases[unsigned(*dim)].empty() || !take("["))
        return std::nullopt;
      do {
        std::optional<Point> point = sum();
        if (!point)
          return std::nullopt;
        bases[unsigned(*dim)].push_back(*point);
      } while (take(","));
      if (!take("]"))
        return std::nullopt;
    }
    Space in, out;
    for (unsigned bits = 0; skip(), !rest.empty();) {
      auto term = coordinate();
      if (!term || !std::has_single_bit(term->second) || term->second == 1 || out.bits(term->first))
        return std::nullopt;
      bits += std::countr_zero(term->second);
      if (bits >= 64)
        return std::nullopt;
      out.setBits(term->first, std::countr_zero(term->second));
    }
    return build(bases, in, out);
  }

private:
  static std::optional<Layout> build(const std::array<std::vector<Point>, numDims> &bases, Space in,
                                     const Space &out) {
    gf2::Vectors columns;
    for (unsigned i = 0; i < numDims; ++i) {
      in.setBits(Dim(i), bases[i].size());
      for (const Point &point : bases[i]) {
        for (unsigned d = 0; d < numDims; ++d)
          if (point.values[d] >= out.size(Dim(d)))
            return std::nullopt;
        columns.push_back(out.pack(point));
      }
      if (columns.size() >= 64)
        return std::nullopt;
    }
    return Layout(in, out, std::move(columns));
  }

  void skip() {
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())))
      rest.remove_prefix(1);
  }

  bool take(std::string_view token) {
    skip();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }

  std::optional<Dim> name() {
    skip();
    size_t end = 0;
    while (end < rest.size() && std::isalnum(static_cast<unsigned char>(rest[end])))
      ++end;
    for (unsigned i = 0; i < numDims; ++i)
      if (rest.substr(0, end) == dimName(Dim(i))) {
        rest.remove_prefix(end);
        return Dim(i);
      }
    return std::nullopt;
  }

  std::optional<std::pair<Dim, uint64_t>> coordinate() {
    std::optional<Dim> dim = name();
    if (!dim || !take(":"))
      return std::nullopt;
    skip();
    uint64_t value = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value == 0)
      return std::nullopt;
    rest.remove_prefix(end - rest.data());
    return std::pair(*dim, value);
  }

  std::optional<Point> sum() {
    Point point;
    if (take("0"))
      return point;
    do {
      auto term = coordinate();
      if (!term || point[term->first])
        return std::nullopt;
      point[term->first] = term->second;
    } while (take("+"));
    return point;
  }

  std::string_view rest;
};
} // namespace

std::optional<Layout> Layout::parse(std::string_view text) { return Parser(text).layout(); }

std::string Layout::picture() const {
  std::optional<Layout> holder = rightInverse();
  unsigned columnBits = outSpace.bits(Dim::D1) ? outSpace.bits(Dim::D1) : outSpace.bits(Dim::D0);
  if (!holder ||
      outSpace.bits() > columnBits + (outSpace.bits(Dim::D1) ? outSpace.bits(Dim::D0) : 0))
    return "";
  auto width = [&](Dim dim) { return std::to_string(inSpace.size(dim) - 1).size(); };
  std::string text;
  for (uint64_t element = 0; element < outSpace.size(); ++element) {
    Point place = inSpace.unpack((*holder)(element));
    std::string cell;
    // Outermost first: block, warp, lane, register, each by its first letter.
    for (Dim dim : {Dim::Offset, Dim::Round, Dim::Block, Dim::Warp, Dim::Lane, Dim::Register}) {
      if (!inSpace.bits(dim))
        continue;
      std::string number = std::to_string(place[dim]);
      cell += (cell.empty() ? "" : " ") + std::string(1, dimName(dim)[0]);
      cell += std::string(width(dim) - number.size(), ' ') + number;
    }
    bool last = (element + 1) % (uint64_t(1) << columnBits) == 0;
    text += cell + (last ? "\n" : " | ");
  }
  return text;
}
