//===- target.h - Which code runs on which target -------------------------===//
//
// A target string is an architecture, a colon and the requirements of the code, separated by
// commas:
//
//   x86_64:avx2,fma          code for a CPU with these features, in LLVM's spelling
//   sm_90:tileir,x86_64      code for a GPU: its backend, and, if the image contains host code, the
//                            host's architecture
//
// Chips. A cubin runs on its own chip and on later ones of the same major number (sm_80 code on
// sm_86); with the suffix `a` on exactly its chip, with `f` on its family, which has the same major
// number. PTX runs on its chip and on all later ones, because the driver compiles it; with a suffix
// it is restricted like a cubin.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_TARGET_H
#define TESSERA_RT_TARGET_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::rt {

/// The host's target string: "x86_64:avx,avx2,…".
const std::string &hostTarget();

/// The features of this architecture that occur in target strings, and whether this process may use
/// each.
std::vector<std::pair<std::string_view, bool>> hostFeatures();

/// Whether target strings of any architecture may contain this feature.
bool knowsFeature(std::string_view name);

/// Whether code for `target` runs on this machine's CPU; otherwise `why` names the missing feature.
bool hostSupports(const std::string &target, std::string &why);

/// A GPU by its compute capability: 9.0 is sm_90.
struct Chip {
  int major = 0, minor = 0;
  char suffix = 0; // 'a', 'f', or none
  std::string str() const;
};

/// Whether the target is a GPU's, "sm_…".
bool isChipTarget(std::string_view target);

/// Parses "sm_90" or "sm_103a" at the start of a target; returns false if it is not a chip.
bool parseChip(std::string_view target, Chip &chip);

/// Whether the target lists this backend ("tileir", "ptx") after the colon.
bool hasBackend(std::string_view target, std::string_view backend);

enum class Fit { None, Compiled, Later, Exact };

/// How well code for `target` fits `device`; `isPtx`: the driver must compile it. If it does not
/// fit, `why` holds the reason.
Fit chipFit(const std::string &target, bool isPtx, const Chip &device, std::string &why);

} // namespace tessera::rt

#endif // TESSERA_RT_TARGET_H
