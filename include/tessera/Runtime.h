//===- Runtime.h - The runtime for C++ --------------------------*- C++ -*-===//
//
// The base of the headers that `tessera build --header` generates: views of tensors, owned results,
// devices, errors, and calls of the functions of a bundle. Header-only over the C ABI of
// libtessera_rt (tessera_rt.h); requires C++17, but not the compiler.
//
//   tessera::View<const float, 2> x(data, {rows, columns});           // dense
//   tessera::View<const float, 2> t(data, {columns, rows}, {1, columns});  // strides in elements
//
// Failures throw tessera::Error; a program without exceptions terminates with the message. Calls do
// not wait for a GPU: memory must stay valid until the stream has completed.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_RUNTIME_H
#define TESSERA_RUNTIME_H

#include "tessera_rt/device.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// A failure of the runtime: its status and a message.
class Error : public std::runtime_error {
public:
  Error(tessera_rt_status status, const std::string &message)
      : std::runtime_error(message), reason(status) {}
  /// TESSERA_RT_MISMATCH: no specialisation accepts these arguments; TESSERA_RT_ARGUMENT: they are
  /// invalid for all; TESSERA_RT_UNSUPPORTED: no code for this target; see tessera_rt_status.
  tessera_rt_status status() const noexcept { return reason; }

private:
  tessera_rt_status reason;
};

[[noreturn]] inline void raise(tessera_rt_status status, const std::string &message) {
#if defined(__cpp_exceptions)
  throw Error(status, message);
#else
  std::fprintf(stderr, "tessera: error: %s (status %d)\n", message.c_str(), status);
  std::abort();
#endif
}

/// Throws the error of the last call of the C ABI.
inline void check(tessera_rt_status status) {
  if (status != TESSERA_RT_OK)
    raise(status, tessera_rt_last_error());
}

/// \name Element types
/// @{
/// Storage of a 16-bit float. Pointers to another library's type of the same format
/// (`__half`, `__nv_bfloat16`, `_Float16`) may be reinterpreted as pointers to these.
struct fp16 {
  uint16_t bits = 0;
  fp16() = default;
  explicit fp16(float value);
  explicit operator float() const;
};
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value);
  explicit operator float() const;
};

/// Storage of an 8-bit float.
struct fp8_e4m3 {
  uint8_t bits = 0;
};
struct fp8_e5m2 {
  uint8_t bits = 0;
};

template <typename T> struct ElementType;
template <> struct ElementType<double> {
  static constexpr int32_t dtype = TESSERA_RT_FP64;
};
template <> struct ElementType<float> {
  static constexpr int32_t dtype = TESSERA_RT_FP32;
};
template <> struct ElementType<bf16> {
  static constexpr int32_t dtype = TESSERA_RT_BF16;
};
template <> struct ElementType<fp16> {
  static constexpr int32_t dtype = TESSERA_RT_FP16;
};
template <> struct ElementType<int64_t> {
  static constexpr int32_t dtype = TESSERA_RT_INT64;
};
template <> struct ElementType<int32_t> {
  static constexpr int32_t dtype = TESSERA_RT_INT32;
};
template <> struct ElementType<int16_t> {
  static constexpr int32_t dtype = TESSERA_RT_INT16;
};
template <> struct ElementType<int8_t> {
  static constexpr int32_t dtype = TESSERA_RT_INT8;
};
template <> struct ElementType<uint8_t> {
  static constexpr int32_t dtype = TESSERA_RT_UINT8;
};
template <> struct ElementType<fp8_e4m3> {
  static constexpr int32_t dtype = TESSERA_RT_FP8_E4M3;
};
template <> struct ElementType<fp8_e5m2> {
  static constexpr int32_t dtype = TESSERA_RT_FP8_E5M2;
};
template <> struct ElementType<bool> {
  static constexpr int32_t dtype = TESSERA_RT_BOOL;
};
/// @}

/// The CPU, or a GPU by its number.
struct Device {
  int32_t number = TESSERA_RT_DEVICE_CPU;

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int32_t ordinal = 0) { return {TESSERA_RT_DEVICE_CUDA(ordinal)}; }
  constexpr bool isCpu() const { return number == TESSERA_RT_DEVICE_CPU; }
};

/// The native stream to use: a CUstream or cudaStream_t, by default the device's own.
struct Stream {
  void *handle = nullptr;

  Stream() = default;
  Stream(void *handle) : handle(handle) {}
  tessera_rt_stream on(Device device) const { return {device.number, 0, handle}; }
};

