//===- RuntimeCall.h - Calls of the functions of a bundle -------*- C++ -*-===//
//
// The second half of Runtime.h, used by generated headers. A Function holds the specialisations of
// one signature, given by its C++ type; a Call is one of them with its arguments bound.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_RUNTIMECALL_H
#define TESSERA_RUNTIMECALL_H

#include "tessera/Runtime.h"

#include <atomic>

namespace tessera {

/// One argument or result of a signature.
struct Parameter {
  int32_t kind = TESSERA_RT_TENSOR; ///< tessera_rt_value_kind
  int32_t dtype = 0;                ///< of a tensor
  int32_t rank = 0;
};

/// \name Arguments
/// @{
template <typename T, size_t Rank>
tessera_rt_value argument(const View<T, Rank> &view, Device device) {
  using Element = std::remove_const_t<T>;
#ifndef NDEBUG
  // A GPU kernel must not access host memory: without this check the device would fail.
  int32_t owner = device.number;
  if (!device.isCpu() && view.data())
    check(tessera_rt_address_device(view.data(), &owner));
  if (owner != device.number)
    raise(TESSERA_RT_ARGUMENT, "expected memory of the function's GPU, got memory of another "
                               "device or of the host");
#endif
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_TENSOR;
  value.as.tensor = {const_cast<Element *>(view.data()),
                     ElementType<Element>::dtype,
                     static_cast<int32_t>(Rank),
                     view.sizes().data(),
                     view.strides().data(),
                     device.number,
                     0};
  return value;
}
inline tessera_rt_value argument(int64_t integer, Device) {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_INT;
  value.as.integer = integer;
  return value;
}
inline tessera_rt_value argument(double real, Device) {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_FLOAT;
  value.as.real = real;
  return value;
}
inline tessera_rt_value argument(bool on, Device) {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_BOOLEAN;
  value.as.integer = on;
  return value;
}
/// @}

/// A cache of the latest call's frame: a call with the same shapes binds it again, which is faster
/// than creating one. One thread at a time takes it; others create their own.
class SpareFrame {
public:
  SpareFrame() : place(std::make_unique<std::atomic<tessera_rt_frame *>>(nullptr)) {}
  SpareFrame(SpareFrame &&) = default;
  SpareFrame &operator=(SpareFrame &&) = default;
  ~SpareFrame() {
    if (place)
      tessera_rt_frame_release(take());
  }
  tessera_rt_frame *take() const { return place->exchange(nullptr, std::memory_order_acquire); }
  void put(tessera_rt_frame *frame) const {
    tessera_rt_frame_release(place->exchange(frame, std::memory_order_acq_rel));
  }

private:
  std::unique_ptr<std::atomic<tessera_rt_frame *>> place;
};

/// One specialisation with its arguments bound; the shapes of results are known.
class Call {
public:
  Call(tessera_rt_frame *frame, Device device, const SpareFrame &spare)
      : frame(frame, {&spare}), device(device) {}

  template <size_t Rank> std::array<int64_t, Rank> sizesOf(int32_t index) const {
    tessera_rt_tensor shape = {};
    check(tessera_rt_frame_result(frame.get(), index, &shape));
    std::array<int64_t, Rank> sizes{};
    for (size_t d = 0; d < Rank; ++d)
      sizes[d] = shape.sizes[d];
    return sizes;
  }

  /// Sets the caller's memory for a result: of the right sizes, dense, disjoint from the arguments.
  template <typename T, size_t Rank>
  void *given(int32_t index, const View<T, Rank> &view, const tessera_rt_value *arguments,
              size_t count) const {
    std::string name = "result " + std::to_string(index);
    std::array<int64_t, Rank> sizes = sizesOf<Rank>(index);
    if (view.sizes() != sizes)
      raise(TESSERA_RT_ARGUMENT,
            name + ": expected sizes " + text(sizes) + ", got " + text(view.sizes()));
    if (!view.isDense())
      raise(TESSERA_RT_ARGUMENT,
            name + ": expected dense row-major memory, got strides " + text(view.strides()));
    const char *begin = reinterpret_cast<const char *>(view.data());
    const char *end = begin + view.elementCount() * static_cast<int64_t>(sizeof(T));
    for (size_t i = 0; i < count; ++i)
      if (overlaps(arguments[i], begin, end))
        raise(TESSERA_RT_ARGUMENT,
              name + ": its memory overlaps that of argument " + std::to_string(i));
    return view.data();
  }

