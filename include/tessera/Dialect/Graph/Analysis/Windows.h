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

/// Whether a reduction of as many terms over the elements of windows is written out: as some
/// hundred instructions. Terms that are also of other dimensions need more of them.
inline bool isUnrolled(double terms, bool isOfElements) {
  return terms <= (isOfElements ? 128 : 32);
}

} // namespace tessera::gir

#endif // TESSERA_DIALECT_GRAPH_ANALYSIS_WINDOWS_H
