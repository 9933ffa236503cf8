//===- Onnx.h - ONNX graphs as programs ---------------------------------------===//
//
// A graph of ONNX operators becomes a function of the language, one statement for each operator.
// The front end compiles it like any other program.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_ONNX_H
#define TESSERA_IMPORT_ONNX_H

#include "tessera/Import/Program.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Translates a graph, given as JSON:
///
///     {"name": "model",
///      "inputs": [{"name": "x0", "dtype": "fp32", "shape": ["N", 8]},
///                 {"name": "c0", "dtype": "fp32", "shape": [8], "weight": true}, …],
///      "nodes": [{"name": "v0", "op": "Add", "version": 14, "args": {"A": {"ref": "x0"}, "B":
///                 {"ref": "c0"}}, "results": [{"dtype": "fp32", "shape": ["N", 8]}],
///                 "targets": ["v0"]}, …],
///      "outputs": ["v0", …]}
///
/// Arguments are inputs and attributes by the names of the operator's schema. A variadic input is
/// a list. A tensor that is known has its elements, too: {"ref": "c1", "value": [1, {"size":
/// "x0.shape[0]"}]}. A weight that no statement reads is not a parameter.
llvm::Expected<ImportedProgram> importOnnx(llvm::StringRef json);

/// The operators that can be translated, in alphabetical order.
std::vector<std::string> onnxOperators();

} // namespace tessera

#endif // TESSERA_IMPORT_ONNX_H
