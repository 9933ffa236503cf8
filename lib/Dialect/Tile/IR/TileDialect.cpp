//===- TileDialect.cpp - The Tile IR dialect ------------------------------===//
//
// Registration, and the constants that folding makes.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

#include "tessera/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "tessera/Dialect/Tile/IR/TileInterfaces.cpp.inc"

void TileDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto number = dyn_cast<TypedAttr>(value);
  if (!number)
    return nullptr;
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    if (number.getType() != tile.getElementType())
      return nullptr;
    return ConstantOp::create(builder, loc, tile, number);
  }
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
