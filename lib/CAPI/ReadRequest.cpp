//===- ReadRequest.cpp - Requests of the C ABI ----------------------------===//
//
// Structs are copied with the size that the caller gave, so that fields unknown to the caller are
// zero.
//
//===----------------------------------------------------------------------===//
#include "ReadRequest.h"
#include "tessera_rt/program.h"

#include <algorithm>
#include <cstring>

namespace tessera::capi {

namespace {

constexpr int32_t maxRank = 64;

/// Element types are passed as numbers: the compiler and the C ABI use the same ones.
static_assert(int(DType::FP64) == TESSERA_RT_FP64 && int(DType::Bool) == TESSERA_RT_BOOL &&
              int(DType::FP8E5M2) == TESSERA_RT_FP8_E5M2);

template <typename Struct> Struct sizedCopy(const void *given) {
  Struct copy = {};
  uint64_t bytes = 0;
  std::memcpy(&bytes, given, sizeof bytes);
  std::memcpy(&copy, given, std::min<uint64_t>(bytes, sizeof copy));
  return copy;
}

std::string text(const char *given) { return given ? given : ""; }

bool readTensor(const tessera_argument &given, ArgSpec &spec, std::string &error) {
  if (given.dtype < 0 || given.dtype >= int32_t(numDTypes)) {
    error =
        "argument '" + spec.name + "' has the unknown type number " + std::to_string(given.dtype);
    return false;
  }
  if (given.rank < 0 || given.rank > maxRank || (given.rank && !given.dims)) {
    error = "argument '" + spec.name + "' has " + std::to_string(given.rank) +
            " dimensions, expected 0 to " + std::to_string(maxRank);
    return false;
  }
  spec.dtype = DType(given.dtype);
  for (int32_t d = 0; d < given.rank; ++d) {
    const tessera_dim &dim = given.dims[d];
    if (dim.size < -1 || dim.divisor < 1 || (dim.size > 0 && dim.size % dim.divisor != 0)) {
      error = "dimension " + std::to_string(d) + " of argument '" + spec.name + "' has size " +
              std::to_string(dim.size) + " and divisor " + std::to_string(dim.divisor);
      return false;
    }
    spec.dims.push_back({dim.size, dim.divisor, dim.hint, dim.fixed != 0});
  }
  if (given.unit_stride_dim >= 0 && given.unit_stride_dim < given.rank)
    spec.unitStrideDim = unsigned(given.unit_stride_dim);
  spec.contiguous = given.contiguous != 0;
  return true;
}

bool readArgument(const tessera_argument &given, ArgSpec &spec, std::string &error) {
  if (!given.name) {
    spec.kind = ArgSpec::Default;
    return true;
  }
  spec.name = given.name;
  spec.hasValue = given.has_value != 0;
  spec.fixed = given.fixed != 0;
  spec.integer = given.integer;
  switch (given.kind) {
  case TESSERA_ARGUMENT_TENSOR:
    spec.kind = ArgSpec::Tensor;
    return readTensor(given, spec, error);
  case TESSERA_ARGUMENT_INT:
    spec.kind = ArgSpec::Int;
    return true;
  case TESSERA_ARGUMENT_FLOAT:
    spec.kind = ArgSpec::Float;
    return true;
  case TESSERA_ARGUMENT_BOOL:
    spec.kind = ArgSpec::Bool;
    return true;
  case TESSERA_ARGUMENT_CONSTANT:
    if (std::optional<Constant> constant = parseConstant(given.constant)) {
      spec.kind = ArgSpec::Constant;
      spec.constant = std::move(*constant);
      return true;
    }
    error = "argument '" + spec.name + "' is not a constant that can be read";
    return false;
  }
  error = "argument '" + spec.name + "' is of the unknown kind " + std::to_string(given.kind);
  return false;
}

} // namespace

bool ReadRequest::read(const tessera_compile_request *pointer, std::string &error) {
  if (!pointer || pointer->struct_bytes < offsetof(tessera_compile_request, file)) {
    error = "expected a request";
    return false;
  }
  auto given = sizedCopy<tessera_compile_request>(pointer);
  if (!given.source && given.source_bytes) {
    error = "expected a source text";
    return false;
  }
  Request &program = request.program;
  if (given.source)
    program.source.text.assign(given.source, given.source_bytes);
  program.source.file = given.file ? given.file : "<source>";
  program.source.firstLine = uint32_t(std::max(given.first_line, 1));
  program.source.columnShift = uint32_t(std::max(given.first_column, 0));
  program.function = text(given.function);
  const char *next = reinterpret_cast<const char *>(given.arguments);
  for (uint64_t i = 0; i < given.argument_count; ++i) {
    auto argument = sizedCopy<tessera_argument>(next);
    next += argument.struct_bytes;
    if (!readArgument(argument, program.arguments.emplace_back(), error))
      return false;
  }
  if (given.target && *given.target)
    request.target = given.target;
  for (uint64_t i = 0; i < given.option_count; ++i) {
    std::string key = text(given.options[i].key), value = text(given.options[i].value);
    if (key == "input")
      request.isIR = value == "mlir";
    else if (key == "remarks") {
      if (value != "missed" && value != "all") {
        error = "option 'remarks' is '" + value + "', expected 'missed' or 'all'";
        return false;
      }
      request.remarks = value == "all" ? RemarkFilter::All : RemarkFilter::Missed;
    } else if (isCodeOption(key)) {
      if (!readCodeOption(key, value, request.codeOptions, error))
        return false;
      request.givenCodeOptions.insert(key);
    } else
      program.options.emplace_back(std::move(key), std::move(value));
  }
  if (given.resolve) {
    resolver = std::make_unique<CallbackResolver>(given.resolve, given.resolve_user);
    program.resolver = resolver.get();
  }
  for (uint64_t i = 0; i < given.stage_count; ++i) {
    std::string name = text(given.stages[i]);
    std::optional<Stage> stage = stageByName(name);
    if (name == "explain")
      request.explain = true;
    else if (name == "candidates")
      request.candidates = true;
    else if (name == "profile")
      request.profile = true;
    else if (name == "launcher")
      request.launcher = true;
    else if (stage && *stage != Stage::Bundle)
      request.texts.insert(*stage);
    else
      unknownStages.push_back(name);
  }
  request.code = !given.no_code;
  program.fromAnnotations = given.from_annotations != 0;
  return true;
}

} // namespace tessera::capi
