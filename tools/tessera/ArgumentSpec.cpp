//===- ArgumentSpec.cpp - Reading `--arg` ---------------------------------===//
#include "ArgumentSpec.h"
#include "tessera_rt/dtype.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>

namespace tessera::cli {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::optional<int64_t> parseInt(std::string_view text) {
  int64_t value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

/// The text up to `separator`, which is removed from `text` together with it.
std::string_view takeUntil(std::string_view &text, char separator) {
  size_t at = text.find(separator);
  std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trim(head);
}

/// "S" or "64*S": a size that is not known, with what divides it. The name is for the reader.
bool parseSymbol(std::string_view text, ArgumentSpec &spec) {
  std::string_view name = text;
  std::optional<int64_t> divisor = 1;
  if (text.find('*') != std::string_view::npos)
    divisor = parseInt(takeUntil(name, '*'));
  name = trim(name);
  auto isLetter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  auto isPart = [&](char c) { return isLetter(c) || std::isdigit(static_cast<unsigned char>(c)); };
  if (!divisor || *divisor < 1 || name.empty() || !isLetter(name.front()) ||
      !std::all_of(name.begin(), name.end(), isPart))
    return false;
  spec.sizes.push_back(ArgumentSpec::anySize);
  spec.steps.push_back(1);
  spec.divisors.push_back(*divisor);
  return true;
}

bool parseDim(std::string_view text, ArgumentSpec &spec, std::string &error) {
  if (parseSymbol(text, spec))
    return true;
  std::string_view rest = text;
  std::optional<int64_t> size = parseInt(takeUntil(rest, ':'));
  std::optional<int64_t> step = text.find(':') == std::string_view::npos ? 1 : parseInt(trim(rest));
  if (!size || *size < 0 || !step || *step == INT64_MIN) {
    error = "expected a size, size:step, a name, or number*name, got " + quoted(text);
    return false;
  }
  spec.sizes.push_back(*size);
  spec.steps.push_back(*step);
  spec.divisors.push_back(0);
  return true;
}

bool parseTensor(std::string_view text, size_t bracket, ArgumentSpec &spec, std::string &error) {
  std::string_view name = trim(text.substr(0, bracket));
  std::optional<rt::DType> found = rt::dtypeByName(name);
  if (!found) {
    error = "unknown type " + quoted(name) + ", expected one of";
    for (const rt::DTypeInfo &known : rt::dtypeInfos)
      error += " " + std::string(known.name);
    return false;
  }
  if (text.back() != ']') {
    error = "expected ']' at the end of " + quoted(text);
    return false;
  }
  spec.kind = TESSERA_ARGUMENT_TENSOR;
  spec.dtype = static_cast<tessera_rt_dtype>(*found);
  std::string_view dims = trim(text.substr(bracket + 1, text.size() - bracket - 2));
  while (!dims.empty())
    if (!parseDim(takeUntil(dims, ','), spec, error))
      return false;
  if (!spec.sizes.empty() && spec.memoryCount() < 0) {
    error = quoted(text) + " has more elements than can be counted in 64 bits";
    return false;
  }
  return true;
}

bool parseScalar(std::string_view text, ArgumentSpec &spec, std::string &error) {
  if (text == "true" || text == "false" || text == "True" || text == "False") {
    spec.kind = TESSERA_ARGUMENT_BOOL;
    spec.integer = text == "true" || text == "True";
    return true;
  }
  if (std::optional<int64_t> value = parseInt(text)) {
    spec.kind = TESSERA_ARGUMENT_INT;
    spec.integer = *value;
    return true;
  }
  std::string copy(text);
  char *end = nullptr;
  spec.real = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end) {
    error = "expected a type such as fp32[64,64], an int, a float or a bool, got " + quoted(text);
    return false;
  }
  spec.kind = TESSERA_ARGUMENT_FLOAT;
  return true;
}

int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

} // namespace

// A view with steps s over dense memory: dimension d of the memory has (size - 1) * |s| + 1
// elements, at least one.
static int64_t memorySize(int64_t size, int64_t step) {
  int64_t last = 0;
  if (size == 0)
    return 0;
  if (size == ArgumentSpec::anySize)
    return 1;
  if (__builtin_mul_overflow(size - 1, magnitude(step), &last) || last == INT64_MAX)
    return -1;
  return last + 1;
}

std::vector<int64_t> ArgumentSpec::strides() const {
  std::vector<int64_t> result(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    result[d] = stride * steps[d];
    stride *= std::max<int64_t>(memorySize(sizes[d], steps[d]), 1);
  }
  return result;
}

bool ArgumentSpec::hasAnySize() const {
  return std::find(sizes.begin(), sizes.end(), anySize) != sizes.end();
}

int64_t ArgumentSpec::elementCount() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t ArgumentSpec::memoryCount() const {
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t size = memorySize(sizes[d], steps[d]);
    if (size < 0 || __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count))
      return -1;
  }
  return count;
}

int64_t ArgumentSpec::firstElement() const {
  std::vector<int64_t> stride = strides();
  int64_t first = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (stride[d] < 0 && sizes[d] > 1)
      first -= (sizes[d] - 1) * stride[d];
  return first;
}

static bool isKnown(int32_t dtype) { return dtype >= 0 && dtype < int32_t(rt::numDTypes); }

std::string_view dtypeName(int32_t dtype) {
  return isKnown(dtype) ? rt::dtypeInfos[dtype].name : "?";
}

int64_t dtypeBytes(int32_t dtype) { return isKnown(dtype) ? rt::dtypeInfos[dtype].bytes() : 0; }

std::string typeText(int32_t dtype, const int64_t *sizes, int32_t rank) {
  std::string text(dtypeName(dtype));
  text += "[";
  for (int32_t d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(sizes[d]);
  return text + "]";
}

bool parseArgument(std::string_view text, ArgumentSpec &spec, std::string &error) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || trim(text.substr(0, equals)).empty()) {
    error = "expected NAME=TYPE[SIZE,…] or NAME=VALUE, got " + quoted(text);
    return false;
  }
  spec = ArgumentSpec();
  spec.name = trim(text.substr(0, equals));
  std::string_view value = trim(text.substr(equals + 1));
  size_t bracket = value.find('[');
  if (bracket != std::string_view::npos)
    return parseTensor(value, bracket, spec, error);
  return parseScalar(value, spec, error);
}

} // namespace tessera::cli
