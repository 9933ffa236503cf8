//===- Assembler.cpp - Finding and running tileiras -----------------------===//
//
// tileiras finds its own ptxas and libnvvm beside it, unless CUDA_HOME or CUDA_PATH point at
// another CUDA, which may be too old and then fails without saying why: it is started without them.
// It may exit with status 0 after an error, so what it prints counts, too.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace tessera::cudatile;

extern char **environ;

//===----------------------------------------------------------------------===//
// Running a program
//===----------------------------------------------------------------------===//

namespace {
/// A folder that is removed with all that is in it.
class ScratchFolder {
public:
  ScratchFolder() {
    std::error_code failure;
    std::string pattern = (fs::temp_directory_path(failure) / "tessera-tileiras-XXXXXX").string();
    if (!failure && ::mkdtemp(pattern.data()))
      path = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  fs::path path;
};
} // namespace

static std::string readText(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs a program and returns its exit status: -1 if it did not run, -N if signal N ended it. What
/// it prints goes to the file `output`.
static int run(const std::vector<std::string> &command, const fs::path &output) {
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

//===----------------------------------------------------------------------===//
// Finding the assembler
//===----------------------------------------------------------------------===//

static constexpr const char *kHowToGet =
    "install it with `make tileiras` or `pip install nvidia-cuda-tileiras nvidia-cuda-nvcc "
    "nvidia-nvvm`, all of one version from 13.3 on, or install CUDA 13.3 or later; "
    "TESSERA_TILEIRAS can name the program";

static bool isProgram(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// Where pip puts the program in an environment of Python, and a link that `make tileiras` adds.
static void addEnvironment(std::vector<fs::path> &places, const fs::path &environment) {
  std::error_code failure;
  places.push_back(environment / "bin" / "tileiras");
  for (auto entry = fs::directory_iterator(environment / "lib", failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure))
    places.push_back(entry->path() / "site-packages/nvidia/cu13/bin/tileiras");
}

static std::vector<fs::path> searchPlaces() {
  std::vector<fs::path> places;
  Dl_info here;
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void *>(&findTileiras), &here) && here.dli_fname) {
    fs::path folder = fs::canonical(here.dli_fname, ignored).parent_path();
    for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
      folder = folder.parent_path();
      if (fs::is_directory(folder / ".venv", ignored))
        addEnvironment(places, folder / ".venv");
    }
  }
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    addEnvironment(places, environment);
  if (const char *path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty())
        places.push_back(fs::path(folder) / "tileiras");
  }
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable))
      places.push_back(fs::path(root) / "bin" / "tileiras");
  places.push_back("/usr/local/cuda/bin/tileiras");
  return places;
}

/// Asks a program for its release; nothing if it is not tileiras.
static std::optional<Tileiras> ask(const fs::path &path) {
  ScratchFolder scratch;
  if (scratch.path.empty() || run({path.string(), "--version"}, scratch.path / "out") != 0)
    return std::nullopt;
  // "Cuda compilation tools, release 13.4, V13.4.92"
  std::string text = readText(scratch.path / "out");
  size_t at = text.find(", V");
  unsigned major = 0, minor = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at, ", V%u.%u", &major, &minor) != 2)
    return std::nullopt;
  Tileiras found;
  found.path = path.string();
  found.release = text.substr(at + 3, text.find_first_of(" \n", at + 3) - at - 3);
  // Later releases read every earlier format.
  found.newestFormat = {
      13, uint8_t(major > 13 ? kNewestMinor : std::min<unsigned>(minor, kNewestMinor))};
  if (major < 13 || (major == 13 && minor < 3))
    found.newestFormat = {0, 0};
  return found;
}

std::optional<Tileiras> tessera::cudatile::findTileiras(std::string &error) {
  error.clear();
  std::string tooOld;
  auto accept = [&](const fs::path &path) -> std::optional<Tileiras> {
    std::error_code failure;
    fs::path real = fs::canonical(path, failure);
    std::optional<Tileiras> found = failure ? std::nullopt : ask(real);
    if (found && found->newestFormat.major)
      return found;
    if (found)
      tooOld = found->path + " is release " + found->release + ", expected 13.3 or later; ";
    return std::nullopt;
  };
  if (const char *named = std::getenv("TESSERA_TILEIRAS")) {
    if (auto found = isProgram(named) ? accept(named) : std::nullopt)
      return found;
    error = tooOld.empty() ? std::string("TESSERA_TILEIRAS names '") + named +
                                 "', which is not NVIDIA's assembler; " + kHowToGet
                           : tooOld + kHowToGet;
    return std::nullopt;
  }
  for (const fs::path &place : searchPlaces())
    if (isProgram(place))
      if (auto found = accept(place))
        return found;
  error = (tooOld.empty() ? "NVIDIA's assembler tileiras was not found; " : tooOld) + kHowToGet;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

static std::string hostArchitecture() {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86_64";
#endif
}

std::optional<Cubin> tessera::cudatile::assemble(const Tileiras &tileiras,
                                                 std::span<const uint8_t> bytecode,
                                                 const AssembleOptions &options,
                                                 std::string &error) {
  error.clear();
  ScratchFolder scratch;
  fs::path input = scratch.path / "in.tileirbc", output = scratch.path / "out.cubin";
  std::ofstream file(input, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytecode.data()), bytecode.size());
  file.close();
  if (scratch.path.empty() || !file) {
    error = "cannot write a temporary file for the assembler";
    return std::nullopt;
  }
  std::string host =
      options.hostArchitecture.empty() ? hostArchitecture() : options.hostArchitecture;
  std::vector<std::string> command = {tileiras.path,
                                      "--gpu-name=" + options.architecture,
                                      "--opt-level=" + std::to_string(options.optimizationLevel),
                                      "--host-arch=" + host,
                                      "--host-os=linux",
                                      input.string(),
                                      "-o",
                                      output.string()};
  if (options.lineInfo)
    command.push_back("--lineinfo");
  if (options.remarks)
    command.push_back("--remarks=all");
  int status = run(command, scratch.path / "messages");
  Cubin cubin;
  cubin.messages = readText(scratch.path / "messages");
  std::string bytes = readText(output);
  if (status != 0 || bytes.empty() || cubin.messages.find("error:") != std::string::npos) {
    error = "tileiras " + tileiras.release + " refused a module for " + options.architecture +
            " (status " + std::to_string(status) + "): " + cubin.messages;
    return std::nullopt;
  }
  cubin.bytes.assign(bytes.begin(), bytes.end());
  return cubin;
}
