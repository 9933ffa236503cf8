//===- Chips.cpp - The table of chips as data -----------------------------===//
//
// The Python package and the tests read the table from here, so that no other list of chips exists.
//
//===----------------------------------------------------------------------===//
#include "tessera-c/tessera.h"
#include "tessera/Target/GpuDescription.h"
#include "tessera/Target/TensorCores.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace json = llvm::json;

/// "s8 u8" as an array.
static json::Array listOf(std::string_view types) {
  json::Array list;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(types).split(parts, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    list.push_back(part.str());
  return list;
}

static json::Array shapesOf(const Chip &chip) {
  json::Array shapes;
  for (const TensorCoreShape &shape : tensorCoreShapes())
    if (chip.features.has(shape.feature))
      shapes.push_back(json::Object{{"shape", shape.name()},
                                    {"operands", listOf(shape.operands)},
                                    {"accumulators", listOf(shape.accumulators)}});
  return shapes;
}

static const char *nameOf(Source source) {
  switch (source) {
  case Source::Vendor:
    return "vendor";
  case Source::Measured:
    return "measured";
  case Source::Derived:
    return "derived";
  case Source::Assumed:
    return "assumed";
  }
  return "";
}

/// Numbers under their names, and where each comes from under the same name.
struct Numbers {
  json::Object values, sources;

  template <typename Number> void add(const char *name, const Sourced<Number> &number) {
    values[name] = number.value;
    sources[name] = nameOf(number.source);
  }
};

static json::Object describe(const Chip &chip) {
  json::Array features;
  for (GpuFeature feature : kGpuFeatures)
    if (chip.features.has(feature))
      features.push_back(std::string(nameOf(feature)));
  Numbers limits, peak, reached;
  limits.add("sm_count", chip.sm.count);
  limits.add("warps_per_sm", chip.sm.warps);
  limits.add("ctas_per_sm", chip.sm.ctas);
  limits.add("shared_bytes_per_sm", chip.sm.sharedBytes);
  limits.add("shared_bytes_per_cta", chip.sm.sharedBytesPerCta);
  limits.add("ctas_per_cluster", chip.maxCluster);
  limits.add("l2_bytes", chip.l2Bytes);
  auto addShared = [&](const char *name, int64_t value) {
    limits.add(name, Sourced<int64_t>{value});
  };
  addShared("threads_per_cta", CudaLimits::threadsPerCta);
  addShared("registers_per_thread", CudaLimits::registersPerThread);
  addShared("registers_per_sm", CudaLimits::registersPerSm);
  if (chip.features.has(GpuFeature::Tma)) {
    addShared("bulk_alignment", CudaLimits::bulkAlignment);
    addShared("tma_dims", CudaLimits::tmaDims);
    addShared("tma_box_elements", CudaLimits::tmaBoxElements);
  }
  peak.add("terabytes_per_second", chip.peak.bytes);
  peak.add("tflops_fp32", chip.peak.vector);
  peak.add("tflops_mma8", chip.peak.mma8);
  peak.add("tflops_mma16", chip.peak.mma16);
  peak.add("tflops_tf32", chip.peak.tf32);
  peak.add("tflops_mma64", chip.peak.mma64);
  peak.add("launch_seconds", chip.peak.launchSeconds);
  auto addReached = [&](const char *name, const Sourced<double> &number) {
    if (number)
      reached.add(name, number);
  };
  addReached("copy_terabytes_per_second", chip.reached.copyBytes);
  addReached("tflops_mma16", chip.reached.mma16);
  addReached("graph_kernel_seconds", chip.reached.graphKernelSeconds);
  return json::Object{{"chip", chip.name()},
                      {"product", std::string(chip.product)},
                      {"ptx", std::string(chip.ptxName)},
                      {"ptx_version", chip.ptxVersion},
                      {"first_cuda", chip.firstCuda},
                      {"last_cuda", chip.lastCuda},
                      {"features", std::move(features)},
                      {"mma", shapesOf(chip)},
                      {"limits", std::move(limits.values)},
                      {"peak", std::move(peak.values)},
                      {"reached", std::move(reached.values)},
                      {"sources", json::Object{{"limits", std::move(limits.sources)},
                                               {"peak", std::move(peak.sources)},
                                               {"reached", std::move(reached.sources)}}}};
}

const char *tessera_chips(void) {
  static const std::string text = [] {
    json::Array all;
    for (const Chip &chip : chips())
      all.push_back(describe(chip));
    std::string out;
    llvm::raw_string_ostream(out) << llvm::formatv("{0:2}\n", json::Value(std::move(all)));
    return out;
  }();
  return text.c_str();
}

double tessera_occupancy(const char *chip, int64_t threads, int64_t registers,
                         int64_t shared_bytes) {
  std::optional<GpuDescription> gpu = GpuDescription::from(chip ? chip : "");
  return gpu ? gpu->occupancy(threads, registers, shared_bytes) : -1;
}
