//===- DiagnosticBridge.cpp - MLIR's messages among ours ------------------===//
#include "DiagnosticBridge.h"

#include "mlir/IR/Location.h"
#include "tessera/Dialect/Tile/Transforms/TooLarge.h"

namespace tessera {

namespace {

/// The offset of a line and column (both from 1, the column in bytes); the line's end if the column
/// is beyond it.
std::optional<uint32_t> offsetOf(const SourceBuffer &buffer, unsigned line, unsigned column) {
  std::string_view text = buffer.text();
  size_t start = 0;
  for (unsigned i = buffer.firstLine(); i < line; ++i) {
    start = text.find('\n', start);
    if (start == std::string_view::npos)
      return std::nullopt;
    ++start;
  }
  if (line < buffer.firstLine())
    return std::nullopt;
  size_t end = std::min(text.find('\n', start), text.size());
  return uint32_t(std::min(start + (column ? column - 1 : 0), end));
}

} // namespace

SourceRange sourceRange(const SourceManager &sources, mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColRange>();
  if (!place)
    return {};
  // The last buffer of a name first: functions cut out of one file share it.
  for (size_t file = sources.size(); file-- > 0;) {
    const SourceBuffer &buffer = sources.buffer(file);
    if (llvm::StringRef(buffer.name()) != place.getFilename().strref())
      continue;
    std::optional<uint32_t> begin = offsetOf(buffer, place.getStartLine(), place.getStartColumn());
    if (!begin)
      continue;
    std::optional<uint32_t> end = offsetOf(buffer, place.getEndLine(), place.getEndColumn());
    return {uint32_t(file), *begin, std::max(*begin, end.value_or(*begin))};
  }
  return {};
}

DiagnosticBridge::DiagnosticBridge(mlir::MLIRContext &context, Diagnostics &diagnostics)
    : diagnostics(diagnostics),
      handler(&context, [this](mlir::Diagnostic &diagnostic) { return handle(diagnostic); }) {}

mlir::LogicalResult DiagnosticBridge::handle(mlir::Diagnostic &diagnostic) {
  SourceRange range = sourceRange(diagnostics.sources, diagnostic.getLocation());
  Diagnostic *added = nullptr;
  std::string message = diagnostic.str();
  switch (diagnostic.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    ++errors;
    unsupported |= message.find("not supported") != std::string::npos;
    added = &diagnostics.error(range, std::move(message));
    break;
  case mlir::DiagnosticSeverity::Warning:
    added = &diagnostics.warning(range, std::move(message));
    break;
  default:
    return mlir::success(); // a remark, or a note that stands alone
  }
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    if (llvm::StringRef name = text;
        name.consume_front(tile::kTooLargePrefix) && name.consume_back(tile::kTooLargeSuffix))
      tooLarge = name.str();
    added->note(sourceRange(diagnostics.sources, note.getLocation()), std::move(text));
  }
  return mlir::success();
}

} // namespace tessera
