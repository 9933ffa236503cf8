//===- CodeOptions.h - Options of code generation by name ------*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_CODEOPTIONS_H
#define TESSERA_LIB_CAPI_CODEOPTIONS_H

#include "tessera/Pipeline/Pipeline.h"

namespace tessera::capi {

/// "optimization_level", "tensor_cores", "profiling", "tuning".
bool isCodeOption(const std::string &key);

/// False when the value is none of this option; `error` says what is expected.
bool readCodeOption(const std::string &key, const std::string &value, CodeOptions &options,
                    std::string &error);

} // namespace tessera::capi

#endif
