//===- Variants.cpp - Code for what calls of a class have in common -------===//

#include "Variants.h"

#include <cstring>

namespace tessera::python {

Specialisation::Specialisation() = default;
Specialisation::~Specialisation() = default;

bool Specialisation::count(uint64_t nanoseconds) {
  ++timedCalls;
  spent += nanoseconds;
  fastest = std::min(fastest, nanoseconds);
  // One call is no sign of more.
  if (isHot || spent < hotAfter || calls < 2)
    return false;
  return isHot = true;
}

static int64_t bytesOf(const tessera_rt_tensor &tensor) {
  int64_t bytes = elementBytes(tensor.dtype);
  for (int32_t d = 0; d < tensor.ndim; ++d)
    if (__builtin_mul_overflow(bytes, tensor.sizes[d], &bytes))
      return INT64_MAX;
  return bytes;
}

/// Whether the elements are one block of memory of the CPU, in row-major order.
static bool isDense(const tessera_rt_tensor &tensor) {
  if (tensor.device != TESSERA_RT_DEVICE_CPU)
    return false;
  int64_t step = 1;
  for (int32_t d = tensor.ndim; d-- > 0; step *= tensor.sizes[d])
    if (tensor.sizes[d] != 1 && tensor.strides[d] != step)
      return false;
  return true;
}

static int64_t bitsOf(const tessera_rt_value &value) {
  int64_t bits = value.as.integer;
  if (value.kind == TESSERA_RT_FLOAT)
    std::memcpy(&bits, &value.as.real, sizeof bits);
  return bits;
}

//===----------------------------------------------------------------------===//
// Guards and variants
//===----------------------------------------------------------------------===//

bool Guard::holds(const Arguments &arguments) const {
  const tessera_rt_value *given = arguments.at(argument);
  if (!given)
    return false;
  if (kind == Number)
    return given->kind == type && bitsOf(*given) == value;
  if (given->kind != TESSERA_RT_TENSOR)
    return false;
  const tessera_rt_tensor &tensor = given->as.tensor;
  if (kind == Size)
    return type < tensor.ndim && tensor.sizes[type] == value;
  return tensor.dtype == type && tensor.ndim == static_cast<int32_t>(sizes.size()) &&
         std::equal(sizes.begin(), sizes.end(), tensor.sizes) && isDense(tensor) &&
         std::memcmp(tensor.data, bytes.data(), bytes.size()) == 0;
}

Variant::~Variant() {
  if (kept)
    tessera_rt_frame_release(kept);
}

bool Variant::accepts(const Arguments &arguments) {
  for (failed = 0; failed < guards.size(); ++failed)
    if (!guards[failed].holds(arguments))
      return false;
  return true;
}

void Variant::hit() {
  constexpr uint64_t memory = 256; // calls that count
  ++calls;
  if (++recentHits >= memory) {
    recentHits /= 2;
    recentMisses /= 2;
  }
}

bool Variant::miss() {
  constexpr uint64_t most = 16;
  if (failed < guards.size())
    ++guards[failed].misses;
  // Of calls that alternate, each kind may have a variant.
  if (++recentMisses < most || recentMisses < recentHits * patience)
    return false;
  retire(Missed);
  return true;
}

void Variant::retire(State why) {
  if (state == Active)
    state = why;
  if (kept)
    tessera_rt_frame_release(std::exchange(kept, nullptr));
}

//===----------------------------------------------------------------------===//
// Observation
//===----------------------------------------------------------------------===//

/// A number that differs for most tensors that differ: of words that are spread over them.
static uint64_t fingerprintOf(const tessera_rt_tensor &tensor) {
  constexpr size_t words = 64, word = sizeof(uint64_t);
  auto bytes = static_cast<size_t>(bytesOf(tensor));
  const char *data = static_cast<const char *>(tensor.data);
  uint64_t hash = 1469598103934665603u;
  auto add = [&](size_t at, size_t length) {
    uint64_t part = 0;
    std::memcpy(&part, data + at, length);
    hash = (hash ^ part) * 1099511628211u;
    hash ^= hash >> 29;
  };
  if (bytes < word) {
    add(0, bytes);
    return hash;
  }
  size_t last = bytes - word, count = std::min(words, bytes / word);
  for (size_t i = 0; i < count; ++i)
    add(last * i / count, word);
  add(last, word);
  return hash;
}

void Observer::seeTensor(Seen &known, const tessera_rt_tensor &tensor, bool isFirst) {
  if (isFirst) {
    known.sizes.assign(tensor.sizes, tensor.sizes + tensor.ndim);
    known.sizeVaries.assign(known.sizes.size(), false);
  }
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    auto at = static_cast<size_t>(d);
    if (tensor.sizes[d] == known.sizes[at])
      continue;
    known.sizeVaries[at] = known.varies = true;
    known.sizes[at] = tensor.sizes[d];
  }
  if (known.varies || !isDense(tensor) || bytesOf(tensor) > mostBytes || !tensor.data) {
    known.varies = true;
    return;
  }
  uint64_t fingerprint = fingerprintOf(tensor);
  known.varies = !isFirst && fingerprint != known.fingerprint;
  known.fingerprint = fingerprint;
}

