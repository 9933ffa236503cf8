//===- Diagnostics.cpp - Source texts, ranges and collected messages ------===//
//
// Holds the source buffers with their line tables, the collector, UTF-8 decoding and the search for
// a near name. Rendering is in DiagnosticsRender.cpp.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Support/Diagnostics.h"

#include <algorithm>
#include <cctype>
#include <iterator>

using namespace tessera;

//===------------------------------------------------------------------------------------------===//
// Sources
//===------------------------------------------------------------------------------------------===//

SourceBuffer::SourceBuffer(std::string name, std::string text, uint32_t firstLine,
                           uint32_t columnShift)
    : bufferName(std::move(name)), bufferText(std::move(text)), lineOfFirst(firstLine),
      columnShift(columnShift) {
  lineStarts.push_back(0);
  for (size_t i = 0, e = bufferText.size(); i != e; ++i) {
    bool loneReturn = bufferText[i] == '\r' && (i + 1 == e || bufferText[i + 1] != '\n');
    if (bufferText[i] == '\n' || loneReturn)
      lineStarts.push_back(i + 1);
    isAscii &= uint8_t(bufferText[i]) < 0x80;
  }
}

uint32_t SourceBuffer::lineIndex(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  return next - lineStarts.begin() - 1;
}

LineColumn SourceBuffer::lineColumn(uint32_t offset) const {
  uint32_t index = lineIndex(offset);
  if (isAscii)
    return {lineOfFirst + index, offset - lineStarts[index] + 1 + columnShift};
  uint32_t column = 1 + columnShift;
  // Continuation bytes do not start a character.
  for (uint32_t i = lineStarts[index], e = std::min<size_t>(offset, bufferText.size()); i < e; ++i)
    column += (bufferText[i] & 0xC0) != 0x80;
  return {lineOfFirst + index, column};
}

std::pair<uint32_t, uint32_t> SourceBuffer::lineExtent(uint32_t offset) const {
  uint32_t index = lineIndex(offset);
  uint32_t begin = lineStarts[index];
  uint32_t end = index + 1 < lineStarts.size() ? lineStarts[index + 1] : bufferText.size();
  while (end > begin && (bufferText[end - 1] == '\n' || bufferText[end - 1] == '\r'))
    --end;
  return {begin, end};
}

uint32_t SourceManager::add(std::string name, std::string text, uint32_t firstLine,
                            uint32_t columnShift) {
  buffers.push_back(
      std::make_unique<SourceBuffer>(std::move(name), std::move(text), firstLine, columnShift));
  return buffers.size() - 1;
}

std::string_view SourceManager::text(SourceRange range) const {
  if (!range.isValid())
    return {};
  return buffer(range.file).text().substr(range.begin, range.end - range.begin);
}

LineColumn SourceManager::lineColumn(SourceRange range) const {
  return range.isValid() ? buffer(range.file).lineColumn(range.begin) : LineColumn{};
}

//===------------------------------------------------------------------------------------------===//
// Messages
//===------------------------------------------------------------------------------------------===//

std::string_view tessera::severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  case Severity::Remark:
    return "remark";
  }
  return "";
}

Diagnostic &Diagnostic::note(SourceRange noteRange, std::string text) {
  notes.emplace_back(Severity::Note, noteRange, std::move(text));
  return *this;
}

Diagnostic &Diagnostic::highlight(SourceRange other) {
  highlights.push_back(other);
  return *this;
}

Diagnostic &Diagnostic::didYouMean(std::string_view name) {
  if (name.empty())
    return *this;
  message += "; did you mean '" + std::string(name) + "'?";
  if (range.isValid())
    fixIts.push_back({range, std::string(name)});
  return *this;
}

Diagnostic &Diagnostic::fix(SourceRange where, std::string replacement) {
  if (where.isValid())
    fixIts.push_back({where, std::move(replacement)});
  return *this;
}

bool Diagnostics::hasErrorAt(SourceRange range) const {
  return std::any_of(kept.begin(), kept.end(), [&](const Diagnostic &diagnostic) {
    return diagnostic.severity == Severity::Error && diagnostic.range == range;
  });
}

