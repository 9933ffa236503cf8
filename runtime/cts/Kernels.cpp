//===- Kernels.cpp - Small kernels for the conformance tests --------------===//

#include "Kernels.h"

#include "Programs.h"

#include <cstring>
#include <gtest/gtest.h>

namespace tessera::rt::test {

const char plainPtx[] = R"(.version 7.8
.target sm_80
.address_size 64

.visible .entry copy(.param .u64 src, .param .u64 stride, .param .u64 n, .param .u64 dst)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .f32 %f;
  .reg .b64 %d<9>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  cvt.u64.u32 %d1, %r2;
  mad.wide.u32 %d1, %r1, 16, %d1;
  ld.param.u64 %d2, [n];
  setp.ge.s64 %p, %d1, %d2;
  @%p ret;
  ld.param.u64 %d3, [src];
  ld.param.u64 %d4, [stride];
  ld.param.u64 %d5, [dst];
  mul.lo.s64 %d6, %d1, %d4;
  shl.b64 %d6, %d6, 2;
  add.s64 %d6, %d3, %d6;
  ld.global.f32 %f, [%d6];
  shl.b64 %d7, %d1, 2;
  add.s64 %d7, %d5, %d7;
  st.global.f32 [%d7], %f;
  ret;
}

.visible .entry scale(.param .u64 x, .param .u64 stride, .param .u64 n, .param .f32 a,
                      .param .u64 t, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %d<9>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  cvt.u64.u32 %d1, %r2;
  mad.wide.u32 %d1, %r1, 16, %d1;
  ld.param.u64 %d2, [n];
  setp.ge.s64 %p, %d1, %d2;
  @%p ret;
  ld.param.u64 %d3, [x];
  ld.param.u64 %d4, [stride];
  mul.lo.s64 %d6, %d1, %d4;
  shl.b64 %d6, %d6, 2;
  add.s64 %d6, %d3, %d6;
  ld.global.f32 %f1, [%d6];
  shl.b64 %d7, %d1, 2;
  ld.param.u64 %d5, [t];
  add.s64 %d5, %d5, %d7;
  ld.global.f32 %f2, [%d5];
  ld.param.f32 %f3, [a];
  mul.rn.f32 %f1, %f1, %f3;
  add.rn.f32 %f1, %f1, %f2;
  ld.param.u64 %d8, [out];
  add.s64 %d8, %d8, %d7;
  st.global.f32 [%d8], %f1;
  ret;
}

.visible .entry store(.param .u64 address, .param .u64 value)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [address];
  ld.param.u64 %d2, [value];
  st.global.u64 [%d1], %d2;
  ret;
}

.visible .entry increment(.param .u64 address)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [address];
  ld.global.u64 %d2, [%d1];
  add.s64 %d2, %d2, 1;
  st.global.u64 [%d1], %d2;
  ret;
}

.visible .entry nothing(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,
                        .param .u64 p4)
{
  ret;
}

.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [nanoseconds];
  mov.u64 %d2, %globaltimer;
  add.s64 %d1, %d1, %d2;
again:
  mov.u64 %d3, %globaltimer;
  setp.lt.u64 %p, %d3, %d1;
  @%p bra again;
  ret;
}

.visible .entry fault(.param .u64 address)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [address];
  st.global.u64 [%d1], %d1;
  ret;
}

.visible .entry meet(.param .u64 counter, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [out];
  atom.global.add.u32 %r1, [%d1], 1;
  mov.u32 %r2, %nctaid.x;
again:
  ld.volatile.global.u32 %r3, [%d1];
  setp.lt.u32 %p, %r3, %r2;
  @%p bra again;
  mov.u32 %r4, %ctaid.x;
  mad.wide.u32 %d3, %r4, 4, %d2;
  st.global.u32 [%d3], %r3;
  ret;
}

.extern .shared .align 16 .b8 dynamic[];
.visible .entry tail(.param .u64 out, .param .u64 bytes)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [bytes];
  cvt.u32.u64 %r1, %d2;
  mov.u32 %r2, dynamic;
  add.u32 %r2, %r2, %r1;
  sub.u32 %r2, %r2, 4;
  mov.u32 %r3, 1234;
  st.volatile.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.volatile.shared.u32 %r4, [%r2];
  st.global.u32 [%d1], %r4;
  ret;
}
)";

const char hopperPtx[] = R"(.version 7.8
.target sm_90
.address_size 64

.visible .entry ranks(.param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %cluster_nctarank;
  mad.lo.u32 %r1, %r2, 100, %r1;
  mov.u32 %r3, %ctaid.x;
  mad.wide.u32 %d2, %r3, 4, %d1;
  st.global.u32 [%d2], %r1;
  ret;
}

.visible .entry produce(.param .u64 address, .param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [address];
  ld.param.u64 %d2, [nanoseconds];
  griddepcontrol.launch_dependents;
  mov.u64 %d3, %globaltimer;
  add.s64 %d2, %d2, %d3;
again:
  mov.u64 %d3, %globaltimer;
  setp.lt.u64 %p, %d3, %d2;
  @%p bra again;
  mov.u64 %d4, 42;
  st.global.u64 [%d1], %d4;
  ret;
}

.visible .entry consume(.param .u64 address, .param .u64 out)
{
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [address];
  ld.param.u64 %d2, [out];
  griddepcontrol.wait;
  ld.volatile.global.u64 %d3, [%d1];
  st.global.u64 [%d2], %d3;
  ret;
}
)";

void storeKernel(const int64_t *args, int64_t, int64_t, const tessera_rt_kernel_env *) {
  *reinterpret_cast<int64_t *>(args[0]) = args[1];
}

void incrementKernel(const int64_t *args, int64_t, int64_t, const tessera_rt_kernel_env *) {
  *reinterpret_cast<int64_t *>(args[0]) += 1;
}

void nothingKernel(const int64_t *, int64_t, int64_t, const tessera_rt_kernel_env *) {}

tessera_rt_library *loadKernels(int32_t device) {
  tessera_rt_library *library = nullptr;
  if (device == TESSERA_RT_DEVICE_CPU) {
    const tessera_rt_native_kernel kernels[] = {{"copy", copyKernel, 0},
                                                {"scale", scaleKernel, 0},
                                                {"store", storeKernel, 0},
                                                {"increment", incrementKernel, 0},
                                                {"nothing", nothingKernel, 0}};
    EXPECT_EQ(tessera_rt_library_from_functions(kernels, std::size(kernels), &library),
              TESSERA_RT_OK);
  } else {
    EXPECT_EQ(tessera_rt_library_load(device, plainPtx, std::strlen(plainPtx), &library),
              TESSERA_RT_OK)
        << tessera_rt_last_error();
  }
  return library;
}

} // namespace tessera::rt::test
