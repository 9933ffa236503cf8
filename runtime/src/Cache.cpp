//===- Cache.cpp - Content-addressed entries on disk ----------------------===//

#include "tessera_rt/cache.h"

#include "CacheFiles.h"
#include "Metrics.h"
#include "Status.h"

#include <cstdlib>
#include <cstring>
#include <time.h>
#include <unistd.h>

namespace tessera::rt {

using namespace cache;

/// The resolution of an entry's last use: an update costs a write to the disk.
static constexpr time_t stampSeconds = 60;

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string cacheFolder() {
  if (std::string folder = variable("TESSERA_CACHE"); !folder.empty())
    return folder == "off" ? "" : folder;
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return base + "/tessera";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/tessera";
  return "";
}

std::string sharedCacheFolder() { return variable("TESSERA_SHARED_CACHE"); }

/// Reports a folder or file that exists and is not trusted; a missing one is not reported.
static bool isRefused(const Opened &opened, const std::string &path) {
  if (opened.isDistrusted)
    warnOnce("cache: nothing is loaded from " + path + ": " + opened.problem);
  return !opened.ok();
}

/// Records that an entry is in use, for eviction.
static void stamp(const Opened &file) {
  if (file.info.st_mtime + stampSeconds < time(nullptr))
    futimens(file.fd(), nullptr);
}

static std::optional<Loaded> readEntry(const Place &place, std::string_view key) {
  std::string hash = cacheKey(key), path = place.path + "/" + shardOf(hash);
  Opened folder = openPlace(place);
  if (isRefused(folder, place.path))
    return std::nullopt;
  Opened shard = openFolder(folder.fd(), shardOf(hash));
  if (isRefused(shard, path))
    return std::nullopt;
  path += "/" + fileOf(hash);
  Opened file = openFile(shard.fd(), fileOf(hash));
  if (isRefused(file, path))
    return std::nullopt;
  Loaded loaded;
  Verdict verdict = load(file, loaded);
  if (verdict.kind == Verdict::Good && loaded.entry.key != key)
    verdict = {Verdict::Damaged, "it was made for another key"};
  if (verdict.kind == Verdict::Good) {
    if (!place.isShared)
      stamp(file);
    return loaded;
  }
  bool isDamaged = verdict.kind == Verdict::Damaged;
  log(TESSERA_RT_LOG_INFO, std::string("cache: the ") + (isDamaged ? "damaged " : "") + "entry " +
                               path + " is not used: " + verdict.reason);
  if (!place.isShared && isDamaged)
    unlinkat(shard.fd(), fileOf(hash).c_str(), 0);
  return std::nullopt;
}

static std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

static std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// Lines are merged from both caches; of other entries the first one is used.
static std::optional<std::vector<uint8_t>> find(std::string_view key) {
  std::optional<Loaded> own, shared;
  if (std::optional<Place> place = ownPlace())
    own = readEntry(*place, key);
  std::optional<Place> behind = sharedPlace();
  if (behind && (!own || own->entry.flags & linesFlag))
    shared = readEntry(*behind, key);
  if (own && shared && shared->entry.flags & linesFlag) {
    std::string all = joinLines(textOf(shared->entry.payload), textOf(own->entry.payload));
    return std::vector<uint8_t>(all.begin(), all.end());
  }
  std::optional<Loaded> &found = own ? own : shared;
  if (!found)
    return std::nullopt;
  size_t head = found->bytes.size() - found->entry.payload.size();
  found->bytes.erase(found->bytes.begin(), found->bytes.begin() + static_cast<ptrdiff_t>(head));
  return std::move(found->bytes);
}

std::optional<std::vector<uint8_t>> cacheGet(std::string_view key) {
  auto entry = find(key);
  count(entry ? metrics.cacheHits : metrics.cacheMisses);
  if (entry)
    count(metrics.cacheReadBytes, entry->size());
  return entry;
}

/// Counts a write, or warns once that writing fails.
static bool isWritten(const std::string &problem, size_t bytes) {
  if (problem.empty())
    count(metrics.cacheWrittenBytes, bytes);
  else
    warnOnce("the cache cannot be written, compiled code is not kept: " + problem);
  return problem.empty();
}

static bool put(const Entry &entry) {
  std::optional<Place> place = ownPlace();
  if (!place)
    return false;
  uint64_t bytes = entry.key.size() + entry.payload.size();
  if (entry.key.size() > maxKeyBytes || bytes > maxPayloadBytes || bytes > limit()) {
    log(TESSERA_RT_LOG_INFO,
        "cache: an entry of " + formatBytes(bytes) + " is too large to be kept");
    return false;
  }
  return isWritten(store(*place, entry), entry.payload.size());
}

bool cachePut(std::string_view key, std::span<const uint8_t> bytes) { return put({0, key, bytes}); }

bool cacheAddLine(std::string_view key, std::string_view line) {
  std::optional<Place> place = ownPlace();
  if (!place)
    return false;
  std::optional<Loaded> known = readEntry(*place, key);
  std::string old(known ? textOf(known->entry.payload) : std::string_view());
  std::string all = joinLines(old, line);
  return all == old || put({linesFlag, key, bytesOf(all)});
}

static std::optional<CacheTable> readTable(const Place &place, const std::string &name) {
  CacheTable table{place.path + "/" + name, ""};
  Opened folder = openPlace(place);
  if (isRefused(folder, place.path))
    return std::nullopt;
  Opened file = openFile(folder.fd(), name);
  std::vector<uint8_t> bytes;
  if (isRefused(file, table.path))
    return std::nullopt;
  if (static_cast<uint64_t>(file.info.st_size) > maxTableBytes || !readWhole(file, bytes)) {
    warnOnce("cache: nothing is loaded from " + table.path + ": expected at most " +
             formatBytes(maxTableBytes));
    return std::nullopt;
  }
  table.text.assign(bytes.begin(), bytes.end());
  return table;
}

std::optional<CacheTable> cacheTable(std::string_view name) {
  if (!isTableName(name))
    return std::nullopt;
  for (const std::optional<Place> &place : {ownPlace(), sharedPlace()})
    if (place)
      if (std::optional<CacheTable> table = readTable(*place, std::string(name)))
        return table;
  return std::nullopt;
}

bool cachePutTable(std::string_view name, std::string_view text) {
  std::optional<Place> place = ownPlace();
  if (!place || !isTableName(name) || text.size() > maxTableBytes)
    return false;
  Opened folder = makePlace(*place);
  if (!folder.ok())
    return isWritten(place->path + ": " + folder.problem, 0);
  int failure;
  return isWritten(
      writeWhole(*place, folder.fd(), folder.fd(), std::string(name), bytesOf(text), failure),
      text.size());
}

} // namespace tessera::rt

