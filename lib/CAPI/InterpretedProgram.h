//===- InterpretedProgram.h - Interpreted programs of the C ABI -*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_INTERPRETEDPROGRAM_H
#define TESSERA_LIB_CAPI_INTERPRETEDPROGRAM_H

#include "tessera/Pipeline/Pipeline.h"

namespace tessera::capi {

/// Compiles the request to Graph IR and writes it as a program over ready kernels, in the runtime's
/// encoding. The text of stage `target`, if it is requested, is the program's.
void interpretProgram(const CompileRequest &request, CompileResult &result, std::string &program);

} // namespace tessera::capi

#endif
