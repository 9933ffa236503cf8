//===- Cache.cpp - Content-addressed entries on disk ----------------------===//
//
// Entry file: "TSRC", u32 version, u64 length, u64 checksum, payload. It lies at FOLDER/ab/cdef…,
// where the key is abcdef…. Temporary files lie in FOLDER/tmp; those that a killed process left are
// removed an hour later.
//
//===----------------------------------------------------------------------===//

#include "tessera_rt/cache.h"

#include "Codec.h"
#include "Metrics.h"
#include "Status.h"
#include "tessera_rt/bundle.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace tessera::rt {

static constexpr char entryMagic[4] = {'T', 'S', 'R', 'C'};
static constexpr uint32_t entryVersion = 1;
static constexpr size_t entryHeader = 24;
static constexpr time_t staleSeconds = 3600;

namespace {
/// An open file that closes itself.
struct File {
  int fd;
  explicit File(int fd) : fd(fd) {}
  File(const File &) = delete;
  ~File() {
    if (fd >= 0)
      close(fd);
  }
};
} // namespace

std::string cacheFolder() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string folder = variable("TESSERA_CACHE"); !folder.empty())
    return folder == "off" ? "" : folder;
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return base + "/tessera";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/tessera";
  return "";
}

static bool validKey(std::string_view key) {
  if (key.size() < 8 || key.size() > 128)
    return false;
  for (char c : key)
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
      return false;
  return true;
}

static std::string shardPath(const std::string &folder, std::string_view key) {
  return folder + "/" + std::string(key.substr(0, 2));
}

static std::string entryPath(const std::string &folder, std::string_view key) {
  return shardPath(folder, key) + "/" + std::string(key.substr(2));
}

static std::optional<std::vector<uint8_t>> readFile(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

static bool writeAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

static std::optional<std::vector<uint8_t>> readEntry(std::string_view key) {
  std::string folder = cacheFolder();
  if (folder.empty() || !validKey(key))
    return std::nullopt;
  std::string path = entryPath(folder, key);
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return std::nullopt;
  auto bytes = readFile(file.fd);
  if (bytes) {
    Reader reader(*bytes);
    auto magic = reader.raw(sizeof(entryMagic));
    bool good = reader.ok() && std::memcmp(magic.data(), entryMagic, sizeof(entryMagic)) == 0;
    uint32_t version = reader.u32();
    uint64_t length = reader.u64(), sum = reader.u64();
    auto payload = reader.raw(length);
    if (good && version == entryVersion && reader.atEnd() && checksum(payload) == sum) {
      bytes->erase(bytes->begin(), bytes->begin() + entryHeader);
      return bytes;
    }
  }
  log(TESSERA_RT_LOG_INFO, "cache: deleted the damaged entry " + path);
  unlink(path.c_str());
  return std::nullopt;
}

std::optional<std::vector<uint8_t>> cacheGet(std::string_view key) {
  auto entry = readEntry(key);
  count(entry ? metrics.cacheHits : metrics.cacheMisses);
  if (entry)
    count(metrics.cacheReadBytes, entry->size());
  return entry;
}

static bool makeFolder(const std::string &path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST)
    return true;
  if (errno != ENOENT)
    return false;
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0 || !makeFolder(path.substr(0, slash)))
    return false;
  return mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

/// Removes what killed processes left behind.
static void sweep(const std::string &folder) {
  DIR *dir = opendir(folder.c_str());
  if (!dir)
    return;
  while (dirent *entry = readdir(dir)) {
    struct stat info;
    if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &info, 0) == 0 &&
        S_ISREG(info.st_mode) && info.st_mtime + staleSeconds < time(nullptr))
      unlinkat(dirfd(dir), entry->d_name, 0);
  }
  closedir(dir);
}

/// Why the entry could not be written ("" when it was).
static std::string tryPut(const std::string &folder, std::string_view key,
                          std::span<const uint8_t> bytes) {
  auto reason = [](const std::string &path) { return path + ": " + std::strerror(errno); };
  std::string shard = shardPath(folder, key), temporaries = folder + "/tmp";
  if (!makeFolder(shard))
    return reason(shard);
  if (!makeFolder(temporaries))
    return reason(temporaries);
  static std::atomic<bool> swept{false};
  if (!swept.exchange(true))
    sweep(temporaries);

  static std::atomic<uint64_t> counter{0};
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::string path = temporaries + "/" + std::to_string(getpid()) + "-" +
                     std::to_string(now.tv_sec) + "-" + std::to_string(now.tv_nsec) + "-" +
                     std::to_string(counter++);
  Writer header;
  header.raw(entryMagic, sizeof(entryMagic));
  header.u32(entryVersion);
  header.u64(bytes.size());
  header.u64(checksum(bytes));
  std::string problem;
  {
    File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.fd < 0)
      return reason(path);
    if (!writeAll(file.fd, header.bytes) || !writeAll(file.fd, bytes) || fsync(file.fd) != 0)
      problem = reason(path);
  }
  std::string target = entryPath(folder, key);
  if (problem.empty() && rename(path.c_str(), target.c_str()) != 0)
    problem = reason(target);
  if (!problem.empty())
    unlink(path.c_str());
  return problem;
}

bool cachePut(std::string_view key, std::span<const uint8_t> bytes) {
  std::string folder = cacheFolder();
  if (folder.empty() || !validKey(key))
    return false;
  std::string problem = tryPut(folder, key, bytes);
  if (problem.empty()) {
    count(metrics.cacheWrittenBytes, bytes.size());
    return true;
  }
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true))
    log(TESSERA_RT_LOG_WARNING,
        "the cache cannot be written, compiled code is not kept: " + problem);
  return false;
}

} // namespace tessera::rt

using namespace tessera::rt;

void tessera_rt_cache_key(const void *bytes, size_t length, char key[TESSERA_RT_KEY_CHARS + 1]) {
  std::string text = cacheKey({static_cast<const char *>(bytes), length});
  std::memcpy(key, text.c_str(), TESSERA_RT_KEY_CHARS + 1);
}

tessera_rt_status tessera_rt_cache_get(const char *key, void **bytes, size_t *length) {
  auto entry = cacheGet(key);
  if (!entry)
    return fail(TESSERA_RT_NOT_FOUND, "there is no cache entry " + std::string(key));
  *length = entry->size();
  *bytes = std::malloc(entry->size() ? entry->size() : 1);
  if (!*bytes)
    return fail(TESSERA_RT_OUT_OF_MEMORY, "out of memory while reading a cache entry");
  std::memcpy(*bytes, entry->data(), entry->size());
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_cache_put(const char *key, const void *bytes, size_t length) {
  if (cachePut(key, {static_cast<const uint8_t *>(bytes), length}))
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_IO, "the cache entry could not be written");
}

const char *tessera_rt_cache_folder(void) {
  static thread_local std::string folder;
  folder = cacheFolder();
  return folder.c_str();
}
