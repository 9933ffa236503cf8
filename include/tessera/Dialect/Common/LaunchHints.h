//===- LaunchHints.h - How a kernel's programs run -------------*- C++ -*-===//
//
// `hints {warps = 8, group = 16}` behind the grid of a kernel, from Schedule IR down to the back
// ends. A hint changes how fast a kernel is and never its results; a back end takes those that mean
// something on its machine. What is not named is left to the back end.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_LAUNCHHINTS_H
#define TESSERA_DIALECT_COMMON_LAUNCHHINTS_H

#include "mlir/IR/OpImplementation.h"

#include <array>

namespace tessera {

struct LaunchHint {
  llvm::StringRef name;
  int64_t least, most;
  llvm::StringRef meaning;
};

inline constexpr std::array<LaunchHint, 14> kLaunchHints = {{
    {"warps", 1, 32, "warps that share a program"},
    {"residents", 1, 32, "programs that share a multiprocessor"},
    {"cluster", 1, 16, "multiprocessors that share a program"},
    {"spread", 0, 1, "whether these have rows (0) or columns (1) of its products, instead of parts of what they sum over"},
    {"group", 1, 1 << 20, "coordinates of the second grid dimension that are taken in turn"},
    {"persistent", 1, 1 << 20, "programs that walk the grid, instead of one for each place in it"},
    {"ahead", 1, 10, "how far ahead of their use a loop's loads are begun, in steps of the loop"},
    {"bulk", 0, 1, "whether tiles are moved by the copy engine where that is possible"},
    {"warpgroups", 0, 1, "whether groups of four warps make products from shared memory where that is possible"},
    {"unit", 0, 1, "whether a CPU's matrix unit is used where that is possible"},
    {"cached", 0, 1, "whether a CPU's caches keep what a kernel reads and writes"},
    {"retain", 0, 1, "whether a GPU's L2 keeps what a kernel reads longer than what it writes"},
    {"walk", 1, 1 << 20, "neighbouring programs that a block takes one after the other"},
    {"axes", 1, 3, "dimensions that a launch has, the last one for all that are left of the grid"},
}};

/// The value of a hint, if it is given.
inline std::optional<int64_t> getHint(mlir::DictionaryAttr hints, llvm::StringRef name) {
  auto value = hints ? hints.getAs<mlir::IntegerAttr>(name) : mlir::IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

/// `hints {name = number, …}`, or nothing.
inline mlir::ParseResult parseLaunchHints(mlir::OpAsmParser &parser, mlir::DictionaryAttr &hints) {
  if (parser.parseOptionalKeyword("hints"))
    return mlir::success();
  mlir::NamedAttrList list;
  auto parseHint = [&]() -> mlir::ParseResult {
    llvm::StringRef name;
    int64_t value;
    llvm::SMLoc place = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(value))
      return mlir::failure();
    if (list.get(name))
      return parser.emitError(place) << "expected hint '" << name << "' once";
    list.append(name, parser.getBuilder().getI64IntegerAttr(value));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Braces, parseHint))
    return mlir::failure();
  hints = list.getDictionary(parser.getContext());
  return mlir::success();
}

inline void printLaunchHints(mlir::OpAsmPrinter &printer, mlir::DictionaryAttr hints) {
  if (!hints || hints.empty())
    return;
  printer << " hints {";
  llvm::interleaveComma(hints, printer, [&](mlir::NamedAttribute hint) {
    printer << hint.getName().getValue() << " = "
            << llvm::cast<mlir::IntegerAttr>(hint.getValue()).getInt();
  });
  printer << '}';
}

inline llvm::LogicalResult verifyLaunchHints(mlir::Operation *op, mlir::DictionaryAttr hints) {
  for (mlir::NamedAttribute hint : hints ? hints.getValue() : llvm::ArrayRef<mlir::NamedAttribute>()) {
    const auto *known = llvm::find_if(
        kLaunchHints, [&](const LaunchHint &each) { return each.name == hint.getName(); });
    auto value = llvm::dyn_cast<mlir::IntegerAttr>(hint.getValue());
    if (known == kLaunchHints.end() || !value) {
      mlir::InFlightDiagnostic error = op->emitOpError("expected as hints numbers of ");
      llvm::interleaveComma(kLaunchHints, error, [&](const LaunchHint &each) { error << each.name; });
      return error << "; got '" << hint.getName().getValue() << "'";
    }
    if (value.getInt() < known->least || value.getInt() > known->most)
      return op->emitOpError("expected a hint '")
             << known->name << "' from " << known->least << " to " << known->most << ", got "
             << value.getInt();
  }
  return mlir::success();
}

} // namespace tessera

#endif
