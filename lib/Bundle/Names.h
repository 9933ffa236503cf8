//===- Names.h - Names of programs as C++ may say them ---------*- C++ -*-===//
#ifndef TESSERA_LIB_BUNDLE_NAMES_H
#define TESSERA_LIB_BUNDLE_NAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tessera {

/// A name that C++ accepts and that generated code around it does not use.
std::string identifier(llvm::StringRef name);

} // namespace tessera

#endif
