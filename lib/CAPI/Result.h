//===- Result.h - The result handle of the C ABI ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_RESULT_H
#define TESSERA_LIB_CAPI_RESULT_H

#include "tessera-c/tessera.h"
#include "tessera/Pipeline/Pipeline.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tessera::capi {

/// One result of a reference evaluation and its memory.
struct Output {
  std::vector<int64_t> sizes, strides;
  std::vector<double> values; // floats
  std::vector<double> bounds;
  std::vector<std::byte> integers; // integers and bools, in their own type
  std::vector<uint8_t> excluded;
  tessera_output view = {};
};

} // namespace tessera::capi

struct tessera_result {
  tessera_status status = TESSERA_OK;
  tessera::CompileResult compiled;
  std::map<std::string, std::string, std::less<>> stages;
  std::string report;
  std::vector<tessera_diagnostic> diagnostics;
  std::vector<std::vector<tessera_fixit>> fixits; // of each diagnostic
  std::deque<std::string> strings;                // of the diagnostics and of the kernels
  std::vector<tessera_kernel_report> kernels;
  std::deque<std::vector<tessera_kernel_dim>> kernelDims;
  std::string text[2]; // plain, with colour
  std::vector<tessera::capi::Output> outputs;

  /// Fills the fields that callers can query from `compiled`.
  void finish();

private:
  void addDiagnostic(const tessera::Diagnostic &diagnostic);
  void addKernel(const llvm::json::Object &kernel);
};

#endif
