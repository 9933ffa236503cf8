//===- Devices.cpp - What this machine has --------------------------------===//
#include "tessera-c/tessera.h"
#include "tessera_rt/bundle.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using llvm::StringRef;

/// The processor's name as its maker writes it, or LLVM's name for it.
static std::string processorName() {
  if (auto info = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    StringRef text = (*info)->getBuffer();
    size_t at = text.find("model name");
    if (at != StringRef::npos)
      return text.substr(at).split('\n').first.split(':').second.trim().str();
  }
  return llvm::sys::getHostCPUName().str();
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
    std::string out;
    llvm::raw_string_ostream(out) << llvm::formatv(
        "{0:2}\n",
        llvm::json::Value(llvm::json::Object{{"devices", llvm::json::Array{std::move(cpu)}}}));
    return out;
  }();
  return text.c_str();
}
