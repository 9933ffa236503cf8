//===- Inputs.h - Random arguments of a call ------------------------------===//
#ifndef TESSERA_TOOLS_TESSERA_INPUTS_H
#define TESSERA_TOOLS_TESSERA_INPUTS_H

#include "ArgumentSpec.h"

#include <cstddef>
#include <memory>

namespace tessera::cli {

/// Memory of one tensor, 64-byte aligned.
struct Buffer {
  std::unique_ptr<std::byte[]> storage;
  std::byte *data = nullptr;

  bool allocate(int64_t bytes);
};

/// The arguments of a call and the memory behind them.
struct Inputs {
  std::vector<Buffer> buffers;
  std::vector<std::vector<int64_t>> sizes, strides;
  std::vector<tessera_rt_value> values;

  /// False after a message.
  bool make(const std::vector<ArgumentSpec> &specs, uint64_t seed);

private:
  bool add(size_t i, const ArgumentSpec &spec, uint64_t seed);
};

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_INPUTS_H
