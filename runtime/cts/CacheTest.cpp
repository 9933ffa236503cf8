//===- CacheTest.cpp - The disk cache: entries, eviction, a full disk -----===//

#include "CacheFiles.h"
#include "CacheFolder.h"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <thread>

using namespace tessera::rt;
using namespace tessera::rt::test;
namespace fs = std::filesystem;

namespace {

using Cache = CacheTest;

TEST(CacheKey, IsSha256) {
  EXPECT_EQ(cacheKey(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(cacheKey("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(cacheKey("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(cacheKey(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST_F(Cache, PutAndGet) {
  EXPECT_FALSE(cacheGet(key));
  for (size_t length : {0, 1, 1000, 1000000}) {
    EXPECT_TRUE(cachePut(key, payload(length, 1)));
    EXPECT_EQ(cacheGet(key), payload(length, 1));
  }
  EXPECT_TRUE(fs::is_empty(folder / "tmp"));
  void *bytes = nullptr;
  size_t length = 0;
  ASSERT_EQ(tessera_rt_cache_get(key.c_str(), &bytes, &length), TESSERA_RT_OK);
  EXPECT_EQ(length, 1000000u);
  tessera_rt_free(bytes);
  EXPECT_EQ(tessera_rt_cache_get("other", &bytes, &length), TESSERA_RT_NOT_FOUND);
  EXPECT_EQ(std::string(tessera_rt_cache_folder()), folder.string());
}

TEST_F(Cache, AnEntryHoldsItsWholeKey) {
  std::string odd = "../../etc/passwd\n\xff with a lot of text " + std::string(5000, 'x');
  ASSERT_TRUE(cachePut(odd, payload(10, 0)));
  EXPECT_EQ(cacheGet(odd), payload(10, 0));
  auto bytes = contents(entry(odd));
  EXPECT_NE(std::string(bytes.begin(), bytes.end()).find(odd), std::string::npos);
  EXPECT_FALSE(fs::exists(top / "etc"));
}

TEST_F(Cache, AnEntryOfAnotherKeyIsAMiss) {
  ASSERT_TRUE(cachePut("one", payload(10, 0)));
  ASSERT_TRUE(cachePut(key, payload(10, 1)));
  fs::rename(entry("one"), entry());
  EXPECT_FALSE(cacheGet(key));
  EXPECT_FALSE(fs::exists(entry()));
}

TEST_F(Cache, DamagedEntriesAreMissesAndGo) {
  auto good = payload(500, 7);
  ASSERT_TRUE(cachePut(key, good));
  const auto bytes = contents(entry());
  for (size_t at = 0; at < bytes.size(); at += at < 60 ? 1 : 97)
    for (unsigned bit : {1, 0x80}) {
      auto flipped = bytes;
      flipped[at] ^= static_cast<uint8_t>(bit);
      write(entry(), flipped);
      EXPECT_FALSE(cacheGet(key)) << at;
      // An entry that may belong to a later release is not touched.
      EXPECT_EQ(fs::exists(entry()), at >= 4 && at < 8) << at;
    }
  for (size_t length = 0; length < bytes.size() + 3; length += length < 60 ? 1 : 61) {
    auto cut = bytes;
    cut.resize(length);
    write(entry(), cut);
    EXPECT_EQ(cacheGet(key).has_value(), length == bytes.size()) << length;
  }
}

TEST_F(Cache, EntriesOfTheFirstVersionAreMisses) {
  // "TSRC", version 1, length, checksum, payload.
  std::vector<uint8_t> old = {'T', 'S', 'R', 'C', 1, 0, 0, 0};
  old.resize(40, 0);
  fs::create_directories(shard(key));
  write(entry(), old);
  EXPECT_FALSE(cacheGet(key));
  EXPECT_TRUE(cachePut(key, payload(3, 0)));
  EXPECT_EQ(cacheGet(key), payload(3, 0));
}

TEST_F(Cache, LinesAreAdded) {
  EXPECT_TRUE(cacheAddLine(key, "one"));
  EXPECT_TRUE(cacheAddLine(key, "two"));
  EXPECT_TRUE(cacheAddLine(key, "one"));
  auto text = [&] {
    auto found = cacheGet(key);
    return found ? std::string(found->begin(), found->end()) : "";
  };
  EXPECT_EQ(text(), "two\none\n");
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(cacheAddLine(key, std::to_string(i)));
  EXPECT_EQ(text().find("one"), std::string::npos);
  EXPECT_TRUE(text().ends_with("\n98\n99\n"));
  EXPECT_EQ(std::ranges::count(text(), '\n'), 64);
}

TEST_F(Cache, AFolderThatCannotBeWrittenIsNoError) {
  std::ofstream(folder.string()) << "a file stands where the folder should be";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 1);
  EXPECT_FALSE(cacheGet(key));
}

TEST_F(Cache, OffKeepsNothing) {
  setenv("TESSERA_CACHE", "off", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cacheFolder(), "");
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  EXPECT_FALSE(cacheAddLine(key, "line"));
  EXPECT_FALSE(cachePutTable("tuning-sm_90.txt", "text"));
  EXPECT_FALSE(cacheGet(key));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(fs::exists("off"));
}

TEST_F(Cache, FolderFromTheEnvironment) {
  unsetenv("TESSERA_CACHE");
  std::string xdg = std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "";
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(cacheFolder(), "/x/tessera");
  unsetenv("XDG_CACHE_HOME");
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("HOME", "/h", 1);
  EXPECT_EQ(cacheFolder(), "/h/.cache/tessera");
  setenv("HOME", home.c_str(), 1);
  if (!xdg.empty())
    setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}

TEST_F(Cache, TablesAreTextInTheFolder) {
  EXPECT_FALSE(cacheTable("tuning-sm_90.txt"));
  EXPECT_TRUE(cachePutTable("tuning-sm_90.txt", "a table\n"));
  auto table = cacheTable("tuning-sm_90.txt");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->text, "a table\n");
  EXPECT_EQ(table->path, folder / "tuning-sm_90.txt");
  for (const char *name :
       {"../tuning.txt", "/tuning.txt", "tuning", ".txt", "tmp", "usage", "A.txt"}) {
    EXPECT_FALSE(cachePutTable(name, "text")) << name;
    EXPECT_FALSE(cacheTable(name)) << name;
  }
  fs::resize_file(folder / "tuning-sm_90.txt", 1ull << 40);
  EXPECT_FALSE(cacheTable("tuning-sm_90.txt"));
}

//===----------------------------------------------------------------------===//
// Processes and threads
//===----------------------------------------------------------------------===//

TEST_F(Cache, ProcessesKilledWhileWritingLeaveWholeEntriesOrNone) {
  auto good = payload(200000, 9);
  setenv("TESSERA_CACHE_SIZE", "500K", 1); // they also die during eviction
  for (int round = 0; round < 30; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (int i = 0;; ++i) {
        cachePut(key, good);
        cachePut(std::to_string(i), good);
      }
    usleep(static_cast<useconds_t>(500 + 700 * round));
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    auto found = cacheGet(key);
    if (found)
      ASSERT_EQ(*found, good);
    else
      ASSERT_FALSE(fs::exists(entry()));
  }
  uint64_t checked = 0;
  EXPECT_EQ(tessera_rt_cache_verify([](void *, const char *, const char *) {}, nullptr, &checked),
            TESSERA_RT_OK);
  // Locks of dead processes are released, and their files are counted.
  EXPECT_TRUE(cachePut("last", good));
  tessera_rt_cache_info info = {};
  info.struct_bytes = sizeof(info);
  ASSERT_EQ(tessera_rt_cache_get_info(&info), TESSERA_RT_OK);
  EXPECT_LE(info.bytes, 2 * info.limit);
}

TEST_F(Cache, SeveralWritersAndReaders) {
  auto good = payload(50000, 3);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        cachePut(key, good);
        auto found = cacheGet(key);
        if (!found || *found != good)
          wrong++;
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(Cache, EvictionWhileOthersRead) {
  setenv("TESSERA_CACHE_SIZE", "400K", 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, found{0};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 60; ++i) {
        unsigned number = (i * (t + 1)) % 23;
        std::string key = "entry " + std::to_string(number);
        if (auto bytes = cacheGet(key)) {
          found++;
          wrong += *bytes != payload(50000, number);
        }
        cachePut(key, payload(50000, number));
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(found.load(), 0);
}

//===----------------------------------------------------------------------===//
// The limit
//===----------------------------------------------------------------------===//

struct CacheLimit : CacheTest {
  static constexpr size_t bytes = 100000;

  void put(int number, int age) {
    ASSERT_TRUE(cachePut(std::to_string(number), payload(bytes, 0)));
    stamp(number, age);
  }
  void stamp(int number, int age) {
    timespec when[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
    utimensat(AT_FDCWD, entry(std::to_string(number)).c_str(), when, 0);
  }
  bool has(int number) { return fs::exists(entry(std::to_string(number))); }
};

TEST_F(CacheLimit, IsANumberOfBytes) {
  auto limit = [](const char *text, bool isGood) {
    setenv("TESSERA_CACHE_SIZE", text, 1);
    std::string problem;
    uint64_t bytes = cache::limitFromEnvironment(problem);
    EXPECT_EQ(problem.empty(), isGood) << text;
    if (!isGood) {
      EXPECT_EQ(
          problem,
          "TESSERA_CACHE_SIZE: expected a number of bytes such as 800000000, 512M or 2G, got '" +
              std::string(text) + "'");
    }
    return bytes;
  };
  EXPECT_EQ(limit("", true), 2ull << 30);
  EXPECT_EQ(limit("0", true), 0u);
  EXPECT_EQ(limit("123456", true), 123456u);
  EXPECT_EQ(limit("3K", true), 3u << 10);
  EXPECT_EQ(limit("5m", true), 5u << 20);
  EXPECT_EQ(limit("2G", true), 2ull << 30);
  EXPECT_EQ(limit("1T", true), 1ull << 40);
  for (const char *bad : {"lots", "-1", "1.5G", "2GB", "2 G", "G", "K2", " 2G", "2G ",
                          "99999999999999999999", "18014398509481984K", "0x10", "2\n"})
    EXPECT_EQ(limit(bad, false), 2ull << 30) << bad;
}

TEST_F(CacheLimit, AMalformedOneIsAWarningOnceAndAnErrorOfTheCommand) {
  setenv("TESSERA_CACHE_SIZE", "much", 1);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(cachePut("1", payload(10, 0)));
  EXPECT_TRUE(cachePut("2", payload(10, 0)));
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log.find("TESSERA_CACHE_SIZE"), log.rfind("TESSERA_CACHE_SIZE"));
  EXPECT_NE(log.find("got 'much'; the cache is limited to 2.0 GiB"), std::string::npos) << log;
  tessera_rt_cache_info info = {};
  info.struct_bytes = sizeof(info);
  EXPECT_EQ(tessera_rt_cache_get_info(&info), TESSERA_RT_INVALID);
}

TEST_F(CacheLimit, WhatWasUsedLongestAgoGoes) {
  setenv("TESSERA_CACHE_SIZE", "800K", 1);
  for (int i = 0; i < 8; ++i)
    put(i, 1000 - i);
  EXPECT_TRUE(cacheGet("0")); // the oldest, which is in use again
  put(8, 0);
  EXPECT_TRUE(has(0));
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2)); // an eighth is free
  for (int i = 3; i <= 8; ++i)
    EXPECT_TRUE(has(i)) << i;
  tessera_rt_cache_info info = {};
  info.struct_bytes = sizeof(info);
  ASSERT_EQ(tessera_rt_cache_get_info(&info), TESSERA_RT_OK);
  EXPECT_EQ(info.entries, 7u);
  EXPECT_LE(info.bytes, 700u << 10);
  EXPECT_EQ(info.limit, 800u << 10);
}

TEST_F(CacheLimit, EntriesAreNotCountedAtEachWrite) {
  setenv("TESSERA_CACHE_SIZE", "800K", 1);
  put(0, 1000);
  // Written without updating the count.
  for (int i = 1; i < 12; ++i) {
    fs::create_directories(shard(std::to_string(i)));
    fs::copy_file(entry("0"), entry(std::to_string(i)));
    stamp(i, 1000 - i);
  }
  put(20, 500);
  EXPECT_TRUE(has(0) && has(11));
  // A count that is missing, corrupt or a day old is recomputed.
  fs::resize_file(folder / "usage", 7);
  put(21, 500);
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(11) && has(20) && has(21));
}

TEST_F(CacheLimit, WhatStandsInTheWayOfTheCountGoes) {
  for (int kind = 0; kind < 3; ++kind) {
    put(kind, 0);
    fs::remove(folder / "usage");
    if (kind == 0)
      symlink("/dev/zero", (folder / "usage").c_str());
    else if (kind == 1)
      mkfifo((folder / "usage").c_str(), 0600);
    else
      fs::create_directory(folder / "usage"); // no count then, and no eviction
    EXPECT_TRUE(cachePut("more", payload(10, 0))) << kind;
    EXPECT_EQ(fs::is_regular_file(fs::symlink_status(folder / "usage")), kind < 2) << kind;
    fs::remove(folder / "usage");
  }
}

TEST_F(CacheLimit, WhatIsLargerIsNotKept) {
  setenv("TESSERA_CACHE_SIZE", "50K", 1);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cachePut("1", payload(bytes, 0)));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(cachePut("2", payload(1000, 0)));
  setenv("TESSERA_CACHE_SIZE", "0", 1);
  EXPECT_FALSE(cachePut("3", payload(1, 0)));
  EXPECT_TRUE(cacheGet("2"));
}

//===----------------------------------------------------------------------===//
// A full disk
//===----------------------------------------------------------------------===//

/// Writes that fail half way; returns 0 if all is correct. The process must do nothing else.
int fillUp(const fs::path &folder) {
  setenv("TESSERA_CACHE", (folder / "cache").c_str(), 1);
  int errors = 0;
  for (int i = 0; i < 3; ++i) {
    errors += cachePut("large " + std::to_string(i), payload(1 << 20, 0));
    errors += cacheGet("large " + std::to_string(i)).has_value();
  }
  errors += !fs::is_empty(folder / "cache" / "tmp");
  errors += !cachePut("small", payload(100, 0));
  errors += cacheGet("small") != payload(100, 0);
  return errors;
}

TEST_F(Cache, AFullDiskIsNoError) {
  fs::path disk = top / "disk";
  fs::create_directories(disk);
  testing::internal::CaptureStderr();
  int errors = inChild([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0)
      return 99;
    return fillUp(disk);
  });
  std::string log = testing::internal::GetCapturedStderr();
  if (errors == 99)
    GTEST_SKIP() << "a small tmpfs may not be mounted here";
  EXPECT_EQ(errors, 0);
  EXPECT_NE(log.find("No space left on device"), std::string::npos) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(Cache, AFileThatMayNotGrowIsNoError) {
  testing::internal::CaptureStderr();
  int errors = inChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {256 << 10, 256 << 10};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? fillUp(top) : 99;
  });
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(errors, 0);
  EXPECT_NE(log.find("File too large"), std::string::npos) << log;
}

} // namespace
