//===- Captures.cpp - Lifetime of captured code ---------------------------===//
//
// A graph refers to the captured kernels but does not own their code: unloading it before the graph
// is destroyed crashes the process. Graphs of this runtime own their code. There is no notification
// when a graph that another library captures on its stream, such as PyTorch's, is destroyed: its
// code is kept until process exit.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <map>

namespace tessera::rt::cuda {

namespace {
struct Captures {
  std::mutex mutex;
  std::map<CUstream, CodeSet> ours;
  CodeSet others;
};
} // namespace

static Captures &captures() {
  static auto *instance = new Captures; // never destroyed: threads may use it at exit
  return *instance;
}

Code::~Code() {
  tessera_rt_status status;
  // In a forked child, and at process exit, the driver must not be called.
  if (!library || !start(status))
    return;
  Current current(device);
  device.api.cuLibraryUnload(library);
}

void collectCode(CUstream stream) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  captures().ours[stream] = {};
}

CodeSet takeCode(CUstream stream) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto node = captures().ours.extract(stream);
  return node ? std::move(node.mapped()) : CodeSet();
}

void keepForGraph(CUstream stream, const std::shared_ptr<Code> &code) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto ours = captures().ours.find(stream);
  if (ours != captures().ours.end()) {
    ours->second.insert(code);
    return;
  }
  captures().others.insert(code);
  code->isKept.store(true, std::memory_order_relaxed);
}

} // namespace tessera::rt::cuda
