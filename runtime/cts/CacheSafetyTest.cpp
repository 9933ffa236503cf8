//===- CacheSafetyTest.cpp - Files that others could write are never loaded -===//

#include "CacheFolder.h"

#include <cstring>
#include <fcntl.h>
#include <sys/sysmacros.h>

using namespace tessera::rt;
using namespace tessera::rt::test;
namespace fs = std::filesystem;

namespace {

/// An entry that loads until a test corrupts something.
struct CacheSafety : CacheTest {
  CacheSafety() { EXPECT_TRUE(cachePut(key, payload(10, 0))); }
  bool isLoaded() {
    testing::internal::CaptureStderr();
    bool found = cacheGet(key).has_value();
    log = testing::internal::GetCapturedStderr();
    return found;
  }
  /// The output of `verify` on the cache.
  std::string verified() {
    std::string text;
    uint64_t checked = 0;
    tessera_rt_cache_verify(
        [](void *user, const char *path, const char *reason) {
          *static_cast<std::string *>(user) += std::string(path) + ": " + reason + "\n";
        },
        &text, &checked);
    return text;
  }
  std::string log;
};

TEST_F(CacheSafety, FoldersAndFilesAreThisUsersOwn) {
  fs::remove_all(folder);
  mode_t before = umask(0);
  setenv("TESSERA_CACHE", (top / "new" / "cache").c_str(), 1);
  folder = top / "new" / "cache";
  EXPECT_TRUE(cachePut(key, payload(10, 0)));
  EXPECT_TRUE(cachePutTable("tuning-sm_90.txt", "table"));
  umask(before);
  for (const fs::path &path : {top / "new", folder, folder / "tmp", shard(key)})
    EXPECT_EQ(modeOf(path), 0700u) << path;
  for (const fs::path &path : {entry(), folder / "usage", folder / "tuning-sm_90.txt"})
    EXPECT_EQ(modeOf(path), 0600u) << path;
}

TEST_F(CacheSafety, WhatOthersCanWriteIsNotLoaded) {
  for (const fs::path &path : {folder, shard(key), entry()}) {
    mode_t before = modeOf(path);
    for (mode_t mode : {0020, 0002, 0022}) {
      chmod(path.c_str(), before | mode);
      EXPECT_FALSE(isLoaded()) << path << mode;
      EXPECT_NE(verified().find(path.string() + ": others can write it (mode 0"), std::string::npos)
          << verified();
    }
    chmod(path.c_str(), before | 0055); // read access is harmless
    EXPECT_TRUE(isLoaded()) << path;
    chmod(path.c_str(), before);
    EXPECT_EQ(verified(), "");
  }
}

TEST_F(CacheSafety, WhatBelongsToOthersIsNotLoaded) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  for (const fs::path &path : {folder, shard(key), entry()}) {
    ASSERT_EQ(lchown(path.c_str(), stranger, 0), 0);
    EXPECT_FALSE(isLoaded()) << path;
    EXPECT_NE(verified().find(path.string() + ": it belongs to user 54321, expected 0\n"),
              std::string::npos)
        << verified();
    ASSERT_EQ(lchown(path.c_str(), 0, 0), 0);
    EXPECT_TRUE(isLoaded()) << path;
  }
  // An entry in our own folder is rewritten; nothing is written into another user's folder.
  ASSERT_EQ(lchown(entry().c_str(), stranger, 0), 0);
  EXPECT_TRUE(cachePut(key, payload(5, 5)));
  EXPECT_TRUE(isLoaded());
  ASSERT_EQ(lchown(shard(key).c_str(), stranger, 0), 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cachePut(key, payload(5, 5)));
  testing::internal::GetCapturedStderr();
}

TEST_F(CacheSafety, AnotherUserLoadsWhatIsRoots) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  for (const fs::path &path : {folder, shard(key)})
    chmod(path.c_str(), 0755);
  chmod(entry().c_str(), 0644);
  auto load = [&] { return setuid(stranger) == 0 && cacheGet(key) ? 0 : 1; };
  EXPECT_EQ(inChild(load), 0);
  ASSERT_EQ(lchown(entry().c_str(), stranger, 0), 0);
  EXPECT_EQ(inChild(load), 0);
  ASSERT_EQ(lchown(entry().c_str(), stranger + 1, 0), 0);
  EXPECT_EQ(inChild(load), 1);
}

