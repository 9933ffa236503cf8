//===- Program.cpp - A program given on the command line ------------------===//
#include "Program.h"

#include "tessera_rt.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace tessera::cli {

namespace {

/// What --option knows, as the Python package's options.
const char *const optionNames[] = {
    "numerics",  "matmul",    "fast_math", "deterministic", "batch_invariant",    "accum",
    "via",       "alignment", "indices",   "strides",       "optimization_level", "tensor_cores",
    "profiling", "tuning",    "schedule",  "residual_bytes"};

bool readAll(FILE *stream, std::string &text) {
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, stream))
    text.append(buffer, count);
  return !std::ferror(stream);
}

/// Whether a text from standard input is IR: a program in the language starts with neither.
bool looksLikeIR(std::string_view text) {
  size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos)
    return false;
  text.remove_prefix(start);
  constexpr std::string_view heads[] = {"//", "module", "builtin.module", "func.func",
                                        "\"builtin.module\""};
  return std::any_of(std::begin(heads), std::end(heads),
                     [&](std::string_view head) { return text.starts_with(head); });
}

ArgumentType typeOf(const ArgumentSpec &spec) {
  ArgumentType type;
  type.name = spec.name;
  type.kind = spec.kind;
  type.dtype = spec.dtype;
  type.sizes = spec.sizes;
  type.divisors = spec.divisors;
  std::vector<int64_t> strides = spec.strides();
  for (size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] == 1)
      type.unitStride = int32_t(d);
    type.dense &= spec.steps[d] == 1;
  }
  type.hasValue = spec.kind != TESSERA_ARGUMENT_TENSOR;
  type.integer = spec.integer;
  type.real = spec.real;
  return type;
}

void appendJson(std::string &out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", unsigned(c));
      out += buffer;
    } else
      out += c;
  }
  out += '"';
}

/// Where a diagnostic or a suggestion is.
template <typename T> void appendPlace(std::string &out, const T &one) {
  out += "\"file\": ";
  if (one.file)
    appendJson(out, one.file);
  else
    out += "null";
  char place[160];
  std::snprintf(place, sizeof place,
                ", \"line\": %d, \"column\": %d, \"end_line\": %d, \"end_column\": %d", one.line,
                one.column, one.end_line, one.end_column);
  out += place;
}

std::string jsonOf(const tessera_result *result, uint64_t index) {
  static const char *const severities[] = {"error", "warning", "note", "remark"};
  tessera_diagnostic diagnostic = tessera_result_diagnostic(result, index);
  std::string out = "{\"severity\": ";
  appendJson(out, severities[diagnostic.severity & 3]);
  out += ", ";
  appendPlace(out, diagnostic);
  out += ", \"message\": ";
  appendJson(out, diagnostic.message ? diagnostic.message : "");
  out += ", \"fixits\": [";
  for (uint64_t i = 0, n = tessera_result_fixit_count(result, index); i < n; ++i) {
    tessera_fixit fix = tessera_result_fixit(result, index, i);
    out += i ? ", {" : "{";
    appendPlace(out, fix);
    out += ", \"replacement\": ";
    appendJson(out, fix.replacement);
    out += "}";
  }
  return out + "]";
}

/// An array of diagnostics, each with the notes that belong to it.
std::string jsonDiagnostics(const tessera_result *result) {
  std::string out = "[";
  bool open = false, hasNotes = false;
  auto close = [&] {
    if (open)
      out += "]}";
    open = hasNotes = false;
  };
  for (uint64_t i = 0, n = tessera_result_diagnostic_count(result); i < n; ++i) {
    tessera_diagnostic diagnostic = tessera_result_diagnostic(result, i);
    if (diagnostic.severity == TESSERA_NOTE && open) {
      out += (hasNotes ? ", " : "") + jsonOf(result, i) + "}";
      hasNotes = true;
      continue;
    }
    bool first = !open && out.size() == 1;
    close();
    out += (first ? "" : ",\n ") + jsonOf(result, i) + ", \"notes\": [";
    open = true;
  }
  close();
  return out + "]\n";
}

} // namespace

int usageError(const std::string &message) {
  std::fprintf(stderr, "tessera: error: %s\n", message.c_str());
  return Usage;
}

bool wantsColour(int descriptor) {
  const char *noColour = std::getenv("NO_COLOR");
  return isatty(descriptor) && !(noColour && *noColour);
}

bool writeOutput(const std::string &file, const void *bytes, size_t length) {
  bool toStandard = file.empty() || file == "-";
  FILE *stream = toStandard ? stdout : std::fopen(file.c_str(), "wb");
  bool good = stream && std::fwrite(bytes, 1, length, stream) == length;
  if (stream && (toStandard ? std::fflush(stream) : std::fclose(stream)) != 0)
    good = false;
  if (!good)
    usageError("cannot write '" + (toStandard ? "-" : file) + "': " + std::strerror(errno));
  return good;
}

