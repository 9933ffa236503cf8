//===- Module.h - Loaded bundles and their functions ----------------------===//

#ifndef TESSERA_RT_SRC_MODULE_H
#define TESSERA_RT_SRC_MODULE_H

#include "../drivers/cpu/ThreadPool.h"
#include "Image.h"
#include "Plan.h"
#include "Status.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::rt {

/// A kernel's entry point in this process.
struct LoadedKernel {
  tessera_rt_kernel entry;
  uint64_t scratchBytes;
};

} // namespace tessera::rt

struct tessera_rt_function {
  std::string name;
  tessera::rt::Plan plan;
  std::vector<tessera::rt::LoadedKernel> kernels;  // in the order of the program's kernel names
  std::unique_ptr<tessera::rt::cpu::Cost[]> costs; // of each step; what was measured so far
};

struct tessera_rt_module {
  std::string manifest;
  std::vector<tessera::rt::Image> images;
  std::vector<std::unique_ptr<tessera_rt_function>> functions;
};

#endif // TESSERA_RT_SRC_MODULE_H
