//===- CacheArchive.cpp - A cache as one file -----------------------------===//
//
// The format of an archive:
//
//   header    "TSRA", u32 version, u64 total length, u64 records, u64 checksum of the header
//   record    u32 kind, u32 bytes of its name, u64 bytes, u64 checksum of name and bytes, name,
//             bytes
//
// A record is an entry, in the format of its file, or a measurement table with its name. Archives
// are untrusted: the path of an entry follows from its key, names of tables have a fixed form, and
// all records are checked before the first of them is imported.
//
//===----------------------------------------------------------------------===//

#include "CacheFiles.h"

#include "Codec.h"
#include "Status.h"
#include "tessera_rt/bundle.h"
#include "tessera_rt/cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cache;

namespace {

constexpr char archiveMagic[4] = {'T', 'S', 'R', 'A'};
constexpr uint32_t archiveVersion = 1;
constexpr size_t headerBytes = 32, recordBytes = 24;
enum RecordKind : uint32_t { EntryRecord = 1, TableRecord = 2 };

std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::vector<uint8_t> headerOf(uint64_t total, uint64_t records) {
  Writer writer;
  writer.raw(archiveMagic, sizeof(archiveMagic));
  writer.u32(archiveVersion);
  writer.u64(total);
  writer.u64(records);
  writer.u64(checksum(writer.bytes));
  return std::move(writer.bytes);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// An archive that is written under a temporary name.
class ArchiveWriter {
public:
  explicit ArchiveWriter(const std::string &path)
      : path(path), part(path + ".part-" + std::to_string(getpid())) {
    file = std::fopen(part.c_str(), "wbx");
    if (file)
      put(headerOf(0, 0));
    else
      failure = errno;
  }
  ~ArchiveWriter() {
    if (file) {
      std::fclose(file);
      unlink(part.c_str());
    }
  }
  ArchiveWriter(const ArchiveWriter &) = delete;

  void add(RecordKind kind, std::string_view name, std::span<const uint8_t> bytes) {
    Writer body;
    body.raw(name.data(), name.size());
    body.raw(bytes.data(), bytes.size());
    Writer head;
    head.u32(kind);
    head.u32(static_cast<uint32_t>(name.size()));
    head.u64(bytes.size());
    head.u64(checksum(body.bytes));
    put(head.bytes);
    put(body.bytes);
    ++records;
  }

  /// Returns why it could not be written.
  std::string finish() {
    uint64_t length = total;
    if (!failure && std::fseek(file, 0, SEEK_SET) != 0)
      failure = errno;
    put(headerOf(length, records));
    if (!failure && (std::fflush(file) != 0 || fsync(fileno(file)) != 0 ||
                     std::rename(part.c_str(), path.c_str()) != 0))
      failure = errno;
    if (failure)
      return path + ": " + std::strerror(failure);
    std::fclose(std::exchange(file, nullptr));
    return "";
  }

private:
  void put(std::span<const uint8_t> bytes) {
    if (!failure && std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
      failure = errno;
    total += bytes.size();
  }

  std::string path, part;
  FILE *file = nullptr;
  int failure = 0;
  uint64_t total = 0, records = 0;
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

struct Record {
  uint32_t kind = 0;
  std::string name;
  std::vector<uint8_t> bytes;
  Entry entry; // of an entry
};

/// Reads records in order; allocations are bounded by the file.
class ArchiveReader {
public:
  /// Returns the error in the file.
  std::string open(const std::string &path) {
    file.file = Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file.fd() < 0 || fstat(file.fd(), &file.info) != 0)
      return std::strerror(errno);
    if (!S_ISREG(file.info.st_mode))
      return "expected a regular file";
    length = static_cast<uint64_t>(file.info.st_size);
    return rewind();
  }

  std::string rewind() {
    position = 0;
    std::vector<uint8_t> header;
    bool isRead = read(headerBytes, header);
    if (!isRead || std::memcmp(header.data(), archiveMagic, sizeof(archiveMagic)) != 0)
      return "it is no archive of a cache: it does not start with TSRA";
    Reader reader(header);
    reader.u32();
    if (uint32_t version = reader.u32(); version != archiveVersion)
      return "it is of version " + std::to_string(version) + ", this release reads version " +
             std::to_string(archiveVersion);
    uint64_t total = reader.u64();
    records = reader.u64();
    if (headerOf(total, records) != header)
      return "the checksum of its header does not match";
    if (total != length)
      return "expected " + std::to_string(total) + " bytes, found " + std::to_string(length) +
             (length < total ? ": it is truncated" : "");
    return "";
  }

  bool atEnd() const { return position == length; }
  uint64_t count() const { return records; }

  /// Returns the error in the next record.
  std::string next(Record &record) {
    std::vector<uint8_t> head, body;
    if (!read(recordBytes, head))
      return "it is truncated";
    Reader reader(head);
    record.kind = reader.u32();
    uint64_t nameBytes = reader.u32(), bytes = reader.u64(), sum = reader.u64();
    if (bytes > maxEntryBytes || nameBytes > 128 || !read(nameBytes + bytes, body))
      return "its length is too large";
    if (checksum(body) != sum)
      return "its checksum does not match";
    record.name.assign(body.begin(), body.begin() + static_cast<ptrdiff_t>(nameBytes));
    record.bytes.assign(body.begin() + static_cast<ptrdiff_t>(nameBytes), body.end());
    if (record.kind == EntryRecord) {
      Verdict verdict = decode(record.bytes, record.entry);
      return record.name.empty() ? verdict.reason : "expected an entry without a name";
    }
    if (record.kind != TableRecord || !isMeasuredTable(record.name) || bytes > maxTableBytes)
      return "it is neither an entry nor a table of measurements";
    return "";
  }

private:
  bool read(uint64_t size, std::vector<uint8_t> &bytes) {
    if (size > length - position)
      return false;
    bytes.resize(size);
    for (size_t done = 0; done < size;) {
      ssize_t got =
          pread(file.fd(), bytes.data() + done, size - done, static_cast<off_t>(position + done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      done += static_cast<size_t>(got);
    }
    position += size;
    return true;
  }

  Opened file;
  uint64_t length = 0, position = 0, records = 0;
};

/// Reads all records; stops at the first that `take` or the reader rejects.
std::string forEachRecord(ArchiveReader &reader,
                          const std::function<std::string(const Record &)> &take) {
  if (std::string problem = reader.rewind(); !problem.empty())
    return problem;
  uint64_t number = 0;
  for (; !reader.atEnd(); ++number) {
    Record record;
    std::string problem = reader.next(record);
    if (!problem.empty())
      return "record " + std::to_string(number) + ": " + problem;
    if (problem = take(record); !problem.empty())
      return problem;
  }
  if (number != reader.count())
    return "expected " + std::to_string(reader.count()) + " records, found " +
           std::to_string(number);
  return "";
}

/// Imports one record into a cache; returns the reason on failure.
std::string import(const Place &place, const Record &record, tessera_rt_cache_imported &result) {
  Opened folder = makePlace(place), shard, file;
  if (!folder.ok())
    return place.path + ": " + folder.problem;
  if (record.kind == TableRecord) {
    file = openFile(folder.fd(), record.name);
    std::vector<uint8_t> own;
    if (file.ok() && readWhole(file, own)) {
      ++(own == record.bytes ? result.tables_known : result.tables_kept);
      return "";
    }
    int failure;
    ++result.tables;
    return writeWhole(place, folder.fd(), folder.fd(), record.name, record.bytes, failure);
  }
  std::string hash = cacheKey(record.entry.key);
  Entry entry = record.entry;
  std::string lines;
  shard = openFolder(folder.fd(), shardOf(hash));
  if (shard.ok())
    file = openFile(shard.fd(), fileOf(hash));
  Loaded known;
  if (shard.ok() && file.ok() && load(file, known).kind == Verdict::Good &&
      known.entry.key == entry.key) {
    if (entry.flags & linesFlag)
      lines = joinLines(textOf(entry.payload), textOf(known.entry.payload));
    if (lines.empty() || lines == textOf(known.entry.payload)) {
      ++result.known;
      return "";
    }
    entry.payload = {reinterpret_cast<const uint8_t *>(lines.data()), lines.size()};
  }
  ++result.entries;
  result.bytes += record.bytes.size();
  return store(place, entry);
}

} // namespace

tessera_rt_status tessera_rt_cache_export(const char *path, tessera_rt_cache_tell tell, void *user,
                                          uint64_t *entries, uint64_t *bytes) {
  *entries = *bytes = 0;
  std::optional<Place> place = ownPlace();
  if (!place)
    return fail(TESSERA_RT_NOT_FOUND,
                "there is no cache: TESSERA_CACHE is off, or no home is named");
  Opened folder = openPlace(*place);
  if (!folder.ok() && !folder.isMissing)
    return fail(TESSERA_RT_IO, "the cache " + place->path + " is not used: " + folder.problem);
  ArchiveWriter writer(path);
  if (folder.ok()) {
    auto refuse = [&](const std::string &name, const std::string &reason) {
      tell(user, (place->path + "/" + name).c_str(), reason.c_str());
    };
    walk(
        folder.fd(),
        [&](int shard, const std::string &hash, const struct stat &) {
          Opened file = openFile(shard, fileOf(hash));
          Loaded loaded;
          Verdict verdict =
              file.ok() ? load(file, loaded) : Verdict{Verdict::Damaged, file.problem};
          if (verdict.kind == Verdict::Good && cacheKey(loaded.entry.key) != hash)
            verdict = {Verdict::Damaged, "it was made for another key"};
          if (verdict.kind != Verdict::Good) {
            if (!file.isMissing)
              refuse(shardOf(hash) + "/" + fileOf(hash), verdict.reason);
            return;
          }
          writer.add(EntryRecord, "", loaded.bytes);
          ++*entries;
          *bytes += loaded.bytes.size();
        },
        refuse);
    for (const std::string &name : namesIn(folder.fd()))
      if (isMeasuredTable(name))
        if (auto table = cacheTable(name))
          writer.add(TableRecord, name,
                     {reinterpret_cast<const uint8_t *>(table->text.data()), table->text.size()});
  }
  std::string problem = writer.finish();
  return problem.empty() ? TESSERA_RT_OK : fail(TESSERA_RT_IO, problem);
}

tessera_rt_status tessera_rt_cache_import(const char *path, int32_t shared,
                                          tessera_rt_cache_imported *result) {
  tessera_rt_cache_imported imported = {};
  imported.struct_bytes = result->struct_bytes;
  std::optional<Place> place = shared ? sharedPlace() : ownPlace();
  if (!place)
    return fail(TESSERA_RT_NOT_FOUND,
                shared ? "there is no shared cache: TESSERA_SHARED_CACHE names none"
                       : "there is no cache: TESSERA_CACHE is off, or no home is named");
  auto refuse = [&](const std::string &problem) {
    return fail(TESSERA_RT_INVALID, std::string(path) + ": " + problem);
  };
  ArchiveReader reader;
  uint64_t bytes = 0;
  if (std::string problem = reader.open(path); !problem.empty())
    return refuse(problem);
  if (std::string problem = forEachRecord(reader,
                                          [&](const Record &record) {
                                            bytes += record.bytes.size();
                                            return std::string();
                                          });
      !problem.empty())
    return refuse(problem);
  std::string malformed;
  uint64_t most = limitFromEnvironment(malformed);
  if (!malformed.empty())
    return fail(TESSERA_RT_INVALID, malformed);
  if (!shared && bytes > most)
    return refuse("it holds " + formatBytes(bytes) + ", and the cache is limited to " +
                  formatBytes(most) + "; TESSERA_CACHE_SIZE sets that");
  std::string problem =
      forEachRecord(reader, [&](const Record &record) { return import(*place, record, imported); });
  if (!problem.empty())
    return fail(TESSERA_RT_IO, problem);
  std::memcpy(result, &imported, std::min<uint64_t>(result->struct_bytes, sizeof(imported)));
  return TESSERA_RT_OK;
}
