//===- Formulas.h - What several systems express alike ----------------------------===//
#ifndef TESSERA_LIB_IMPORT_FORMULAS_H
#define TESSERA_LIB_IMPORT_FORMULAS_H

#include "Node.h"

namespace tessera::importer {

using Text = std::optional<std::string>;

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
/// Sizes multiplied.
std::string product(const std::vector<std::string> &sizes);

// Inverse hyperbolic functions: log1p is accurate near 0, and large operands do not overflow.
Text inverseSinh(const Node &node, const char *argument);
Text inverseCosh(const Node &node, const char *argument);
Text inverseTanh(const Node &node, const char *argument);

/// `data` with `updates` at the places `index` along `dim`, no two of which are the same.
std::string replaced(const Node &node, const std::string &data, const std::string &dim,
                     const std::string &index, const std::string &updates, const TensorInfo &info);

} // namespace tessera::importer

#endif // TESSERA_LIB_IMPORT_FORMULAS_H
