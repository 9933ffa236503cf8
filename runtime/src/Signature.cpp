//===- Signature.cpp - Parameters and results of a function ---------------===//

#include "Module.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// Fills the fields that the caller's version of the struct has.
static tessera_rt_status give(tessera_rt_parameter *target, tessera_rt_parameter found) {
  found.struct_bytes = target->struct_bytes;
  std::memcpy(target, &found, std::min<uint64_t>(target->struct_bytes, sizeof(found)));
  return TESSERA_RT_OK;
}

static tessera_rt_status missing(const tessera_rt_function *function, const char *what,
                                 int32_t index) {
  return fail(TESSERA_RT_NOT_FOUND,
              "function '" + function->name + "' has no " + what + " " + std::to_string(index));
}

tessera_rt_status tessera_rt_function_argument(const tessera_rt_function *function, int32_t index,
                                               tessera_rt_parameter *parameter) {
  const std::vector<Argument> &arguments = function->plan.source.arguments;
  if (index < 0 || static_cast<size_t>(index) >= arguments.size())
    return missing(function, "argument", index);
  const Argument &argument = arguments[static_cast<size_t>(index)];
  return give(parameter,
              {0, argument.name.c_str(), static_cast<int32_t>(argument.kind),
               static_cast<int32_t>(argument.dtype), static_cast<int32_t>(argument.rank), 0});
}

tessera_rt_status tessera_rt_function_result(const tessera_rt_function *function, int32_t index,
                                             tessera_rt_parameter *parameter) {
  const auto &results = function->plan.results;
  if (index < 0 || static_cast<size_t>(index) >= results.size())
    return missing(function, "result", index);
  const PlanResult &result = results[static_cast<size_t>(index)];
  return give(parameter, {0, "", TESSERA_RT_TENSOR, static_cast<int32_t>(result.dtype),
                          static_cast<int32_t>(result.rank), 0});
}
