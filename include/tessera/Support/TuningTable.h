//===- TuningTable.h - Measured choices of tiles and hints -----*- C++ -*-===//
//
// What was measured to be the fastest choice for a kernel on a chip, by the kernel's signature. A
// table is text, one line for each kernel, `#` begins a comment:
//
//   tessera tuning 1 sm_90
//   # kernel          tiles       hints            ms      first   measured
//   5b2d0c1f9a3e7784  128x64x256  group=8,warps=8  1.4144  1.5131  a matmul, NVIDIA H200
//
// Tiles are in the order of the kernel's dimensions, `-` stands for no hints, `first` is the time of
// the cost model's own choice. Of several lines for one kernel the last counts. A line that cannot
// be read is told and left out; so is the whole table where its head is of another version or chip.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_TUNINGTABLE_H
#define TESSERA_SUPPORT_TUNINGTABLE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// One line of a table.
struct MeasuredChoice {
  std::vector<int64_t> tiles;
  std::vector<std::pair<std::string, int64_t>> hints; ///< names as in LaunchHints.h
  double milliseconds = 0;
  double firstMilliseconds = 0; ///< of the cost model's choice in the same run
  std::string origin;           ///< what was measured where
  unsigned line = 0;
};

class TuningTable {
public:
  TuningTable() = default;

  /// Reads a text; what is wrong with it is added to `problems` as "line 3: expected …".
  static TuningTable parse(std::string_view text, std::string_view chip,
                           std::vector<std::string> &problems);
  /// Reads a file; one that does not exist is an empty table.
  static TuningTable read(const std::string &path, std::string_view chip,
                          std::vector<std::string> &problems);

  /// The choice for a kernel; null where none was measured.
  const MeasuredChoice *find(const std::string &signature) const {
    auto it = choices.find(signature);
    return it == choices.end() ? nullptr : &it->second;
  }
  bool empty() const { return choices.empty(); }

private:
  std::map<std::string, MeasuredChoice, std::less<>> choices;
};

} // namespace tessera

#endif
