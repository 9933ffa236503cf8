//===- Program.h - The translation of a graph ---------------------------------===//
#ifndef TESSERA_IMPORT_PROGRAM_H
#define TESSERA_IMPORT_PROGRAM_H

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// The translation of a graph.
struct ImportedProgram {
  std::string text;                    ///< the function; empty if an operation is not supported
  std::vector<std::string> parameters; ///< its tensors, as far as an operation reads them
  std::vector<std::pair<std::string, std::string>> unsupported; ///< nodes, and why each is
};

} // namespace tessera

#endif // TESSERA_IMPORT_PROGRAM_H
