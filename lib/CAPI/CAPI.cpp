//===- CAPI.cpp - The functions of the C ABI ------------------------------===//
#include "InterpretedProgram.h"
#include "ReadRequest.h"
#include "ReferenceRun.h"
#include "Result.h"
#include "SimulateRun.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/Interpreter/ReadyKernels.h"
#include "tessera_rt/bundle.h"

#include <cstring>

using namespace tessera;
using namespace tessera::capi;

/// Reads the request, calls `perform`, and always returns a handle.
static tessera_status
answer(const tessera_compile_request *given, tessera_result **out,
       llvm::function_ref<void(const CompileRequest &, tessera_result &)> perform) {
  auto *result = new tessera_result();
  ReadRequest request;
  std::string error;
  if (!request.read(given, error)) {
    result->compiled.outcome = Outcome::BadRequest;
    result->compiled.diagnostics.error({}, std::move(error));
  } else if (!request.unknownStages.empty()) {
    result->compiled.outcome = Outcome::Unsupported;
    for (const std::string &stage : request.unknownStages)
      result->compiled.diagnostics.error({}, "stage '" + stage + "' does not exist for target '" +
                                                 withDecorator(request.request).target + "'");
  } else {
    perform(request.request, *result);
  }
  result->finish();
  if (!out) {
    tessera_status status = result->status;
    delete result;
    return status;
  }
  *out = result;
  return result->status;
}

tessera_status tessera_compile(const tessera_compile_request *request, tessera_result **result) {
  return answer(request, result, [](const CompileRequest &read, tessera_result &made) {
    compile(read, made.compiled);
  });
}

tessera_status tessera_reference(const tessera_compile_request *request,
                                 const tessera_rt_value *values, uint64_t value_count,
                                 tessera_result **result) {
  return answer(request, result, [&](const CompileRequest &read, tessera_result &made) {
    runReference(read, {values, size_t(value_count)}, made.compiled, made.outputs);
  });
}

tessera_status tessera_interpret(const tessera_compile_request *request, tessera_result **result) {
  return answer(request, result, [](const CompileRequest &read, tessera_result &made) {
    interpretProgram(read, made.compiled, made.stages["program"]);
  });
}

const tessera_rt_native_kernel *tessera_ready_kernels(uint64_t *count) {
  std::span<const tessera_rt_native_kernel> kernels = readyKernels();
  *count = kernels.size();
  return kernels.data();
}

tessera_status tessera_simulate(const tessera_compile_request *request,
                                const tessera_rt_value *values, uint64_t value_count,
                                const tessera_simulation *options, tessera_result **result) {
  tessera_simulation given = {};
  if (options)
    std::memcpy(&given, options, std::min<uint64_t>(options->struct_bytes, sizeof given));
  return answer(request, result, [&](const CompileRequest &read, tessera_result &made) {
    runSimulation(read, {values, size_t(value_count)}, given, made.compiled,
                  made.stages["simulation"]);
  });
}

tessera_status tessera_functions(const tessera_compile_request *request, tessera_result **result) {
  return answer(request, result, [](const CompileRequest &read, tessera_result &made) {
    CompileResult &compiled = made.compiled;
    std::string &names = made.stages["functions"];
    for (const std::string &name : findFunctions(read.program.source, compiled.diagnostics))
      names += name + "\n";
    if (compiled.diagnostics.errorCount())
      compiled.outcome = Outcome::Diagnostics;
  });
}

/// A result that `perform` fills; if it fails, `error` becomes the only diagnostic.
static tessera_status answer(tessera_result **out,
                             llvm::function_ref<bool(tessera_result &, std::string &)> perform) {
  auto *result = new tessera_result();
  std::string error;
  if (!perform(*result, error)) {
    result->compiled.outcome = Outcome::BadRequest;
    result->compiled.diagnostics.error({}, std::move(error));
  }
  result->finish();
  tessera_status status = result->status;
  if (out)
    *out = result;
  else
    delete result;
  return status;
}

