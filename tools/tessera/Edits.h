//===- Edits.h - Smaller texts than a given one ---------------------------===//
//
// What `tessera reduce` tries: pieces of a program that can be left out or replaced by parts of
// themselves. The text is cut into tokens and statements but not parsed; an edit that makes no
// program is found out by trying it. Every edit makes the text shorter, so that reducing ends.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TOOLS_TESSERA_EDITS_H
#define TESSERA_TOOLS_TESSERA_EDITS_H

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// Characters [begin, end) of a text, and what stands there instead.
struct Edit {
  size_t begin, end;
  std::string replacement = {};
};

/// The text with edits that do not overlap, in any order.
std::string edited(std::string_view text, std::vector<Edit> edits);

/// The statements of a program in Python's notation, in order: each with its decorators and the
/// block below it, so that a statement's edit removes the statements inside.
std::vector<Edit> statements(std::string_view text);

/// Simpler expressions: arguments for their call, operands for their operation, bases for methods
/// and indices, 0 and 1 for numbers. Those that leave least come first.
std::vector<Edit> simplerExpressions(std::string_view text);

/// Of textual IR: an operation removed, with one of its operands in place of its result. All edits
/// of one element belong together.
std::vector<std::vector<Edit>> forwardedOperands(std::string_view text);

/// The parameter of this name in the text's definitions, with its annotation and default.
std::vector<Edit> parameterNamed(std::string_view text, std::string_view name);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_EDITS_H
