//===- CacheArchiveTest.cpp - Cache archives, valid and forged ------------===//

#include "CacheFiles.h"
#include "CacheFolder.h"
#include "Codec.h"
#include "tessera_rt/bundle.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::test;
namespace fs = std::filesystem;

namespace {

/// One record of an archive, in the format of CacheArchive.cpp.
struct Piece {
  uint32_t kind = 1;
  std::string name;
  std::vector<uint8_t> bytes;
};

std::vector<uint8_t> archiveOf(const std::vector<Piece> &pieces, uint32_t version = 1,
                               uint64_t longer = 0) {
  Writer body;
  for (const Piece &piece : pieces) {
    Writer content;
    content.raw(piece.name.data(), piece.name.size());
    content.raw(piece.bytes.data(), piece.bytes.size());
    body.u32(piece.kind);
    body.u32(static_cast<uint32_t>(piece.name.size()));
    body.u64(piece.bytes.size() + longer);
    body.u64(checksum(content.bytes));
    body.raw(content.bytes.data(), content.bytes.size());
  }
  Writer archive;
  archive.raw("TSRA", 4);
  archive.u32(version);
  archive.u64(32 + body.bytes.size());
  archive.u64(pieces.size());
  archive.u64(checksum(archive.bytes));
  archive.raw(body.bytes.data(), body.bytes.size());
  return archive.bytes;
}

struct CacheArchive : CacheTest {
  fs::path file = top / "cache.tsa", other = top / "other";
  tessera_rt_cache_imported imported = {};

