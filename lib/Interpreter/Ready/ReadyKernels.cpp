//===- ReadyKernels.cpp - The table of ready kernels ----------------------===//
#include "tessera/Interpreter/ReadyKernels.h"

#include "ContractTiles.h"
#include "Level.h"
#include "Rows.h"

#include <array>
#include <string_view>
#include <vector>

namespace tessera {

namespace ready {
extern const LevelKernels kernels_base;
#ifdef __x86_64__
extern const LevelKernels kernels_v3, kernels_v4;
#endif
} // namespace ready

namespace {

using Table = std::array<tessera_rt_native_kernel, 9>;

struct Level {
  const char *name;
  Table kernels;
};

Level makeLevel(const char *name, const ready::LevelKernels &level) {
  constexpr uint64_t registers = ready::maxRegisters * ready::registerBytes;
  return {name,
          {{{"ready_expression", level.expression, registers},
            {"ready_contract", level.contract, ready::contractScratchBytes},
            {"ready_scan", ready::scan, 0},
            {"ready_scan_by_key", ready::scanByKey, 0},
            {"ready_scatter_add", ready::scatterAdd, 0},
            {"ready_scatter", ready::scatter, 0},
            {"ready_argsort", ready::argsort, 0},
            {"ready_take_rows", ready::takeRows, 0},
            {"ready_check", ready::check, 0}}}};
}

const std::vector<Level> &levels() {
  static const std::vector<Level> found = [] {
    std::vector<Level> list;
#ifdef __x86_64__
    if (__builtin_cpu_supports("x86-64-v4"))
      list.push_back(makeLevel("v4", ready::kernels_v4));
    if (__builtin_cpu_supports("x86-64-v3"))
      list.push_back(makeLevel("v3", ready::kernels_v3));
#endif
    list.push_back(makeLevel("base", ready::kernels_base));
    return list;
  }();
  return found;
}

} // namespace

std::span<const tessera_rt_native_kernel> readyKernels() { return levels().front().kernels; }

std::span<const char *const> readyLevels() {
  static const std::vector<const char *> names = [] {
    std::vector<const char *> list;
    for (const Level &level : levels())
      list.push_back(level.name);
    return list;
  }();
  return names;
}

std::span<const tessera_rt_native_kernel> readyKernels(const char *name) {
  for (const Level &level : levels())
    if (std::string_view(level.name) == name)
      return level.kernels;
  return {};
}

} // namespace tessera