  /// Starts the work.
  template <size_t Count> void run(const std::array<void *, Count> &results, Stream stream) const {
    check(tessera_rt_execute_on(frame.get(), results.data(), stream.on(device)));
  }

private:
  template <size_t Rank> static std::string text(const std::array<int64_t, Rank> &sizes) {
    std::string out = "[";
    for (size_t d = 0; d < Rank; ++d)
      out += (d ? ", " : "") + std::to_string(sizes[d]);
    return out + "]";
  }

  static bool overlaps(const tessera_rt_value &value, const char *begin, const char *end) {
    if (value.kind != TESSERA_RT_TENSOR)
      return false;
    const tessera_rt_tensor &tensor = value.as.tensor;
    static constexpr int64_t bytes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 1, 1};
    int64_t low = 0, high = bytes[tensor.dtype];
    for (int32_t d = 0; d < tensor.ndim; ++d) {
      if (tensor.sizes[d] == 0)
        return false;
      int64_t reach = (tensor.sizes[d] - 1) * tensor.strides[d] * bytes[tensor.dtype];
      (reach < 0 ? low : high) += reach;
    }
    const char *base = static_cast<const char *>(tensor.data);
    return base + low < end && begin < base + high;
  }

  struct PutBack {
    const SpareFrame *spare;
    void operator()(tessera_rt_frame *frame) const { spare->put(frame); }
  };
  std::unique_ptr<tessera_rt_frame, PutBack> frame;
  Device device;
};

/// The C++ types of a function's arguments and results.
template <typename T> struct ParameterOf;
template <typename T, size_t Rank> struct ParameterOf<View<T, Rank>> {
  static constexpr Parameter value = {TESSERA_RT_TENSOR, ElementType<std::remove_const_t<T>>::dtype,
                                      static_cast<int32_t>(Rank)};
};
template <typename T, size_t Rank>
struct ParameterOf<Tensor<T, Rank>> : ParameterOf<View<T, Rank>> {};
template <> struct ParameterOf<int64_t> {
  static constexpr Parameter value = {TESSERA_RT_INT, 0, 0};
};
template <> struct ParameterOf<double> {
  static constexpr Parameter value = {TESSERA_RT_FLOAT, 0, 0};
};
template <> struct ParameterOf<bool> {
  static constexpr Parameter value = {TESSERA_RT_BOOLEAN, 0, 0};
};

/// The specialisations of one function with one signature, in the bundle's order.
class Specialisations {
public:
  Specialisations(const Module &module, const char *name, const std::vector<Parameter> &arguments,
                  const std::vector<Parameter> &results)
      : device(module.device()), name(name) {
    for (size_t index = 0;; ++index) {
      const tessera_rt_function *found = nullptr;
      tessera_rt_status status =
          tessera_rt_get_function(module.handle(), device.number, nullptr, name, index, &found);
      if (status == TESSERA_RT_NOT_FOUND)
        break;
      check(status);
      if (matches(found, tessera_rt_function_argument_count(found), arguments,
                  tessera_rt_function_argument) &&
          matches(found, tessera_rt_function_result_count(found), results,
                  tessera_rt_function_result))
        functions.push_back(found);
    }
    if (functions.empty())
      raise(TESSERA_RT_NOT_FOUND,
            module.file() + ": there is no function '" + this->name +
                "' of the types that this program declares; its header was written for another "
                "bundle");
  }

  /// Binds the first that accepts the arguments.
  Call prepare(const tessera_rt_value *arguments, size_t number) const {
    auto count = static_cast<int32_t>(number);
    if (tessera_rt_frame *frame = spare.take()) {
      if (tessera_rt_rebind(frame, arguments, count) == TESSERA_RT_OK)
        return Call(frame, device, spare);
      tessera_rt_frame_release(frame);
    }
    std::string reasons;
    for (const tessera_rt_function *function : functions) {
      tessera_rt_frame *frame = nullptr;
      tessera_rt_status status = tessera_rt_prepare(function, arguments, count, &frame);
      if (status == TESSERA_RT_OK)
        return Call(frame, device, spare);
      if (status != TESSERA_RT_MISMATCH)
        raise(status, name + ": " + tessera_rt_last_error());
      reasons += (reasons.empty() ? "" : "; ") + std::string(tessera_rt_last_error());
    }
    raise(TESSERA_RT_MISMATCH, name + ": the bundle has no code for these arguments: " + reasons);
  }

protected:
  Device device;

private:
  template <typename Ask>
  static bool matches(const tessera_rt_function *function, int32_t count,
                      const std::vector<Parameter> &expected, Ask ask) {
    if (static_cast<size_t>(count) != expected.size())
      return false;
    for (int32_t i = 0; i < count; ++i) {
      tessera_rt_parameter found = {};
      found.struct_bytes = sizeof(found);
      check(ask(function, i, &found));
      const Parameter &wanted = expected[static_cast<size_t>(i)];
      bool isTensor = wanted.kind == TESSERA_RT_TENSOR;
      if (found.kind != wanted.kind ||
          (isTensor && (found.dtype != wanted.dtype || found.rank != wanted.rank)))
        return false;
    }
    return true;
  }

