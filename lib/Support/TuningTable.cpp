//===- TuningTable.cpp - Measured tiles, launch and tuning ----------------===//
#include "tessera/Support/TuningTable.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace tessera;

namespace {

constexpr std::string_view kMagic = "tessera tuning 2 ";
constexpr size_t kSignatureChars = 16;

/// Removes and returns the text up to a separator, and the separator.
std::string_view next(std::string_view &text, char separator) {
  size_t end = text.find(separator);
  std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

/// The next word of a line.
std::string_view word(std::string_view &line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  std::string_view part = line.substr(0, end);
  line.remove_prefix(end);
  return part;
}

template <typename Number> bool readNumber(std::string_view text, Number &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool readTiles(std::string_view text, std::vector<int64_t> &tiles) {
  while (!text.empty())
    if (!readNumber(next(text, 'x'), tiles.emplace_back()) || tiles.back() < 1)
      return false;
  return !tiles.empty();
}

bool readFields(std::string_view text, std::vector<std::pair<std::string, int64_t>> &fields) {
  if (text == "-")
    return true;
  while (!text.empty()) {
    std::string_view value = next(text, ',');
    std::string_view name = next(value, '=');
    fields.emplace_back(name, 0);
    if (name.empty() || !readNumber(value, fields.back().second))
      return false;
  }
  return !fields.empty();
}

bool readTime(std::string_view text, double &milliseconds) {
  return readNumber(text, milliseconds) && std::isfinite(milliseconds) && milliseconds > 0;
}

bool isSignature(std::string_view text) {
  return text.size() == kSignatureChars &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// An error message; the found text may contain any characters.
std::string expected(const std::string &what, std::string_view got) {
  std::string shown(got.substr(0, 60));
  for (char &c : shown)
    if (c < ' ' || c > '~')
      c = '?';
  return "expected " + what + ", got '" + shown + "'";
}

/// Whether a version in a table is the given one.
bool isVersion(std::string_view found, std::string_view given) {
  return found == "-" || given.empty() || found == given;
}

/// The error in a line; empty if there is none. `fits` says whether its versions are the given
/// ones.
std::string readLine(std::string_view line, const TuningVersions &versions, std::string &signature,
                     MeasuredChoice &choice, bool &fits) {
  std::string_view name = word(line), via = word(line), tiles = word(line), fields = word(line);
  std::string_view time = word(line), first = word(line), made = word(line);
  if (!isSignature(name))
    return expected("a kernel's signature of 16 hexadecimal digits", name);
  if (via != "ptx" && via != "tileir" && via != "cpu")
    return expected("ptx, tileir or cpu", via);
  if (!readTiles(tiles, choice.tiles))
    return expected("tiles such as 128x64", tiles);
  if (!readFields(fields, choice.fields))
    return expected("fields such as raster_group=8,num_warps=4 or -", fields);
  if (!readTime(time, choice.milliseconds) || !readTime(first, choice.firstMilliseconds))
    return expected("two times in milliseconds", std::string(time) + " " + std::string(first));
  if (made.empty())
    return expected("versions such as 0.1.0/13.0 or -", made);
  std::string_view driver = made, compiler = next(driver, '/');
  fits = isVersion(compiler, versions.compiler) &&
         isVersion(driver.empty() ? "-" : driver, versions.driver);
  signature = name;
  choice.via = via;
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  choice.origin = line;
  return "";
}

} // namespace

TuningTable TuningTable::parse(std::string_view text, std::string_view device,
                               const TuningVersions &versions, std::vector<std::string> &problems) {
  TuningTable table;
  std::string head = std::string(kMagic) + std::string(device);
  std::string_view first = next(text, '\n');
  if (first.substr(0, first.find_last_not_of(" \t\r") + 1) != head) {
    problems.push_back("line 1: " + expected("'" + head + "'", first));
    return table;
  }
  for (unsigned number = 2; !text.empty(); ++number) {
    std::string_view line = next(text, '\n'), rest = line;
    std::string_view begin = word(rest);
    if (begin.empty() || begin.front() == '#')
      continue;
    std::string signature;
    MeasuredChoice choice;
    choice.line = number;
    bool fits = false;
    if (std::string problem = readLine(line, versions, signature, choice, fits); !problem.empty())
      problems.push_back("line " + std::to_string(number) + ": " + problem);
    else if (fits)
      table.choices[{signature, choice.via}] = std::move(choice);
  }
  return table;
}

TuningTable TuningTable::read(const std::string &path, std::string_view device,
                              const TuningVersions &versions, std::vector<std::string> &problems) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return {};
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str(), device, versions, problems);
}
