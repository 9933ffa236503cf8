//===- Names.cpp - Names of programs as C++ may say them ------------------===//
#include "Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

std::string tessera::identifier(StringRef name) {
  static const llvm::StringSet<> taken = {
      "alignas",   "alignof",  "and",      "asm",       "auto",      "bool",      "break",
      "case",      "catch",    "char",     "class",     "compl",     "concept",   "const",
      "consteval", "continue", "co_await", "co_return", "co_yield",  "decltype",  "default",
      "delete",    "do",       "double",   "else",      "enum",      "explicit",  "export",
      "extern",    "false",    "float",    "for",       "friend",    "goto",      "if",
      "inline",    "int",      "long",     "mutable",   "namespace", "new",       "noexcept",
      "not",       "nullptr",  "operator", "or",        "private",   "protected", "public",
      "register",  "requires", "return",   "short",     "signed",    "sizeof",    "static",
      "struct",    "switch",   "template", "this",      "throw",     "true",      "try",
      "typedef",   "typeid",   "typename", "union",     "unsigned",  "using",     "virtual",
      "void",      "volatile", "while",    "xor",       "tessera",   "Module",    "device",
      "module",    "stream",   "std"};
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text.front()))
    text = "_" + text;
  return taken.contains(text) ? text + "_" : text;
}
