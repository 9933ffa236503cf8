//===- Edits.cpp - Smaller texts than a given one -------------------------===//
#include "Edits.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace tessera::cli {

namespace {

struct Token {
  enum Kind { Name, Number, String, Operator, Open, Close, Comma, Newline } kind;
  size_t begin, end;
  size_t partner = 0; // of a bracket: the index of the other one
};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}

/// The tokens of a program; comments and what is not understood are left out. A Newline ends a
/// logical line.
std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::vector<size_t> open;
  size_t at = 0;
  auto add = [&](Token::Kind kind, size_t end) {
    tokens.push_back({kind, at, end});
    at = end;
  };
  while (at < text.size()) {
    char c = text[at];
    size_t end = at + 1;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '\n') {
      if (open.empty())
        add(Token::Newline, end);
      else
        at = end;
    } else if (c == '"' || c == '\'') {
      std::string_view quote = text.substr(at, 3);
      if (quote.size() < 3 || quote[1] != c || quote[2] != c)
        quote = text.substr(at, 1);
      for (end = at + quote.size(); end < text.size() && text.substr(end, quote.size()) != quote;)
        end += text[end] == '\\' ? 2 : 1;
      add(Token::String, std::min(end + quote.size(), text.size()));
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && at + 1 < text.size() &&
                std::isdigit(static_cast<unsigned char>(text[at + 1])))) {
      while (end < text.size() && (isWord(text[end]) || text[end] == '.' ||
                                   ((text[end] == '-' || text[end] == '+') &&
                                    (text[end - 1] == 'e' || text[end - 1] == 'E'))))
        ++end;
      add(Token::Number, end);
    } else if (isWord(c)) {
      while (end < text.size() && isWord(text[end]))
        ++end;
      add(Token::Name, end);
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back(tokens.size());
      add(Token::Open, end);
    } else if (c == ')' || c == ']' || c == '}') {
      if (!open.empty()) {
        tokens[open.back()].partner = tokens.size();
        size_t partner = open.back();
        open.pop_back();
        add(Token::Close, end);
        tokens.back().partner = partner;
      } else
        at = end;
    } else if (c == ',') {
      add(Token::Comma, end);
    } else if (std::string_view("+-*/%@<>=!&|^~.:").find(c) != std::string_view::npos) {
      static constexpr std::string_view pairs[] = {"**", "//", "==", "!=", "<=", ">=", "<<",
                                                   ">>", "->", "+=", "-=", "*=", "/="};
      if (std::find(std::begin(pairs), std::end(pairs), text.substr(at, 2)) != std::end(pairs))
        ++end;
      add(Token::Operator, end);
    } else {
      at = end;
    }
  }
  for (size_t i : open) // never closed
    tokens[i].partner = i;
  return tokens;
}

class Expressions {
public:
  explicit Expressions(std::string_view text) : text(text), tokens(tokenize(text)) {}

  std::vector<Edit> find() {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token &token = tokens[i];
      if (token.kind == Token::Open && token.partner > i)
        group(i);
      else if (token.kind == Token::Number) {
        replace(i, i, "0");
        replace(i, i, "1");
      } else if (isBinary(i))
        operation(i);
      else if (word(i) == "-" || word(i) == "not" || word(i) == "~")
        replace(i, i, "");
      else if (word(i) == "." && i > 0 && i + 1 < tokens.size() && !opens(i + 2))
        replace(i, i + 1, "");
      else if (word(i) == "if" && i > 0 && tokens[i - 1].kind != Token::Newline)
        choice(i);
    }
    auto gain = [](const Edit &edit) { return edit.end - edit.begin - edit.replacement.size(); };
    std::sort(edits.begin(), edits.end(), [&](const Edit &a, const Edit &b) {
      return gain(a) != gain(b) ? gain(a) > gain(b) : a.begin < b.begin;
    });
    return std::move(edits);
  }

