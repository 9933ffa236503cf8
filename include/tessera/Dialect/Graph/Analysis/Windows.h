//===- Windows.h - Tensors that show windows of others ---------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_ANALYSIS_WINDOWS_H
#define TESSERA_DIALECT_GRAPH_ANALYSIS_WINDOWS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include <optional>

namespace tessera::gir {

/// The dimensions of a tensor that are positions and elements of windows. Elements are last.
struct Windows {
  int64_t firstPosition, firstElement;
};

/// Finds `gir.window`, also through reshapes that split dimensions before the positions.
std::optional<Windows> windowsOf(mlir::Value value);

/// Sums and other reductions of at most as many terms are written out.
inline constexpr int64_t kMostUnrolled = 128;

} // namespace tessera::gir

#endif // TESSERA_DIALECT_GRAPH_ANALYSIS_WINDOWS_H
