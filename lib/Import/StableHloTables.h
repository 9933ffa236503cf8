//===- StableHloTables.h - The parts of the table of operations ---------------------===//
//
// Operands are arguments by their number: {0}, {1}. Attributes are arguments by their name.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_IMPORT_STABLEHLOTABLES_H
#define TESSERA_LIB_IMPORT_STABLEHLOTABLES_H

#include "Formulas.h"

namespace tessera::stablehlo {

using namespace importer;
using Numbers = std::vector<int64_t>;

/// Arithmetic, comparisons, conversions, creation.
void addElementwiseOperations(Table &table);
/// Data movement, reductions, contractions, sorting.
void addShapeOperations(Table &table);
/// Slices at run-time positions, gather, scatter.
void addIndexingOperations(Table &table);
/// Convolutions and windows.
void addWindowOperations(Table &table);

const Table &operations();

/// A list of numbers among the attributes; zeros or ones if it is missing.
Numbers numbersOf(const Node &node, llvm::StringRef name, size_t count, int64_t otherwise);
/// `x` with `low` and `high` elements of `value` at the ends of each dimension, and `inside`
/// between neighbours. Negative amounts remove elements.
Text padded(const Node &node, std::string x, std::vector<std::string> shape, const Numbers &low,
            const Numbers &high, const Numbers &inside, const std::string &value,
            const char *name = "spread");
/// The elements of `x`, of type `info`, reduced by the reducer of the node.
Text reduced(const Node &node, const std::string &x, const TensorInfo &info,
             const std::string &dims);
/// `x` and the initial value, operand 1.
std::string withInitial(const Node &node, const std::string &x, const TensorInfo &info);
/// An operand in the type of the result, if that is wider.
std::string asResult(const Node &node, const char *operand);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_IMPORT_STABLEHLOTABLES_H
