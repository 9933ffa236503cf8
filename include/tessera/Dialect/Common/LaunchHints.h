//===- LaunchHints.h - Launch hints of kernels -----------------*- C++ -*-===//
//
// `hints {num_warps = 8, raster_group = 16}` after the grid of a kernel, from Schedule IR down to
// the backends. A hint changes how fast a kernel runs and never its results. A backend uses the
// hints that apply to its target, and chooses where a hint is not given.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_LAUNCHHINTS_H
#define TESSERA_DIALECT_COMMON_LAUNCHHINTS_H

#include "mlir/IR/OpImplementation.h"

#include <array>

namespace tessera {

struct LaunchHint {
  llvm::StringRef name;
  int64_t least, most; // values
  llvm::StringRef meaning;
};

inline constexpr std::array<LaunchHint, 14> kLaunchHints = {{
    // CTAs and clusters.
    {"num_warps", 1, 32, "warps per CTA"},
    {"min_ctas_per_sm", 1, 32, "CTAs that an SM holds at once, which bounds registers per thread"},
    {"cluster_size", 1, 16, "CTAs per cluster, which compute one tile together"},
    {"cluster_axis", 0, 1,
     "what the CTAs of a cluster divide: the rows (0) or columns (1) of the accumulator; without "
     "it they split K"},
    // The order of tiles.
    {"raster_group", 1, 1 << 20,
     "tiles along the second grid dimension that CTAs cover before the first dimension advances"},
    {"persistent_ctas", 1, 1 << 20,
     "CTAs of a persistent kernel, which loop over all tiles of the grid"},
    {"tiles_per_cta", 1, 1 << 20, "consecutive tiles that a CTA computes in a loop"},
    {"launch_rank", 1, 3,
     "grid dimensions of a launch; the last one covers all remaining dimensions of the kernel"},
    // Loads and MMA.
    {"num_stages", 2, 11,
     "pipeline stages (buffers) of a loop: loads are issued num_stages - 1 iterations ahead"},
    {"use_tma", 0, 1, "whether TMA and bulk copies move tiles where possible"},
    {"wgmma", 0, 1, "whether warpgroup MMA reads its operands from shared memory where possible"},
    {"l2_evict_last", 0, 1, "whether the L2 keeps loaded data longer than stored data"},
    // CPUs.
    {"use_amx", 0, 1, "whether AMX is used where possible"},
    {"cache_stores", 0, 1, "whether stores go to the CPU's caches (1) or past them (0)"},
}};

/// The value of a hint, if it is given.
inline std::optional<int64_t> getHint(mlir::DictionaryAttr hints, llvm::StringRef name) {
  auto value = hints ? hints.getAs<mlir::IntegerAttr>(name) : mlir::IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

/// `hints {name = value, …}`, or nothing.
inline mlir::ParseResult parseLaunchHints(mlir::OpAsmParser &parser, mlir::DictionaryAttr &hints) {
  if (parser.parseOptionalKeyword("hints"))
    return mlir::success();
  mlir::NamedAttrList list;
  auto parseHint = [&]() -> mlir::ParseResult {
    llvm::StringRef name;
    int64_t value;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(value))
      return mlir::failure();
    if (list.get(name))
      return parser.emitError(loc) << "expected hint '" << name << "' once";
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
  for (mlir::NamedAttribute hint :
       hints ? hints.getValue() : llvm::ArrayRef<mlir::NamedAttribute>()) {
    const auto *known = llvm::find_if(
        kLaunchHints, [&](const LaunchHint &each) { return each.name == hint.getName(); });
    auto value = llvm::dyn_cast<mlir::IntegerAttr>(hint.getValue());
    if (known == kLaunchHints.end() || !value) {
      mlir::InFlightDiagnostic error = op->emitOpError("expected integer hints among ");
      llvm::interleaveComma(kLaunchHints, error,
                            [&](const LaunchHint &each) { error << each.name; });
      return error << ", got '" << hint.getName().getValue() << "'";
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
