//===- ScheduleOverride.cpp - Choices of a user for a schedule ------------===//
#include "tessera/Support/ScheduleOverride.h"

#include <algorithm>
#include <charconv>

using namespace tessera;

/// Removes and returns the text up to a separator, without spaces around it.
static std::string_view next(std::string_view &text, char separator) {
  size_t end = std::min(text.find(separator), text.size());
  std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  size_t first = std::min(part.find_first_not_of(' '), part.size());
  return part.substr(first, part.find_last_not_of(' ') + 1 - first);
}

/// Reads one `KEY=VALUE` into an override; returns what was expected in its place.
static std::string readChoice(std::string_view text, ScheduleOverride &override) {
  constexpr std::string_view tile = "tile.";
  std::string_view value = text, key = next(value, '=');
  value = next(value, '\0');
  std::string quoted = "'" + std::string(key) + "'";
  if (key.empty() || value.empty())
    return "expected KEY=VALUE, got '" + std::string(text.substr(0, 60)) + "'";
  std::string found = ", got '" + std::string(value.substr(0, 60)) + "'";
  if (key == "kernel") {
    override.kernel = value;
    return "";
  }
  if (key == "backend") {
    override.backend = value;
    return value == "ptx" || value == "tileir" ? ""
                                               : "expected ptx or tileir for 'backend'" + found;
  }
  int64_t number = 0;
  auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool isNumber = failure == std::errc() && end == value.data() + value.size();
  if (key.starts_with(tile)) {
    key.remove_prefix(tile.size());
    override.tiles.emplace_back(key, number);
    return isNumber && number > 0 && !key.empty()
               ? ""
               : "expected a positive number for " + quoted + found;
  }
  override.fields.emplace_back(key, isNumber ? std::optional(number) : std::nullopt);
  return isNumber || value == "none" ? "" : "expected a number or none for " + quoted + found;
}

std::optional<std::vector<ScheduleOverride>> tessera::parseScheduleOverrides(std::string_view text,
                                                                             std::string &error) {
  std::vector<ScheduleOverride> overrides;
  while (!text.empty()) {
    std::string_view group = next(text, ';');
    if (group.empty())
      continue;
    ScheduleOverride &override = overrides.emplace_back();
    while (!group.empty())
      if (error = readChoice(next(group, ','), override); !error.empty())
        return std::nullopt;
  }
  return overrides;
}
