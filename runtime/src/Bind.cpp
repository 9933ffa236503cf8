//===- Bind.cpp - Binding the arguments of a call -------------------------===//

#include "Frame.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace tessera::rt;

namespace {
/// Frames that this thread released: a call with the shapes of a previous one binds its frame
/// again, which takes a fraction of the time; any other call reuses its memory.
struct SpareFrames {
  ~SpareFrames() {
    for (tessera_rt_frame *frame : frames)
      std::free(frame);
  }
  tessera_rt_frame *&placeOf(uint64_t functionNumber) {
    return frames[functionNumber % std::size(frames)];
  }
  /// A frame of this function; null if there is none.
  tessera_rt_frame *take(const tessera_rt_function *function) {
    tessera_rt_frame *&place = placeOf(function->number);
    bool isOurs = place && place->functionNumber == function->number;
    return isOurs ? std::exchange(place, nullptr) : nullptr;
  }
  void put(tessera_rt_frame *frame) {
    std::free(std::exchange(placeOf(frame->functionNumber), frame));
  }

private:
  tessera_rt_frame *frames[16] = {};
};
thread_local SpareFrames spareFrames;
} // namespace

static tessera_rt_frame *makeFrame(const tessera_rt_function *function) {
  const Plan &plan = function->plan;
  size_t args = plan.source.arguments.size(), sizes = plan.resultSizes.size();
  size_t words = plan.slots.size() + 2 * args + 2 * sizes + plan.temporaries.size() +
                 3 * plan.steps.size() + plan.shapeWords + plan.words.size();
  void *memory = std::malloc(sizeof(tessera_rt_frame) + words * 8);
  if (!memory)
    return nullptr;
  auto *frame = static_cast<tessera_rt_frame *>(memory);
  frame->function = function;
  frame->functionNumber = function->number;
  frame->slots = reinterpret_cast<int64_t *>(frame + 1);
  frame->scalars = frame->slots + plan.slots.size();
  frame->addresses = reinterpret_cast<void **>(frame->scalars + args);
  frame->sizes = frame->scalars + 2 * args;
  frame->strides = frame->sizes + sizes;
  frame->temporaries = frame->strides + sizes;
  frame->grids = frame->temporaries + plan.temporaries.size();
  frame->shapes = frame->grids + 3 * plan.steps.size();
  frame->words = frame->shapes + plan.shapeWords;
  return frame;
}

static const char *kindName(int32_t kind) {
  static constexpr const char *names[] = {"a tensor", "an int", "a float", "a bool"};
  return kind >= 0 && kind < 4 ? names[kind] : "an unknown kind of value";
}

/// Kind, type and rank of each argument: a caller that distinguishes specialisations by them never
/// fails here.
static tessera_rt_status checkArgument(const Argument &arg, const tessera_rt_value &value,
                                       int32_t device) {
  auto mismatch = [&](const std::string &expected, const std::string &found) {
    return fail(TESSERA_RT_MISMATCH,
                "argument '" + arg.name + "': expected " + expected + ", found " + found);
  };
  if (value.kind != static_cast<int32_t>(arg.kind))
    return mismatch(kindName(arg.kind), kindName(value.kind));
  if (arg.kind != Argument::Tensor)
    return TESSERA_RT_OK;
  const tessera_rt_tensor &tensor = value.as.tensor;
  if (tensor.dtype != static_cast<int32_t>(arg.dtype)) {
    bool known = tensor.dtype >= 0 && tensor.dtype < static_cast<int32_t>(numDTypes);
    return mismatch(dtypeName(arg.dtype),
                    known ? dtypeName(static_cast<DType>(tensor.dtype)) : "an unknown type");
  }
  if (tensor.ndim != static_cast<int32_t>(arg.rank))
    return mismatch(std::to_string(arg.rank) + " dimensions", std::to_string(tensor.ndim));
  if (tensor.device != device)
    return mismatch("memory of " + deviceName(device), "memory of " + deviceName(tensor.device));
  return TESSERA_RT_OK;
}

static std::string expand(const Guard &guard, const int64_t *slots) {
  std::vector<int64_t> values;
  bool overflow = false;
  for (const Expr &operand : guard.operands)
    values.push_back(evaluate(operand, slots, overflow));
  return expand(guard.message, values);
}

