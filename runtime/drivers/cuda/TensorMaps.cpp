//===- TensorMaps.cpp - Tensor maps for TMA -------------------------------===//
//
// A tensor map is a parameter of a kernel: 128 bytes that the driver encodes from a tensor's
// address, sizes and strides, and from the box that one TMA copy transfers. Programs often launch
// kernels with the same tensors, so each thread caches the maps that it encoded last, by all of
// their inputs.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>
#include <vector>

namespace tessera::rt::cuda {

namespace {
constexpr uint32_t mostDims = TensorMap::maxDims;

/// All inputs of a map; unused ones are zero.
struct Key {
  uint64_t address = 0;
  uint64_t sizes[mostDims] = {};
  uint64_t strides[mostDims] = {}; // in bytes; that of the contiguous dimension is not used
  uint32_t box[mostDims] = {};
  uint32_t rank = 0, elementBytes = 0, span = 0, rounded = 0;

  bool operator==(const Key &) const = default;
  size_t hash() const {
    uint64_t mixed = address >> 4;
    for (uint32_t i = 0; i < rank; ++i)
      mixed = (mixed ^ sizes[i] ^ strides[i] << 20 ^ box[i]) * 0x9e3779b97f4a7c15ull;
    return mixed >> 40;
  }
};

struct Entry {
  Key key;
  CUtensorMap map;
};
constexpr size_t kept = 64; // of each thread

/// A dimension of one element has any stride; the driver requires a multiple of 16.
Key keyOf(const Launch &launch, const TensorMap &map) {
  Key key;
  const int64_t *words = launch.words + map.word;
  key.rank = static_cast<uint32_t>(map.dims.size());
  key.elementBytes = map.elementBytes;
  key.span = map.span;
  key.rounded = map.rounded;
  key.address = static_cast<uint64_t>(words[0]);
  bool isEmpty = false;
  for (uint32_t i = 0; i < key.rank; ++i) {
    key.sizes[i] = static_cast<uint64_t>(words[1 + map.dims[i]]);
    key.box[i] = map.sizes[i];
    isEmpty |= key.sizes[i] == 0;
  }
  for (uint32_t i = 0; i < key.rank; ++i) {
    // An empty tensor copies nothing, but must have a map.
    if (isEmpty)
      key.sizes[i] = 1;
    auto stride = static_cast<uint64_t>(words[1 + key.rank + map.dims[i]]) * map.elementBytes;
    key.strides[i] = i == 0 ? 0 : key.sizes[i] > 1 ? stride : map.span;
  }
  if (isEmpty)
    key.address = map.span;
  if (map.spans == 1)
    return key;
  // Adjacent spans form a separate dimension; rows are whole spans.
  uint64_t inSpan = map.span / map.elementBytes, last = key.rank++;
  key.sizes[last] = std::max<uint64_t>(1, key.sizes[0] / inSpan);
  key.sizes[0] = inSpan;
  key.strides[last] = map.span;
  key.box[last] = map.spans;
  return key;
}

std::string text(const Key &key) {
  std::string all = "address " + std::to_string(key.address) + ", sizes (";
  for (uint32_t i = 0; i < key.rank; ++i)
    all += (i ? ", " : "") + std::to_string(key.sizes[i]);
  all += "), strides in bytes (";
  for (uint32_t i = 1; i < key.rank; ++i)
    all += (i > 1 ? ", " : "") + std::to_string(key.strides[i]);
  return all + ")";
}
} // namespace

/// A cached map, or a new one.
static tessera_rt_status encode(Device &device, const Launch &launch, const Key &key,
                                CUtensorMap &map) {
  thread_local Entry entries[kept];
  Entry &entry = entries[key.hash() % kept];
  if (entry.key != key) {
    int type = key.rounded             ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
               : key.elementBytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
               : key.elementBytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
               : key.elementBytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                       : CU_TENSOR_MAP_DATA_TYPE_UINT64;
    int swizzle = key.span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                  : key.span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                  : key.span == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
    const uint32_t steps[mostDims] = {1, 1, 1, 1, 1};
    entry.key = Key();
    Current current(device); // a thread that has called nothing else of CUDA has no context
    CUresult result = device.api.cuTensorMapEncodeTiled(
        &entry.map, type, key.rank, reinterpret_cast<void *>(key.address), key.sizes,
        key.strides + 1, key.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
      return device.failed(result, "kernel '" + launch.kernel->name +
                                       "': the driver makes no tensor map of " + text(key));
    entry.key = key;
  }
  map = entry.map;
  return TESSERA_RT_OK;
}

tessera_rt_status encodeMaps(Device &device, const Launch &launch, void **parameters) {
  if (!device.api.cuTensorMapEncodeTiled)
    return fail(TESSERA_RT_UNSUPPORTED, "kernel '" + launch.kernel->name +
                                            "' needs tensor maps, which this driver does not have");
  thread_local std::vector<CUtensorMap> maps; // of one launch
  maps.resize(std::max(maps.size(), launch.maps.size()));
  for (size_t i = 0; i < launch.maps.size(); ++i) {
    parameters[i] = &maps[i];
    if (auto status = encode(device, launch, keyOf(launch, launch.maps[i]), maps[i]))
      return status;
  }
  return TESSERA_RT_OK;
}

} // namespace tessera::rt::cuda