using namespace tessera::rt;

void tessera_rt_cache_key(const void *bytes, size_t length, char key[TESSERA_RT_KEY_CHARS + 1]) {
  std::string text = cacheKey({static_cast<const char *>(bytes), length});
  std::memcpy(key, text.c_str(), TESSERA_RT_KEY_CHARS + 1);
}

/// A copy for tessera_rt_free.
static tessera_rt_status give(const void *from, size_t size, void **bytes, size_t *length) {
  *length = size;
  *bytes = std::malloc(size ? size : 1);
  if (!*bytes)
    return fail(TESSERA_RT_OUT_OF_MEMORY, "out of memory while reading the cache");
  std::memcpy(*bytes, from, size);
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_cache_get(const char *key, void **bytes, size_t *length) {
  auto entry = cacheGet(key);
  if (!entry)
    return fail(TESSERA_RT_NOT_FOUND, "there is no cache entry " + cacheKey(key));
  return give(entry->data(), entry->size(), bytes, length);
}

tessera_rt_status tessera_rt_cache_put(const char *key, const void *bytes, size_t length) {
  if (cachePut(key, {static_cast<const uint8_t *>(bytes), length}))
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_IO, "the cache entry could not be written");
}

tessera_rt_status tessera_rt_cache_add_line(const char *key, const char *line) {
  if (cacheAddLine(key, line))
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_IO, "the cache entry could not be written");
}

tessera_rt_status tessera_rt_cache_get_table(const char *name, void **bytes, size_t *length) {
  auto table = cacheTable(name);
  if (!table)
    return fail(TESSERA_RT_NOT_FOUND, "the cache has no table " + std::string(name));
  return give(table->text.data(), table->text.size(), bytes, length);
}

tessera_rt_status tessera_rt_cache_put_table(const char *name, const void *bytes, size_t length) {
  if (cachePutTable(name, {static_cast<const char *>(bytes), length}))
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_IO, "the table " + std::string(name) + " could not be written");
}

const char *tessera_rt_cache_folder(void) {
  static thread_local std::string folder;
  folder = cacheFolder();
  return folder.c_str();
}

const char *tessera_rt_cache_shared_folder(void) {
  static thread_local std::string folder;
  folder = sharedCacheFolder();
  return folder.c_str();
}
