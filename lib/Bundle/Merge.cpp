//===- Merge.cpp - Merging bundles ----------------------------------------===//
//
// The runtime merges functions and code. The lists of the manifests, each of functions with some
// property, become one list without repetitions.
//
//===----------------------------------------------------------------------===//
#include "Manifest.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera_rt/bundle.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

/// Returns false if a list of one bundle has another type in the other.
static bool mergeManifest(llvm::json::Object &all, const llvm::json::Object &one) {
  for (const auto &[key, value] : one) {
    const llvm::json::Array *names = value.getAsArray();
    if (!names) {
      if (!all.try_emplace(key, value).second && all.getArray(key))
        return false;
      continue;
    }
    llvm::json::Array *known = all.try_emplace(key, llvm::json::Array()).first->second.getAsArray();
    if (!known)
      return false;
    for (const llvm::json::Value &name : *names)
      if (!llvm::is_contained(*known, name))
        known->push_back(name);
  }
  return true;
}

std::optional<std::vector<uint8_t>>
tessera::mergeBundles(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> bundles, std::string &error) {
  rt::Bundle merged;
  llvm::json::Object manifest;
  for (llvm::ArrayRef<uint8_t> bytes : bundles) {
    rt::Bundle next;
    if (!rt::decode({bytes.data(), bytes.size()}, next, error))
      return std::nullopt;
    std::optional<llvm::json::Object> read = parseManifest(next.manifest, error);
    if (!read)
      return std::nullopt;
    if (!mergeManifest(manifest, *read)) {
      error = "the bundles' manifests do not fit together";
      return std::nullopt;
    }
    rt::append(merged, std::move(next));
  }
  llvm::raw_string_ostream(merged.manifest) << llvm::json::Value(std::move(manifest));
  return rt::encode(merged);
}
