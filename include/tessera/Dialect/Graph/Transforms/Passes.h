//===- Passes.h - Passes on Graph IR ---------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::gir {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"

} // namespace tessera::gir

#endif
