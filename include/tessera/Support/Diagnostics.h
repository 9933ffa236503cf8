//===- Diagnostics.h - Source texts, ranges and diagnostics -----*- C++ -*-===//
//
// The parts of every diagnostic about a user's program. Source texts are `SourceBuffer`s, a
// `SourceRange` is a range of bytes in one of them, and `Diagnostics` collects messages that point
// at ranges, have notes at other locations and suggest replacements. Collected messages are
// rendered as text in the style of clang, or as JSON. This file is independent of any IR.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_DIAGNOSTICS_H
#define TESSERA_SUPPORT_DIAGNOSTICS_H

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Bytes [begin, end) of one source buffer. The default range is invalid.
struct SourceRange {
  uint32_t file = ~0u;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return file != ~0u; }
  /// The empty range at this range's begin or end.
  SourceRange atBegin() const { return {file, begin, begin}; }
  SourceRange atEnd() const { return {file, end, end}; }
  /// From the begin of this range to the end of `other`, which must be in the same buffer.
  SourceRange to(SourceRange other) const { return {file, begin, other.end}; }
  bool operator==(const SourceRange &) const = default;
};

/// A location as displayed: both numbers start at 1, columns count characters.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One source text. For a text that is a part of a file, `firstLine` is the number of its first
/// line there, and `columnShift` the columns of indentation that were removed from its lines.
class SourceBuffer {
public:
  SourceBuffer(std::string name, std::string text, uint32_t firstLine, uint32_t columnShift);

  std::string_view name() const { return bufferName; }
  std::string_view text() const { return bufferText; }
  LineColumn lineColumn(uint32_t offset) const;
  /// The bytes of the line that holds `offset`, without its line break.
  std::pair<uint32_t, uint32_t> lineExtent(uint32_t offset) const;
  /// The number of the line that holds `offset`, counted from 0 in this buffer.
  uint32_t lineIndex(uint32_t offset) const;
  uint32_t firstLine() const { return lineOfFirst; }
  uint32_t removedColumns() const { return columnShift; }

private:
  std::string bufferName;
  std::string bufferText;
  uint32_t lineOfFirst;
  uint32_t columnShift;
  bool isAscii = true;
  std::vector<uint32_t> lineStarts;
};

/// Owns the source texts of one compilation. Buffers never move, so views of their text stay valid.
class SourceManager {
public:
  uint32_t add(std::string name, std::string text, uint32_t firstLine = 1,
               uint32_t columnShift = 0);
  const SourceBuffer &buffer(uint32_t file) const { return *buffers[file]; }
  size_t size() const { return buffers.size(); }
  std::string_view text(SourceRange range) const;
  LineColumn lineColumn(SourceRange range) const;

private:
  std::vector<std::unique_ptr<SourceBuffer>> buffers;
};

enum class Severity { Error, Warning, Note, Remark };
std::string_view severityName(Severity severity);

/// A replacement of these bytes by this text; an empty range inserts.
struct FixIt {
  SourceRange range;
  std::string replacement;
};

/// One message. Notes are diagnostics too, nested one level deep.
class Diagnostic {
public:
  Diagnostic(Severity severity, SourceRange range, std::string message)
      : severity(severity), range(range), message(std::move(message)) {}

  Severity severity;
  SourceRange range;
  std::string message;
  std::vector<SourceRange> highlights;
  std::vector<FixIt> fixIts;
  std::vector<Diagnostic> notes;

  /// Adds a note at `range`; an invalid range gives a note without a location.
  Diagnostic &note(SourceRange noteRange, std::string text);
  /// Underlines another range of the same line.
  Diagnostic &highlight(SourceRange other);
  /// Adds ", did you mean 'NAME'?" and a replacement of the range, if `name` is not empty.
  Diagnostic &didYouMean(std::string_view name);
  /// Suggests a replacement; an empty range inserts, an empty text removes.
  Diagnostic &fix(SourceRange where, std::string replacement);
};

struct RenderOptions {
  bool color = false;
  /// Source lines are clipped to a window of this many columns around the caret.
  unsigned maxColumns = 120;
};

/// The collector. After `errorLimit` errors further ones are counted but not kept.
class Diagnostics {
public:
  SourceManager sources;

  Diagnostic &error(SourceRange range, std::string message);
  Diagnostic &warning(SourceRange range, std::string message);
  Diagnostic &remark(SourceRange range, std::string message);

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  const std::deque<Diagnostic> &all() const { return kept; }
  Diagnostic &at(size_t index) { return kept[index]; }
  /// The error or warning that was kept last, to which more can be added; null if there is none.
  Diagnostic *last() {
    if (errors > errorLimit && dropped)
      return &*dropped;
    return kept.empty() ? nullptr : &kept.back();
  }
  /// Whether an error at this exact location was kept already.
  bool hasErrorAt(SourceRange range) const;
  /// A diagnostic that is never printed, for a message that repeats an earlier one.
  Diagnostic &repeated(SourceRange range);
  void clear();

  /// A point to which `rewind` returns: messages reported since then are discarded.
  struct Checkpoint {
    size_t kept;
    size_t errors;
  };
  Checkpoint checkpoint() const { return {kept.size(), errors}; }
  void rewind(Checkpoint checkpoint);
  /// Rewinds, and returns the discarded messages; `restore` reports them again.
  std::vector<Diagnostic> take(Checkpoint checkpoint);
  void restore(std::vector<Diagnostic> taken);

  std::string render(const RenderOptions &options = {}) const;
  std::string renderJson() const;

  static constexpr size_t errorLimit = 64;

private:
  Diagnostic &add(Severity severity, SourceRange range, std::string message);

  std::deque<Diagnostic> kept;
  size_t errors = 0;
  std::optional<Diagnostic> dropped;
};

/// The line of the start of `range` and the range's marks below it, without line numbers: two lines
/// that begin with a bar. Empty for an invalid range.
std::string excerpt(const SourceManager &sources, SourceRange range);

/// The offset of the first byte of `text` that is not part of valid UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

/// Decodes the character at `offset` of valid UTF-8 and moves `offset` past it. A byte that does
/// not begin a character decodes as U+FFFD and takes one byte.
uint32_t decodeUtf8(std::string_view text, size_t &offset);

/// The candidate nearest to `name` by edit distance, or an empty view if none is close enough to be
/// a likely misspelling.
std::string_view closestName(std::string_view name, std::span<const std::string_view> candidates);

} // namespace tessera

#endif // TESSERA_SUPPORT_DIAGNOSTICS_H
