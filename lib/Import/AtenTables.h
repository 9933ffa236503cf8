//===- AtenTables.h - The parts of the table of operations ----------------------===//
#ifndef TESSERA_LIB_IMPORT_ATENTABLES_H
#define TESSERA_LIB_IMPORT_ATENTABLES_H

#include "AtenNode.h"

namespace tessera::aten {

/// Elementwise operations, reductions, contractions, indexing, creation.
void addBasicOperations(llvm::StringMap<Builder> &table);
/// Norms, convolutions, pooling, interpolation.
void addNetworkOperations(llvm::StringMap<Builder> &table);

} // namespace tessera::aten

#endif // TESSERA_LIB_IMPORT_ATENTABLES_H
