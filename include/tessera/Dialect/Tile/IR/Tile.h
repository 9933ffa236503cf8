//===- Tile.h - The Tile IR dialect ----------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_TILE_H
#define TESSERA_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Support/SymExpr.h"

#include "tessera/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Tile/IR/TileOps.h.inc"

#endif
