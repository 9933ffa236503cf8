//===- Rows.h - Scans, sorts, scatters and checks --------------*- C++ -*-===//
//
// Ready kernels that run element by element. A grid index of a scan or a sort is a row; the others
// have one index.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_READY_ROWS_H
#define TESSERA_LIB_INTERPRETER_READY_ROWS_H

#include "Words.h"
#include "tessera_rt.h"

namespace tessera::ready {

#define READY_KERNEL(name)                                                                         \
  void name(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env)
READY_KERNEL(scan);
READY_KERNEL(scanByKey);
READY_KERNEL(scatterAdd);
READY_KERNEL(scatter);
READY_KERNEL(argsort);
READY_KERNEL(check);
READY_KERNEL(takeRows);
#undef READY_KERNEL

} // namespace tessera::ready

#endif
