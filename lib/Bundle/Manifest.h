//===- Manifest.h - Reading a bundle's manifest ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_BUNDLE_MANIFEST_H
#define TESSERA_LIB_BUNDLE_MANIFEST_H

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace tessera {

/// The manifest as a JSON object; on failure `error` holds the message. A bundle is untrusted, so
/// the nesting depth, which determines the parser's recursion, is limited.
std::optional<llvm::json::Object> parseManifest(const std::string &text, std::string &error);

} // namespace tessera

#endif
