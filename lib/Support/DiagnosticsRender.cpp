//===- DiagnosticsRender.cpp - Messages as clang-like text and as JSON ------------------------===//
//
// The text form shows the source line under each message with a caret and underlines. A line is
// first laid out as cells (one character, its display width, its byte), with tabs expanded. Only
// the cells of a window around the caret are created, so the cost does not depend on the length of
// the line.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Support/Diagnostics.h"

#include <algorithm>
#include <cstdio>

using namespace tessera;

namespace {

constexpr unsigned tabWidth = 8;

/// One character of a displayed line.
struct Cell {
  uint32_t offset;
  uint32_t length;
  unsigned width;
  bool isTab;
};

/// The display width of a character in a terminal.
unsigned characterWidth(uint32_t c) {
  bool combining =
      (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
  if (combining)
    return 0;
  bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
              (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
              (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
              (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

class Renderer {
public:
  Renderer(const SourceManager &sources, const RenderOptions &options)
      : sources(sources), options(options) {}

  void message(const Diagnostic &diagnostic) {
    place(diagnostic.range);
    severity(diagnostic.severity);
    style("\033[1m", diagnostic.message);
    out += '\n';
    if (diagnostic.range.isValid())
      snippet(diagnostic);
    for (const Diagnostic &note : diagnostic.notes)
      message(note);
  }

  /// The source line of a diagnostic, with its number if it is known, and marks.
  void snippet(const Diagnostic &diagnostic, bool numbered = true) {
    const SourceBuffer &buffer = sources.buffer(diagnostic.range.file);
    bool cutLeft = false, cutRight = false;
    std::vector<Cell> cells = layOut(buffer, diagnostic.range.begin, cutLeft, cutRight);
    std::string number(2, ' ');
    if (numbered) {
      number = std::to_string(buffer.lineColumn(diagnostic.range.begin).line);
      number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
    }
    std::string gutter(number.size(), ' ');
    // Removed indentation is shown again, up to a part of the window.
    std::string left(std::min(buffer.removedColumns(), options.maxColumns / 3), ' ');
    if (cutLeft)
      left = "...";

    out += number + " | ";
    out += left;
    unsigned columns = 0;
    unsigned caretColumn = 0;
    bool caretFound = false;
    for (const Cell &cell : cells) {
      if (!caretFound && cell.offset >= diagnostic.range.begin) {
        caretColumn = columns;
        caretFound = true;
      }
      if (cell.isTab)
        out.append(cell.width, ' ');
      else
        printable(buffer.text().substr(cell.offset, cell.length));
      columns += cell.width;
    }
    if (!caretFound)
      caretColumn = columns;
    out += cutRight ? "...\n" : "\n";

    std::string marks(columns + 1, ' ');
    mark(marks, cells, diagnostic.range, '~');
    for (SourceRange other : diagnostic.highlights)
      if (other.file == diagnostic.range.file)
        mark(marks, cells, other, '~');
    marks[caretColumn] = '^';
    marks.erase(marks.find_last_not_of(' ') + 1);
    out += gutter + " | " + std::string(left.size(), ' ');
    style("\033[1;32m", marks);
    out += '\n';

    std::string fixes = suggestions(diagnostic, buffer, cells);
    if (!fixes.empty()) {
      out += gutter + " | " + std::string(left.size(), ' ');
      style("\033[32m", fixes);
      out += '\n';
    }
  }

  std::string out;

private:
  const SourceManager &sources;
  const RenderOptions &options;

  void style(std::string_view code, std::string_view text) {
    if (options.color)
      out += code;
    out += text;
    if (options.color)
      out += "\033[0m";
  }

  void place(SourceRange range) {
    if (!range.isValid())
      return;
    LineColumn at = sources.lineColumn(range);
    std::string text(sources.buffer(range.file).name());
    text += ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
    style("\033[1m", text);
  }

  void severity(Severity severity) {
    std::string_view codes[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;34m"};
    style(codes[unsigned(severity)], std::string(severityName(severity)) + ": ");
  }

  /// The characters of the line around `caret`, as many as fit into the window.
  std::vector<Cell> layOut(const SourceBuffer &buffer, uint32_t caret, bool &cutLeft,
                           bool &cutRight) {
    auto [begin, end] = buffer.lineExtent(caret);
    std::string_view text = buffer.text();
    caret = std::clamp(caret, begin, end);
    uint32_t start = begin;
    unsigned before = options.maxColumns * 2 / 3;
    if (caret - begin > before) {
      start = caret - before;
      while (start < caret && (text[start] & 0xC0) == 0x80)
        ++start;
    }
    cutLeft = start != begin;
    std::vector<Cell> cells;
    unsigned column = 0;
    size_t at = start;
    while (at < end && column < options.maxColumns) {
      size_t from = at;
      uint32_t c = decodeUtf8(text, at);
      bool tab = c == '\t';
      unsigned width = tab ? tabWidth - column % tabWidth : characterWidth(c);
      cells.push_back({uint32_t(from), uint32_t(at - from), width, tab});
      column += width;
    }
    cutRight = at < end;
    return cells;
  }

  /// Marks the columns of `range` in a line of `cells`.
  static void mark(std::string &line, const std::vector<Cell> &cells, SourceRange range, char c) {
    unsigned column = 0;
    for (const Cell &cell : cells) {
      if (cell.offset >= range.begin && cell.offset < range.end)
        for (unsigned i = 0; i < cell.width; ++i)
          line[column + i] = c;
      column += cell.width;
    }
  }

  /// The texts that the diagnostic suggests for its line, each below its location.
  static std::string suggestions(const Diagnostic &diagnostic, const SourceBuffer &buffer,
                                 const std::vector<Cell> &cells) {
    auto [begin, end] = buffer.lineExtent(diagnostic.range.begin);
    std::vector<FixIt> fixes;
    for (const FixIt &fix : diagnostic.fixIts)
      if (fix.range.file == diagnostic.range.file && fix.range.begin >= begin &&
          fix.range.begin <= end && !fix.replacement.empty())
        fixes.push_back(fix);
    std::sort(fixes.begin(), fixes.end(), [](const FixIt &a, const FixIt &b) {
      return std::pair(a.range.begin, a.range.end) < std::pair(b.range.begin, b.range.end);
    });
    std::string line;
    for (const FixIt &fix : fixes) {
      size_t column = 0;
      for (const Cell &cell : cells)
        column += cell.offset < fix.range.begin ? cell.width : 0;
      if (!line.empty() && column <= line.size())
        column = line.size() + 1;
      line.append(column - line.size(), ' ');
      for (char c : fix.replacement.substr(0, fix.replacement.find('\n')))
        line += uint8_t(c) < 0x20 ? '?' : c;
    }
    return line;
  }

  /// Control characters and invalid bytes of a source must not reach a terminal.
  void printable(std::string_view character) {
    size_t offset = 0;
    uint32_t c = decodeUtf8(character, offset);
    if (c == 0xFFFD && character.size() == 1)
      out += "?";
    else if (c < 0x20 || c == 0x7F || (c >= 0x80 && c < 0xA0))
      out += "?";
    else
      out += character;
  }
};

void jsonString(std::string &out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    size_t from = i;
    uint32_t c = decodeUtf8(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", unsigned(c));
      out += buffer;
    } else if (c == 0xFFFD) {
      out += "\\ufffd";
    } else {
      out += text.substr(from, i - from);
    }
  }
  out += '"';
}

void jsonRange(std::string &out, const SourceManager &sources, SourceRange range) {
  if (!range.isValid()) {
    out += "\"file\": null, \"line\": 0, \"column\": 0, \"end_line\": 0, \"end_column\": 0";
    return;
  }
  LineColumn begin = sources.lineColumn(range);
  LineColumn end = sources.lineColumn(range.atEnd());
  out += "\"file\": ";
  jsonString(out, sources.buffer(range.file).name());
  out += ", \"line\": " + std::to_string(begin.line);
  out += ", \"column\": " + std::to_string(begin.column);
  out += ", \"end_line\": " + std::to_string(end.line);
  out += ", \"end_column\": " + std::to_string(end.column);
}

void jsonDiagnostic(std::string &out, const SourceManager &sources, const Diagnostic &diagnostic) {
  out += "{\"severity\": ";
  jsonString(out, severityName(diagnostic.severity));
  out += ", ";
  jsonRange(out, sources, diagnostic.range);
  out += ", \"message\": ";
  jsonString(out, diagnostic.message);
  out += ", \"fixits\": [";
  for (size_t i = 0; i < diagnostic.fixIts.size(); ++i) {
    out += i ? ", {" : "{";
    jsonRange(out, sources, diagnostic.fixIts[i].range);
    out += ", \"replacement\": ";
    jsonString(out, diagnostic.fixIts[i].replacement);
    out += "}";
  }
  out += "], \"notes\": [";
  for (size_t i = 0; i < diagnostic.notes.size(); ++i) {
    out += i ? ", " : "";
    jsonDiagnostic(out, sources, diagnostic.notes[i]);
  }
  out += "]}";
}

} // namespace

std::string tessera::excerpt(const SourceManager &sources, SourceRange range) {
  if (!range.isValid())
    return "";
  RenderOptions options;
  Renderer renderer(sources, options);
  renderer.snippet(Diagnostic(Severity::Error, range, ""), /*numbered=*/false);
  renderer.out.pop_back();
  return renderer.out;
}

std::string Diagnostics::render(const RenderOptions &options) const {
  Renderer renderer(sources, options);
  size_t warnings = 0;
  for (const Diagnostic &diagnostic : kept) {
    renderer.message(diagnostic);
    warnings += diagnostic.severity == Severity::Warning;
  }
  std::string &out = renderer.out;
  if (errors > errorLimit)
    out += std::to_string(errors - errorLimit) + " more errors are not shown\n";
  if (errors)
    out += std::to_string(errors) + (errors == 1 ? " error" : " errors") + " generated\n";
  else if (warnings)
    out += std::to_string(warnings) + (warnings == 1 ? " warning" : " warnings") + " generated\n";
  return std::move(out);
}

std::string Diagnostics::renderJson() const {
  std::string out = "[";
  for (size_t i = 0; i < kept.size(); ++i) {
    out += i ? ",\n " : "";
    jsonDiagnostic(out, sources, kept[i]);
  }
  return out + "]\n";
}