/// Assigns each temporary the lowest offset that is free during all of its steps. Returns false on
/// overflow.
static bool placeTemporaries(const Plan &plan, tessera_rt_frame *frame) {
  size_t count = plan.temporaries.size();
  bool overflow = false;
  // Pairs (offset, bytes) of those already placed; counts are small, so a quadratic search is fine.
  std::vector<int64_t> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    const PlanTemporary &temp = plan.temporaries[i];
    int64_t wanted = plan.evaluate(temp.bytes, frame->slots, overflow);
    int64_t rounded;
    if (overflow || __builtin_add_overflow(std::max<int64_t>(wanted, 1), int64_t(63), &rounded))
      return false;
    bytes[i] = rounded & ~int64_t(63);
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t j = 0; j < i; ++j) {
        const PlanTemporary &other = plan.temporaries[j];
        bool together = temp.firstStep <= other.lastStep && other.firstStep <= temp.lastStep;
        int64_t end = frame->temporaries[j] + bytes[j];
        if (together && offset < end && frame->temporaries[j] - offset < bytes[i]) {
          offset = end;
          moved = true;
        }
      }
    }
    frame->temporaries[i] = offset;
    int64_t last;
    if (__builtin_add_overflow(offset, bytes[i], &last))
      return false;
    frame->temporaryBytes = std::max(frame->temporaryBytes, last);
  }
  return true;
}

double tessera::rt::stepWork(const tessera_rt_frame *frame, size_t index) {
  const Plan &plan = frame->function->plan;
  float cost = frame->function->costs[index].load(std::memory_order_relaxed);
  const int64_t *grid = frame->grids + 3 * index;
  if (cost > 0)
    return cost * static_cast<double>(grid[0] * grid[1] * grid[2]);
  if (!plan.steps[index].work.count)
    return -1;
  bool overflow = false;
  int64_t work = plan.evaluate(plan.steps[index].work, frame->slots, overflow);
  return overflow ? -1 : static_cast<double>(work);
}

/// Reading and writing every element is the minimum of work.
int64_t tessera::rt::callWork(const tessera_rt_frame *frame, const tessera_rt_value *args) {
  constexpr double elementsPerNanosecond = 8, most = 1e18;
  const Plan &plan = frame->function->plan;
  double elements = 0, work = 0;
  auto add = [&](const int64_t *sizes, size_t rank) {
    double count = 1;
    for (size_t d = 0; d < rank; ++d)
      count *= static_cast<double>(sizes[d]);
    elements += count;
  };
  for (size_t i = 0; i < plan.source.arguments.size(); ++i)
    if (args[i].kind == TESSERA_RT_TENSOR)
      add(args[i].as.tensor.sizes, static_cast<size_t>(args[i].as.tensor.ndim));
  for (const PlanResult &result : plan.results)
    add(frame->sizes + result.firstSize, result.rank);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    double step = stepWork(frame, i);
    if (step < 0)
      return -1;
    work += step;
  }
  return static_cast<int64_t>(std::min(std::max(work, elements / elementsPerNanosecond), most));
}