TEST_F(CacheSafety, LinksAreNotFollowed) {
  for (const fs::path &path : {folder, shard(key), entry()}) {
    fs::path elsewhere = top / "elsewhere";
    fs::rename(path, elsewhere);
    fs::create_symlink(elsewhere, path);
    EXPECT_FALSE(isLoaded()) << path;
    EXPECT_NE(verified().find(path.string() + ": it is a link\n"), std::string::npos) << verified();
    fs::remove(path);
    fs::rename(elsewhere, path);
    EXPECT_TRUE(isLoaded()) << path;
  }
  fs::path elsewhere = top / "elsewhere";
  fs::rename(folder, elsewhere);
  fs::create_symlink(elsewhere, folder);
  for (const char *ending : {"/", "//", "/.", "/./"}) {
    setenv("TESSERA_CACHE", (folder.string() + ending).c_str(), 1);
    EXPECT_FALSE(isLoaded()) << ending;
  }
  // A link in the path to the folder belongs to the user.
  fs::create_symlink(top, top / "way");
  setenv("TESSERA_CACHE", (top / "way" / "elsewhere").c_str(), 1);
  EXPECT_TRUE(isLoaded());
}

TEST_F(CacheSafety, AWriterFollowsNoLinks) {
  fs::path outside = top / "outside";
  fs::create_directory(outside);
  fs::remove_all(shard(key));
  fs::create_symlink(outside, shard(key));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  fs::remove(shard(key));
  fs::remove_all(folder / "tmp");
  fs::create_symlink(outside, folder / "tmp");
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  EXPECT_FALSE(cachePutTable("tuning-sm_90.txt", "text"));
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fs::is_empty(outside));
  // Only the link itself is removed, not its target.
  fs::remove(folder / "tmp");
  fs::create_directories(shard(key));
  write(outside / "file", payload(7, 7));
  fs::create_symlink(outside / "file", entry());
  EXPECT_TRUE(cachePut(key, payload(10, 0)));
  EXPECT_EQ(contents(outside / "file"), payload(7, 7));
  EXPECT_TRUE(isLoaded());
}

