//===- cache.h - Content-addressed entries on disk ------------------------===//
//
// The folder is $TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// TESSERA_CACHE=off disables the cache. $TESSERA_SHARED_CACHE may name a second, read-only cache.
// Loaded files belong to this user or to root, and nobody else can write them; docs/cache.md has
// the rules.
//
// A key is text that contains everything an entry depends on. The name of an entry is the SHA-256
// of its key; the entry contains the key, which is compared. An entry is written to a temporary
// file, synced and renamed, so that readers of any process see it complete or not at all, and a
// kill at any moment leaves at most a temporary file. A corrupt entry is deleted and is a miss. A
// folder that is full, read-only or missing gives one warning and is never an error. The least
// recently used entries are evicted when the total exceeds $TESSERA_CACHE_SIZE.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CACHE_H
#define TESSERA_RT_CACHE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::rt {

/// The hexadecimal SHA-256 of `bytes`: of a key, the name of its entry.
std::string cacheKey(std::string_view bytes);

/// The folders, from the current environment; empty if there are none.
std::string cacheFolder();
std::string sharedCacheFolder();

std::optional<std::vector<uint8_t>> cacheGet(std::string_view key);

/// Whether the entry is on disk now.
bool cachePut(std::string_view key, std::span<const uint8_t> bytes);

/// Adds a line to an entry that is a set of lines, of which the latest are kept. cacheGet returns
/// those of this user's cache and of the shared one, the latest last.
bool cacheAddLine(std::string_view key, std::string_view line);

/// A text file in the folder itself, for human-readable tables: "tuning-sm_90.txt".
struct CacheTable {
  std::string path, text;
};
/// This user's, otherwise the shared cache's.
std::optional<CacheTable> cacheTable(std::string_view name);
bool cachePutTable(std::string_view name, std::string_view text);

} // namespace tessera::rt

#endif // TESSERA_RT_CACHE_H
