//===- ScanRows.h - Layouts for scans and sorts of rows ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_SCANROWS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_SCANROWS_H

#include "tessera/Layout/Layout.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace tessera::tile {

/// The layout in which a thread has the part of a row along `dim` that its warp has, given one in
/// which lanes have neighbors of the row: these lanes and as many registers of other rows change
/// places. None if threads have neighbors already, or too few rows.
std::optional<Layout> rowsInThreads(const Layout &layout, Dim dim);

/// The layout in which rows along `dim` are sorted: neighbors of a row are in the registers of a
/// thread, then in the lanes of a warp, then in warps. What is left divides the other dimensions.
Layout sortedRows(llvm::ArrayRef<int64_t> shape, unsigned dim, unsigned warps);

} // namespace tessera::tile

#endif
