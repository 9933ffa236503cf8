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

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kOneThreadAttr)
    return success();
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || loop.getNumResults())
    return op->emitOpError() << "expected an scf.for without results for " << kOneThreadAttr;
  for (Operation &inside : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<BulkLoadOp>(inside);
    if (load ? load.getWarp().has_value() : !isa<arith::ArithDialect>(inside.getDialect()))
      return inside.emitOpError("expected a tile.bulk_load of the first warp in a loop with ")
             << kOneThreadAttr;
  }
  return success();
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
