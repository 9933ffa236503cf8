//===- ScheduleOverride.h - Choices of a user for a schedule ----*- C++ -*-===//
//
// A text with tiles, launch fields and tuning fields that replace those of the scheduler:
//
//   tile.m=128,tile.n=256,num_stages=4;kernel=1,persistent_ctas=none
//
// Groups are separated by `;` and concern one kernel each, by its number in the schedule or by its
// name; without `kernel` it is the first. `tile.DIM` is the tile of a dimension by its name in the
// schedule. `none` removes a field. `backend` is `ptx` or `tileir`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_SCHEDULEOVERRIDE_H
#define TESSERA_SUPPORT_SCHEDULEOVERRIDE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// The choices for one kernel.
struct ScheduleOverride {
  std::string kernel = "0";                           ///< its number, or its name
  std::vector<std::pair<std::string, int64_t>> tiles; ///< by dimension
  /// Of launch and tuning, by name; nothing removes a field.
  std::vector<std::pair<std::string, std::optional<int64_t>>> fields;
  std::string backend; ///< empty: as the scheduler chooses
};

/// Reads a text; nothing if it is malformed, and `error` says what was expected.
std::optional<std::vector<ScheduleOverride>> parseScheduleOverrides(std::string_view text,
                                                                    std::string &error);

} // namespace tessera

#endif
