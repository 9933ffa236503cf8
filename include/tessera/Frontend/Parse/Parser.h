//===- Parser.h - The parser ------------------------------------*- C++ -*-===//
#ifndef TESSERA_FRONTEND_PARSE_PARSER_H
#define TESSERA_FRONTEND_PARSE_PARSER_H

#include "tessera/Frontend/AST/AST.h"

namespace tessera {

/// Parses buffer `file` of `diagnostics.sources`. Always returns a tree; a syntax error is an error
/// node in it and an error in `diagnostics`. A `snippet` is a part of a file and may be indented as
/// a whole.
std::unique_ptr<ast::Module> parseModule(Diagnostics &diagnostics, uint32_t file,
                                         bool snippet = false);

} // namespace tessera

#endif // TESSERA_FRONTEND_PARSE_PARSER_H
