//===- CacheFiles.cpp - Opening, reading and writing cache files ----------===//

#include "CacheFiles.h"

#include "Codec.h"
#include "Status.h"
#include "tessera_rt/bundle.h"
#include "tessera_rt/cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <mutex>
#include <set>
#include <time.h>
#include <unistd.h>

namespace tessera::rt::cache {

static constexpr char entryMagic[4] = {'T', 'S', 'R', 'C'};
static constexpr size_t checksumAt = 8;
static constexpr size_t checkedFrom = 16;
static constexpr time_t staleSeconds = 3600;
static constexpr size_t mostWarnings = 100;

Descriptor::~Descriptor() {
  if (fd >= 0)
    close(fd);
}

void warnOnce(const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> reported;
  std::lock_guard lock(mutex);
  if (reported.size() < mostWarnings && reported.insert(text).second)
    log(TESSERA_RT_LOG_WARNING, text);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// A path that ends in a slash would follow a link.
static std::string withoutSlashes(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/.")))
    path.pop_back();
  return path;
}

std::optional<Place> ownPlace() {
  std::string path = cacheFolder();
  return path.empty() ? std::nullopt : std::optional(Place{withoutSlashes(path), false});
}

std::optional<Place> sharedPlace() {
  std::string path = sharedCacheFolder();
  return path.empty() ? std::nullopt : std::optional(Place{withoutSlashes(path), true});
}

/// Why a file or folder in this state is not used.
static std::string distrustOf(const struct stat &info, mode_t kind) {
  if ((info.st_mode & S_IFMT) != kind)
    return kind == S_IFDIR ? "it is no folder" : "it is no regular file";
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    std::string own = geteuid() == 0 ? "0" : std::to_string(geteuid()) + " or 0";
    return "it belongs to user " + std::to_string(info.st_uid) + ", expected " + own;
  }
  if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", info.st_mode & 07777);
    return "others can write it (mode " + std::string(mode) + "); chmod go-w cures that";
  }
  return "";
}

static Opened check(int fd, int failure, int at, const std::string &name, mode_t kind) {
  Opened opened;
  opened.file = Descriptor(fd);
  if (fd < 0) {
    struct stat info;
    bool isLink =
        fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    opened.isMissing = failure == ENOENT;
    opened.isDistrusted = isLink;
    opened.problem = isLink ? "it is a link" : std::strerror(failure);
  } else if (fstat(fd, &opened.info) != 0) {
    opened.problem = std::strerror(errno);
  } else {
    opened.problem = distrustOf(opened.info, kind);
    opened.isDistrusted = !opened.ok();
  }
  return opened;
}

Opened openFolder(int at, const std::string &name) {
  int fd = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return check(fd, errno, at, name, S_IFDIR);
}

Opened openFile(int at, const std::string &name, int flags, mode_t mode) {
  // Opening a pipe would block.
  int fd = openat(at, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
  return check(fd, errno, at, name, S_IFREG);
}

Opened makeFolder(int at, const std::string &name, mode_t mode) {
  Opened opened = openFolder(at, name);
  if (!opened.isMissing)
    return opened;
  bool isNew = mkdirat(at, name.c_str(), mode) == 0;
  if (!isNew && errno != EEXIST) {
    opened.problem = std::strerror(errno);
    return opened;
  }
  opened = openFolder(at, name);
  if (isNew && opened.ok())
    fchmod(opened.fd(), mode); // independent of the umask
  return opened;
}

static void makeParents(const std::string &path, mode_t mode) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0)
    return;
  std::string parent = path.substr(0, slash);
  if (mkdir(parent.c_str(), mode) != 0 && errno == ENOENT) {
    makeParents(parent, mode);
    mkdir(parent.c_str(), mode); // the caller that opens it reports what is missing
  }
}

Opened openPlace(const Place &place) { return openFolder(AT_FDCWD, place.path); }

Opened makePlace(const Place &place) {
  Opened opened = openPlace(place);
  if (!opened.isMissing)
    return opened;
  makeParents(place.path, place.folderMode());
  return makeFolder(AT_FDCWD, place.path, place.folderMode());
}

