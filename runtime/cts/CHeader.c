//===- CHeader.c - The C ABI is C -----------------------------------------===//

#include "tessera_rt/device.h"

/* Returns the version that a C program sees; MetricsTest.cpp compares it with the library's. */
uint32_t tessera_cts_c_version(void) {
  tessera_rt_stream stream = {TESSERA_RT_DEVICE_CUDA(0), 0, 0};
  tessera_rt_launch_config config = {sizeof(tessera_rt_launch_config)};
  return stream.device == 0x10000 && config.grid[0] == 0 ? TESSERA_RT_ABI_VERSION : 0;
}
