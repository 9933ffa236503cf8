//===- ReferenceRun.h - Reference evaluations of the C ABI -----*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_REFERENCERUN_H
#define TESSERA_LIB_CAPI_REFERENCERUN_H

#include "Result.h"

#include <span>

namespace tessera::capi {

/// Compiles the program to Graph IR and evaluates it on the values of a call.
void runReference(const CompileRequest &request, std::span<const tessera_rt_value> values,
                  CompileResult &result, std::vector<Output> &outputs);

} // namespace tessera::capi

#endif
