//===- HostTarget.cpp - What this machine's processor can do --------------===//
//
// Feature names are LLVM's, since images state what they need in them. A feature counts only when
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

#if defined(__x86_64__)

namespace {
enum Register : uint8_t { EAX, EBX, ECX, EDX };
/// Which register state (bits of XCR0) a feature needs: none, YMM, ZMM and masks, AMX tiles.
enum State : uint64_t { NoState = 0, Ymm = 0x6, Zmm = 0xe6, Tiles = 0x60000 };
struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  State state;
};
constexpr Feature features[] = {
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
constexpr const char *architecture = "x86_64";
} // namespace

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
  for (const Feature &feature : features) {
    unsigned regs[4];
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &regs[0], &regs[1], &regs[2], &regs[3]) &&
        (regs[feature.reg] >> feature.bit & 1) && (state & feature.state) == feature.state)
      names.emplace_back(feature.name);
  }
  return names;
}

/// Linux gives the tile registers only to processes that ask for them.
static bool requestTiles() {
  constexpr long archReqXcompPerm = 0x1023, xfeatureTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, archReqXcompPerm, xfeatureTileData) == 0;
  return granted;
}

#elif defined(__aarch64__)

namespace {
struct Feature {
  const char *name;
  unsigned long type;
  uint8_t bit;
};
constexpr Feature features[] = {
    {"fp-armv8", AT_HWCAP, 0}, {"neon", AT_HWCAP, 1},       {"crc", AT_HWCAP, 7},
    {"lse", AT_HWCAP, 8},      {"fullfp16", AT_HWCAP, 10},  {"rdm", AT_HWCAP, 12},
    {"jsconv", AT_HWCAP, 13},  {"complxnum", AT_HWCAP, 14}, {"dotprod", AT_HWCAP, 20},
    {"sve", AT_HWCAP, 22},     {"fp16fml", AT_HWCAP, 23},   {"sve2", AT_HWCAP2, 1},
    {"i8mm", AT_HWCAP2, 13},   {"bf16", AT_HWCAP2, 14},
};
constexpr const char *architecture = "aarch64";
} // namespace

static std::vector<std::string> detect() {
  std::vector<std::string> names;
  for (const Feature &feature : features)
    if (getauxval(feature.type) >> feature.bit & 1)
      names.emplace_back(feature.name);
  return names;
}

#else
#error "the runtime knows x86_64 and aarch64"
#endif

static const std::vector<std::string> &hostFeatures() {
  static const std::vector<std::string> sorted = [] {
    std::vector<std::string> names = detect();
    std::sort(names.begin(), names.end());
    return names;
  }();
  return sorted;
}

const std::string &hostTarget() {
  static const std::string target = [] {
    std::string text = std::string(architecture) + ":";
    const char *separator = "";
    for (const std::string &name : hostFeatures()) {
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
    if (!std::binary_search(hostFeatures().begin(), hostFeatures().end(), name)) {
      why = "the code needs the processor feature '" + std::string(name) +
            "', which this machine does not have";
      return false;
    }
#if defined(__x86_64__)
    if (name.starts_with("amx-") && !requestTiles()) {
      why = "the operating system does not grant the processor's tile registers";
      return false;
    }
#endif
  }
  return true;
}

} // namespace tessera::rt
