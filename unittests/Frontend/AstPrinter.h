//===- AstPrinter.h - Syntax trees as short text, for tests -------------------------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_FRONTEND_ASTPRINTER_H
#define TESSERA_UNITTESTS_FRONTEND_ASTPRINTER_H

#include "tessera/Frontend/AST/AST.h"

#include <string>

namespace tessera {

/// One line per statement, in prefix form: "(= x (+ 1 2))".
std::string printTree(ast::Block block);

} // namespace tessera

#endif // TESSERA_UNITTESTS_FRONTEND_ASTPRINTER_H
