//===- Manifest.cpp - Reading a bundle's manifest -------------------------===//
#include "Manifest.h"

#include <algorithm>

using namespace tessera;

/// The maximum nesting depth of brackets.
static unsigned depthOf(const std::string &text) {
  unsigned depth = 0, most = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString && (c == '[' || c == '{'))
      most = std::max(most, ++depth);
    else if (!isString && (c == ']' || c == '}') && depth)
      --depth;
  }
  return most;
}

std::optional<llvm::json::Object> tessera::parseManifest(const std::string &text,
                                                         std::string &error) {
  constexpr unsigned mostDepth = 32;
  if (text.empty())
    return llvm::json::Object();
  if (depthOf(text) > mostDepth) {
    error = "the bundle's manifest is nested more than " + std::to_string(mostDepth) + " deep";
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    error = "the bundle's manifest is no JSON";
    return std::nullopt;
  }
  if (llvm::json::Object *object = parsed->getAsObject())
    return std::move(*object);
  error = "the bundle's manifest is no JSON object";
  return std::nullopt;
}