/// \name Tensors
/// @{
/// A non-owning strided view of memory. Strides count elements; they may be zero
/// or negative.
template <typename T, size_t Rank> class View {
public:
  using Sizes = std::array<int64_t, Rank>;

  /// Dense and row-major.
  View(T *data, Sizes sizes) : base(data), extent(sizes), step(denseStrides(sizes)) {}
  View(T *data, Sizes sizes, Sizes strides) : base(data), extent(sizes), step(strides) {}
  /// A mutable view converts to a read-only one.
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U *, T *>>>
  View(const View<U, Rank> &other)
      : base(other.data()), extent(other.sizes()), step(other.strides()) {}

  T *data() const { return base; }
  const Sizes &sizes() const { return extent; }
  const Sizes &strides() const { return step; }
  int64_t size(size_t dim) const { return extent[dim]; }

  /// Of a view of host memory.
  template <typename... Index> T &operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "one index for each dimension");
    int64_t at = 0;
    size_t dim = 0;
    ((at += static_cast<int64_t>(index) * step[dim++]), ...);
    return base[at];
  }

  int64_t elementCount() const {
    int64_t count = 1;
    for (int64_t size : extent)
      count *= size;
    return count;
  }
  bool isDense() const {
    if (elementCount() == 0)
      return true;
    Sizes dense = denseStrides(extent);
    for (size_t d = 0; d < Rank; ++d)
      if (extent[d] > 1 && step[d] != dense[d])
        return false;
    return true;
  }

  static Sizes denseStrides(const Sizes &sizes) {
    Sizes strides{};
    int64_t stride = 1;
    for (size_t d = Rank; d-- > 0;) {
      strides[d] = stride;
      stride *= sizes[d] > 0 ? sizes[d] : 1;
    }
    return strides;
  }

private:
  T *base;
  Sizes extent, step;
};

/// Dense device memory from the runtime's pool, allocated in stream order. It is freed in the same
/// order, so the stream must outlive it.
template <typename T, size_t Rank> class Tensor {
public:
  using Sizes = std::array<int64_t, Rank>;

  explicit Tensor(Sizes sizes, Device device = {}, Stream stream = {})
      : extent(sizes), on(stream.on(device)) {
    check(tessera_rt_allocate(on, byteCount(), &memory));
  }
  /// A copy of values in row-major order; waits for the device.
  static Tensor from(const std::vector<T> &values, Sizes sizes, Device device = {},
                     Stream stream = {}) {
    Tensor tensor(sizes, device, stream);
    if (static_cast<int64_t>(values.size()) != tensor.view().elementCount())
      raise(TESSERA_RT_ARGUMENT, "expected " + std::to_string(tensor.view().elementCount()) +
                                     " values, got " + std::to_string(values.size()));
    check(tessera_rt_copy(tensor.on, tensor.memory, values.data(), tensor.byteCount()));
    check(tessera_rt_stream_synchronize(tensor.on));
    return tensor;
  }
  Tensor(Tensor &&other) noexcept { *this = std::move(other); }
  Tensor &operator=(Tensor &&other) noexcept {
    std::swap(extent, other.extent);
    std::swap(on, other.on);
    std::swap(memory, other.memory);
    return *this;
  }
  ~Tensor() {
    if (memory)
      tessera_rt_deallocate(on, memory, byteCount());
  }

  T *data() const { return static_cast<T *>(memory); }
  const Sizes &sizes() const { return extent; }
  int64_t size(size_t dim) const { return extent[dim]; }
  View<T, Rank> view() const { return {data(), extent}; }
  operator View<T, Rank>() const { return view(); }
  operator View<const T, Rank>() const { return view(); }

  /// The elements in row-major order; waits for the stream.
  std::vector<T> toHost() const {
    std::vector<T> values(static_cast<size_t>(view().elementCount()));
    check(tessera_rt_copy(on, values.data(), memory, byteCount()));
    check(tessera_rt_stream_synchronize(on));
    return values;
  }

private:
  uint64_t byteCount() const { return static_cast<uint64_t>(view().elementCount()) * sizeof(T); }

  Sizes extent{};
  tessera_rt_stream on = {};
  void *memory = nullptr;
};
/// @}

/// \name Bundles
/// @{
/// A bundle, loaded for one device.
class Module {
public:
  explicit Module(const std::string &file, Device device = {}) : where(device), origin(file) {
    tessera_rt_module *loaded = nullptr;
    check(tessera_rt_load_file(file.c_str(), &loaded));
    bundle.reset(loaded);
  }
  /// From memory, which is copied.
  Module(const void *bytes, size_t length, Device device = {}) : where(device), origin("bundle") {
    tessera_rt_module *loaded = nullptr;
    check(tessera_rt_load(bytes, length, &loaded));
    bundle.reset(loaded);
  }

  Device device() const { return where; }
  const std::string &file() const { return origin; }
  /// JSON: the functions, their signatures and guards for each target.
  std::string manifest() const { return tessera_rt_module_manifest(bundle.get(), nullptr); }
  tessera_rt_module *handle() const { return bundle.get(); }

private:
  struct Release {
    void operator()(tessera_rt_module *module) const { tessera_rt_module_release(module); }
  };
  Device where;
  std::string origin;
  std::unique_ptr<tessera_rt_module, Release> bundle;
};
/// @}

} // namespace tessera

#include "tessera/RuntimeCall.h"

#endif // TESSERA_RUNTIME_H
