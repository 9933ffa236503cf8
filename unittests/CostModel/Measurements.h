//===- Measurements.h - Reading of measured times ---------------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_COSTMODEL_MEASUREMENTS_H
#define TESSERA_UNITTESTS_COSTMODEL_MEASUREMENTS_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {

inline llvm::json::Value readFile(llvm::StringRef name) {
  auto buffer =
      llvm::MemoryBuffer::getFile((llvm::StringRef(TESSERA_MEASUREMENTS "/") + name).str());
  EXPECT_TRUE(bool(buffer));
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse((*buffer)->getBuffer());
  EXPECT_TRUE(bool(parsed));
  return std::move(*parsed);
}

inline std::vector<int64_t> integers(const llvm::json::Value &value) {
  std::vector<int64_t> list;
  for (const llvm::json::Value &each : *value.getAsArray())
    list.push_back(*each.getAsInteger());
  return list;
}

inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[size_t(std::ceil(part * double(values.size()))) - 1];
}

} // namespace tessera

#endif