int exitStatus(tessera_status status) {
  if (status == TESSERA_OK)
    return Success;
  return status == TESSERA_REQUEST ? Usage : Failure;
}

void showDiagnostics(const tessera_result *result, const Options &options) {
  if (options.diagnostics == "json")
    std::fputs(jsonDiagnostics(result).c_str(), stderr);
  else if (const char *text = tessera_result_text(result, wantsColour(STDERR_FILENO)))
    std::fputs(text, stderr);
}

bool Program::readFile() {
  std::string &file = program.file;
  if (file == "-") {
    file = "<stdin>";
    if (readAll(stdin, program.source))
      return true;
    usageError(std::string("cannot read standard input: ") + std::strerror(errno));
    return false;
  }
  FILE *stream = std::fopen(file.c_str(), "rb");
  bool good = stream && readAll(stream, program.source);
  int cause = errno;
  if (stream)
    std::fclose(stream);
  if (!good)
    usageError("cannot read '" + file + "': " + std::strerror(cause));
  return good;
}

bool Program::hasAllSizes() const {
  for (const ArgumentSpec &argument : arguments())
    if (argument.hasAnySize()) {
      usageError("--arg: expected numbers as the sizes of '" + argument.name +
                 "', since it is made up");
      return false;
    }
  return true;
}

bool Program::read(const std::string &name, const Options &given) {
  size_t separator = name.rfind("::");
  program.file = name.substr(0, separator);
  if (separator != std::string::npos)
    program.function = name.substr(separator + 2);
  target.architecture = given.target;
  for (const std::string &argument : given.arguments) {
    std::string error;
    if (!parseArgument(argument, specs.emplace_back(), error)) {
      usageError("--arg: " + error);
      return false;
    }
    for (size_t i = 0; i + 1 < specs.size(); ++i)
      if (specs[i].name == specs.back().name) {
        usageError("--arg: '" + specs[i].name + "' is given twice");
        return false;
      }
    program.arguments.push_back(typeOf(specs.back()));
  }
  for (const std::string &option : given.options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      usageError("--option: expected KEY=VALUE, got '" + option + "'");
      return false;
    }
    std::string key = option.substr(0, equals);
    if (std::find(std::begin(optionNames), std::end(optionNames), key) == std::end(optionNames)) {
      std::string known;
      for (const char *name : optionNames)
        known += std::string(" ") + name;
      usageError("--option: there is no option '" + key + "', expected one of" + known);
      return false;
    }
    program.options.emplace_back(std::move(key), option.substr(equals + 1));
  }
  if (!given.gradients.empty() && !given.forward.empty()) {
    usageError("expected either --grad or --forward");
    return false;
  }
  if (!given.gradients.empty())
    program.options.emplace_back("grad", "grad:" + given.gradients);
  if (!given.forward.empty())
    program.options.emplace_back("grad", "forward:" + given.forward + ",");
  if (!readFile())
    return false;
  const std::string &file = program.file;
  program.isModule = file.ends_with(".mlir") || (file == "<stdin>" && looksLikeIR(program.source));
  if (given.via != "auto")
    program.options.emplace_back("via", given.via);
  if (!given.schedule.empty())
    program.options.emplace_back("schedule", given.schedule);
  return true;
}

std::vector<std::string> Program::functions() {
  std::vector<std::string> names;
  if (program.isModule)
    return names;
  ProgramRequest request(program, target, {}, /*code=*/false);
  tessera_result *made = nullptr;
  tessera_status status = tessera_functions(request.get(), &made);
  Result result(made);
  if (status != TESSERA_OK)
    return names;
  std::istringstream lines(tessera_result_ir(result.get(), "functions"));
  for (std::string name; std::getline(lines, name);)
    if (name.find('.') == std::string::npos)
      names.push_back(name);
  return names;
}

Result Program::compile(bool code) {
  ProgramRequest request(program, target, stages, code);
  tessera_result *result = nullptr;
  tessera_compile(request.get(), &result);
  return Result(result);
}

Result Program::simulate(const std::vector<tessera_rt_value> &values,
                         const tessera_simulation &how) {
  ProgramRequest request(program, target, stages, /*code=*/false);
  tessera_result *result = nullptr;
  tessera_simulate(request.get(), values.data(), values.size(), &how, &result);
  return Result(result);
}

Result Program::reference(const std::vector<tessera_rt_value> &values) {
  ProgramRequest request(program, target, stages, /*code=*/false);
  tessera_result *result = nullptr;
  tessera_reference(request.get(), values.data(), values.size(), &result);
  return Result(result);
}

} // namespace tessera::cli
