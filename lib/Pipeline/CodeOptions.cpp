//===- CodeOptions.cpp - Options of code generation by name ---------------===//
#include "tessera/Pipeline/Pipeline.h"
#include "tessera/Support/ScheduleOverride.h"

namespace tessera {

bool isCodeOption(const std::string &key) {
  return key == "optimization_level" || key == "tensor_cores" || key == "profiling" ||
         key == "tuning" || key == "schedule";
}

bool readCodeOption(const std::string &key, const std::string &value, CodeOptions &options,
                    std::string &error) {
  if (key == "schedule") {
    options.schedule = value;
    std::string problem;
    if (parseScheduleOverrides(value, problem))
      return true;
    error = "option 'schedule': " + problem;
    return false;
  }
  if (key == "optimization_level") {
    if (value.size() != 1 || value[0] < '0' || value[0] > '3') {
      error = "option 'optimization_level': expected 0, 1, 2 or 3, got '" + value + "'";
      return false;
    }
    options.optimizationLevel = unsigned(value[0] - '0');
    return true;
  }
  bool on = value == "true" || value == "True" || value == "1";
  if (!on && value != "false" && value != "False" && value != "0") {
    error = "option '" + key + "': expected true or false, got '" + value + "'";
    return false;
  }
  (key == "tensor_cores" ? options.tensorCores
   : key == "profiling"  ? options.profiling
                         : options.tuning) = on;
  return true;
}

CompileRequest withDecorator(const CompileRequest &request) {
  CompileRequest complete = request;
  // From Python the caller has read the decorator.
  if (!request.isIR && !request.program.resolver)
    for (const auto &[name, value] : decoratorOptions(request.program)) {
      std::string error;
      if (name == "target" && request.target.empty())
        complete.target = value;
      else if (isCodeOption(name) && !request.givenCodeOptions.count(name))
        readCodeOption(name, value, complete.codeOptions, error);
    }
  if (complete.target.empty())
    complete.target = "cpu";
  return complete;
}

} // namespace tessera