private:
  std::string_view word(size_t i) const {
    return i < tokens.size() ? text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin)
                             : std::string_view();
  }
  std::string_view words(size_t first, size_t last) const {
    return text.substr(tokens[first].begin, tokens[last].end - tokens[first].begin);
  }
  bool opens(size_t i) const { return i < tokens.size() && tokens[i].kind == Token::Open; }

  bool isOperand(size_t i) const {
    static const std::set<std::string_view> keywords = {"return", "and",  "or",  "not", "in",
                                                        "if",     "else", "for", "is",  "assert"};
    Token::Kind kind = tokens[i].kind;
    return kind == Token::Close || kind == Token::Number || kind == Token::String ||
           (kind == Token::Name && !keywords.count(word(i)));
  }
  bool isBinary(size_t i) const {
    static const std::set<std::string_view> operators = {
        "+",  "-", "*",  "/", "//", "%", "**", "@",  "==",  "!=", "<",
        "<=", ">", ">=", "&", "|",  "^", "<<", ">>", "and", "or"};
    return i > 0 && operators.count(word(i)) && isOperand(i - 1);
  }

  /// Tokens first to last become something shorter.
  void replace(size_t first, size_t last, std::string_view by) {
    Edit edit{tokens[first].begin, tokens[last].end, std::string(by)};
    if (by.size() < edit.end - edit.begin)
      edits.push_back(std::move(edit));
  }

  /// The first token of the name, call or index that token `i` ends.
  size_t primary(size_t i) const {
    while (true) {
      if (tokens[i].kind == Token::Close) {
        i = tokens[i].partner;
        if (i > 0 && (tokens[i - 1].kind == Token::Close || tokens[i - 1].kind == Token::Name) &&
            isOperand(i - 1))
          --i;
        else
          return i;
      } else if (i > 1 && word(i - 1) == "." && isOperand(i - 2))
        i -= 2;
      else
        return i;
    }
  }

  /// First and last tokens of the parts of a bracket between its commas.
  std::vector<std::pair<size_t, size_t>> parts(size_t open) const {
    std::vector<std::pair<size_t, size_t>> found;
    size_t close = tokens[open].partner, first = open + 1;
    for (size_t i = open + 1; i <= close; ++i) {
      if (i == close || tokens[i].kind == Token::Comma) {
        if (i > first)
          found.emplace_back(first, i - 1);
        first = i + 1;
      } else if (tokens[i].kind == Token::Open && tokens[i].partner > i)
        i = tokens[i].partner;
    }
    return found;
  }

  void group(size_t open) {
    size_t close = tokens[open].partner;
    bool behind = open > 0 && isOperand(open - 1);
    size_t start = behind ? primary(close) : open;
    for (auto [first, last] : parts(open)) {
      bool keyword = first + 1 < last && word(first + 1) == "=";
      replace(start, close, words(keyword ? first + 2 : first, last));
      // The part alone goes, with the comma beside it.
      bool follows = tokens[first - 1].kind == Token::Comma;
      bool leads = tokens[last + 1].kind == Token::Comma;
      if (follows)
        replace(first - 1, last, "");
      else
        replace(first, leads ? last + 1 : last, "");
    }
    if (!behind)
      return;
    bool method = start + 1 < open && word(open - 2) == "." && word(open) == "(";
    size_t end = method ? open - 3 : open - 1;
    if (end >= start && end < open)
      replace(start, close, words(start, end));
  }

  /// Where the expression around token `i` begins or ends: at a bracket, a comma, `=`, a keyword.
  size_t edge(size_t i, int step) const {
    auto stops = [&](size_t at) {
      static const std::set<std::string_view> words = {"=", "return", "if", "else", "assert",
                                                       ":", "+=",     "-=", "*=",   "/="};
      Token::Kind kind = tokens[at].kind;
      return kind == Token::Comma || kind == Token::Newline || words.count(word(at)) ||
             kind == (step > 0 ? Token::Close : Token::Open);
    };
    while (i + size_t(step) < tokens.size() && !stops(i + size_t(step))) {
      i += size_t(step);
      if (tokens[i].kind == (step > 0 ? Token::Open : Token::Close))
        i = tokens[i].partner;
    }
    return i;
  }

  void operation(size_t i) {
    size_t first = edge(i, -1), last = edge(i, 1);
    replace(first, i, "");
    replace(i, last, "");
  }

  void choice(size_t i) {
    for (size_t otherwise = i + 1; otherwise < tokens.size(); ++otherwise) {
      if (tokens[otherwise].kind == Token::Newline)
        return;
      if (tokens[otherwise].kind == Token::Open)
        otherwise = tokens[otherwise].partner;
      if (word(otherwise) != "else")
        continue;
      replace(edge(i, -1), otherwise, "");
      replace(i, edge(otherwise, 1), "");
      return;
    }
  }

  std::string_view text;
  std::vector<Token> tokens;
  std::vector<Edit> edits;
};