TEST_F(CacheSafety, OnlyRegularFilesAreOpened) {
  for (const char *kind : {"pipe", "folder", "device"}) {
    fs::remove_all(entry());
    if (!std::strcmp(kind, "pipe"))
      ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
    else if (!std::strcmp(kind, "folder"))
      fs::create_directory(entry());
    else if (mknod(entry().c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) // /dev/zero
      continue;                                                          // only root can create one
    EXPECT_FALSE(isLoaded()) << kind;
    EXPECT_NE(verified().find(": it is no regular file\n"), std::string::npos)
        << kind << verified();
  }
  fs::remove_all(entry());
  ASSERT_EQ(mkfifo((folder / "tuning-sm_90.txt").c_str(), 0600), 0);
  EXPECT_FALSE(cacheTable("tuning-sm_90.txt"));
  fs::remove_all(shard(key));
  ASSERT_EQ(mkfifo(shard(key).c_str(), 0600), 0);
  EXPECT_FALSE(isLoaded());
  fs::remove_all(folder);
  ASSERT_EQ(mkfifo(folder.c_str(), 0600), 0);
  EXPECT_FALSE(isLoaded());
}

TEST_F(CacheSafety, AFileOfManyBytesCostsNoMemory) {
  for (uint64_t bytes : {257ull << 20, 1ull << 40}) {
    fs::resize_file(entry(), bytes);
    EXPECT_NE(verified().find("expected at most 256.0 MiB"), std::string::npos) << verified();
    EXPECT_FALSE(isLoaded()) << bytes;
    EXPECT_TRUE(cachePut(key, payload(10, 0)));
  }
}

TEST_F(CacheSafety, TablesAreCheckedAsEntries) {
  ASSERT_TRUE(cachePutTable("tuning-sm_90.txt", "table"));
  fs::path table = folder / "tuning-sm_90.txt";
  auto isRead = [&] {
    testing::internal::CaptureStderr();
    bool found = cacheTable("tuning-sm_90.txt").has_value();
    testing::internal::GetCapturedStderr();
    return found;
  };
  EXPECT_TRUE(isRead());
  chmod(table.c_str(), 0666);
  EXPECT_FALSE(isRead());
  EXPECT_NE(verified().find(table.string() + ": others can write it"), std::string::npos);
  chmod(table.c_str(), 0644);
  EXPECT_TRUE(isRead());
  fs::rename(table, top / "elsewhere");
  fs::create_symlink(top / "elsewhere", table);
  EXPECT_FALSE(isRead());
}

TEST_F(CacheSafety, TheReasonIsToldOnce) {
  chmod(entry().c_str(), 0666);
  EXPECT_FALSE(isLoaded());
  EXPECT_EQ(log, "tessera: warning: cache: nothing is loaded from " + entry().string() +
                     ": others can write it (mode 0666); chmod go-w cures that\n");
  EXPECT_FALSE(isLoaded());
  EXPECT_EQ(log, "");
}

//===----------------------------------------------------------------------===//
// The shared cache
//===----------------------------------------------------------------------===//

TEST_F(CacheSafety, ASharedCacheStandsBehind) {
  ASSERT_TRUE(cachePut("both", payload(10, 1)));
  ASSERT_TRUE(cacheAddLine("lines", "shared"));
  ASSERT_TRUE(cachePutTable("tuning-sm_90.txt", "shared"));
  ASSERT_TRUE(cachePutTable("tuning-sm_80.txt", "shared"));
  share();
  EXPECT_TRUE(isLoaded());
  EXPECT_FALSE(fs::exists(folder)); // entries found there are not copied
  ASSERT_TRUE(cachePut("both", payload(10, 2)));
  EXPECT_EQ(cacheGet("both"), payload(10, 2));
  EXPECT_EQ(cacheTable("tuning-sm_90.txt")->text, "shared");
  ASSERT_TRUE(cachePutTable("tuning-sm_90.txt", "own"));
  EXPECT_EQ(cacheTable("tuning-sm_90.txt")->text, "own");
  EXPECT_EQ(cacheTable("tuning-sm_80.txt")->path, shared / "tuning-sm_80.txt");
  ASSERT_TRUE(cacheAddLine("lines", "own"));
  auto lines = cacheGet("lines");
  EXPECT_EQ(std::string(lines->begin(), lines->end()), "shared\nown\n");
  // It is also used if the user's cache is disabled.
  setenv("TESSERA_CACHE", "off", 1);
  EXPECT_TRUE(isLoaded());
}

TEST_F(CacheSafety, NothingChangesInASharedCache) {
  share();
  timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, sharedEntry(key).c_str(), old, 0);
  EXPECT_TRUE(isLoaded());
  struct stat info;
  ASSERT_EQ(lstat(sharedEntry(key).c_str(), &info), 0);
  EXPECT_EQ(info.st_mtime, 1000000000);
  auto bytes = contents(sharedEntry(key));
  bytes.back() ^= 1;
  write(sharedEntry(key), bytes);
  EXPECT_FALSE(isLoaded());
  EXPECT_EQ(contents(sharedEntry(key)), bytes);
}

TEST_F(CacheSafety, ASharedCacheIsRootsOrThisUsers) {
  share();
  chmod(shared.c_str(), 0777);
  EXPECT_FALSE(isLoaded());
  EXPECT_NE(log.find(shared.string() + ": others can write it (mode 0777)"), std::string::npos)
      << log;
  chmod(shared.c_str(), 0755);
  EXPECT_TRUE(isLoaded());
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(lchown(shared.c_str(), stranger, 0), 0);
  EXPECT_FALSE(isLoaded());
  EXPECT_NE(log.find("it belongs to user 54321"), std::string::npos) << log;
}

} // namespace
