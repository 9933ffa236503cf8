//===- Module.h - Loaded bundles and their functions ----------------------===//

#ifndef TESSERA_RT_SRC_MODULE_H
#define TESSERA_RT_SRC_MODULE_H

#include "Driver.h"
#include "Plan.h"

#include <map>
#include <mutex>

namespace tessera::rt {

/// A kernel of a program, and its launch attributes in the image.
struct BoundKernel {
  const Kernel *kernel;
  KernelShape shape;
};

inline uint64_t nextFunctionNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

} // namespace tessera::rt

struct tessera_rt_function {
  std::string name;
  tessera::rt::Plan plan;
  int32_t device;
  tessera::rt::Driver *driver;
  std::vector<tessera::rt::BoundKernel> kernels;       // in the order of the program's kernel names
  std::unique_ptr<std::atomic<float>[]> costs;         // measured time of each step on the CPU
  uint64_t number = tessera::rt::nextFunctionNumber(); // unique in the process
};

struct tessera_rt_module {
  /// The part of the bundle that runs on one device.
  struct Loaded {
    std::vector<std::unique_ptr<tessera::rt::Library>> libraries;
    std::vector<std::unique_ptr<tessera_rt_function>> functions;
  };
  tessera::rt::Bundle bundle;
  Loaded cpu;
  std::mutex mutex;                                       // of what follows
  std::map<std::pair<int32_t, std::string>, Loaded> gpus; // by device and backend
};

#endif // TESSERA_RT_SRC_MODULE_H
