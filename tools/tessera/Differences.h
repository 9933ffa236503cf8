//===- Differences.h - Gradients against finite differences -----*- C++ -*-===//
#ifndef TESSERA_TOOLS_TESSERA_DIFFERENCES_H
#define TESSERA_TOOLS_TESSERA_DIFFERENCES_H

#include "Inputs.h"
#include "Program.h"

namespace tessera::cli {

/// Compares the gradients that `reference` holds with differences of the function itself, in
/// float64, along a random direction of each argument; prints one line for each.
int checkDifferences(const Options &options, const Inputs &inputs, const tessera_result *reference);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_DIFFERENCES_H
