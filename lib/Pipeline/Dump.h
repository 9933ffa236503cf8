//===- Dump.h - The stages of every compilation as files --------*- C++ -*-===//
//
// With TESSERA_DUMP=DIR, every compilation writes DIR/FUNCTION-NUMBER.STAGE.EXT for each stage that
// it reaches, its report, and the passes that it ran in their order (passes.txt). The files of one
// process are numbered in the order of compilation.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_DUMP_H
#define TESSERA_LIB_PIPELINE_DUMP_H

#include "tessera/Pipeline/Pipeline.h"

namespace tessera {

class Dump {
public:
  /// A dump if the environment asks for one.
  static std::optional<Dump> fromEnvironment(const CompileRequest &request);

  /// The request with the text of every stage and the passes between them.
  const CompileRequest &request() const { return widened; }
  /// Writes what was reached; a file that cannot be written is a warning in the result. Texts that
  /// the caller did not ask for are taken away.
  void write(CompileResult &result) const;

private:
  Dump(std::string folder, const CompileRequest &request);

  std::string folder;
  CompileRequest widened;
  std::set<Stage> asked;
};

} // namespace tessera

#endif