void Observer::see(const Arguments &given) {
  bool isFirst = seen == 0 || arguments.size() != given.size();
  if (isFirst) {
    arguments.clear();
    arguments.resize(given.size());
    seen = 0;
  }
  ++seen;
  for (unsigned i = 0; i < given.size(); ++i) {
    Seen &known = arguments[i];
    const tessera_rt_value *value = given.at(i);
    if (!value) {
      known.isConstant = true;
      continue;
    }
    if (value->kind == TESSERA_RT_TENSOR)
      seeTensor(known, value->as.tensor, isFirst);
    else
      known.varies |= !isFirst && bitsOf(*value) != bitsOf(known.value);
    known.value = *value;
  }
}

bool Observer::isDone() {
  if (seen < calls)
    return false;
  if (total >= nanoseconds)
    return true;
  constexpr uint64_t mostSkipped = 1 << 20;
  skipped = std::min((nanoseconds - total) / std::max<uint64_t>(total / seen, 1), mostSkipped);
  nanoseconds = total = seen = 0;
  arguments.clear();
  return false;
}

void Observer::copyContents(const Arguments &given) {
  for (unsigned i = 0; i < given.size() && i < arguments.size(); ++i) {
    const tessera_rt_value *value = given.at(i);
    if (!value || value->kind != TESSERA_RT_TENSOR || arguments[i].varies)
      continue;
    const tessera_rt_tensor &tensor = value->as.tensor;
    arguments[i].bytes.assign(static_cast<const char *>(tensor.data),
                              static_cast<size_t>(bytesOf(tensor)));
  }
}

PyObject *Observer::describe() const {
  Ref list(PyList_New(0));
  for (const Seen &known : arguments) {
    Ref item;
    if (known.isConstant) {
      item = Ref(Py_NewRef(Py_None));
    } else if (known.value.kind == TESSERA_RT_TENSOR) {
      Ref sizes(PyTuple_New(static_cast<Py_ssize_t>(known.sizes.size())));
      for (size_t d = 0; sizes && d < known.sizes.size(); ++d)
        PyTuple_SetItem(sizes.get(), static_cast<Py_ssize_t>(d),
                        Py_BuildValue("(LO)", static_cast<long long>(known.sizes[d]),
                                      known.sizeVaries[d] ? Py_False : Py_True));
      if (sizes)
        item = Ref(Py_BuildValue("(siOy#)", "tensor", known.value.as.tensor.dtype, sizes.get(),
                                 known.varies ? nullptr : known.bytes.data(),
                                 static_cast<Py_ssize_t>(known.bytes.size())));
    } else {
      bool isFloat = known.value.kind == TESSERA_RT_FLOAT;
      Ref number(isFloat ? PyFloat_FromDouble(known.value.as.real)
                         : PyLong_FromLongLong(known.value.as.integer));
      if (number)
        item = Ref(Py_BuildValue("(siOO)", "number", known.value.kind, number.get(),
                                 known.varies ? Py_False : Py_True));
    }
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  if (!list)
    return nullptr;
  return Py_BuildValue("(KO)", static_cast<unsigned long long>(seen), list.get());
}

} // namespace tessera::python
