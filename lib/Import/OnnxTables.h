//===- OnnxTables.h - The parts of the table of operators -----------------------===//
#ifndef TESSERA_LIB_IMPORT_ONNXTABLES_H
#define TESSERA_LIB_IMPORT_ONNXTABLES_H

#include "Node.h"

namespace tessera::onnx {

using namespace importer;
using Text = std::optional<std::string>;

/// Elementwise operators, reductions, contractions, quantization.
void addBasicOperators(Table &table);
/// Data movement, indexing, creation.
void addShapeOperators(Table &table);
/// Norms, convolutions, pooling.
void addNetworkOperators(Table &table);
/// RNN, GRU and LSTM.
void addRecurrentOperators(Table &table);

/// `x.to(tsr.dtype)` with the type of the result.
std::string converted(const std::string &text, const Node &node);
/// The number of a size; nothing for a name.
std::optional<int64_t> staticSize(const std::string &size);
/// All sizes as numbers; nothing if one is a name.
std::optional<std::vector<int64_t>> staticShape(const TensorInfo *info);
/// A size of a tensor: a number, or `x.shape[dim]`.
std::string sizeOf(const std::string &x, const TensorInfo &info, size_t dim);
/// The sizes [first, last) as texts.
std::vector<std::string> sizesOf(const std::string &x, const TensorInfo &info, size_t first,
                                 size_t last);
/// Numbers as a tuple.
std::string tupleOf(const std::vector<int64_t> &numbers);
using importer::tupleOf;

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_ONNXTABLES_H
