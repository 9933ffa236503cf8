//===- AtenTables.h - The parts of the table of operations ----------------------===//
#ifndef TESSERA_LIB_IMPORT_ATENTABLES_H
#define TESSERA_LIB_IMPORT_ATENTABLES_H

#include "Node.h"

namespace tessera::aten {

using namespace importer;

/// Elementwise operations, reductions, contractions, indexing, creation.
void addBasicOperations(Table &table);
/// Norms, convolutions, pooling, interpolation.
void addNetworkOperations(Table &table);

} // namespace tessera::aten

#endif // TESSERA_LIB_IMPORT_ATENTABLES_H