  std::string name;
  std::vector<const tessera_rt_function *> functions;
  SpareFrame spare;
};

/// A function of a bundle with a C++ type, where a header lists all of them:
///
///   tessera::Function<tessera::Tensor<float, 2>(tessera::View<const float, 2>)> softmax(
///       module, "softmax");
///   tessera::Tensor<float, 2> y = softmax(stream, x);
///   softmax.into(stream, x, y);
///
/// Arguments are views, int64_t, double and bool; the result is a tensor or a tuple of tensors.
template <typename Type> class Function;

template <typename... Results, typename... Arguments>
class Function<std::tuple<Results...>(Arguments...)> : public Specialisations {
public:
  Function(const Module &module, const char *name)
      : Specialisations(module, name, {ParameterOf<Arguments>::value...},
                        {ParameterOf<Results>::value...}) {}

  /// Allocates the results.
  std::tuple<Results...> operator()(Stream stream, const Arguments &...arguments) const {
    std::array<tessera_rt_value, sizeof...(Arguments)> values{{argument(arguments, device)...}};
    Call call = prepare(values.data(), values.size());
    return allocateAndRun(call, stream, std::index_sequence_for<Results...>());
  }

  /// Writes to the caller's memory; the results' views follow the arguments.
  template <typename... Views>
  void into(Stream stream, const Arguments &...arguments, const Views &...results) const {
    static_assert(sizeof...(Views) == sizeof...(Results), "one view for each result");
    std::array<tessera_rt_value, sizeof...(Arguments)> values{{argument(arguments, device)...}};
    Call call = prepare(values.data(), values.size());
    int32_t index = 0;
    std::array<void *, sizeof...(Results)> memory{
        {call.given(index++, ViewOf<Results>(results), values.data(), values.size())...}};
    call.run(memory, stream);
  }

private:
  template <typename Result> using ViewOf = decltype(std::declval<const Result &>().view());

  template <size_t... Index>
  std::tuple<Results...> allocateAndRun(const Call &call, Stream stream,
                                        std::index_sequence<Index...>) const {
    std::tuple<Results...> results(Results(
        call.sizesOf<std::tuple_size_v<typename Results::Sizes>>(Index), device, stream)...);
    call.run(std::array<void *, sizeof...(Results)>{{std::get<Index>(results).data()...}}, stream);
    return results;
  }
};

template <typename Result, typename... Arguments>
class Function<Result(Arguments...)> : public Function<std::tuple<Result>(Arguments...)> {
  using Base = Function<std::tuple<Result>(Arguments...)>;

public:
  using Base::Base;
  Result operator()(Stream stream, const Arguments &...arguments) const {
    return std::get<0>(Base::operator()(stream, arguments...));
  }
};

//===----------------------------------------------------------------------===//
// 16-bit floats: conversions round to nearest even
//===----------------------------------------------------------------------===//

inline bf16::bf16(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  bool isNan = (word & 0x7fffffffu) > 0x7f800000u;
  bits = static_cast<uint16_t>(isNan ? (word >> 16) | 0x40u
                                     : (word + 0x7fffu + (word >> 16 & 1)) >> 16);
}

inline bf16::operator float() const {
  uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

inline fp16::fp16(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) // NaN
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  else if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  else if (magnitude < 0x38800000u) { // below the smallest normal number: multiples of 2^-24
    float scaled;
    std::memcpy(&scaled, &magnitude, 4);
    scaled = scaled * 16777216.0f + 8388608.0f; // the addition rounds
    uint32_t rounded;
    std::memcpy(&rounded, &scaled, 4);
    bits = static_cast<uint16_t>(sign | (rounded & 0x7ffu));
  } else
    bits = static_cast<uint16_t>(sign |
                                 (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}

inline fp16::operator float() const {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  float value;
  if (rest < 0x400u) { // zero and subnormal numbers
    value = static_cast<float>(rest) * (1.0f / 16777216.0f);
    return sign ? -value : value;
  }
  uint32_t word =
      sign | (rest >= 0x7c00u ? 0x7f800000u | (rest & 0x3ffu) << 13 : (rest << 13) + 0x38000000u);
  std::memcpy(&value, &word, 4);
  return value;
}

} // namespace tessera

#endif // TESSERA_RUNTIMECALL_H