std::vector<std::string> namesIn(int folder) {
  std::vector<std::string> names;
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir(fd) : nullptr;
  if (!dir) {
    if (fd >= 0)
      close(fd);
    return names;
  }
  while (dirent *entry = readdir(dir))
    if (std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

bool readWhole(const Opened &file, std::vector<uint8_t> &bytes) {
  bytes.resize(static_cast<size_t>(file.info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got =
        pread(file.fd(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    done += static_cast<size_t>(got);
  }
  return true;
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

/// Removes files of killed processes.
static void sweep(int temporaries) {
  for (const std::string &name : namesIn(temporaries)) {
    struct stat info;
    if (fstatat(temporaries, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        info.st_mtime + staleSeconds < time(nullptr))
      unlinkat(temporaries, name.c_str(), 0);
  }
}

std::string writeWhole(const Place &place, int folder, int target, const std::string &name,
                       std::span<const uint8_t> bytes, int &failure) {
  failure = 0;
  Opened temporaries = makeFolder(folder, temporariesName, place.folderMode());
  if (!temporaries.ok())
    return place.path + "/" + temporariesName + ": " + temporaries.problem;
  static std::atomic<bool> swept{false};
  if (!swept.exchange(true))
    sweep(temporaries.fd());

  static std::atomic<uint64_t> counter{0};
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::string temporary = std::to_string(getpid()) + "-" + std::to_string(now.tv_sec) + "-" +
                          std::to_string(now.tv_nsec) + "-" + std::to_string(counter++);
  Opened file =
      openFile(temporaries.fd(), temporary, O_WRONLY | O_CREAT | O_EXCL, place.fileMode());
  if (!file.ok())
    return place.path + "/" + temporariesName + ": " + file.problem;
  fchmod(file.fd(), place.fileMode()); // independent of the umask
  if (writeAll(file.fd(), bytes) && fsync(file.fd()) == 0 &&
      renameat(temporaries.fd(), temporary.c_str(), target, name.c_str()) == 0)
    return "";
  failure = errno;
  unlinkat(temporaries.fd(), temporary.c_str(), 0);
  return place.path + ": " + std::strerror(failure);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

std::vector<uint8_t> encode(const Entry &entry) {
  Writer writer;
  writer.raw(entryMagic, sizeof(entryMagic));
  writer.u32(entryVersion);
  writer.u64(0);
  writer.u32(entry.flags);
  writer.u32(0);
  writer.u64(entry.key.size());
  writer.u64(entry.payload.size());
  writer.raw(entry.key.data(), entry.key.size());
  writer.raw(entry.payload.data(), entry.payload.size());
  uint64_t sum = checksum(std::span(writer.bytes).subspan(checkedFrom));
  for (unsigned i = 0; i < 8; ++i)
    writer.bytes[checksumAt + i] = static_cast<uint8_t>(sum >> (8 * i));
  return std::move(writer.bytes);
}

Verdict decode(std::span<const uint8_t> bytes, Entry &entry) {
  Reader reader(bytes);
  auto magic = reader.raw(sizeof(entryMagic));
  if (!reader.ok() || std::memcmp(magic.data(), entryMagic, sizeof(entryMagic)) != 0)
    return {Verdict::Damaged, "it does not start with TSRC"};
  uint32_t version = reader.u32();
  if (reader.ok() && version != entryVersion)
    return {Verdict::OtherVersion, "it is of version " + std::to_string(version) +
                                       ", this release reads version " +
                                       std::to_string(entryVersion)};
  uint64_t sum = reader.u64();
  if (!reader.ok() || checksum(bytes.subspan(checkedFrom)) != sum)
    return {Verdict::Damaged, "its checksum does not match"};
  entry.flags = reader.u32();
  bool hasZero = reader.u32() == 0;
  uint64_t keyBytes = reader.u64(), payloadBytes = reader.u64();
  auto key = reader.raw(keyBytes);
  entry.payload = reader.raw(payloadBytes);
  entry.key = {reinterpret_cast<const char *>(key.data()), key.size()};
  if (!hasZero || !reader.atEnd() || keyBytes > maxKeyBytes || (entry.flags & ~linesFlag) != 0)
    return {Verdict::Damaged, "its lengths do not match"};
  return {};
}

bool isHexadecimal(std::string_view text, size_t length) {
  return text.size() == length &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Verdict load(const Opened &file, Loaded &loaded) {
  uint64_t length = static_cast<uint64_t>(file.info.st_size);
  if (length > maxEntryBytes)
    return {Verdict::Damaged,
            "it has " + formatBytes(length) + ", expected at most " + formatBytes(maxEntryBytes)};
  if (!readWhole(file, loaded.bytes))
    return {Verdict::Damaged, "it cannot be read"};
  return decode(loaded.bytes, loaded.entry);
}

void walk(int folder,
          const std::function<void(int, const std::string &, const struct stat &)> &visit,
          const std::function<void(const std::string &, const std::string &)> &refuse) {
  for (const std::string &shardName : namesIn(folder)) {
    if (!isHexadecimal(shardName, 2))
      continue;
    Opened shard = openFolder(folder, shardName);
    if (!shard.ok()) {
      if (refuse && !shard.isMissing)
        refuse(shardName, shard.problem);
      continue;
    }
    for (const std::string &name : namesIn(shard.fd())) {
      struct stat info;
      if (!isHexadecimal(name, TESSERA_RT_KEY_CHARS - 2)) {
        if (refuse)
          refuse(shardName + "/" + name, "its name is not that of an entry");
      } else if (fstatat(shard.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
        visit(shard.fd(), shardName + name, info);
      }
    }
  }
}

std::string store(const Place &place, const Entry &entry) {
  std::vector<uint8_t> bytes = encode(entry);
  std::string hash = cacheKey(entry.key), problem;
  // Retried once if another process removed a folder meanwhile.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Opened folder = makePlace(place);
    if (!folder.ok())
      return place.path + ": " + folder.problem;
    Opened shard = makeFolder(folder.fd(), shardOf(hash), place.folderMode());
    if (!shard.ok())
      return place.path + "/" + shardOf(hash) + ": " + shard.problem;
    int failure;
    problem = writeWhole(place, folder.fd(), shard.fd(), fileOf(hash), bytes, failure);
    if (problem.empty() && !place.isShared)
      account(folder.fd(), bytes.size());
    if (failure != ENOENT)
      break;
  }
  return problem;
}

std::string joinLines(std::string_view first, std::string_view second) {
  std::vector<std::string_view> lines;
  for (std::string_view text : {first, second})
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      std::erase(lines, line);
      lines.push_back(line);
    }
  std::string all;
  for (size_t i = lines.size() > maxLines ? lines.size() - maxLines : 0; i < lines.size(); ++i)
    all += std::string(lines[i]) + "\n";
  return all;
}

bool isTableName(std::string_view name) {
  constexpr std::string_view ending = ".txt";
  return name.size() > ending.size() && name.size() < 128 && name.ends_with(ending) &&
         name.substr(0, name.size() - ending.size())
                 .find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

bool isMeasuredTable(std::string_view name) {
  return isTableName(name) && (name.starts_with("tuning-") || name.starts_with("backends-"));
}

} // namespace tessera::rt::cache
