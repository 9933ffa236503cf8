//===- CacheTest.cpp - The disk cache under damage and hostile folders ----===//

#include "tessera_rt/cache.h"
#include "tessera_rt.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {

std::vector<uint8_t> payload(size_t length, unsigned seed) {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + seed);
  return bytes;
}

struct Cache : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("tessera-cache-" + std::to_string(getpid()));
  std::string key = cacheKey("an entry");

  Cache() { setenv("TESSERA_CACHE", folder.c_str(), 1); }
  ~Cache() override {
    unsetenv("TESSERA_CACHE");
    fs::remove_all(folder);
  }
  fs::path entry() const { return folder / key.substr(0, 2) / key.substr(2); }
};

TEST(CacheKey, IsSha256) {
  EXPECT_EQ(cacheKey(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(cacheKey("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(cacheKey("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(cacheKey(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

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
  EXPECT_EQ(tessera_rt_cache_get(cacheKey("other").c_str(), &bytes, &length), TESSERA_RT_NOT_FOUND);
  EXPECT_EQ(std::string(tessera_rt_cache_folder()), folder.string());
}

TEST_F(Cache, KeysThatAreNotKeysAreRefused) {
  for (const char *bad : {"", "../../etc/passwd", "ABCDEF0123", "abc", "abcdefg123"}) {
    EXPECT_FALSE(cachePut(bad, payload(4, 0))) << bad;
    EXPECT_FALSE(cacheGet(bad)) << bad;
  }
}

TEST_F(Cache, DamagedEntriesAreMissesAndGo) {
  auto good = payload(500, 7);
  for (size_t at : {0, 5, 9, 17, 24, 300, 523}) {
    ASSERT_TRUE(cachePut(key, good));
    std::fstream file(entry(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_FALSE(cacheGet(key)) << at;
    EXPECT_FALSE(fs::exists(entry())) << at;
  }
  for (size_t length : {0, 3, 23, 24, 523, 525}) {
    ASSERT_TRUE(cachePut(key, good));
    fs::resize_file(entry(), length);
    EXPECT_FALSE(cacheGet(key)) << length;
    EXPECT_FALSE(fs::exists(entry())) << length;
  }
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

TEST_F(Cache, AFullDiskIsNoError) {
  if (access("/dev/full", W_OK) != 0)
    GTEST_SKIP() << "no /dev/full";
  fs::create_directories(folder);
  setenv("TESSERA_CACHE", "/dev/full/tessera", 1);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
  testing::internal::GetCapturedStderr();
}

TEST_F(Cache, OffKeepsNothing) {
  setenv("TESSERA_CACHE", "off", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cacheFolder(), "");
  EXPECT_FALSE(cachePut(key, payload(10, 0)));
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

TEST_F(Cache, ProcessesKilledWhileWritingLeaveWholeEntriesOrNone) {
  auto good = payload(200000, 9);
  for (int round = 0; round < 30; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (;;)
        cachePut(key, good);
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

} // namespace
