//===- Programs.h - Small host programs that several tests use ------------===//

#ifndef TESSERA_RT_CTS_PROGRAMS_H
#define TESSERA_RT_CTS_PROGRAMS_H

#include "tessera_rt.h"
#include "tessera_rt/bundle.h"

namespace tessera::rt::test {

/// Whether a sanitizer is active: times are meaningless then.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool isInstrumented = true;
#else
inline constexpr bool isInstrumented = false;
#endif

/// out[i] = x[i] * a + t, where t is a temporary that a first kernel fills with y[i]: two launches
/// over blocks of 16, a scalar argument, a stride, both kinds of guard.
Program axpy();

/// The kernels of axpy(): "copy"(src, stride, n, dst) and "scale"(x, stride, n, a, t, out).
void copyKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env);
void scaleKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env);

/// A dense or strided vector argument.
struct Vector {
  int64_t size, stride;
  tessera_rt_value value(const float *data) const;
};
tessera_rt_value scalar(double value);

/// A program with one launch of kernel "k" over `arguments` int scalars, whose words are those
/// scalars, then `extra`.
Program launchOnly(unsigned intArguments, std::vector<Expr> grid, std::vector<Word> extra = {});

/// A module of one function "f"; fails the test if it does not load.
tessera_rt_module *load(const Program &program, std::vector<tessera_rt_native_kernel> kernels);

} // namespace tessera::rt::test

#endif // TESSERA_RT_CTS_PROGRAMS_H
