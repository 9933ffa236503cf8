//===- TuningTable.h - Measured tiles, launch and tuning --------*- C++ -*-===//
//
// The fastest measured choice for a kernel on a device, by the kernel's signature. A table is text
// with one line for each kernel; `#` starts a comment:
//
//   tessera tuning 2 sm_90
//   # kernel          via  tiles       fields           ms      first   made      measured
//   5b2d0c1f9a3e7784  ptx  128x64x256  num_warps=8      1.4144  1.5131  0.1.0/13  a matmul, NVIDIA
//   H200
//
// `via` is the backend, `cpu` for CPUs. Tiles are in the order of the kernel's dimensions, the
// fields are those of the launch configuration and the tuning, `-` means none, and `first` is the
// time of the cost model's choice. `made` has the versions of the compiler and of the driver, `-`
// for any: lines of others are ignored. If several lines have the same kernel and backend, the last
// one applies. A malformed line is reported and ignored, and so is the whole table if its head has
// another version or device.
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
  std::string via; ///< "ptx", "tileir" or "cpu"
  std::vector<int64_t> tiles;
  std::vector<std::pair<std::string, int64_t>> fields; ///< of LaunchFields.def, by name
  double milliseconds = 0;
  double firstMilliseconds = 0; ///< time of the cost model's choice in the same run
  std::string origin;           ///< the program and the device
  unsigned line = 0;
};

/// The versions that code is made with and runs on; empty: any.
struct TuningVersions {
  std::string compiler, driver;
};

class TuningTable {
public:
  TuningTable() = default;

  /// Parses a text; errors are added to `problems` as "line 3: expected …".
  static TuningTable parse(std::string_view text, std::string_view device,
                           const TuningVersions &versions, std::vector<std::string> &problems);
  /// Reads a file; a missing file is an empty table.
  static TuningTable read(const std::string &path, std::string_view device,
                          const TuningVersions &versions, std::vector<std::string> &problems);

  /// The choice for a kernel by a backend; null if none was measured.
  const MeasuredChoice *find(const std::string &signature, const std::string &via) const {
    auto it = choices.find({signature, via});
    return it == choices.end() ? nullptr : &it->second;
  }
  bool empty() const { return choices.empty(); }

private:
  std::map<std::pair<std::string, std::string>, MeasuredChoice> choices;
};

} // namespace tessera

#endif
