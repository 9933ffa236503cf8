//===- TileInterfaces.td - Operation interfaces of Tile IR --*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_TILEINTERFACES
#define TESSERA_DIALECT_TILE_IR_TILEINTERFACES

include "mlir/IR/OpBase.td"

def Tile_AsyncLoadOpInterface : OpInterface<"AsyncLoadOpInterface"> {
  let cppNamespace = "::tessera::tile";
  let description = [{
    An asynchronous copy of a tile from a view into a stage of a buffer that completes at a full mbarrier:
    `tile.bulk_load` and `tile.tma_load`. One thread issues the copy. The data may be read after a
    `tile.mbarrier_wait` at the full mbarrier.
  }];
  let methods = [
    InterfaceMethod<"the view that is read", "::mlir::TypedValue<::tessera::tile::ViewType>", "getView">,
    InterfaceMethod<"one coordinate per dimension of the view, as in `tile.load`", "::mlir::OperandRange", "getCoords">,
    InterfaceMethod<"the view's dimension of each dimension of the tile", "::llvm::ArrayRef<int64_t>", "getDims">,
    InterfaceMethod<"whether elements outside of the view are left out or zero", "bool", "getBounded">,
    InterfaceMethod<"the buffer that is written", "::mlir::TypedValue<::tessera::tile::BufferType>", "getBuffer">,
    InterfaceMethod<"the buffer's stage that is written", "::mlir::TypedValue<::mlir::IndexType>", "getStage">,
    InterfaceMethod<"the stage as an operand", "::mlir::OpOperand &", "getStageMutable">,
    InterfaceMethod<"the full mbarriers", "::mlir::TypedValue<::tessera::tile::MbarrierType>", "getFull">,
    InterfaceMethod<"the index of the full mbarrier", "::mlir::TypedValue<::mlir::IndexType>", "getFullIndex">,
    InterfaceMethod<"that index as an operand", "::mlir::OpOperand &", "getFullIndexMutable">,
    InterfaceMethod<"the warp that issues the copy", "int64_t", "getIssuingWarp", (ins), /*methodBody=*/"", [{
      return $_op.getWarp().value_or(0);
    }]>,
  ];
}

#endif
