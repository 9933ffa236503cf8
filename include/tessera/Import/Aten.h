//===- Aten.h - Graphs of ATen operations as programs -------------------------===//
//
// A graph of ATen operations, as PyTorch traces it, becomes a function of the language, one
// statement for each operation. The front end compiles it like any other program.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_ATEN_H
#define TESSERA_IMPORT_ATEN_H

#include "tessera/Import/Program.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Translates a graph, given as JSON:
///
///     {"name": "graph",
///      "inputs": [{"name": "x", "dtype": "fp32", "shape": [8, "s0"]}, {"name": "n"}, …],
///      "nodes": [{"name": "add", "op": "aten.add.Tensor", "args": {"self": {"ref": "x"}, "other":
///                 2.0, "alpha": 1}, "dtype": "fp32", "shape": [8, "s0"]}, …],
///      "outputs": ["add", …]}
///
/// An input without a type is an integer. A node with several results has "results" in place of
/// "dtype" and "shape". Arguments are numbers, bools, null, lists, {"ref": name}, {"float": "inf"},
/// {"str": text} and {"dtype": name}, by the names of the operation's schema.
llvm::Expected<ImportedProgram> importAten(llvm::StringRef json);

} // namespace tessera

#endif // TESSERA_IMPORT_ATEN_H
