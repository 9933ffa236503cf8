//===- ChipsPage.cpp - docs/chips.md from the tables ----------------------===//
#include "tessera/Target/Chips.h"
#include "tessera/Target/Cpus.h"
#include "tessera/Target/CudaLimits.h"
#include "tessera/Target/TensorCores.h"

#include <cstdio>

namespace tessera {

namespace {

/// A Markdown table with a column for each chip.
class Page {
public:
  void head(const char *first) {
    text += std::string(text.empty() ? "" : "\n") + "| " + first;
    for (const Chip &chip : chips())
      text += " | " + std::string(chip.ptxName);
    text += " |\n| ---";
    for (size_t i = 0; i < chips().size(); ++i)
      text += " | ---";
    text += " |\n";
  }
  template <typename Cell> void row(const std::string &name, Cell cell) {
    text += "| " + name;
    for (const Chip &chip : chips())
      text += " | " + std::string(cell(chip));
    text += " |\n";
  }

  std::string text;
};

/// The mark of a number that is not the vendor's.
std::string markOf(Source source) {
  switch (source) {
  case Source::Vendor:
    return "";
  case Source::Measured:
    return " (m)";
  case Source::Derived:
    return " (d)";
  case Source::Assumed:
    return " (a)";
  }
  return "";
}

template <typename Number> std::string textOf(const Sourced<Number> &number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", double(number.value));
  return text + markOf(number.source);
}

std::string microseconds(const Sourced<double> &seconds) {
  return textOf(Sourced<double>{seconds * 1e6, seconds.source});
}

/// A number of programs, where one was measured.
std::string reached(const Sourced<double> &number) { return number ? textOf(number) : "–"; }

void addFeatures(Page &page) {
  page.head("feature");
  for (GpuFeature feature : kGpuFeatures) {
    std::string meaning(meaningOf(feature));
    page.row("**" + std::string(nameOf(feature)) + "**" + (meaning.empty() ? "" : ": ") + meaning,
             [&](const Chip &chip) { return chip.features.has(feature) ? "yes" : "–"; });
  }
}

void addLimits(Page &page) {
  page.head("limit");
  page.row("bytes of shared memory per CTA",
           [](const Chip &chip) { return textOf(chip.sm.sharedBytesPerCta); });
  page.row("bytes of shared memory per SM",
           [](const Chip &chip) { return textOf(chip.sm.sharedBytes); });
  page.row("warps per SM", [](const Chip &chip) { return textOf(chip.sm.warps); });
  page.row("CTAs per SM", [](const Chip &chip) { return textOf(chip.sm.ctas); });
  page.row("CTAs per cluster", [](const Chip &chip) { return textOf(chip.maxCluster); });
  auto shared = [&](const char *name, int64_t value) {
    page.row(name, [&](const Chip &) { return std::to_string(value); });
  };
  shared("threads per CTA", CudaLimits::threadsPerCta);
  shared("registers per thread", CudaLimits::registersPerThread);
  shared("registers per SM", CudaLimits::registersPerSm);
  auto ofTma = [&](const char *name, int64_t value) {
    page.row(name, [&](const Chip &chip) {
      return chip.features.has(GpuFeature::Tma) ? std::to_string(value) : "–";
    });
  };
  ofTma("bytes that bulk copies are aligned to", CudaLimits::bulkAlignment);
  ofTma("dimensions of a tensor map", CudaLimits::tmaDims);
  ofTma("elements of a TMA box per dimension", CudaLimits::tmaBoxElements);
}

void addPeaks(Page &page) {
  page.head("peak");
  page.row("product", [](const Chip &chip) { return std::string(chip.product); });
  page.row("SMs", [](const Chip &chip) { return textOf(chip.sm.count); });
  page.row("MiB of L2", [](const Chip &chip) {
    return textOf(Sourced<int64_t>{chip.l2Bytes >> 20, chip.l2Bytes.source});
  });
  page.row("TB/s of device memory", [](const Chip &chip) { return textOf(chip.peak.bytes); });
  page.row("TFLOP/s, fp32 on CUDA cores",
           [](const Chip &chip) { return textOf(chip.peak.vector); });
  page.row("TFLOP/s, MMA of fp8 and int8", [](const Chip &chip) { return textOf(chip.peak.mma8); });
  page.row("TFLOP/s, MMA of fp16 and bf16",
           [](const Chip &chip) { return textOf(chip.peak.mma16); });
  page.row("TFLOP/s, MMA of tf32", [](const Chip &chip) { return textOf(chip.peak.tf32); });
  page.row("TFLOP/s, MMA of fp64", [](const Chip &chip) { return textOf(chip.peak.mma64); });
  page.row("µs, empty kernel",
           [](const Chip &chip) { return microseconds(chip.peak.launchSeconds); });
  page.row("TB/s reached by a copy in device memory",
           [](const Chip &chip) { return reached(chip.reached.copyBytes); });
  page.row("TFLOP/s reached by a GEMM of bf16",
           [](const Chip &chip) { return reached(chip.reached.mma16); });
  page.row("µs, shortest kernel of a CUDA graph", [](const Chip &chip) {
    const Sourced<double> &seconds = chip.reached.graphKernelSeconds;
    return seconds ? microseconds(seconds) : "–";
  });
  page.text += "\nNumbers are NVIDIA's unless they are marked: (m) measured here, (d) derived from "
               "others, (a) assumed. Rates are without sparsity. Predictions use the peaks. The "
               "measured numbers are those of the [results](../benchmarks/README.md) that the "
               "entry of a chip names.\n";
}

void addShapes(Page &page) {
  page.text += "\n| `tensor_core` | operands | accumulators | chips |\n| --- | --- | --- | --- |\n";
  for (const TensorCoreShape &shape : tensorCoreShapes())
    page.text += "| " + shape.name() + " | " + std::string(shape.operands) + " | " +
                 std::string(shape.accumulators) + " | " + chipsWith(shape.feature) + " |\n";
}

void addCpus(Page &page) {
  page.text += "\n| CPU | LLVM features | vector bytes | vector registers | KiB of L1 | KiB of L2 |"
               " GB/s of a copy, one core |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  auto kilobytes = [](const Sourced<int64_t> &bytes) {
    return textOf(Sourced<int64_t>{bytes >> 10, bytes.source});
  };
  auto scaled = [](const Sourced<double> &rate, double unit) {
    return textOf(Sourced<double>{rate / unit, rate.source});
  };
  for (const CpuLevel &level : cpuLevels())
    page.text += std::string("| ") +
                 (level.arch == CpuDescription::Arch::X86_64 ? "x86_64" : "aarch64") + ", " +
                 std::string(level.name) + " | " +
                 (level.features.empty() ? "–" : std::string(level.features)) + " | " +
                 std::to_string(level.vectorBytes) + " | " + std::to_string(level.vectorRegisters) +
                 " | " + kilobytes(level.l1Bytes) + " | " + kilobytes(level.l2Bytes) + " | " +
                 (level.copyBytes ? scaled(level.copyBytes, 1e9) : "–") + " |\n";
  const CpuRates &rates = cpuRates();
  page.text += "\nPredictions for CPUs use " + scaled(rates.hertz, 1e9) + " GHz, " +
               textOf(rates.vectorUnits) + " vector units and " +
               scaled(rates.memoryBytesPerCore, 1e9) + " GB/s per core, " +
               textOf(rates.amxFlopsPerCycle) + " operations per cycle for AMX, " +
               textOf(rates.bfmmlaSpeedup) + " times an fp32 FMA for BFMMLA and " +
               scaled(rates.launchSeconds, 1e-6) + " µs for an empty kernel.\n";
}

} // namespace

std::string describeChips() {
  Page page;
  addFeatures(page);
  addLimits(page);
  addShapes(page);
  addPeaks(page);
  addCpus(page);
  return page.text;
}

} // namespace tessera
