//===- TextMutator.cpp - Mutations of texts by tokens ---------------------===//
//
// Takes the place of libFuzzer's mutations of bytes for programs, IR and expressions. A text is split
// into words, numbers, strings, blanks and single characters; a mutation replaces, swaps, repeats or
// removes a token, a bracketed group, or a line, changes a number, or brings in a word of the
// vocabulary. One in eight leaves it to libFuzzer. Crossing takes groups or lines of another input.
//
//===----------------------------------------------------------------------===//
#include "Fuzz.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

using namespace tessera;

namespace {

using Tokens = std::vector<std::string>;

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isWord(char c) { return isWordStart(c) || isDigit(c) || c == '.' || c == '$'; }

/// Where the token that begins at `at` ends.
size_t tokenEnd(std::string_view text, size_t at) {
  auto run = [&](size_t from, auto holds) {
    while (from < text.size() && holds(text[from]))
      ++from;
    return from;
  };
  char c = text[at];
  if (isDigit(c))
    return run(at, isDigit);
  // The x of 64x64xf32.
  if (c == 'x' && at && isDigit(text[at - 1]))
    return at + 1;
  bool isSigil = std::strchr("%@#!^", c) && at + 1 < text.size() && isWord(text[at + 1]);
  if (isWordStart(c) || (c && isSigil))
    return run(at + 1, isWord);
  if (c == ' ')
    return run(at, [](char next) { return next == ' '; });
  if (c == '"' || c == '\'') {
    size_t end = text.find(c, at + 1);
    if (end != std::string_view::npos && end - at < 80)
      return end + 1;
  }
  return at + 1;
}

Tokens split(std::string_view text) {
  Tokens tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = tokenEnd(text, at);
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// Tokens of one kind can stand in each other's place.
char kindOf(const std::string &token) {
  char c = token[0];
  if (isDigit(c))
    return '0';
  if (isWordStart(c))
    return 'a';
  return c; // sigils, quotes, blanks and characters are kinds of their own
}

struct Range {
  size_t begin = 0, end = 0;
};

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  void mutate(Tokens &tokens) {
    for (size_t count = 1 + pick(pick(8) ? 3 : 12); count > 0; --count)
      if (tokens.empty())
        tokens.push_back(word());
      else
        mutateOnce(tokens);
  }

  void cross(Tokens &tokens, const Tokens &other) {
    bool lines = pick(2) == 0;
    Range to = lines ? line(tokens) : group(tokens), from = lines ? line(other) : group(other);
    if (lines && pick(2))
      to.end = to.begin; // beside what is there
    replace(tokens, to, Tokens(other.begin() + from.begin, other.begin() + from.end));
  }

private:
  size_t pick(size_t bound) { return bound ? random() % bound : 0; }

  const std::string &word() {
    const std::vector<std::string> &words = fuzz::vocabulary();
    return words[pick(words.size())];
  }

  std::string number(const std::string &old) {
    static constexpr const char *special[] = {
        "0",          "1",          "2",          "3",
        "-1",         "7",          "16",         "63",
        "64",         "65",         "1024",       "2147483647",
        "2147483648", "4294967296", "1000000007", "9223372036854775807",
        "-2",         "0.5",        "1e30",       "-9223372036854775808",
        "1e999",      "0x7F",       "1099511627776", "18446744073709551616"};
    if (pick(3) == 0 && old.size() < 9 && isDigit(old[0]))
      return std::to_string(std::stoi(old) + int(pick(3)) - 1);
    return special[pick(std::size(special))];
  }

  /// A random line, with its end.
  Range line(const Tokens &tokens) {
    Range range{pick(tokens.size()), 0};
    range.end = range.begin;
    while (range.begin > 0 && tokens[range.begin - 1] != "\n")
      --range.begin;
    while (range.end < tokens.size() && tokens[range.end] != "\n")
      ++range.end;
    range.end = std::min(range.end + 1, tokens.size());
    return range;
  }

  /// What stands between a random opening bracket and the one that closes it, with the brackets; a
  /// few tokens where there is none.
  Range group(const Tokens &tokens) {
    Range range{pick(tokens.size()), 0};
    for (size_t tries = 0; tries < 200; ++tries, range.begin = (range.begin + 1) % tokens.size())
      if (std::strchr("([{<", tokens[range.begin][0]))
        if (std::optional<size_t> end = closing(tokens, range.begin)) {
          range.end = *end + 1;
          return range;
        }
    range.end = std::min(range.begin + 1 + pick(6), tokens.size());
    return range;
  }

  static std::optional<size_t> closing(const Tokens &tokens, size_t at) {
    char open = tokens[at][0], close = open == '(' ? ')' : open + 2;
    size_t depth = 0, end = std::min(tokens.size(), at + 2000);
    for (; at < end; ++at) {
      char c = tokens[at].size() == 1 ? tokens[at][0] : 0;
      bool isArrow = c == '>' && at && tokens[at - 1] == "-";
      if (c == open)
        ++depth;
      else if (c == close && !isArrow && --depth == 0)
        return at;
    }
    return std::nullopt;
  }

  static void replace(Tokens &tokens, Range range, Tokens by) {
    tokens.erase(tokens.begin() + range.begin, tokens.begin() + range.end);
    tokens.insert(tokens.begin() + range.begin, by.begin(), by.end());
  }

  static Tokens copy(const Tokens &tokens, Range range) {
    return Tokens(tokens.begin() + range.begin, tokens.begin() + range.end);
  }

  /// A token that is not blank, mostly.
  size_t place(const Tokens &tokens) {
    size_t at = pick(tokens.size());
    for (size_t tries = 0; tries < 3 && (tokens[at][0] == ' ' || tokens[at][0] == '\n'); ++tries)
      at = pick(tokens.size());
    return at;
  }

  void mutateOnce(Tokens &tokens) {
    size_t at = place(tokens);
    switch (pick(13)) {
    case 0:
    case 1: { // another token of its kind
      std::vector<size_t> alike;
      for (size_t i = 0; i < tokens.size(); ++i)
        if (kindOf(tokens[i]) == kindOf(tokens[at]) && tokens[i] != tokens[at])
          alike.push_back(i);
      tokens[at] = alike.empty() ? word() : tokens[alike[pick(alike.size())]];
      break;
    }
    case 2:
      tokens[at] = tokens[place(tokens)];
      break;
    case 3:
      tokens[at] = word();
      break;
    case 4:
      tokens.erase(tokens.begin() + at);
      break;
    case 5:
      tokens.insert(tokens.begin() + at, pick(2) ? word() : tokens[place(tokens)]);
      break;
    case 6:
      std::swap(tokens[at], tokens[place(tokens)]);
      break;
    case 7: { // a number, wherever there is one
      size_t tries = 0;
      while (!isDigit(tokens[at][0]) && ++tries < 20)
        at = pick(tokens.size());
      tokens[at] = number(tokens[at]);
      break;
    }
    case 8: { // a line goes, comes twice, or changes its place
      Range from = line(tokens);
      Tokens text = copy(tokens, from);
      if (pick(2))
        replace(tokens, from, {});
      if (pick(2) && !tokens.empty()) {
        size_t to = line(tokens).begin;
        replace(tokens, {to, to}, text);
      }
      break;
    }
    case 9:
    case 10: { // one group for another: types, operands, attributes, regions
      Tokens text = copy(tokens, group(tokens));
      replace(tokens, group(tokens), text);
      break;
    }
    case 11: // a group goes, or its content
      replace(tokens, group(tokens), {});
      break;
    case 12: { // repeated, perhaps often: nesting and lengths
      Range range{at, std::min(at + 1 + pick(8), tokens.size())};
      Tokens text = copy(tokens, range), repeated;
      for (size_t times = pick(8) ? 1 + pick(3) : pick(200); times > 0; --times)
        repeated.insert(repeated.end(), text.begin(), text.end());
      replace(tokens, {at, at}, repeated);
      break;
    }
    }
  }

  std::mt19937 random;
};

size_t put(const Tokens &tokens, uint8_t *data, size_t maxSize) {
  size_t size = 0;
  for (const std::string &token : tokens) {
    size_t length = std::min(token.size(), maxSize - size);
    std::memcpy(data + size, token.data(), length);
    size += length;
  }
  return size;
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  Tokens tokens = split(fuzz::asText(data, size));
  Mutator(seed).mutate(tokens);
  return put(tokens, data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  Tokens tokens = split(fuzz::asText(first, firstSize)),
         other = split(fuzz::asText(second, secondSize));
  if (!tokens.empty() && !other.empty())
    Mutator(seed).cross(tokens, other);
  return put(tokens, out, maxSize);
}
