//===- target.h - Which code runs on which machine ------------------------===//
//
// A target string is an architecture, a colon and what the code needs, separated by commas:
//
//   x86_64:avx2,fma          code for a CPU with these features, in LLVM's spelling
//   sm_90:tileir,x86_64      code for a GPU: the road that it came by, and, where the image holds
//                            code for the host too, the host's architecture
//
// Chips. A cubin runs on its own chip and on later ones of the same major number (sm_80 code on
// sm_86); with the suffix `a` on exactly its chip, with `f` on its family, which has the same major
// number. PTX runs on its chip and on all later ones, because the driver compiles it; with a suffix
// it is bound as a cubin is.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_TARGET_H
#define TESSERA_RT_TARGET_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::rt {

/// The machine's target string: "x86_64:avx,avx2,…".
const std::string &hostTarget();

/// The features of this architecture that target strings tell machines apart by, and whether this process may use each.
std::vector<std::pair<std::string_view, bool>> hostFeatures();

/// Whether target strings of any architecture tell machines apart by this feature.
bool knowsFeature(std::string_view name);

/// Whether code for `target` runs on this machine's CPU; `why` names what is missing.
bool hostSupports(const std::string &target, std::string &why);

/// A GPU by its compute capability: 9.0 is sm_90.
struct Chip {
  int major = 0, minor = 0;
  char suffix = 0; // 'a', 'f', or none
  std::string str() const;
};

/// Whether the target is a GPU's, "sm_…".
bool isChipTarget(std::string_view target);

/// Reads "sm_90" or "sm_103a" from the front of a target; false where it is no chip.
bool parseChip(std::string_view target, Chip &chip);

/// Whether the target names this road ("tileir", "ptx") among what follows the colon.
bool hasRoad(std::string_view target, std::string_view road);

enum class Fit { None, Compiled, Later, Exact };

/// How well code for `target` fits `device`; `isPtx`: the driver still has to compile it. `why`
/// says what is missing where it does not fit.
Fit chipFit(const std::string &target, bool isPtx, const Chip &device, std::string &why);

} // namespace tessera::rt

#endif // TESSERA_RT_TARGET_H
