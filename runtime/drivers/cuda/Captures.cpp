//===- Captures.cpp - Code that graphs need -------------------------------===//
//
// A graph has the kernels that were captured, but not their code: what is unloaded before the graph
// is gone takes the process with it. Graphs of this runtime hold their code. Of graphs that others
// capture on their streams, such as PyTorch's, nobody tells when they end: their code stays for as
// long as the process.
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
  // In a forked child, and when the process ends, the driver is no longer ours to call.
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