static tessera_rt_status bind(const tessera_rt_function *function, const tessera_rt_value *args,
                              tessera_rt_frame *frame) {
  const Plan &plan = function->plan;
  const Program &source = plan.source;
  frame->hasWords = false;
  frame->temporaryBytes = 0;
  int64_t *shape = frame->shapes;
  for (size_t i = 0; i < source.arguments.size(); ++i) {
    if (auto status = checkArgument(source.arguments[i], args[i], function->device))
      return status;
    if (args[i].kind != TESSERA_RT_TENSOR) {
      std::memcpy(&frame->scalars[i], &args[i].as, 8);
      continue;
    }
    const tessera_rt_tensor &tensor = args[i].as.tensor;
    frame->addresses[i] = tensor.data;
    for (int32_t d = 0; d < tensor.ndim; ++d, ++shape) {
      shape[0] = tensor.sizes[d];
      shape[tensor.ndim] = tensor.strides[d];
    }
    shape += tensor.ndim;
  }
  bool overflow = false;
  int64_t *slots = frame->slots;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const PlanSlot &slot = plan.slots[i];
    switch (slot.source) {
    case Slot::ArgSize:
      slots[i] = args[slot.arg].as.tensor.sizes[slot.dim];
      break;
    case Slot::ArgStride:
      slots[i] = args[slot.arg].as.tensor.strides[slot.dim];
      break;
    case Slot::ArgInt:
      slots[i] = frame->scalars[slot.arg];
      break;
    case Slot::Derived:
      slots[i] = plan.evaluate(slot.expr, slots, overflow);
      break;
    case Slot::ArgAddress:
      slots[i] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(frame->addresses[slot.arg]));
      break;
    case Slot::Device:
      slots[i] = function->driver->fact(deviceOrdinal(function->device),
                                        static_cast<DeviceFact>(slot.dim));
      break;
    }
  }
  // Specialisation guards come first: a call that belongs to another specialisation must not be
  // reported as invalid.
  for (const PlanGuard &guard : plan.guards)
    if (!plan.holds(guard, slots, overflow))
      return fail(guard.kind == Guard::Error ? TESSERA_RT_ARGUMENT : TESSERA_RT_MISMATCH,
                  expand(source.guards[guard.index], slots));

  for (const PlanResult &result : plan.results) {
    int64_t stride = 1;
    for (uint32_t d = result.rank; d-- > 0;) {
      uint32_t at = result.firstSize + d;
      int64_t size = plan.evaluate(plan.resultSizes[at], slots, overflow);
      if (size < 0)
        return fail(TESSERA_RT_ARGUMENT, "a result would have the negative size " +
                                             std::to_string(size) + " in dimension " +
                                             std::to_string(d));
      frame->sizes[at] = size;
      frame->strides[at] = stride;
      overflow |= __builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &stride);
    }
    overflow |= __builtin_mul_overflow(stride, dtypeBytes(result.dtype), &stride);
  }
  if (!plan.temporaries.empty() && !placeTemporaries(plan, frame))
    overflow = true;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    int64_t total = 1, *grid = frame->grids + 3 * i;
    grid[1] = grid[2] = 1;
    for (uint32_t d = 0; d < plan.steps[i].gridRank; ++d) {
      grid[d] = std::max<int64_t>(plan.evaluate(plan.steps[i].grid[d], slots, overflow), 0);
      overflow |= __builtin_mul_overflow(total, grid[d], &total);
    }
    if (total == 0)
      grid[0] = 0;
  }
  if (overflow)
    return fail(TESSERA_RT_OUT_OF_MEMORY, "function '" + function->name +
                                              "': the sizes of this call do not fit into 64 bits");
  frame->work = function->device == TESSERA_RT_DEVICE_CPU ? callWork(frame, args) : -1;
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_prepare(const tessera_rt_function *function,
                                     const tessera_rt_value *args, int32_t nargs,
                                     tessera_rt_frame **result) {
  size_t expected = function->plan.source.arguments.size();
  if (nargs < 0 || static_cast<size_t>(nargs) != expected)
    return fail(TESSERA_RT_ARGUMENT, "function '" + function->name + "': expected " +
                                         std::to_string(expected) + " arguments, found " +
                                         std::to_string(nargs));
  tessera_rt_frame *frame = spareFrames.take(function);
  if (frame && tessera_rt_rebind(frame, args, nargs) == TESSERA_RT_OK) {
    *result = frame;
    return TESSERA_RT_OK;
  }
  if (!frame && !(frame = makeFrame(function)))
    return fail(TESSERA_RT_OUT_OF_MEMORY, "out of memory while preparing a call");
  tessera_rt_status status = bind(function, args, frame);
  if (status != TESSERA_RT_OK) {
    std::free(frame);
    return status;
  }
  *result = frame;
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_frame_result(const tessera_rt_frame *frame, int32_t index,
                                          tessera_rt_tensor *result) {
  const auto &results = frame->function->plan.results;
  if (index < 0 || static_cast<size_t>(index) >= results.size())
    return fail(TESSERA_RT_NOT_FOUND, "there is no result " + std::to_string(index));
  const PlanResult &plan = results[static_cast<size_t>(index)];
  *result = {};
  result->dtype = static_cast<int32_t>(plan.dtype);
  result->ndim = static_cast<int32_t>(plan.rank);
  result->sizes = frame->sizes + plan.firstSize;
  result->strides = frame->strides + plan.firstSize;
  return TESSERA_RT_OK;
}

int64_t tessera_rt_frame_work(const tessera_rt_frame *frame) { return frame->work; }

void tessera_rt_frame_release(tessera_rt_frame *frame) {
  if (frame)
    spareFrames.put(frame);
}
