//===- TextMutator.cpp - Mutations of texts by tokens ---------------------===//
//
// Takes the place of libFuzzer's mutations of bytes for programs, IR and expressions. A text is
// split into words, numbers, strings, blanks and single characters; a mutation replaces, swaps,
// repeats or removes a token, a bracketed group, or a line, changes a number, or brings in a word
// of the vocabulary. One in sixteen is libFuzzer's own. Crossing takes groups or lines of another
// input.
//
//===----------------------------------------------------------------------===//
#include "Fuzz.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

using namespace tessera;

/// The files of the last folder on the command line. libFuzzer keeps what shows something new, most
/// of it refused; most mutations begin with a seed, so that enough of them still mean something.
static std::vector<std::string> seeds;

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  std::error_code none;
  const char *last = *argc > 1 ? (*argv)[*argc - 1] : "";
  if (!std::filesystem::is_directory(last, none))
    return 0;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(last, none))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path &path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return 0;
}

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

  /// One change mostly: after several, hardly a text still means something.
  void mutate(Tokens &tokens) {
    for (size_t count = pick(6) ? 1 : 2 + pick(8); count > 0; --count)
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
    static constexpr const char *special[] = {"0",
                                              "1",
                                              "2",
                                              "3",
                                              "-1",
                                              "7",
                                              "16",
                                              "63",
                                              "64",
                                              "65",
                                              "1024",
                                              "2147483647",
                                              "2147483648",
                                              "4294967296",
                                              "1000000007",
                                              "9223372036854775807",
                                              "-2",
                                              "0.5",
                                              "1e30",
                                              "-9223372036854775808",
                                              "1e999",
                                              "0x7F",
                                              "1099511627776",
                                              "18446744073709551616"};
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

  /// A token that is not blank nor in the line that says how the text is read, mostly.
  size_t place(const Tokens &tokens) {
    size_t from = 0;
    if (tokens[0] == "#" && pick(8))
      from = std::find(tokens.begin(), tokens.end(), "\n") - tokens.begin();
    size_t at = 0;
    for (size_t tries = 0; tries < 4; ++tries) {
      at = from + pick(tokens.size() - from);
      if (at < tokens.size() && tokens[at][0] != ' ' && tokens[at][0] != '\n')
        return at;
    }
    return std::min(at, tokens.size() - 1);
  }

  void mutateOnce(Tokens &tokens) {
    if (pick(4))
      exchange(tokens);
    else
      disturb(tokens);
  }

  /// What can leave a text that is read to its end: something stands where its like stood.
  void exchange(Tokens &tokens) {
    size_t at = place(tokens);
    switch (pick(8)) {
    case 0:
    case 1:
    case 2: { // another token of its kind
      std::vector<size_t> alike;
      for (size_t i = 0; i < tokens.size(); ++i)
        if (kindOf(tokens[i]) == kindOf(tokens[at]) && tokens[i] != tokens[at])
          alike.push_back(i);
      tokens[at] = alike.empty() ? word() : tokens[alike[pick(alike.size())]];
      break;
    }
    case 3: { // a word, wherever there is one
      for (size_t tries = 0; tries < 20 && kindOf(tokens[at]) != 'a'; ++tries)
        at = place(tokens);
      tokens[at] = word();
      break;
    }
    case 4:
    case 5: { // a number, wherever there is one
      for (size_t tries = 0; tries < 20 && !isDigit(tokens[at][0]); ++tries)
        at = place(tokens);
      tokens[at] = number(tokens[at]);
      break;
    }
    case 6: { // one group for another: types, operands, attributes, regions
      Tokens text = copy(tokens, group(tokens));
      replace(tokens, group(tokens), text);
      break;
    }
    case 7: { // a line goes, comes twice, or changes its place
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
    }
  }

  /// What mostly leaves a text that is refused at once.
  void disturb(Tokens &tokens) {
    size_t at = place(tokens);
    switch (pick(6)) {
    case 0:
      tokens[at] = tokens[place(tokens)];
      break;
    case 1:
      tokens.erase(tokens.begin() + at);
      break;
    case 2:
      tokens.insert(tokens.begin() + at, pick(2) ? word() : tokens[place(tokens)]);
      break;
    case 3:
      std::swap(tokens[at], tokens[place(tokens)]);
      break;
    case 4: // a group goes
      replace(tokens, group(tokens), {});
      break;
    case 5: { // repeated, perhaps often: nesting and lengths
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

/// What to mutate.
std::string_view original(const uint8_t *data, size_t size, unsigned seed) {
  bool isSeed = !seeds.empty() && seed / 16 % 4;
  return isSeed ? std::string_view(seeds[seed / 64 % seeds.size()]) : fuzz::asText(data, size);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 16 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  Tokens tokens = split(original(data, size, seed));
  Mutator(seed).mutate(tokens);
  return put(tokens, data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  Tokens tokens = split(original(first, firstSize, seed)),
         other = split(fuzz::asText(second, secondSize));
  // libFuzzer crosses as often as it mutates, which is more than is good for programs.
  if (tokens.empty() || other.empty() || seed % 8)
    Mutator(seed).mutate(tokens);
  else
    Mutator(seed).cross(tokens, other);
  return put(tokens, out, maxSize);
}
