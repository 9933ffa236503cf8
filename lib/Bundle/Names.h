//===- Names.h - Valid C++ names --------------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_BUNDLE_NAMES_H
#define TESSERA_LIB_BUNDLE_NAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tessera {

/// A valid C++ name that the surrounding generated code does not use.
std::string identifier(llvm::StringRef name);

} // namespace tessera

#endif
