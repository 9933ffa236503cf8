//===- Cache.cpp - `tessera cache` ----------------------------------------===//
#include "Program.h"
#include "tessera_rt.h"

#include <algorithm>
#include <cstdio>

namespace tessera::cli {

namespace {

int failure() {
  std::fprintf(stderr, "tessera: error: %s\n", tessera_rt_last_error());
  return Failure;
}

std::string bytesText(uint64_t bytes) {
  const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string countText(uint64_t count, const char *one, const char *many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string entriesText(uint64_t entries, uint64_t bytes) {
  return countText(entries, "entry", "entries") + ", " + bytesText(bytes);
}

/// "3000000 (2.9 MiB)"
std::string exactText(uint64_t bytes) {
  return std::to_string(bytes) + (bytes < 1024 ? "" : " (" + bytesText(bytes) + ")");
}

void tellRefused(void *, const char *path, const char *reason) {
  std::printf("%s: %s\n", path, reason);
}

void tellSkipped(void *, const char *path, const char *reason) {
  std::fprintf(stderr, "tessera: warning: %s is left out: %s\n", path, reason);
}

int statistics() {
  tessera_rt_cache_info info = {};
  info.struct_bytes = sizeof info;
  if (tessera_rt_cache_get_info(&info) != TESSERA_RT_OK)
    return failure();
  std::string folder = tessera_rt_cache_folder(), shared = tessera_rt_cache_shared_folder();
  std::vector<std::pair<std::string, std::string>> rows = {
      {"entries", std::to_string(info.entries)},
      {"bytes", exactText(info.bytes)},
      {"limit", exactText(info.limit)},
      {"folder", folder.empty() ? "none" : folder}};
  if (shared.empty()) {
    rows.emplace_back("shared folder", "none");
  } else {
    rows.emplace_back("shared entries", std::to_string(info.shared_entries));
    rows.emplace_back("shared bytes", exactText(info.shared_bytes));
    rows.emplace_back("shared folder", shared);
  }
  size_t width = 0;
  for (const auto &[name, value] : rows)
    width = std::max(width, name.size());
  for (const auto &[name, value] : rows)
    std::printf("%-*s  %s\n", int(width), name.c_str(), value.c_str());
  return Success;
}

int verify() {
  uint64_t checked = 0;
  if (tessera_rt_cache_verify(tellRefused, nullptr, &checked) != TESSERA_RT_OK)
    return failure();
  std::printf("%s would be loaded\n", countText(checked, "entry", "entries").c_str());
  return Success;
}

int clear() {
  uint64_t entries = 0, bytes = 0;
  if (tessera_rt_cache_clear(&entries, &bytes) != TESSERA_RT_OK)
    return failure();
  std::printf("removed %s\n", entriesText(entries, bytes).c_str());
  return Success;
}

int exportTo(const std::string &file) {
  uint64_t entries = 0, bytes = 0;
  if (tessera_rt_cache_export(file.c_str(), tellSkipped, nullptr, &entries, &bytes) !=
      TESSERA_RT_OK)
    return failure();
  std::printf("wrote %s to %s\n", entriesText(entries, bytes).c_str(), file.c_str());
  return Success;
}

int importFrom(const std::string &file, bool shared) {
  tessera_rt_cache_imported imported = {};
  imported.struct_bytes = sizeof imported;
  if (tessera_rt_cache_import(file.c_str(), shared, &imported) != TESSERA_RT_OK)
    return failure();
  std::printf("took %s from %s", entriesText(imported.entries, imported.bytes).c_str(),
              file.c_str());
  if (imported.known)
    std::printf("; %s there", countText(imported.known, "was", "were").c_str());
  if (imported.tables)
    std::printf("; %s of measurements", countText(imported.tables, "table", "tables").c_str());
  std::printf("\n");
  if (imported.tables_kept)
    std::fprintf(stderr,
                 "tessera: warning: %s of measurements stay as they are; code that was compiled "
                 "with those of the "
                 "file is not found\n",
                 countText(imported.tables_kept, "table", "tables").c_str());
  return Success;
}

} // namespace

int cache(const Options &options) {
  if (!options.exportTo.empty())
    return exportTo(options.exportTo);
  if (!options.importFrom.empty())
    return importFrom(options.importFrom, options.shared);
  if (options.clear)
    return clear();
  return options.verify ? verify() : statistics();
}

} // namespace tessera::cli
