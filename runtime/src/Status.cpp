//===- Status.cpp - Errors, logging, versions -----------------------------===//

#include "Status.h"

#include "Metrics.h"
#include "tessera_rt/target.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace tessera::rt {

static thread_local std::string lastError;

tessera_rt_status fail(tessera_rt_status status, std::string message) {
  lastError = std::move(message);
  if (status != TESSERA_RT_MISMATCH && status != TESSERA_RT_NOT_FOUND)
    count(metrics.errors);
  return status;
}

static constexpr const char *levelNames[] = {"warning", "info", "debug"};

static void writeLine(tessera_rt_log_level level, const std::string &text) {
  // A single write, so that lines of several threads and processes do not mix.
  std::string line = std::string("tessera: ") + levelNames[level] + ": " + text + "\n";
  ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  (void)written;
}

static int logThreshold() {
  static const int threshold = [] {
    const char *text = std::getenv("TESSERA_LOG");
    if (!text || !*text)
      return int(TESSERA_RT_LOG_WARNING);
    for (int level = TESSERA_RT_LOG_WARNING; level <= TESSERA_RT_LOG_DEBUG; ++level)
      if (!std::strcmp(text, levelNames[level]))
        return level;
    writeLine(TESSERA_RT_LOG_WARNING,
              "TESSERA_LOG: expected warning, info or debug, got '" + std::string(text) + "'");
    return int(TESSERA_RT_LOG_WARNING);
  }();
  return threshold;
}

void log(tessera_rt_log_level level, const std::string &text) {
  if (level <= logThreshold())
    writeLine(level, text);
}

std::string formatBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit < 6; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

} // namespace tessera::rt

using namespace tessera::rt;

uint32_t tessera_rt_abi_version(void) { return TESSERA_RT_ABI_VERSION; }

const char *tessera_rt_version(void) { return TESSERA_RT_VERSION_STRING; }

const char *tessera_rt_last_error(void) { return lastError.c_str(); }

const char *tessera_rt_host_target(void) { return hostTarget().c_str(); }

void tessera_rt_log(tessera_rt_log_level level, const char *text) {
  if (level >= TESSERA_RT_LOG_WARNING && level <= TESSERA_RT_LOG_DEBUG)
    log(level, text);
}

int32_t tessera_rt_log_enabled(tessera_rt_log_level level) { return level <= logThreshold(); }

void tessera_rt_free(void *bytes) { std::free(bytes); }
