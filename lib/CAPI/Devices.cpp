//===- Devices.cpp - The devices of this machine --------------------------===//
#include "tessera-c/tessera.h"
#include "tessera_rt/device.h"
#include "tessera_rt/target.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using llvm::StringRef;

/// The processor's brand string, or LLVM's name for it.
static std::string processorName() {
  if (auto info = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    StringRef text = (*info)->getBuffer();
    size_t at = text.find("model name");
    if (at != StringRef::npos)
      return text.substr(at).split('\n').first.split(':').second.trim().str();
  }
  return llvm::sys::getHostCPUName().str();
}

/// The GPUs that NVIDIA's driver reports; `reason` says why there are none.
static llvm::json::Array gpus(std::string &reason) {
  llvm::json::Array found;
  int32_t count = 0;
  if (tessera_rt_device_count(TESSERA_RT_KIND_CUDA, &count) != TESSERA_RT_OK)
    reason = tessera_rt_last_error();
  for (int32_t i = 0; i < count; ++i) {
    tessera_rt_device_info info = {};
    info.struct_bytes = sizeof(info);
    if (tessera_rt_device_get_info(TESSERA_RT_DEVICE_CUDA(i), &info) != TESSERA_RT_OK) {
      reason = tessera_rt_last_error();
      continue;
    }
    found.push_back(llvm::json::Object{{"target", std::string(info.target)},
                                       {"name", std::string(info.name)},
                                       {"device", "cuda:" + std::to_string(i)},
                                       {"sm_count", info.sm_count},
                                       {"memory_bytes", int64_t(info.memory_bytes)},
                                       {"l2_bytes", int64_t(info.l2_bytes)},
                                       {"shared_bytes", int64_t(info.shared_bytes)},
                                       {"cuda", info.driver_version}});
  }
  return found;
}

const char *tessera_devices(void) {
  static const std::string text = [] {
    auto [architecture, features] = StringRef(tessera::rt::hostTarget()).split(':');
    llvm::json::Array names;
    llvm::SmallVector<StringRef> parts;
    features.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts)
      names.push_back(part.str());
    llvm::json::Object cpu{{"target", "cpu"},
                           {"name", processorName()},
                           {"architecture", architecture.str()},
                           {"threads", int64_t(tessera_rt_get_num_threads())},
                           {"features", std::move(names)}};
    std::string out, reason;
    llvm::json::Array devices = gpus(reason);
    devices.insert(devices.begin(), std::move(cpu));
    llvm::json::Object all{{"devices", std::move(devices)}};
    if (!reason.empty())
      all["no_cuda"] = reason;
    llvm::raw_string_ostream(out) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(all)));
    return out;
  }();
  return text.c_str();
}
