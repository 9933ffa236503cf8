//===- Inputs.cpp - Random arguments of a call ----------------------------===//
#include "Inputs.h"

#include "Commands.h"
#include "Numbers.h"

#include <new>

namespace tessera::cli {

bool Buffer::allocate(int64_t bytes) {
  storage.reset(new (std::nothrow) std::byte[size_t(bytes) + 64]);
  if (!storage)
    return false;
  data = storage.get() + (64 - reinterpret_cast<uintptr_t>(storage.get()) % 64) % 64;
  return true;
}

bool Inputs::make(const std::vector<ArgumentSpec> &specs, uint64_t seed) {
  buffers.resize(specs.size());
  for (const ArgumentSpec &spec : specs) {
    sizes.push_back(spec.sizes);
    strides.push_back(spec.strides());
  }
  for (size_t i = 0; i < specs.size(); ++i)
    if (!add(i, specs[i], seed))
      return false;
  return true;
}

bool Inputs::add(size_t i, const ArgumentSpec &spec, uint64_t seed) {
  tessera_rt_value value = {};
  switch (spec.kind) {
  case TESSERA_ARGUMENT_INT:
    value.kind = TESSERA_RT_INT;
    value.as.integer = spec.integer;
    break;
  case TESSERA_ARGUMENT_BOOL:
    value.kind = TESSERA_RT_BOOLEAN;
    value.as.integer = spec.integer;
    break;
  case TESSERA_ARGUMENT_FLOAT:
    value.kind = TESSERA_RT_FLOAT;
    value.as.real = spec.real;
    break;
  default: {
    int64_t count = spec.memoryCount(), bytes = 0;
    if (__builtin_mul_overflow(count, dtypeBytes(spec.dtype), &bytes) ||
        !buffers[i].allocate(bytes)) {
      usageError("no memory for '" + spec.name + "', which has " + std::to_string(count) +
                 " elements");
      return false;
    }
    fillRandom(buffers[i].data, spec.dtype, count, seed + i * 0x9e3779b97f4a7c15ull);
    value.kind = TESSERA_RT_TENSOR;
    value.as.tensor.data = buffers[i].data + spec.firstElement() * dtypeBytes(spec.dtype);
    value.as.tensor.dtype = spec.dtype;
    value.as.tensor.ndim = int32_t(spec.sizes.size());
    value.as.tensor.sizes = sizes[i].data();
    value.as.tensor.strides = strides[i].data();
  }
  }
  values.push_back(value);
  return true;
}
} // namespace tessera::cli
