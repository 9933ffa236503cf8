//===- CacheFiles.h - Files and folders that code may be loaded from ------===//
//
// Cache contents become code of this process, so nobody else may have written them. A folder or
// file is used if it belongs to this user or to root, if nobody else can write it, and if it is a
// folder or a regular file, not a link. All of this is checked on the open descriptor, and files in
// a folder are opened relative to it, so that nothing can be exchanged between check and use. Links
// in the path to a cache's folder are the user's own and are followed; the folder itself and its
// contents must not be links.
//
// Entry file: "TSRC", u32 version, u64 checksum of all that follows, u32 flags, u32 zero, u64 bytes
// of the key, u64 bytes of the payload, key, payload. Its path is FOLDER/ab/cdef…, where the
// SHA-256 of its key is abcdef…. Temporary files are in FOLDER/tmp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_CACHEFILES_H
#define TESSERA_RT_SRC_CACHEFILES_H

#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tessera::rt::cache {

/// Size limits of an entry, a key and a table: a corrupt or forged file cannot cause large
/// allocations.
inline constexpr uint64_t maxEntryBytes = 256ull << 20;
inline constexpr uint64_t maxPayloadBytes = maxEntryBytes - 4096; // with its key
inline constexpr uint64_t maxKeyBytes = 16ull << 20;
inline constexpr uint64_t maxTableBytes = 16ull << 20;
inline constexpr uint64_t defaultLimit = 2ull << 30;

/// An open file or folder, closed by the destructor.
class Descriptor {
public:
  explicit Descriptor(int fd = -1) : fd(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd; }

private:
  int fd;
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// One cache: this user's own, or the read-only shared one.
struct Place {
  std::string path;
  bool isShared = false;

  mode_t folderMode() const { return isShared ? 0755 : 0700; }
  mode_t fileMode() const { return isShared ? 0644 : 0600; }
};

/// From the current environment; nothing if it names none.
std::optional<Place> ownPlace();
std::optional<Place> sharedPlace();

/// An open file or folder, or the reason why it is not open.
struct Opened {
  Descriptor file;
  struct stat info = {};
  std::string problem;    // empty: it may be used
  bool isMissing = false; // the name does not exist
  bool isDistrusted = false;

  bool ok() const { return problem.empty(); }
  int fd() const { return file.get(); }
};

Opened openPlace(const Place &place);
/// The same; creates missing folders.
Opened makePlace(const Place &place);
Opened openFolder(int at, const std::string &name);
Opened makeFolder(int at, const std::string &name, mode_t mode);
/// `flags` in addition to those that reject links and pipes.
Opened openFile(int at, const std::string &name, int flags = O_RDONLY, mode_t mode = 0);

/// The names in a folder, in order, without . and ..
std::vector<std::string> namesIn(int folder);

/// Reads as many bytes as the file has; returns false if they cannot be read.
bool readWhole(const Opened &file, std::vector<uint8_t> &bytes);

/// Writes a file atomically: under a temporary name, synced, renamed into `target`, a folder below
/// `folder`. On failure returns the reason; `failure` is errno.
std::string writeWhole(const Place &place, int folder, int target, const std::string &name,
                       std::span<const uint8_t> bytes, int &failure);

/// Warns about a problem once per process.
void warnOnce(const std::string &text);

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

inline constexpr uint32_t entryVersion = 2;

/// The payload is a set of lines: where two caches are merged, so are the lines.
inline constexpr uint32_t linesFlag = 1;
inline constexpr size_t maxLines = 64;

struct Entry {
  uint32_t flags = 0;
  std::string_view key;
  std::span<const uint8_t> payload;
};

std::vector<uint8_t> encode(const Entry &entry);

struct Verdict {
  enum Kind { Good, OtherVersion, Damaged };
  Kind kind = Good;
  std::string reason;
};
/// The parts of an entry, as views of its bytes.
Verdict decode(std::span<const uint8_t> bytes, Entry &entry);

/// The path of an entry with this hash in its folder.
inline std::string shardOf(std::string_view hash) { return std::string(hash.substr(0, 2)); }
inline std::string fileOf(std::string_view hash) { return std::string(hash.substr(2)); }
bool isHexadecimal(std::string_view text, size_t length);

/// An entry and its bytes.
struct Loaded {
  std::vector<uint8_t> bytes;
  Entry entry;
};
/// Reads an entry that was opened.
Verdict load(const Opened &file, Loaded &loaded);

/// Calls `visit` with the folder of each entry, the entry's hash and its state, and `refuse`, if
/// given, for files that are not entries: their path below the folder, and the reason.
void walk(
    int folder,
    const std::function<void(int shard, const std::string &hash, const struct stat &)> &visit,
    const std::function<void(const std::string &path, const std::string &reason)> &refuse = {});

/// Writes an entry to a cache, replacing an existing one; on failure returns the reason.
std::string store(const Place &place, const Entry &entry);

/// The lines of both, each once; the last ones if they are too many.
std::string joinLines(std::string_view first, std::string_view second);

/// Whether a file of the folder is a measurement table, which is exported with the entries, or
/// another table.
bool isMeasuredTable(std::string_view name);
bool isTableName(std::string_view name);

//===----------------------------------------------------------------------===//
// The limit
//===----------------------------------------------------------------------===//

/// $TESSERA_CACHE_SIZE; `problem` is set if it is invalid, and the default is used.
uint64_t limitFromEnvironment(std::string &problem);
/// The same, with a warning.
uint64_t limit();

inline constexpr const char *temporariesName = "tmp";
inline constexpr const char *usageName = "usage";

/// Counts written bytes; evicts the least recently used entries above the limit.
void account(int folder, uint64_t bytes);

} // namespace tessera::rt::cache

#endif // TESSERA_RT_SRC_CACHEFILES_H
