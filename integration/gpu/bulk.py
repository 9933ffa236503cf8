"""Two kernels for NVIDIA's tools: one writes memory, by a bulk copy or by plain stores, the other
reads it.

    compute-sanitizer --tool initcheck python3 bulk.py bulk

A tool that reports uninitialised reads here does not track bulk copies.
"""

from __future__ import annotations

import ctypes
import sys

import driver

COUNT = 64  # bytes

TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry bulk(.param .u64 to) {
  .shared .align 16 .b8 row[64];
  .reg .u64 %g;
  .reg .u32 %s;
  ld.param.u64 %g, [to];
  mov.u32 %s, row;
  st.shared.v4.u32 [%s], {1, 2, 3, 4};
  st.shared.v4.u32 [%s+16], {5, 6, 7, 8};
  st.shared.v4.u32 [%s+32], {1, 2, 3, 4};
  st.shared.v4.u32 [%s+48], {5, 6, 7, 8};
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 64;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
.visible .entry plain(.param .u64 to) {
  .reg .u64 %g;
  ld.param.u64 %g, [to];
  st.global.v4.u32 [%g], {1, 2, 3, 4};
  st.global.v4.u32 [%g+16], {5, 6, 7, 8};
  st.global.v4.u32 [%g+32], {1, 2, 3, 4};
  st.global.v4.u32 [%g+48], {5, 6, 7, 8};
  ret;
}
.visible .entry increase(.param .u64 at) {
  .reg .u64 %g;
  .reg .u32 %r<2>;
  ld.param.u64 %g, [at];
  ld.global.u32 %r0, [%g+32];
  add.u32 %r1, %r0, 1;
  st.global.u32 [%g+32], %r1;
  ret;
}
"""


def main(how: str) -> int:
    address, module = ctypes.c_uint64(), ctypes.c_void_p()
    driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(COUNT))
    driver.call("cuModuleLoadData", ctypes.byref(module), TEXT.encode())
    for name in (how, "increase"):
        kernel = ctypes.c_void_p()
        driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        driver.call(
            "cuLaunchKernel",
            kernel,
            *[ctypes.c_uint(1)] * 6,
            ctypes.c_uint(0),
            None,
            arguments,
            None,
        )
    answer = ctypes.c_uint32()
    driver.call(
        "cuMemcpyDtoH_v2",
        ctypes.byref(answer),
        ctypes.c_uint64(address.value + 32),
        ctypes.c_size_t(4),
    )
    return 0 if answer.value == 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
