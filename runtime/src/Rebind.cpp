//===- Rebind.cpp - Rebinding a frame to a similar call -------------------===//
//
// Programs often call a function with the same shapes. Then slots, guards, the results' shapes,
// grids and temporaries of the frame are unchanged, except for those that depend on addresses;
// comparing shapes costs a fraction of binding them.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include <cstring>

using namespace tessera::rt;

/// Whether a tensor has these sizes, followed by these strides. Ranks are small: comparing all is
/// cheaper than an early exit.
static bool hasShape(const tessera_rt_tensor &tensor, const int64_t *shape, uint32_t rank) {
  int64_t difference = 0;
  for (uint32_t d = 0; d < rank; ++d)
    difference |= (tensor.sizes[d] ^ shape[d]) | (tensor.strides[d] ^ shape[rank + d]);
  return difference == 0;
}

/// Whether the arguments have the kinds, types, shapes and integers of the frame.
static bool isAlike(const tessera_rt_frame *frame, const tessera_rt_value *args) {
  const auto &arguments = frame->function->plan.source.arguments;
  const int64_t *shape = frame->shapes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    if (args[i].kind != static_cast<int32_t>(argument.kind))
      return false;
    if (argument.kind == Argument::Float)
      continue;
    if (argument.kind != Argument::Tensor) {
      if (args[i].as.integer != frame->scalars[i])
        return false;
      continue;
    }
    const tessera_rt_tensor &tensor = args[i].as.tensor;
    uint32_t rank = argument.rank;
    if (tensor.dtype != static_cast<int32_t>(argument.dtype) ||
        tensor.ndim != static_cast<int32_t>(rank) || tensor.device != frame->function->device ||
        !hasShape(tensor, shape, rank))
      return false;
    shape += 2 * rank;
  }
  return true;
}

tessera_rt_status tessera_rt_rebind(tessera_rt_frame *frame, const tessera_rt_value *args,
                                    int32_t nargs) {
  const Plan &plan = frame->function->plan;
  if (!plan.isRebindable || nargs != static_cast<int32_t>(plan.source.arguments.size()) ||
      !isAlike(frame, args))
    return TESSERA_RT_MISMATCH;
  for (size_t i = 0; i < plan.source.arguments.size(); ++i)
    if (args[i].kind == TESSERA_RT_TENSOR)
      frame->addresses[i] = args[i].as.tensor.data;
    else
      std::memcpy(&frame->scalars[i], &args[i].as, 8);
  bool overflow = false;
  for (uint32_t i : plan.addressSlots) {
    const PlanSlot &slot = plan.slots[i];
    frame->slots[i] =
        slot.source == Slot::ArgAddress
            ? static_cast<int64_t>(reinterpret_cast<uintptr_t>(frame->addresses[slot.arg]))
            : plan.evaluate(slot.expr, frame->slots, overflow);
  }
  for (uint32_t i : plan.addressGuards)
    if (!plan.holds(plan.guards[i], frame->slots, overflow))
      return TESSERA_RT_MISMATCH;
  if (frame->function->device == TESSERA_RT_DEVICE_CPU)
    frame->work = callWork(frame, args);
  return overflow ? TESSERA_RT_MISMATCH : TESSERA_RT_OK;
}
