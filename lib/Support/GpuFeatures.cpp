//===- GpuFeatures.cpp - Which chip has what ------------------------------===//
#include "tessera/Support/GpuFeatures.h"
#include "tessera/Support/TensorCores.h"

namespace tessera {

static constexpr int kLater = 9999, kNone = kLater + 1;

std::span<const GpuFeature> gpuFeatures() {
  static constexpr GpuFeature features[] = {
      {"tileir", "the road by CUDA Tile IR", 80, kLater},
      {"ldmatrix", "fragments of matrices read from shared memory by a warp", 75, kLater},
      {"tanh", "an instruction for an approximation of it", 75, kLater},
      {"async copies", "`cp.async` from global to shared memory", 80, kLater},
      {"cache policies", "how long the L2 keeps what is read", 80, kLater},
      {"mbarrier", "barriers in shared memory that count arrivals", 80, kLater},
      {"bf16 arithmetic", "instructions that compute in bf16; elsewhere it is computed in fp32", 80, kLater},
      {"fp8 conversion", "instructions that convert to and from fp8; elsewhere by integer code", 89, kLater},
      {"clusters", "blocks that see each other's shared memory", 90, kLater},
      {"TMA", "bulk copies of tensors' boxes", 90, kLater},
      {"setmaxnreg", "registers that move between warps", 90, kLater},
      {"wgmma", "products by four warps from shared memory", 90, 90},
      {"tensor memory", "`tcgen05`: products into a memory of their own", 100, 103},
      {"mma fp16", "m8n8k4, of a quarter warp", 70, kLater},
      {"mma fp16 m16n8k8", "", 75, kLater},
      {"mma fp16 m16n8k16", "", 80, kLater},
      {"mma bf16", "m16n8k8, m16n8k16", 80, kLater},
      {"mma tf32", "m16n8k4, m16n8k8", 80, kLater},
      {"mma int8", "m8n8k16", 75, kLater},
      {"mma int8 m16n8", "m16n8k16, m16n8k32", 80, kLater},
      {"mma fp64", "m8n8k4", 80, kLater},
      {"mma fp64 m16n8", "m16n8k4, m16n8k8, m16n8k16", 90, kLater},
      {"mma fp8", "m16n8k32", 89, kLater},
      {"mma fp8 sums", "these in fp32; elsewhere they have some 14 digits, and are added to others by plain cores", 90, kLater},
      {"mma fp6 fp4", "m16n8k32 with `.kind::f8f6f4`", 120, kLater},
      {"tensors of tf32", "tf32 is how products of fp32 may be made, not how they are stored", kNone, kLater},
      {"tensors of fp6_e2m3", "", kNone, kLater},
      {"tensors of fp6_e3m2", "", kNone, kLater},
      {"tensors of fp4_e2m1", "", kNone, kLater},
  };
  return features;
}

const GpuFeature *findGpuFeature(std::string_view name) {
  for (const GpuFeature &feature : gpuFeatures())
    if (feature.name == name)
      return &feature;
  return nullptr;
}

std::string GpuFeature::chips() const {
  if (first > last)
    return "no chip";
  std::string from = "sm_" + std::to_string(first);
  if (last == kLater)
    return from + " and later";
  return first == last ? from + " only" : from + " to sm_" + std::to_string(last);
}

std::string describeChips() {
  std::vector<GpuDescription> chips = GpuDescription::all();
  std::string text;
  auto head = [&](const char *first) {
    text += std::string("| ") + first;
    for (const GpuDescription &gpu : chips)
      text += " | " + gpu.ptxChip;
    text += " |\n| ---";
    for (size_t i = 0; i < chips.size(); ++i)
      text += " | ---";
    text += " |\n";
  };
  auto row = [&](std::string name, auto cell) {
    text += "| " + name;
    for (const GpuDescription &gpu : chips)
      text += " | " + cell(gpu);
    text += " |\n";
  };
  head("feature");
  for (const GpuFeature &feature : gpuFeatures()) {
    std::string meaning = feature.meaning.empty() ? "" : ": " + std::string(feature.meaning);
    row("**" + std::string(feature.name) + "**" + meaning,
        [&](const GpuDescription &gpu) -> std::string { return feature.isIn(gpu) ? "yes" : "–"; });
  }
  text += "\n";
  head("limit");
  auto number = [&](const char *name, auto value) {
    row(name, [&](const GpuDescription &gpu) { return std::to_string(value(gpu)); });
  };
  number("bytes of shared memory of a block", [](auto &gpu) { return gpu.multiprocessor.sharedOfBlock; });
  number("bytes of shared memory of a multiprocessor", [](auto &gpu) { return gpu.multiprocessor.sharedBytes; });
  number("warps of a multiprocessor", [](auto &gpu) { return gpu.multiprocessor.warps; });
  number("blocks of a multiprocessor", [](auto &gpu) { return gpu.multiprocessor.blocks; });
  number("blocks of a cluster", [](auto &gpu) { return gpu.maxCluster(); });
  number("threads of a block", [](auto &) { return GpuDescription::maxThreads; });
  number("registers of a thread", [](auto &) { return GpuDescription::maxRegisters; });
  text += "\n| `tensor_core` | operands | sums | chips |\n| --- | --- | --- | --- |\n";
  for (const TensorCoreShape &shape : tensorCoreShapes())
    text += "| " + shape.name() + " | " + std::string(shape.operands) + " | " + std::string(shape.sums) + " | " +
            findGpuFeature(shape.feature)->chips() + " |\n";
  return text;
}

} // namespace tessera
