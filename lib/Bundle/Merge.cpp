//===- Merge.cpp - Several bundles as one ---------------------------------===//
//
// Functions and code are the runtime's to join. The manifests' lists, each of functions with some
// property, become one list without repetitions.
//
//===----------------------------------------------------------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera_rt/bundle.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static void mergeManifest(llvm::json::Object &all, const std::string &text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return llvm::consumeError(parsed.takeError());
  const llvm::json::Object *one = parsed->getAsObject();
  if (!one)
    return;
  for (const auto &[key, value] : *one) {
    const llvm::json::Array *names = value.getAsArray();
    if (!names) {
      all.try_emplace(key, value);
      continue;
    }
    llvm::json::Array &known = *all.try_emplace(key, llvm::json::Array()).first->second.getAsArray();
    for (const llvm::json::Value &name : *names)
      if (!llvm::is_contained(known, name))
        known.push_back(name);
  }
}

std::optional<std::vector<uint8_t>>
tessera::mergeBundles(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> bundles, std::string &error) {
  rt::Bundle merged;
  llvm::json::Object manifest;
  for (llvm::ArrayRef<uint8_t> bytes : bundles) {
    rt::Bundle next;
    if (!rt::decode({bytes.data(), bytes.size()}, next, error))
      return std::nullopt;
    mergeManifest(manifest, next.manifest);
    rt::append(merged, std::move(next));
  }
  llvm::raw_string_ostream(merged.manifest) << llvm::json::Value(std::move(manifest));
  return rt::encode(merged);
}
