//===- OnnxTables.h - The parts of the table of operators -----------------------===//
#ifndef TESSERA_LIB_IMPORT_ONNXTABLES_H
#define TESSERA_LIB_IMPORT_ONNXTABLES_H

#include "Formulas.h"

namespace tessera::onnx {

using namespace importer;

/// Elementwise operators, reductions, contractions, quantization.
void addBasicOperators(Table &table);
/// Data movement, indexing, creation.
void addShapeOperators(Table &table);
/// Norms, convolutions, pooling.
void addNetworkOperators(Table &table);
/// RNN, GRU and LSTM.
void addRecurrentOperators(Table &table);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_ONNXTABLES_H
