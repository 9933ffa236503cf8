//===- ChipTarget.cpp - Which code runs on which GPU ----------------------===//

#include "tessera_rt/target.h"

namespace tessera::rt {

std::string Chip::str() const {
  std::string text = "sm_" + std::to_string(major) + std::to_string(minor);
  if (suffix)
    text += suffix;
  return text;
}

bool isChipTarget(std::string_view target) { return target.starts_with("sm_"); }

bool parseChip(std::string_view target, Chip &chip) {
  std::string_view name = target.substr(0, target.find(':'));
  if (!isChipTarget(name))
    return false;
  name.remove_prefix(3);
  chip = {};
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    chip.suffix = name.back();
    name.remove_suffix(1);
  }
  if (name.size() < 2 || name.size() > 3)
    return false;
  int number = 0;
  for (char c : name) {
    if (c < '0' || c > '9')
      return false;
    number = number * 10 + (c - '0');
  }
  chip.major = number / 10;
  chip.minor = number % 10;
  return true;
}

/// Calls `visit` with each word after the colon.
template <typename Visit> static void eachNeed(std::string_view target, Visit visit) {
  size_t colon = target.find(':');
  if (colon == std::string_view::npos)
    return;
  std::string_view rest = target.substr(colon + 1);
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() == rest.size() ? rest.size() : word.size() + 1);
    if (!word.empty())
      visit(word);
  }
}

bool hasBackend(std::string_view target, std::string_view backend) {
  bool found = false;
  eachNeed(target, [&](std::string_view word) { found |= word == backend; });
  return found;
}

Fit chipFit(const std::string &target, bool isPtx, const Chip &device, std::string &why) {
  Chip chip;
  if (!parseChip(target, chip)) {
    why = "the code is for '" + target + "', which is no GPU";
    return Fit::None;
  }
  std::string host = hostTarget().substr(0, hostTarget().find(':'));
  bool known = true;
  eachNeed(target, [&](std::string_view word) {
    bool isHost = word == "x86_64" || word == "aarch64";
    if (isHost && word != host)
      why = "the code needs a host of " + std::string(word) + ", this machine is " + host;
    else if (!isHost && word != "tileir" && word != "ptx")
      why = "the code needs '" + std::string(word) + "', which this runtime does not know";
    else
      return;
    known = false;
  });
  if (!known)
    return Fit::None;
  bool same = chip.major == device.major && chip.minor == device.minor;
  bool family = chip.major == device.major && chip.minor <= device.minor;
  bool later = family || chip.major < device.major;
  bool fits = chip.suffix == 'a' ? same : chip.suffix == 'f' || !isPtx ? family : later;
  if (!fits) {
    why =
        "the code is for " + chip.str() + (isPtx ? " (PTX)" : "") + ", the GPU is " + device.str();
    return Fit::None;
  }
  return isPtx ? Fit::Compiled : same ? Fit::Exact : Fit::Later;
}

} // namespace tessera::rt
