//===- HostTarget.cpp - The features of the host's processor --------------===//
//
// Feature names are LLVM's, since images state their requirements in them. A feature counts only if
// the operating system saves its registers.
//
//===----------------------------------------------------------------------===//

#include "tessera_rt/target.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tessera::rt {

namespace {
enum Register : uint8_t { EAX, EBX, ECX, EDX };
/// The register state (bits of XCR0) that a feature needs: none, YMM, ZMM and masks, AMX tiles.
enum State : uint64_t { NoState = 0, Ymm = 0x6, Zmm = 0xe6, Tiles = 0x60000 };
struct X86Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  State state;
};
constexpr X86Feature x86Features[] = {
    {"sse3", 1, 0, ECX, 0, NoState},
    {"ssse3", 1, 0, ECX, 9, NoState},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"sse4.1", 1, 0, ECX, 19, NoState},
    {"sse4.2", 1, 0, ECX, 20, NoState},
    {"movbe", 1, 0, ECX, 22, NoState},
    {"popcnt", 1, 0, ECX, 23, NoState},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"bmi", 7, 0, EBX, 3, NoState},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, NoState},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"gfni", 7, 0, ECX, 8, NoState},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"amx-bf16", 7, 0, EDX, 22, Tiles},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Tiles},
    {"amx-int8", 7, 0, EDX, 25, Tiles},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"amx-fp16", 7, 1, EAX, 21, Tiles},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"lzcnt", 0x80000001, 0, ECX, 5, NoState},
};

/// Which of Linux's two words of capabilities has a feature's bit.
enum Word : uint8_t { Hwcap, Hwcap2 };
struct Aarch64Feature {
  const char *name;
  Word word;
  uint8_t bit;
};
constexpr Aarch64Feature aarch64Features[] = {
    {"fp-armv8", Hwcap, 0},  {"neon", Hwcap, 1},   {"crc", Hwcap, 7},      {"lse", Hwcap, 8},
    {"fullfp16", Hwcap, 10}, {"rdm", Hwcap, 12},   {"jsconv", Hwcap, 13},  {"complxnum", Hwcap, 14},
    {"dotprod", Hwcap, 20},  {"sve", Hwcap, 22},   {"fp16fml", Hwcap, 23}, {"sve2", Hwcap2, 1},
    {"i8mm", Hwcap2, 13},    {"bf16", Hwcap2, 14},
};
} // namespace

#if defined(__x86_64__)

static constexpr const char *architecture = "x86_64";
static constexpr const auto &features = x86Features;

static uint64_t enabledState() {
  unsigned regs[4];
  if (!__get_cpuid(1, &regs[0], &regs[1], &regs[2], &regs[3]) || !(regs[2] >> 27 & 1))
    return 0;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

static std::vector<std::string> detect() {
  std::vector<std::string> names;
  uint64_t state = enabledState();
  for (const X86Feature &feature : features) {
    unsigned regs[4];
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &regs[0], &regs[1], &regs[2], &regs[3]) &&
        (regs[feature.reg] >> feature.bit & 1) && (state & feature.state) == feature.state)
      names.emplace_back(feature.name);
  }
  return names;
}

/// Linux grants the tile registers only to processes that request them.
static bool requestTiles() {
  constexpr long archReqXcompPerm = 0x1023, xfeatureTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, archReqXcompPerm, xfeatureTileData) == 0;
  return granted;
}

#elif defined(__aarch64__)

static constexpr const char *architecture = "aarch64";
static constexpr const auto &features = aarch64Features;

static std::vector<std::string> detect() {
  std::vector<std::string> names;
  for (const Aarch64Feature &feature : features)
    if (getauxval(feature.word == Hwcap ? AT_HWCAP : AT_HWCAP2) >> feature.bit & 1)
      names.emplace_back(feature.name);
  return names;
}

#else
#error "the runtime knows x86_64 and aarch64"
#endif

/// Whether the operating system grants a feature's registers to this process.
static bool isGranted([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__)
  return !name.starts_with("amx-") || requestTiles();
#else
  return true;
#endif
}

static const std::vector<std::string> &presentFeatures() {
  static const std::vector<std::string> sorted = [] {
    std::vector<std::string> names = detect();
    std::sort(names.begin(), names.end());
    return names;
  }();
  return sorted;
}

static bool isPresent(std::string_view name) {
  return std::binary_search(presentFeatures().begin(), presentFeatures().end(), name);
}

std::vector<std::pair<std::string_view, bool>> hostFeatures() {
  std::vector<std::pair<std::string_view, bool>> result;
  for (const auto &feature : features)
    result.emplace_back(feature.name, isPresent(feature.name) && isGranted(feature.name));
  return result;
}

bool knowsFeature(std::string_view name) {
  auto isIt = [&](const auto &feature) { return name == feature.name; };
  return std::any_of(std::begin(x86Features), std::end(x86Features), isIt) ||
         std::any_of(std::begin(aarch64Features), std::end(aarch64Features), isIt);
}

const std::string &hostTarget() {
  static const std::string target = [] {
    std::string text = std::string(architecture) + ":";
    const char *separator = "";
    for (const std::string &name : presentFeatures()) {
      text += separator + name;
      separator = ",";
    }
    return text;
  }();
  return target;
}

bool hostSupports(const std::string &target, std::string &why) {
  std::string_view rest = target;
  std::string_view arch = rest.substr(0, rest.find(':'));
  if (arch != architecture) {
    why = "the code is for " + std::string(arch) + ", this machine is " + architecture;
    return false;
  }
  rest.remove_prefix(std::min(rest.size(), arch.size() + 1));
  while (!rest.empty()) {
    std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty())
      continue;
    if (!isPresent(name)) {
      why = "the code needs the processor feature '" + std::string(name) +
            "', which this machine does not have";
      return false;
    }
    if (!isGranted(name)) {
      why = "the operating system does not grant the processor's tile registers";
      return false;
    }
  }
  return true;
}

} // namespace tessera::rt
