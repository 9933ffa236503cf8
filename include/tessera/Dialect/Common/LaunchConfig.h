//===- LaunchConfig.h - Launch configuration and tuning of kernels -*- C++ -*-===//
//
// How a kernel is launched and tuned, from the cost model down to the backends. A LaunchConfig is
// part of the meaning of a kernel; a TuningConfig never changes its result. Schedule IR and Tile IR
// hold both as attributes (LaunchAttrs.h). LaunchFields.def has the fields.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_LAUNCHCONFIG_H
#define TESSERA_DIALECT_COMMON_LAUNCHCONFIG_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

namespace tessera {

enum class LaunchField : unsigned {
#define TESSERA_LAUNCH_FIELD(enumerator, ...) enumerator,
#include "tessera/Dialect/Common/LaunchFields.def"
};

enum class TuningField : unsigned {
#define TESSERA_TUNING_FIELD(enumerator, ...) enumerator,
#include "tessera/Dialect/Common/LaunchFields.def"
};

/// A row of LaunchFields.def.
struct FieldInfo {
  llvm::StringLiteral name;
  int64_t least, most; ///< values
  llvm::StringLiteral meaning;
};

inline constexpr FieldInfo kLaunchFields[] = {
#define TESSERA_LAUNCH_FIELD(enumerator, name, least, most, meaning) {name, least, most, meaning},
#include "tessera/Dialect/Common/LaunchFields.def"
};
inline constexpr FieldInfo kTuningFields[] = {
#define TESSERA_TUNING_FIELD(enumerator, name, least, most, meaning) {name, least, most, meaning},
#include "tessera/Dialect/Common/LaunchFields.def"
};

/// The values of some fields of one kind.
template <typename Field> class FieldValues {
  static constexpr bool isLaunch = std::is_same_v<Field, LaunchField>;

public:
  static constexpr const auto &fields() {
    if constexpr (isLaunch)
      return kLaunchFields;
    else
      return kTuningFields;
  }
  static llvm::StringRef kind() { return isLaunch ? "launch" : "tuning"; }
  /// The field of that name; none if there is none of this kind.
  static std::optional<Field> lookup(llvm::StringRef name) {
    for (const auto &[i, field] : llvm::enumerate(fields()))
      if (field.name == name)
        return Field(i);
    return std::nullopt;
  }

  std::optional<int64_t> get(Field field) const { return values[size_t(field)]; }
  void set(Field field, int64_t value) { values[size_t(field)] = value; }
  /// The same values without those of some fields.
  FieldValues without(std::initializer_list<Field> dropped) const {
    FieldValues kept = *this;
    for (Field field : dropped)
      kept.values[size_t(field)].reset();
    return kept;
  }
  FieldValues with(Field field, int64_t value) const {
    FieldValues changed = *this;
    changed.set(field, value);
    return changed;
  }

  bool empty() const { return *this == FieldValues(); }
  bool operator==(const FieldValues &) const = default;
  friend llvm::hash_code hash_value(const FieldValues &config) {
    return llvm::hash_combine_range(config.values.begin(), config.values.end());
  }

  /// `num_warps = 8, cluster_size = 2`, in the order of the table.
  friend llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const FieldValues &config) {
    llvm::StringRef separator = "";
    for (auto [field, value] : llvm::zip_equal(fields(), config.values))
      if (value) {
        os << separator << field.name << " = " << *value;
        separator = ", ";
      }
    return os;
  }

  /// What is wrong with the values; empty if nothing is.
  std::string problem() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto [field, value] : llvm::zip_equal(fields(), values))
      if (value && (*value < field.least || *value > field.most)) {
        os << "expected " << field.name << " from " << field.least << " to " << field.most
           << ", got " << *value;
        return text;
      }
    if constexpr (isLaunch)
      os << conflict();
    return text;
  }

private:
  /// Fields that do not go together.
  llvm::StringRef conflict() const {
    if (get(LaunchField::ClusterAxis) && !get(LaunchField::ClusterSize))
      return "expected cluster_size beside cluster_axis";
    if (get(LaunchField::PersistentCtas) && get(LaunchField::TilesPerCta))
      return "expected persistent_ctas or tiles_per_cta, got both";
    return "";
  }

  std::array<std::optional<int64_t>,
             std::size(kLaunchFields) * isLaunch + std::size(kTuningFields) * !isLaunch>
      values;
};

using LaunchConfig = FieldValues<LaunchField>;
using TuningConfig = FieldValues<TuningField>;

/// What is taken where a launch configuration does not say.
inline constexpr int64_t kDefaultNumWarps = 4, kDefaultClusterSize = 1;

} // namespace tessera

#endif
