//===- CpuTarget.cpp - A CPU that code is generated for -------------------===//
#include "tessera/Target/LLVM/CpuTarget.h"
#include "tessera_rt/target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <set>
#include <vector>

using namespace tessera;
using llvm::SmallVector;
using llvm::StringRef;

CpuTarget CpuTarget::host() {
  CpuTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  std::map<std::string, bool> has;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    has[feature.first().str()] = feature.second;
  // LLVM takes some from the processor's name: a virtual machine may hide them, and an operating
  // system keep them back.
  for (auto [name, isThere] : rt::hostFeatures())
    has[std::string(name)] = isThere;
  std::vector<std::string> features;
  for (const auto &[name, isThere] : has)
    features.push_back((isThere ? "+" : "-") + name);
  target.features = llvm::join(features, ",");
  return target;
}

std::optional<CpuTarget> CpuTarget::baseline(StringRef name) {
  std::string x86 = "x86_64-unknown-linux-gnu", arm = "aarch64-unknown-linux-gnu";
  std::string v2 = "+sse4.2,+ssse3,+popcnt,+cx16,+sahf";
  std::string v3 = v2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave";
  std::string v4 = v3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl";
  if (name == "x86-64-v2")
    return CpuTarget{x86, "x86-64-v2", v2};
  if (name == "x86-64-v3")
    return CpuTarget{x86, "x86-64-v3", v3};
  if (name == "x86-64-v4")
    return CpuTarget{x86, "x86-64-v4", v4};
  if (name == "aarch64")
    return CpuTarget{arm, "generic", "+neon"};
  return std::nullopt;
}

std::optional<CpuTarget> CpuTarget::parse(StringRef name) {
  if (name == "cpu")
    return host();
  if (std::optional<CpuTarget> known = baseline(name))
    return known;
  if (name.contains(';')) {
    auto [triple, rest] = name.split(';');
    auto [cpu, features] = rest.split(';');
    return CpuTarget{triple.str(), cpu.str(), features.str()};
  }
  auto [architecture, list] = name.split(':');
  if (architecture != "x86_64" && architecture != "aarch64")
    return std::nullopt;
  CpuTarget target;
  target.triple = (architecture + "-unknown-linux-gnu").str();
  target.cpu = architecture == "x86_64" ? "x86-64" : "generic";
  SmallVector<StringRef> features;
  list.split(features, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : features)
    target.features += (target.features.empty() ? "+" : ",+") + feature.trim().str();
  return target;
}

CpuTarget CpuTarget::withoutMatrixInstructions() const {
  SmallVector<StringRef> given, dropped = {"bf16"};
  if (llvm::Triple(triple).isX86())
    dropped = {"amx-tile", "amx-bf16", "amx-fp16", "amx-int8"};
  StringRef(features).split(given, ',', -1, /*KeepEmpty=*/false);
  std::string kept;
  for (StringRef feature : given)
    if (!feature.starts_with("+amx-") && !llvm::is_contained(dropped, feature.drop_front()))
      kept += feature.str() + ",";
  for (StringRef feature : dropped)
    kept += "-" + feature.str() + ",";
  kept.pop_back();
  return {triple, cpu, kept};
}

static std::set<std::string> enabledFeatures(StringRef text) {
  std::set<std::string> enabled;
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (part.consume_front("+"))
      enabled.insert(part.str());
  return enabled;
}

CpuDescription CpuTarget::describe() const {
  return CpuDescription::from(llvm::Triple(triple).getArchName().str(), enabledFeatures(features));
}

std::string CpuTarget::runtimeTarget() const {
  std::vector<std::string> compared;
  for (const std::string &feature : enabledFeatures(features))
    if (rt::knowsFeature(feature))
      compared.push_back(feature);
  return llvm::Triple(triple).getArchName().str() + ":" + llvm::join(compared, ",");
}