tessera_status tessera_merge(const void *const *bundles, const uint64_t *lengths, uint64_t count,
                             tessera_result **out) {
  std::vector<llvm::ArrayRef<uint8_t>> parts;
  for (uint64_t i = 0; i < count; ++i)
    parts.emplace_back(static_cast<const uint8_t *>(bundles[i]), lengths[i]);
  return answer(out, [&](tessera_result &result, std::string &error) {
    auto merged = mergeBundles(parts, error);
    if (merged)
      result.compiled.bundle = std::move(*merged);
    return merged.has_value();
  });
}

tessera_status tessera_header(const void *bundle, uint64_t length, const char *name,
                              tessera_result **out) {
  return answer(out, [&](tessera_result &result, std::string &error) {
    rt::Bundle read;
    if (!rt::decode({static_cast<const uint8_t *>(bundle), size_t(length)}, read, error))
      return false;
    auto header = makeHeader(read.manifest, name ? name : "bundle", error);
    if (header)
      result.stages["header"] = std::move(*header);
    return header.has_value();
  });
}

void tessera_result_release(tessera_result *result) { delete result; }

tessera_status tessera_result_status(const tessera_result *result) { return result->status; }

const void *tessera_result_bundle(const tessera_result *result, uint64_t *length) {
  const std::vector<uint8_t> &bundle = result->compiled.bundle;
  if (length)
    *length = bundle.size();
  return bundle.empty() ? nullptr : bundle.data();
}

const char *tessera_result_ir(const tessera_result *result, const char *stage) {
  auto found = result->stages.find(std::string_view(stage));
  return found == result->stages.end() ? nullptr : found->second.c_str();
}

const void *tessera_result_stage(const tessera_result *result, const char *stage,
                                 uint64_t *length) {
  auto found = result->stages.find(std::string_view(stage));
  bool known = found != result->stages.end();
  if (length)
    *length = known ? found->second.size() : 0;
  return known ? found->second.data() : nullptr;
}

const char *tessera_result_report(const tessera_result *result) { return result->report.c_str(); }

uint64_t tessera_result_kernel_count(const tessera_result *result) {
  return result->kernels.size();
}

tessera_status tessera_result_kernel(const tessera_result *result, uint64_t index,
                                     tessera_kernel_report *report) {
  if (index >= result->kernels.size())
    return TESSERA_REQUEST;
  tessera_kernel_report found = result->kernels[index];
  found.struct_bytes = report->struct_bytes;
  std::memcpy(report, &found, std::min<uint64_t>(report->struct_bytes, sizeof found));
  return TESSERA_OK;
}

uint64_t tessera_result_guarded_count(const tessera_result *result) {
  return result->compiled.info.guarded.size();
}

tessera_guarded tessera_result_guarded(const tessera_result *result, uint64_t index) {
  const std::vector<Guarded> &guarded = result->compiled.info.guarded;
  if (index >= guarded.size())
    return {-1, -1};
  return {int32_t(guarded[index].argument), int32_t(guarded[index].dim)};
}

uint64_t tessera_result_diagnostic_count(const tessera_result *result) {
  return result->diagnostics.size();
}

tessera_diagnostic tessera_result_diagnostic(const tessera_result *result, uint64_t index) {
  return index < result->diagnostics.size() ? result->diagnostics[index] : tessera_diagnostic{};
}

uint64_t tessera_result_fixit_count(const tessera_result *result, uint64_t diagnostic) {
  return diagnostic < result->fixits.size() ? result->fixits[diagnostic].size() : 0;
}

tessera_fixit tessera_result_fixit(const tessera_result *result, uint64_t diagnostic,
                                   uint64_t index) {
  return index < tessera_result_fixit_count(result, diagnostic) ? result->fixits[diagnostic][index]
                                                                : tessera_fixit{};
}

const char *tessera_result_text(const tessera_result *result, int32_t colour) {
  return result->text[colour != 0].c_str();
}

uint64_t tessera_result_output_count(const tessera_result *result) {
  return result->outputs.size();
}

tessera_output tessera_result_output(const tessera_result *result, uint64_t index) {
  return index < result->outputs.size() ? result->outputs[index].view : tessera_output{};
}

int32_t tessera_result_is_tuple(const tessera_result *result) {
  return result->compiled.info.returnsTuple;
}

uint32_t tessera_abi_version(void) { return TESSERA_ABI_VERSION; }

const char *tessera_version(void) { return TESSERA_VERSION_STRING; }
