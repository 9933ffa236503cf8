//===- StableHlo.h - StableHLO modules as programs ------------------------------===//
//
// A module of StableHLO becomes a function of the language, one statement for most operations. The
// front end compiles it like any other program.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_STABLEHLO_H
#define TESSERA_IMPORT_STABLEHLO_H

#include "tessera/Import/Program.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// A constant tensor that is a parameter of the program.
struct ImportedConstant {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string data; ///< little-endian elements; a bool is a byte
};

struct ImportedModule {
  ImportedProgram program;
  std::vector<std::string> parameters; ///< the program's names of the inputs, in their order
  std::vector<std::string> inputs, outputs;
  std::vector<ImportedConstant> constants;
};

/// Translates the function `main` of a module, or its only public one. The text is MLIR in which
/// the operations of StableHLO and CHLO have the generic form. Calls are inlined.
llvm::Expected<ImportedModule> importStableHlo(llvm::StringRef text);

/// The operations that can be translated, in alphabetical order.
std::vector<std::string> stableHloOperations();

} // namespace tessera

#endif // TESSERA_IMPORT_STABLEHLO_H