  /// Another cache with entries; this one is in use.
  void fill() {
    setenv("TESSERA_CACHE", other.c_str(), 1);
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(cachePut("entry " + std::to_string(i), payload(1000, static_cast<unsigned>(i))));
    ASSERT_TRUE(cacheAddLine("lines", "one"));
    ASSERT_TRUE(cachePutTable("tuning-sm_90.txt", "a table"));
    ASSERT_TRUE(cachePutTable("tools.txt", "of this machine"));
  }
  void exportAll() {
    uint64_t entries = 0, bytes = 0;
    fill();
    ASSERT_EQ(
        tessera_rt_cache_export(
            file.c_str(), [](void *, const char *, const char *) {}, nullptr, &entries, &bytes),
        TESSERA_RT_OK)
        << tessera_rt_last_error();
    EXPECT_EQ(entries, 4u);
    setenv("TESSERA_CACHE", folder.c_str(), 1);
  }
  tessera_rt_status import(bool isShared = false) {
    imported = {};
    imported.struct_bytes = sizeof(imported);
    return tessera_rt_cache_import(file.c_str(), isShared, &imported);
  }
  /// The error for a file that is rejected; nothing of it may enter the cache.
  std::string refusal(const std::vector<uint8_t> &bytes) {
    write(file, bytes);
    EXPECT_EQ(import(), TESSERA_RT_INVALID);
    EXPECT_FALSE(fs::exists(folder));
    std::string error = tessera_rt_last_error();
    EXPECT_TRUE(error.starts_with(file.string() + ": ")) << error;
    return error.substr(file.string().size() + 2);
  }
};

TEST_F(CacheArchive, RoundTrip) {
  exportAll();
  ASSERT_EQ(import(), TESSERA_RT_OK) << tessera_rt_last_error();
  EXPECT_EQ(imported.entries, 4u);
  EXPECT_EQ(imported.tables, 1u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cacheGet("entry " + std::to_string(i)), payload(1000, static_cast<unsigned>(i)));
  EXPECT_TRUE(cacheGet("lines"));
  EXPECT_EQ(cacheTable("tuning-sm_90.txt")->text, "a table");
  EXPECT_FALSE(cacheTable("tools.txt")); // machine-specific files are not exported
  EXPECT_EQ(modeOf(folder), 0700u);
  EXPECT_EQ(modeOf(entry("entry 0")), 0600u);
  // The same bytes again, whatever the times are, and nothing new in them.
  auto before = contents(file);
  setenv("TESSERA_CACHE", folder.c_str(), 1);
  uint64_t entries = 0, bytes = 0;
  ASSERT_EQ(tessera_rt_cache_export(file.c_str(), nullptr, nullptr, &entries, &bytes),
            TESSERA_RT_OK);
  EXPECT_EQ(contents(file), before);
  ASSERT_EQ(import(), TESSERA_RT_OK);
  EXPECT_EQ(imported.entries, 0u);
  EXPECT_EQ(imported.known, 4u);
  EXPECT_EQ(imported.tables_known, 1u);
}

TEST_F(CacheArchive, CachesAreJoined) {
  exportAll();
  ASSERT_TRUE(cachePut("entry 0", payload(5, 5)));
  ASSERT_TRUE(cacheAddLine("lines", "two"));
  ASSERT_TRUE(cachePutTable("tuning-sm_90.txt", "another table"));
  ASSERT_EQ(import(), TESSERA_RT_OK) << tessera_rt_last_error();
  EXPECT_EQ(cacheGet("entry 0"), payload(5, 5)); // existing entries are kept
  EXPECT_EQ(imported.known, 1u);
  EXPECT_EQ(imported.tables_kept, 1u);
  EXPECT_EQ(cacheTable("tuning-sm_90.txt")->text, "another table");
  auto lines = cacheGet("lines");
  EXPECT_EQ(std::string(lines->begin(), lines->end()), "one\ntwo\n");
}

TEST_F(CacheArchive, IntoASharedFolder) {
  exportAll();
  EXPECT_EQ(import(true), TESSERA_RT_NOT_FOUND);
  shared = top / "new" / "shared";
  setenv("TESSERA_SHARED_CACHE", shared.c_str(), 1);
  mode_t before = umask(077);
  ASSERT_EQ(import(true), TESSERA_RT_OK) << tessera_rt_last_error();
  umask(before);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(cacheGet("entry 1"));
  EXPECT_EQ(modeOf(shared), 0755u);
  EXPECT_EQ(modeOf(sharedEntry("entry 1").parent_path()), 0755u);
  EXPECT_EQ(modeOf(sharedEntry("entry 1")), 0644u);
  EXPECT_EQ(modeOf(shared / "tuning-sm_90.txt"), 0644u);
}

TEST_F(CacheArchive, DamagedEntriesAreNotExported) {
  fill();
  folder = other;
  auto bytes = contents(entry("entry 0"));
  bytes.back() ^= 1;
  write(entry("entry 0"), bytes);
  chmod(entry("entry 1").c_str(), 0666);
  std::string reported;
  uint64_t entries = 0, size = 0;
  ASSERT_EQ(tessera_rt_cache_export(
                file.c_str(),
                [](void *user, const char *, const char *reason) {
                  *static_cast<std::string *>(user) += std::string(reason) + "; ";
                },
                &reported, &entries, &size),
            TESSERA_RT_OK);
  EXPECT_EQ(entries, 2u);
  EXPECT_NE(reported.find("its checksum does not match"), std::string::npos) << reported;
  EXPECT_NE(reported.find("others can write it"), std::string::npos) << reported;
}

TEST_F(CacheArchive, EveryTruncationIsRefused) {
  exportAll();
  const auto good = contents(file);
  for (size_t length = 0; length < good.size(); length += length < 100 ? 1 : 53)
    refusal({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)});
  auto longer = good;
  longer.push_back(0);
  EXPECT_EQ(refusal(longer), "expected " + std::to_string(good.size()) + " bytes, found " +
                                 std::to_string(good.size() + 1));
}

TEST_F(CacheArchive, EveryChangedByteIsNoticed) {
  exportAll();
  const auto good = contents(file);
  for (size_t at = 0; at < good.size(); at += at < 200 ? 1 : 29) {
    auto bytes = good;
    bytes[at] ^= 0x10;
    refusal(bytes);
  }
}

