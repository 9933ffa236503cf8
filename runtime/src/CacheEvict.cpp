//===- CacheEvict.cpp - The size limit of a cache -------------------------===//
//
// FOLDER/usage holds the total size of the cache, so that a write reads one small file and not all
// entries. Writers add to it, under a lock that is held only briefly. If the total is above the
// limit, or the file is missing, corrupt or a day old, the entries are counted, and the least
// recently used ones are removed until an eighth of the limit is free; that much can be written
// before the next count. The last use of an entry is its modification time, which readers set
// (Cache.cpp). A file that is removed while another process reads it persists until that is done.
//
// The file: "TSRU", u32 version, u64 bytes, u64 time of the count, u64 checksum.
//
//===----------------------------------------------------------------------===//

#include "CacheFiles.h"

#include "Codec.h"
#include "Status.h"
#include "tessera_rt/bundle.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sys/file.h>
#include <time.h>
#include <tuple>
#include <unistd.h>

namespace tessera::rt::cache {

static constexpr char usageMagic[4] = {'T', 'S', 'R', 'U'};
static constexpr uint32_t usageVersion = 1;
static constexpr size_t usageBytes = 32;
static constexpr uint64_t recountSeconds = 24 * 3600;
static constexpr int lockAttempts = 10;
static constexpr useconds_t lockPause = 1000;

uint64_t limitFromEnvironment(std::string &problem) {
  const char *variable = std::getenv("TESSERA_CACHE_SIZE");
  std::string_view text = variable ? variable : "";
  if (text.empty())
    return defaultLimit;
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr std::string_view units = "KMGT";
  size_t unit =
      suffix.empty()
          ? 0
          : 1 + units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0]))));
  bool isUnit = suffix.empty() || (suffix.size() == 1 && unit >= 1 && unit <= units.size());
  if (error == std::errc() && isUnit && number <= UINT64_MAX >> (10 * unit))
    return number << (10 * unit);
  problem = "TESSERA_CACHE_SIZE: expected a number of bytes such as 800000000, 512M or 2G, got '" +
            std::string(text) + "'";
  return defaultLimit;
}

uint64_t limit() {
  std::string problem;
  uint64_t bytes = limitFromEnvironment(problem);
  if (!problem.empty())
    warnOnce(problem + "; the cache is limited to " + formatBytes(bytes));
  return bytes;
}

namespace {

/// The content of `usage`.
struct Usage {
  uint64_t bytes = 0;
  uint64_t counted = 0; // seconds since 1970; 0: never

  void read(int fd) {
    std::vector<uint8_t> record(usageBytes);
    if (pread(fd, record.data(), usageBytes, 0) != static_cast<ssize_t>(usageBytes))
      return;
    Reader reader(record);
    auto magic = reader.raw(sizeof(usageMagic));
    uint32_t version = reader.u32();
    uint64_t total = reader.u64(), when = reader.u64(), sum = reader.u64();
    if (std::memcmp(magic.data(), usageMagic, sizeof(usageMagic)) == 0 && version == usageVersion &&
        sum == checksum(std::span(record).first(usageBytes - 8)))
      bytes = total, counted = when;
  }

  void write(int fd) const {
    Writer writer;
    writer.raw(usageMagic, sizeof(usageMagic));
    writer.u32(usageVersion);
    writer.u64(bytes);
    writer.u64(counted);
    writer.u64(checksum(writer.bytes));
    // An invalid record is recounted.
    if (pwrite(fd, writer.bytes.data(), usageBytes, 0) != static_cast<ssize_t>(usageBytes))
      log(TESSERA_RT_LOG_DEBUG, "cache: its size could not be recorded");
  }
};

struct Candidate {
  timespec used;
  uint64_t bytes;
  std::string hash;

  bool operator<(const Candidate &other) const {
    return std::tuple(used.tv_sec, used.tv_nsec) <
           std::tuple(other.used.tv_sec, other.used.tv_nsec);
  }
};

} // namespace

/// The total size of the entries, after evicting the least recently used ones if it exceeds the
/// limit.
static uint64_t collect(int folder, uint64_t limit) {
  std::vector<Candidate> entries;
  uint64_t total = 0;
  walk(folder, [&](int, const std::string &hash, const struct stat &info) {
    if (S_ISDIR(info.st_mode))
      return;
    entries.push_back({info.st_mtim, static_cast<uint64_t>(info.st_size), hash});
    total += entries.back().bytes;
  });
  if (total <= limit)
    return total;
  std::sort(entries.begin(), entries.end());
  uint64_t before = total;
  size_t removed = 0;
  for (const Candidate &entry : entries) {
    if (total <= limit - limit / 8)
      break;
    if (unlinkat(folder, (shardOf(entry.hash) + "/" + fileOf(entry.hash)).c_str(), 0) == 0) {
      total -= entry.bytes;
      ++removed;
    }
  }
  log(TESSERA_RT_LOG_INFO,
      "cache: evicted " + std::to_string(removed) + " entries, " + formatBytes(before - total));
  return total;
}

static bool lock(int fd) {
  for (int attempt = 0; attempt < lockAttempts; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return true;
    usleep(lockPause);
  }
  return false;
}

void account(int folder, uint64_t bytes) {
  static std::atomic<uint64_t> pending{0}; // written while another process held the lock
  pending += bytes;
  Opened file = openFile(folder, usageName, O_RDWR | O_CREAT, 0600);
  if (file.isDistrusted) { // only the count is lost
    unlinkat(folder, usageName, 0);
    file = openFile(folder, usageName, O_RDWR | O_CREAT, 0600);
  }
  if (!file.ok() || !lock(file.fd()))
    return;
  Usage usage;
  usage.read(file.fd());
  usage.bytes += pending.exchange(0);
  auto now = static_cast<uint64_t>(time(nullptr));
  uint64_t most = limit();
  if (usage.bytes > most || usage.counted + recountSeconds < now || usage.counted > now) {
    usage.bytes = collect(folder, most);
    usage.counted = now;
  }
  usage.write(file.fd());
}

} // namespace tessera::rt::cache
