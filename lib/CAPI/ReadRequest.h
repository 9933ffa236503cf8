//===- ReadRequest.h - Requests of the C ABI -------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_READREQUEST_H
#define TESSERA_LIB_CAPI_READREQUEST_H

#include "Answers.h"
#include "tessera/Pipeline/Pipeline.h"

#include <memory>
#include <vector>

namespace tessera::capi {

/// A request in the compiler's types, with the memory that it refers to.
struct ReadRequest {
  CompileRequest request;
  std::unique_ptr<CallbackResolver> resolver;
  /// Requested stages that do not exist.
  std::vector<std::string> unknownStages;

  /// Returns false if the request is malformed; `error` holds the message.
  bool read(const tessera_compile_request *given, std::string &error);
};

} // namespace tessera::capi

#endif