/// The values (%name) of a piece of IR, each once.
std::vector<std::string> valuesOf(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = text.find('%', at)) != std::string_view::npos;) {
    size_t end = at + 1;
    while (end < text.size() && (isWord(text[end]) || text[end] == '#'))
      ++end;
    std::string value(text.substr(at, end - at));
    if (std::find(found.begin(), found.end(), value) == found.end())
      found.push_back(value);
    at = end;
  }
  return found;
}

} // namespace

std::string edited(std::string_view text, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit &a, const Edit &b) { return a.begin < b.begin; });
  std::string result;
  size_t at = 0;
  for (const Edit &edit : edits) {
    if (edit.begin < at)
      continue; // inside of one that was made
    result.append(text.substr(at, edit.begin - at)).append(edit.replacement);
    at = edit.end;
  }
  return result.append(text.substr(at));
}

std::vector<Edit> statements(std::string_view text) {
  struct Line {
    size_t begin, end, indent;
    bool decorator, blank;
  };
  std::vector<Line> lines;
  size_t begin = 0;
  auto add = [&](size_t end) {
    size_t first = text.find_first_not_of(" \t", begin);
    first = std::min(first, end);
    char c = first < text.size() ? text[first] : '\n';
    lines.push_back({begin, end, first - begin, c == '@', c == '\n' || c == '#'});
    begin = end;
  };
  std::vector<Token> tokens = tokenize(text);
  for (const Token &token : tokens)
    if (token.kind == Token::Newline)
      add(token.end);
  if (begin < text.size())
    add(text.size());

  std::vector<Edit> found;
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t last = i;
    while (lines[last].decorator && last + 1 < lines.size())
      ++last;
    while (last + 1 < lines.size() && !lines[i].blank &&
           (lines[last + 1].indent > lines[i].indent || lines[last + 1].blank))
      ++last;
    found.push_back({lines[i].begin, lines[last].end});
    if (lines[i].decorator) // the definition goes with it
      while (i + 1 < lines.size() && lines[i + 1].decorator)
        ++i;
  }
  return found;
}

std::vector<Edit> simplerExpressions(std::string_view text) { return Expressions(text).find(); }

std::vector<std::vector<Edit>> forwardedOperands(std::string_view text) {
  std::vector<std::vector<Edit>> found;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string_view line = text.substr(begin, end - begin);
    size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) {
      found.push_back({{begin, end}});
    } else {
      std::vector<std::string> results = valuesOf(line.substr(0, equals));
      std::vector<Edit> removed = {{begin, end}};
      if (results.size() == 1) {
        for (const std::string &operand : valuesOf(line.substr(equals))) {
          std::vector<Edit> edits = removed;
          for (size_t at = end; (at = text.find(results[0], at)) != std::string_view::npos;) {
            size_t behind = at + results[0].size();
            if (behind >= text.size() || !isWord(text[behind]))
              edits.push_back({at, behind, operand});
            at = behind;
          }
          found.push_back(std::move(edits));
        }
      }
      found.push_back(std::move(removed));
    }
    begin = end;
  }
  std::reverse(found.begin(), found.end()); // what is used last can go first
  return found;
}

std::vector<Edit> parameterNamed(std::string_view text, std::string_view name) {
  std::vector<Edit> found;
  std::vector<Token> tokens = tokenize(text);
  auto word = [&](size_t i) {
    return text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  };
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (word(i) != "def" || tokens[i + 2].kind != Token::Open)
      continue;
    size_t close = tokens[i + 2].partner;
    for (size_t first = i + 3; first < close;) {
      size_t last = first;
      while (last < close && tokens[last].kind != Token::Comma)
        last = tokens[last].kind == Token::Open ? tokens[last].partner + 1 : last + 1;
      if (word(first) == name) {
        bool comma = tokens[last].kind == Token::Comma;
        size_t begin = comma || first == i + 3 ? tokens[first].begin : tokens[first - 1].begin;
        found.push_back({begin, comma ? tokens[last + 1].begin : tokens[last].begin});
      }
      first = last + 1;
    }
  }
  return found;
}

} // namespace tessera::cli