TEST_F(CacheArchive, NamesAreNotBelieved) {
  cache::Entry one{0, "key", {}};
  for (const char *name : {"../escape.txt", "/tmp/escape.txt", "tuning-../../x.txt", "tmp/x.txt",
                           "usage", "tools.txt", "tuning-SM.txt", "tuning-sm_90.txt/../x.txt", ""})
    EXPECT_EQ(refusal(archiveOf({{2, name, payload(5, 0)}})),
              "record 0: it is neither an entry nor a table of measurements")
        << name;
  EXPECT_EQ(refusal(archiveOf({{1, "ab/cdef", cache::encode(one)}})),
            "record 0: expected an entry without a name");
  EXPECT_EQ(refusal(archiveOf({{7, "", cache::encode(one)}})),
            "record 0: it is neither an entry nor a table of measurements");
  // An entry's path follows from its key.
  write(file, archiveOf({{1, "", cache::encode(one)}}));
  EXPECT_EQ(import(), TESSERA_RT_OK);
  EXPECT_TRUE(fs::exists(entry("key")));
}

TEST_F(CacheArchive, EntriesAreCheckedBeforeTheFirstIsTaken) {
  std::vector<uint8_t> good = cache::encode({0, "good", {}}), bad = cache::encode({0, "bad", {}}),
                       old = bad;
  bad.back() ^= 1;
  old[4] = 1;
  EXPECT_EQ(refusal(archiveOf({{1, "", good}, {1, "", bad}})),
            "record 1: its checksum does not match");
  EXPECT_EQ(refusal(archiveOf({{1, "", good}, {1, "", old}})),
            "record 1: it is of version 1, this release reads version 2");
  EXPECT_EQ(refusal(archiveOf({{1, "", good}, {1, "", payload(100, 0)}})),
            "record 1: it does not start with TSRC");
  EXPECT_EQ(refusal(archiveOf({{1, "", good}}, 9)),
            "it is of version 9, this release reads version 1");
}

TEST_F(CacheArchive, LengthsThatTheFileDoesNotHaveAreRefused) {
  std::vector<uint8_t> good = cache::encode({0, "good", {}});
  for (uint64_t longer : {uint64_t(1), uint64_t(1) << 30, uint64_t(1) << 62, ~uint64_t(0)})
    EXPECT_EQ(refusal(archiveOf({{1, "", good}}, 1, longer)).substr(0, 10), "record 0: ") << longer;
}

TEST_F(CacheArchive, WhatIsNoFileIsRefused) {
  file = top / "missing";
  EXPECT_EQ(import(), TESSERA_RT_INVALID);
  EXPECT_EQ(tessera_rt_last_error(), file.string() + ": No such file or directory");
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(import(), TESSERA_RT_INVALID);
  EXPECT_EQ(tessera_rt_last_error(), file.string() + ": expected a regular file");
  write(top / "text", payload(100, 0));
  file = top / "text";
  EXPECT_EQ(import(), TESSERA_RT_INVALID);
  EXPECT_EQ(tessera_rt_last_error(),
            file.string() + ": it is no archive of a cache: it does not start with TSRA");
}

TEST_F(CacheArchive, MoreThanTheLimitIsRefused) {
  exportAll();
  setenv("TESSERA_CACHE_SIZE", "2K", 1);
  EXPECT_NE(
      refusal(contents(file)).find("the cache is limited to 2.0 KiB; TESSERA_CACHE_SIZE sets that"),
      std::string::npos);
}

TEST_F(CacheArchive, ClearRemovesWhatCanBeMadeAgain) {
  fill();
  folder = other;
  write(other / "notes", payload(5, 0)); // the user's own
  uint64_t entries = 0, bytes = 0;
  ASSERT_EQ(tessera_rt_cache_clear(&entries, &bytes), TESSERA_RT_OK) << tessera_rt_last_error();
  EXPECT_EQ(entries, 4u);
  EXPECT_GT(bytes, 3000u);
  std::vector<std::string> left;
  for (const auto &one : fs::directory_iterator(other))
    left.push_back(one.path().filename());
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{"notes", "tuning-sm_90.txt"}));
  EXPECT_FALSE(cacheGet("entry 0"));
  EXPECT_TRUE(cachePut("entry 0", payload(5, 0)));
}

} // namespace
