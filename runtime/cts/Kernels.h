//===- Kernels.h - Small kernels for the conformance tests ----------------===//
//
// The same kernels three times: PTX for GPUs, C++ for the CPU, and (in fake/) C++ for the fake
// libcuda. A word is a 64-bit argument.
//
//   copy(src, stride, n, dst)          16 elements per block: dst[i] = src[i * stride]
//   scale(x, stride, n, a, t, out)     16 elements per block: out[i] = x[i * stride] * a + t[i]
//   store(address, value)              one 64-bit word
//   increment(address)                 adds one to a 64-bit word
//   nothing(5 words)
//
// On GPUs only:
//   spin(nanoseconds)                  keeps one block busy
//   fault(address)                     writes out of bounds
//   meet(counter, out)                 a barrier of all blocks; out[block] = how many arrived
//   tail(out, bytes)                   writes and reads the last word of its dynamic shared memory
//   ranks(out)                         out[block] = rank in its cluster + 100 * the cluster's size
//   produce(address, nanoseconds)      lets its dependent start, waits, then writes 42
//   consume(address, out)              waits for the launch it depends on; out = the value it reads
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CTS_KERNELS_H
#define TESSERA_RT_CTS_KERNELS_H

#include "tessera_rt/device.h"

#include <string>

namespace tessera::rt::test {

/// For sm_80 and later.
extern const char plainPtx[];
/// Clusters and dependent launches, for sm_90 and later.
extern const char hopperPtx[];

/// The library of a device: plainPtx, or the CPU's kernels.
tessera_rt_library *loadKernels(int32_t device);

void storeKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *);
void incrementKernel(const int64_t *args, int64_t begin, int64_t end,
                     const tessera_rt_kernel_env *);
void nothingKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *);

} // namespace tessera::rt::test

#endif // TESSERA_RT_CTS_KERNELS_H
