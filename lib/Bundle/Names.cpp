//===- Names.cpp - Valid C++ names ----------------------------------------===//
#include "Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

std::string tessera::identifier(StringRef name) {
  static const llvm::StringSet<> taken = {"alignas",       "alignof",     "and",
                                          "and_eq",        "asm",         "auto",
                                          "bitand",        "bitor",       "bool",
                                          "break",         "case",        "catch",
                                          "char",          "char8_t",     "char16_t",
                                          "char32_t",      "class",       "compl",
                                          "concept",       "const",       "const_cast",
                                          "consteval",     "constexpr",   "constinit",
                                          "continue",      "co_await",    "co_return",
                                          "co_yield",      "decltype",    "default",
                                          "delete",        "do",          "double",
                                          "dynamic_cast",  "else",        "enum",
                                          "explicit",      "export",      "extern",
                                          "false",         "float",       "for",
                                          "friend",        "goto",        "if",
                                          "inline",        "int",         "long",
                                          "mutable",       "namespace",   "new",
                                          "noexcept",      "not",         "not_eq",
                                          "nullptr",       "operator",    "or",
                                          "or_eq",         "private",     "protected",
                                          "public",        "register",    "reinterpret_cast",
                                          "requires",      "return",      "short",
                                          "signed",        "sizeof",      "static",
                                          "static_assert", "static_cast", "struct",
                                          "switch",        "template",    "this",
                                          "thread_local",  "throw",       "true",
                                          "try",           "typedef",     "typeid",
                                          "typename",      "union",       "unsigned",
                                          "using",         "virtual",     "void",
                                          "volatile",      "wchar_t",     "while",
                                          "xor",           "xor_eq",      "tessera",
                                          "std",           "Module",      "device",
                                          "stream"};
  std::string text;
  for (char c : name) {
    if (llvm::isAlnum(c) || c == '_')
      text += c;
    else if (c == '.' || c == '-')
      text += '_';
    else // letters that C++ does not allow become their bytes, so that names stay distinct
      text += "_x" + llvm::toHex(StringRef(&c, 1));
  }
  if (text.empty() || llvm::isDigit(text.front()))
    text = "_" + text;
  return taken.contains(text) ? text + "_" : text;
}
