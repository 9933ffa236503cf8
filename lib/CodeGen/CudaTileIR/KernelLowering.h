//===- KernelLowering.h - One tile kernel to CUDA Tile IR ------*- C++ -*-===//
//
// Iterates over a tile kernel once and appends operations to a builder. Tiles become tiles; `index`
// values and scalars become tiles of rank 0. The entry block creates the partition views, one for
// each way in which the kernel partitions a tensor, so that loops only use them.
//
// A load or store uses a partition view if its tile is known to touch the tensor, since an index
// outside of a view's index space is undefined behaviour. Other accesses use pointers and a mask:
// those with a padding that views lack, or with strides that they do not allow.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CUDATILEIR_KERNELLOWERING_H
#define TESSERA_LIB_CODEGEN_CUDATILEIR_KERNELLOWERING_H

#include "tessera/CodeGen/CudaTileIR/CudaTileIR.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::cudatile {

class KernelLowering {
public:
  KernelLowering(tile::KernelOp kernel, Builder &builder, const LoweringOptions &options)
      : kernel(kernel), b(builder), options(options), coordinates(kernel) {}

  mlir::LogicalResult run();

private:
  using Values = Builder::Values;

  /// A tensor in memory, as the parameters describe it.
  struct Tensor {
    Value pointer;
    Value view;             // created at the first access that needs it
    Values sizes, strides;  // rank-0 integers, one for each dimension, static ones included
    bool isOrdered = false; // accesses need tokens: there are loads and stores, or several stores
  };

  // KernelLowering.cpp: parameters, control flow, coordinates
  void declare();
  /// Lowers the body once, or in a loop over the grid for a persistent kernel.
  mlir::LogicalResult lowerGrid();
  /// The program ids from a linear number, in raster order; `sizes` are those of the grid.
  std::array<Value, 3> programIds(Value linear, const std::array<Value, 3> &sizes);
  mlir::LogicalResult lower(mlir::Block &block);
  mlir::LogicalResult lower(mlir::Operation &op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  Value initialValue(mlir::Value value);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerIndex(mlir::Operation &op);
  void setLocation(mlir::Location location);

  // LowerTiles.cpp
  mlir::LogicalResult lowerShape(mlir::Operation &op);
  mlir::LogicalResult lowerReduce(tile::ReduceOp reduce);
  Value elementwiseMma(Value lhs, Value rhs);
  mlir::LogicalResult lowerScan(tile::ScanOp scan);
  mlir::LogicalResult lowerMma(tile::MmaOp mma);

  // LowerMemory.cpp
  void declareTensors();
  int64_t usefulDivisor(int64_t divisor, tile::ViewType type) const;
  void declareAccesses();
  /// The tensor view of an argument of rank 1 or more; created at the first call.
  Value tensorViewFor(mlir::Value argument);
  mlir::LogicalResult lowerLoad(tile::LoadOp load);
  mlir::LogicalResult lowerGather(tile::GatherOp gather);
  mlir::LogicalResult lowerScatter(tile::ScatterOp scatter);
  mlir::LogicalResult lowerStore(tile::StoreOp store);
  struct Access;
  std::optional<int64_t> alignedDim(const Access &access) const;
  bool mayEndInChunk(const Access &access) const;
  bool isUnalignedRow(const Access &access) const;
  bool usesView(const Access &access) const;
  Value partitionFor(const Access &access);
  Values indicesFor(const Access &access);
  Value positionsFor(const Access &access, int64_t dim);
  Value maskFor(const Access &access);
  Value pointersFor(const Access &access);
  std::optional<Padding> viewPadding(const Access &access);
  /// A tile of the pad, for elements outside of the tensor.
  Value paddingFor(const Access &access, mlir::Attribute pad);

  // LowerScalar.cpp
  Value functionOf(ScalarOp op, Value x);
  Value roundTo(ScalarOp op, Value x, bool isFloat);
  Value scalar(ScalarOp op, llvm::ArrayRef<Value> x, mlir::Type element);
  Value approximate(ScalarOp op, llvm::ArrayRef<Value> x);
  Value integerDivision(ScalarOp op, Value x, Value y, Signedness sign);
  Value roundEven(Value x);
  Value scaleB(Value x, Value exponent);
  Value overOnePlusExp(Value numerator, Value argument);
  Value approximateExp2(Value x);
  Value approximateOverOnePlusExp(Value numerator, Value argument);
  Value shift(ScalarOp op, Value x, Value y, Signedness sign);
  mlir::LogicalResult lowerMap(tile::MapOp map);
  mlir::LogicalResult lowerCast(tile::CastOp cast);

  // Float8.cpp
  /// Rounds an f64 to an f32 to odd: a second rounding to fewer bits then equals a single one.
  Value roundToOddF32(Value x);
  Value fromFloat8(Value x, mlir::Type from);
  Value toFloat8(Value x, mlir::Type to);
  Value roundToFloat8(Value x, mlir::Type to);

  /// The value of an operand.
  Value get(mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, Value result) { values[value] = result; }
  Type typeOf(mlir::Type type);
  /// Bools are stored as bytes.
  static TypeKind inMemory(TypeKind kind) { return kind == TypeKind::I1 ? TypeKind::I8 : kind; }
  TypeKind kindOf(mlir::Type type) const;
  template <typename Field> std::optional<int64_t> fieldOf(Field field) const {
    return tile::KernelOp(kernel).getField(field);
  }
  AccessHints accessHints() const { return {.allowTma = fieldOf(TuningField::UseTma) != 0}; }
  TypeKind indexKind() const { return options.wideIndices ? TypeKind::I64 : TypeKind::I32; }
  Value index(int64_t value) { return b.constantInt(b.tile(indexKind(), {}), value); }
  /// A tile of the type of `like` with one value everywhere.
  Value fill(Value like, double value) { return b.constant(b.typeOf(like), value); }
  Value fillInt(Value like, int64_t value) { return b.constantInt(b.typeOf(like), value); }
  /// A rank-0 value in every element of a shape.
  Value splat(Value scalar, const Builder::Shape &shape) {
    return b.broadcastInDims(scalar, shape, {});
  }

  tile::KernelOp kernel;
  Builder &b;
  const LoweringOptions &options;
  Coordinates coordinates;
  llvm::DenseMap<mlir::Value, Value> values;
  llvm::MapVector<mlir::Value, Tensor> tensors;
  std::map<SymExpr, Value> sizes; // of tensors, and index arguments
  /// Partition views by tensor and type.
  std::map<std::pair<uint32_t, uint32_t>, Value> partitions;
  /// Per tensor, the padding of its views.
  llvm::DenseMap<mlir::Value, Padding> paddings;
  /// Per ordered tensor, the token of its last access; carried by loops and branches.
  llvm::MapVector<mlir::Value, Value> tokens;
  std::array<Value, 3> blockId;
  Values gridWords; // sizes of the grid; only where the launch has fewer dimensions or CTAs
  uint32_t subprogram = 0;
  /// Whether lowering failed in a region; the builder's callbacks cannot return that.
  bool failedInside = false;
};

/// Signedness of an element type: bools and ui8 are unsigned.
inline Signedness signednessOf(mlir::Type type) {
  return type.isUnsignedInteger() || type.isInteger(1) ? Signedness::Unsigned : Signedness::Signed;
}

/// The shape of a tile in the builder's type.
inline Builder::Shape shapeOf(mlir::Type type) {
  auto shape = llvm::cast<mlir::RankedTensorType>(type).getShape();
  return Builder::Shape(shape.begin(), shape.end());
}

} // namespace tessera::cudatile

#endif
