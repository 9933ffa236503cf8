//===- cache.h - Content-addressed entries on disk ------------------------===//
//
// The folder is $TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera; TESSERA_CACHE=off
// names none, and nothing is kept. An entry is written to a temporary file, synced and renamed, so
// that readers of any process see it whole or not at all, and a kill at any moment leaves at most a
// temporary file behind. Entries carry their length and a checksum; a damaged one is deleted and is
// a miss. A folder that is full, read-only or missing costs one warning and is never an error.
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

/// The hexadecimal SHA-256 of `bytes`.
std::string cacheKey(std::string_view bytes);

/// The folder, from the environment as it is now; empty when none can be named.
std::string cacheFolder();

std::optional<std::vector<uint8_t>> cacheGet(std::string_view key);

/// Whether the entry is on disk now.
bool cachePut(std::string_view key, std::span<const uint8_t> bytes);

} // namespace tessera::rt

#endif // TESSERA_RT_CACHE_H
