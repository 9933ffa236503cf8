//===- SimulateRun.h - Simulations of the C ABI ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_CAPI_SIMULATERUN_H
#define TESSERA_LIB_CAPI_SIMULATERUN_H

#include "tessera-c/tessera.h"
#include "tessera/Pipeline/Pipeline.h"

#include <span>

namespace tessera::capi {

/// Simulates and compares with the reference; findings become diagnostics, `text` and the member
/// "simulation" of the report hold the rest.
void runSimulation(const CompileRequest &request, std::span<const tessera_rt_value> values,
                   const tessera_simulation &options, CompileResult &result, std::string &text);

} // namespace tessera::capi

#endif
