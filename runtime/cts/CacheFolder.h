//===- CacheFolder.h - A cache of one test --------------------------------===//

#ifndef TESSERA_RT_CTS_CACHEFOLDER_H
#define TESSERA_RT_CTS_CACHEFOLDER_H

#include "tessera_rt.h"
#include "tessera_rt/cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::rt::test {

inline std::vector<uint8_t> payload(size_t length, unsigned seed) {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + seed);
  return bytes;
}

inline std::vector<uint8_t> contents(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::filesystem::path &path, std::span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline mode_t modeOf(const std::filesystem::path &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

/// The exit status of a child process that runs `body`, -1 after a signal.
inline int inChild(const std::function<int()> &body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A user who is not root and owns nothing.
inline constexpr uid_t stranger = 54321;

struct CacheTest : testing::Test {
  /// A new path each time: a warning is printed once per path.
  std::filesystem::path top = [] {
    static int number = 0;
    std::string name = "tessera-cache-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    return std::filesystem::path(testing::TempDir()) / name;
  }();
  std::filesystem::path folder = top / "cache", shared = top / "shared";
  std::string key = "an entry";

  CacheTest() {
    std::filesystem::remove_all(top);
    std::filesystem::create_directories(top);
    setenv("TESSERA_CACHE", folder.c_str(), 1);
    unsetenv("TESSERA_SHARED_CACHE");
    unsetenv("TESSERA_CACHE_SIZE");
  }
  ~CacheTest() override {
    unsetenv("TESSERA_CACHE");
    unsetenv("TESSERA_SHARED_CACHE");
    unsetenv("TESSERA_CACHE_SIZE");
    std::filesystem::remove_all(top);
  }

  std::filesystem::path shard(const std::string &key) const {
    return folder / cacheKey(key).substr(0, 2);
  }
  std::filesystem::path entry(const std::string &key) const {
    return shard(key) / cacheKey(key).substr(2);
  }
  std::filesystem::path entry() const { return entry(key); }
  std::filesystem::path sharedEntry(const std::string &key) const {
    return shared / cacheKey(key).substr(0, 2) / cacheKey(key).substr(2);
  }
  /// Makes this user's cache the shared one.
  void share() {
    std::filesystem::rename(folder, shared);
    setenv("TESSERA_SHARED_CACHE", shared.c_str(), 1);
  }
};

} // namespace tessera::rt::test

#endif // TESSERA_RT_CTS_CACHEFOLDER_H