Diagnostic &Diagnostics::repeated(SourceRange range) {
  dropped.emplace(Severity::Error, range, "");
  return *dropped;
}

Diagnostic &Diagnostics::add(Severity severity, SourceRange range, std::string message) {
  if (severity == Severity::Error && ++errors > errorLimit) {
    dropped.emplace(severity, range, std::move(message));
    return *dropped;
  }
  return kept.emplace_back(severity, range, std::move(message));
}

Diagnostic &Diagnostics::error(SourceRange range, std::string message) {
  return add(Severity::Error, range, std::move(message));
}

Diagnostic &Diagnostics::warning(SourceRange range, std::string message) {
  return add(Severity::Warning, range, std::move(message));
}

Diagnostic &Diagnostics::remark(SourceRange range, std::string message) {
  return add(Severity::Remark, range, std::move(message));
}

void Diagnostics::rewind(Checkpoint checkpoint) {
  kept.erase(kept.begin() + checkpoint.kept, kept.end());
  errors = checkpoint.errors;
}

std::vector<Diagnostic> Diagnostics::take(Checkpoint checkpoint) {
  std::vector<Diagnostic> taken(std::make_move_iterator(kept.begin() + checkpoint.kept),
                                std::make_move_iterator(kept.end()));
  rewind(checkpoint);
  return taken;
}

void Diagnostics::restore(std::vector<Diagnostic> taken) {
  for (Diagnostic &diagnostic : taken) {
    errors += diagnostic.severity == Severity::Error;
    kept.push_back(std::move(diagnostic));
  }
}

void Diagnostics::clear() {
  kept.clear();
  dropped.reset();
  errors = 0;
}

//===------------------------------------------------------------------------------------------===//
// UTF-8
//===------------------------------------------------------------------------------------------===//

/// The length of the valid character at `offset`, or 0. Overlong forms, surrogates and values above
/// U+10FFFF are not valid.
static unsigned validUtf8Length(std::string_view text, size_t offset) {
  auto byte = [&](size_t i) -> uint8_t { return offset + i < text.size() ? text[offset + i] : 0; };
  auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bool overlong = lead == 0xF0 && byte(1) < 0x90;
    bool tooLarge = lead == 0xF4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !tooLarge ? 4 : 0;
  }
  return 0;
}

size_t tessera::findInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    unsigned length = validUtf8Length(text, i);
    if (length == 0)
      return i;
    i += length;
  }
  return std::string_view::npos;
}

uint32_t tessera::decodeUtf8(std::string_view text, size_t &offset) {
  unsigned length = validUtf8Length(text, offset);
  uint8_t lead = text[offset++];
  if (length == 1)
    return lead;
  if (length == 0)
    return 0xFFFD;
  uint32_t value = lead & (0x7F >> length);
  for (unsigned i = 1; i < length; ++i)
    value = value << 6 | (uint8_t(text[offset++]) & 0x3F);
  return value;
}

//===------------------------------------------------------------------------------------------===//
// Similar names
//===------------------------------------------------------------------------------------------===//

/// Edit distance with insertions, deletions, replacements and transpositions, capped at `limit` +
/// 1.
static unsigned editDistance(std::string_view a, std::string_view b, unsigned limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit)
    return limit + 1;
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view tessera::closestName(std::string_view name,
                                      std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > 64)
    return {};
  auto sameLetter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  // A wrong case counts least: 't' is nearer to 'T' than to 'gt'.
  for (std::string_view candidate : candidates)
    if (std::equal(name.begin(), name.end(), candidate.begin(), candidate.end(), sameLetter))
      return candidate;
  unsigned limit = std::max<unsigned>(1, (name.size() + 1) / 3);
  std::string_view best;
  for (std::string_view candidate : candidates) {
    unsigned distance = editDistance(name, candidate, limit);
    // Replacing every letter of a short name is not a likely misspelling.
    if (distance <= limit && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      if (distance == 0)
        break;
      limit = distance - 1;
    }
  }
  return best;
}
