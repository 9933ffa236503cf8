//===- Devices.cpp - `tessera devices` ------------------------------------===//
//
// A table of the processor and the GPUs, with the targets to compile for; `--json` writes what the
// compiler knows of them. `--chips` writes the table of all GPUs that code can be compiled for.
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include "tessera_rt/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tessera::cli {

namespace {

using Row = std::vector<std::string>;

std::string bytesText(uint64_t bytes) {
  if (!bytes)
    return "-";
  const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

/// The processor's name as its maker writes it, where the system tells.
std::string processorName(const std::string &otherwise) {
  std::string name = otherwise;
  FILE *file = std::fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && std::fgets(line, sizeof line, file)) {
    const char *value = std::strstr(line, ": ");
    if (std::strncmp(line, "model name", 10) == 0 && value) {
      name.assign(value + 2, std::strcspn(value + 2, "\n"));
      break;
    }
  }
  if (file)
    std::fclose(file);
  return name;
}

bool addRow(std::vector<Row> &rows, int32_t device, const std::string &name) {
  tessera_rt_device_info info = {};
  info.struct_bytes = sizeof info;
  if (tessera_rt_device_get_info(device, &info) != TESSERA_RT_OK)
    return false;
  bool isCpu = device == TESSERA_RT_DEVICE_CPU;
  rows.push_back({name, info.target, std::to_string(info.sm_count) + (isCpu ? " threads" : " SMs"),
                  bytesText(info.memory_bytes), bytesText(info.l2_bytes),
                  isCpu ? processorName(info.name) : info.name});
  return true;
}

void print(const std::vector<Row> &rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line += std::string(widths[i] + 2 - row[i].size(), ' ');
    }
    std::printf("%s\n", line.c_str());
  }
}

} // namespace

int devices(const Options &options) {
  if (options.json || options.chips) {
    const char *text = options.chips ? tessera_chips() : tessera_devices();
    return writeOutput("-", text, std::strlen(text)) ? Success : Failure;
  }
  std::vector<Row> rows = {{"DEVICE", "TARGET", "UNITS", "MEMORY", "L2", "NAME"}};
  if (!addRow(rows, TESSERA_RT_DEVICE_CPU, "cpu"))
    return usageError(tessera_rt_last_error());
  int32_t count = 0;
  std::string reason;
  if (tessera_rt_device_count(TESSERA_RT_KIND_CUDA, &count) != TESSERA_RT_OK)
    reason = tessera_rt_last_error();
  for (int32_t i = 0; i < count; ++i)
    if (!addRow(rows, TESSERA_RT_DEVICE_CUDA(i), "cuda:" + std::to_string(i)))
      reason = tessera_rt_last_error();
  print(rows);
  if (!reason.empty())
    std::printf("no CUDA: %s\n", reason.c_str());
  return Success;
}

} // namespace tessera::cli
