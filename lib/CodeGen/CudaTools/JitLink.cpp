//===- JitLink.cpp - Finding and calling nvJitLink ------------------------===//
#include "tessera/CodeGen/CudaTools/JitLink.h"

#include "Messages.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace fs = std::filesystem;
using namespace tessera::cuda;

namespace {
/// The part of nvJitLink.h that is used here; functions return 0 on success.
using Handle = void *;
constexpr int kInputPtx = 2;

template <typename Function> Function *symbol(const JitLink &jitLink, const char *name) {
  return reinterpret_cast<Function *>(::dlsym(jitLink.library, name));
}

/// Owns a handle of nvJitLink.
class Link {
public:
  Link(const JitLink &jitLink, std::vector<const char *> options) : jitLink(jitLink) {
    auto *create = symbol<int(Handle *, uint32_t, const char **)>(jitLink, "nvJitLinkCreate");
    isCreated = create && !create(&handle, static_cast<uint32_t>(options.size()), options.data());
  }
  ~Link() {
    if (isCreated)
      symbol<int(Handle *)>(jitLink, "nvJitLinkDestroy")(&handle);
  }
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  bool assemble(std::string_view ptx) {
    auto *add =
        symbol<int(Handle, int, const void *, size_t, const char *)>(jitLink, "nvJitLinkAddData");
    auto *complete = symbol<int(Handle)>(jitLink, "nvJitLinkComplete");
    return isCreated && add && complete &&
           !add(handle, kInputPtx, ptx.data(), ptx.size(), "kernels") && !complete(handle);
  }

  /// Calls `nameSize` and `name`, and returns the bytes; "" on failure.
  std::string get(const std::string &name) {
    auto *sizeOf = symbol<int(Handle, size_t *)>(jitLink, (name + "Size").c_str());
    auto *read = symbol<int(Handle, void *)>(jitLink, name.c_str());
    size_t size = 0;
    if (!isCreated || !sizeOf || !read || sizeOf(handle, &size) || !size)
      return "";
    std::string bytes(size, '\0');
    return read(handle, bytes.data()) ? "" : bytes;
  }

private:
  const JitLink &jitLink;
  Handle handle = nullptr;
  bool isCreated = false;
};
} // namespace

static std::vector<fs::path> candidatePaths() {
  std::vector<fs::path> places;
  for (const fs::path &program : searchPlaces("ptxas"))
    for (const char *folder : {"lib", "lib64"})
      for (const char *name : {"libnvJitLink.so.13", "libnvJitLink.so.12"})
        places.push_back(program.parent_path().parent_path() / folder / name);
  places.emplace_back("libnvJitLink.so.13"); // as the loader finds it
  places.emplace_back("libnvJitLink.so.12");
  return places;
}

/// Loads the library if it is nvJitLink and knows the chip; otherwise `error` says why not.
static std::optional<JitLink> load(const fs::path &path, const PtxasNeeds &needs,
                                   std::string &error) {
  JitLink jitLink;
  jitLink.library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *version =
      jitLink.library ? symbol<int(unsigned *, unsigned *)>(jitLink, "nvJitLinkVersion") : nullptr;
  if (!version || version(&jitLink.release.major, &jitLink.release.minor)) {
    error = "'" + path.string() + "' is not NVIDIA's nvJitLink";
    return std::nullopt;
  }
  jitLink.release.text =
      std::to_string(jitLink.release.major) + "." + std::to_string(jitLink.release.minor);
  unsigned number = jitLink.release.number();
  if (number < needs.firstCuda || number > needs.lastCuda) {
    error = path.string() + " is release " + jitLink.release.text + ", which does not know " +
            needs.chip;
    return std::nullopt;
  }
  return jitLink;
}

std::optional<JitLink> tessera::cuda::findJitLink(const PtxasNeeds &needs, std::string &error) {
  error.clear();
  if (const char *named = std::getenv("TESSERA_NVJITLINK")) {
    if (!std::strcmp(named, "none")) {
      error = "TESSERA_NVJITLINK is 'none'";
      return std::nullopt;
    }
    std::optional<JitLink> found = load(named, needs, error);
    if (!found)
      error = "TESSERA_NVJITLINK: " + error;
    return found;
  }
  std::error_code ignored;
  for (const fs::path &place : candidatePaths())
    if (!place.has_parent_path() || fs::exists(place, ignored))
      if (std::optional<JitLink> found = load(place, needs, error))
        return found;
  error = "nvJitLink was not found";
  return std::nullopt;
}

std::optional<AssembledPtx> tessera::cuda::assemble(const JitLink &jitLink, std::string_view ptx,
                                                    const std::string &chip,
                                                    const PtxasOptions &options,
                                                    std::string &error) {
  error.clear();
  std::string arch = "-arch=" + chip, level = "-O" + std::to_string(options.optimizationLevel);
  std::vector<const char *> words = {arch.c_str(), level.c_str(), "-verbose"};
  if (options.lineInfo)
    words.push_back("-lineinfo");
  Link link(jitLink, words);
  if (!link.assemble(ptx)) {
    error = "nvJitLink " + jitLink.release.text + " refused code for " + chip + ": " +
            link.get("nvJitLinkGetErrorLog");
    return std::nullopt;
  }
  std::string cubin = link.get("nvJitLinkGetLinkedCubin");
  return AssembledPtx{{cubin.begin(), cubin.end()}, usesOf(link.get("nvJitLinkGetInfoLog"))};
}
