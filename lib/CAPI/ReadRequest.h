//===- ReadRequest.h - Requests of the C ABI -------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_READREQUEST_H
#define TESSERA_LIB_CAPI_READREQUEST_H

#include "Answers.h"
#include "tessera/Pipeline/Pipeline.h"

#include <memory>
#include <vector>

namespace tessera::capi {

/// A request in the compiler's terms, with what must live as long as it.
struct ReadRequest {
  CompileRequest request;
  std::unique_ptr<CallbackResolver> resolver;
  /// Stages that this compiler does not have.
  std::vector<std::string> unknownStages;

  /// False when the request is malformed; `error` says how.
  bool read(const tessera_compile_request *given, std::string &error);
};

} // namespace tessera::capi

#endif
