//===- Frame.h - One call, bound to its arguments -------------------------===//
//
// A frame is one allocation: its header, then the arrays whose lengths the plan determines.
// Temporaries of a call share one block; two of them overlap in it only if no step needs both. A
// thread keeps released frames for its next calls of the same function.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_FRAME_H
#define TESSERA_RT_SRC_FRAME_H

#include "Module.h"

struct tessera_rt_frame {
  const tessera_rt_function *function;
  uint64_t functionNumber; // the function may be destroyed before the frame is released
  int64_t *slots;
  int64_t *scalars; // bits of a scalar argument: int64_t or double
  void **addresses; // of tensor arguments
  int64_t *sizes;   // of all results, one after the other
  int64_t *strides;
  int64_t *temporaries; // byte offsets into the block
  int64_t *grids;       // three sizes for each step; the first is 0 where the grid is empty
  int64_t *shapes;      // sizes, then strides of each tensor argument
  int64_t *words;       // of all steps, with byte offsets instead of addresses
  bool hasWords;        // computed when the call first runs
  int64_t temporaryBytes;
  int64_t work; // negative: unknown
};

namespace tessera::rt {

/// Work of a step in nanoseconds of one core: measured, otherwise the program's estimate; negative:
/// unknown.
double stepWork(const tessera_rt_frame *frame, size_t index);

/// Work of the whole call, for tessera_rt_frame_work.
int64_t callWork(const tessera_rt_frame *frame, const tessera_rt_value *args);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_FRAME_H
