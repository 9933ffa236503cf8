//===- Tools.cpp - Finding and running CUDA tools -------------------------===//
#include "tessera/CodeGen/CudaTools/Tools.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <mutex>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace tessera::cuda;

extern char **environ;

//===----------------------------------------------------------------------===//
// Running a program
//===----------------------------------------------------------------------===//

ScratchFolder::ScratchFolder(const std::string &name) {
  std::error_code failure;
  std::string pattern = (fs::temp_directory_path(failure) / (name + "-XXXXXX")).string();
  if (!failure && ::mkdtemp(pattern.data()))
    path = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path.empty())
    fs::remove_all(path, ignored);
}

std::string tessera::cuda::readText(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int tessera::cuda::runTool(const std::vector<std::string> &command, const fs::path &output) {
  std::vector<char *> arguments, environment;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  for (char **entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "CUDA_HOME=", 10) && std::strncmp(*entry, "CUDA_PATH=", 10))
      environment.push_back(*entry);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int failure = ::posix_spawn(&child, command.front().c_str(), &actions, nullptr, arguments.data(),
                              environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure)
    return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static std::optional<Release> queryRelease(const fs::path &path) {
  ScratchFolder scratch("tessera-release");
  if (scratch.path.empty() || runTool({path.string(), "--version"}, scratch.path / "out") != 0)
    return std::nullopt;
  std::string text = readText(scratch.path / "out");
  size_t at = text.find(", V");
  Release release;
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at, ", V%u.%u", &release.major, &release.minor) != 2)
    return std::nullopt;
  release.text = text.substr(at + 3, text.find_first_of(" \n", at + 3) - at - 3);
  return release;
}

std::optional<Release> tessera::cuda::releaseOf(const fs::path &path) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, fs::file_time_type>, Release> known;
  std::error_code failure;
  std::pair key(path.string(), fs::last_write_time(path, failure));
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  std::optional<Release> release = queryRelease(path);
  if (release && !failure) {
    std::lock_guard<std::mutex> lock(mutex);
    known.emplace(key, *release);
  }
  return release;
}

//===----------------------------------------------------------------------===//
// Finding a program
//===----------------------------------------------------------------------===//

bool tessera::cuda::isProgram(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// Adds the paths of a program in a Python environment: the link that `make tileiras` adds, and
/// those of the wheels of CUDA 13 and 12.
static void addEnvironment(std::vector<fs::path> &places, const fs::path &environment,
                           const std::string &name) {
  std::error_code failure;
  places.push_back(environment / "bin" / name);
  for (auto entry = fs::directory_iterator(environment / "lib", failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure))
    for (const char *wheel : {"cu13", "cuda_nvcc"})
      places.push_back(entry->path() / "site-packages/nvidia" / wheel / "bin" / name);
}

std::vector<fs::path> tessera::cuda::searchPlaces(const std::string &name) {
  std::vector<fs::path> places;
  Dl_info here;
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void *>(&searchPlaces), &here) && here.dli_fname) {
    fs::path folder = fs::canonical(here.dli_fname, ignored).parent_path();
    for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
      folder = folder.parent_path();
      if (fs::is_directory(folder / ".venv", ignored))
        addEnvironment(places, folder / ".venv", name);
    }
  }
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    addEnvironment(places, environment, name);
  if (const char *path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty())
        places.push_back(fs::path(folder) / name);
  }
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable))
      places.push_back(fs::path(root) / "bin" / name);
  places.push_back(fs::path("/usr/local/cuda/bin") / name);
  return places;
}
