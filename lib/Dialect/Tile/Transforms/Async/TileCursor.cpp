//===- TileCursor.cpp - The position of loads across tiles ----------------===//
#include "TileCursor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

bool Cursor::follow(Value value) {
  if (!tiles || tiles.isDefinedOutsideOfLoop(value))
    return true;
  SmallVector<Operation *> made;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == tiles.getInductionVar() || tiles.isDefinedOutsideOfLoop(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || op->getBlock() != tiles.getBody() || op->getNumRegions() || !isMemoryEffectFree(op))
      return false;
    made.push_back(op);
    open.append(op->operand_begin(), op->operand_end());
  }
  if (!llvm::is_contained(values, value))
    values.push_back(value);
  operations.insert(made.begin(), made.end());
  SmallVector<Operation *> sorted = operations.takeVector();
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  operations.insert(sorted.begin(), sorted.end());
  return true;
}

/// After the last tile, the values stay those of the last tile: the operations may be undefined for
/// others.
SmallVector<Value> Cursor::followed(OpBuilder &builder, Value tile) {
  IRMapping map;
  Location loc = tiles.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, tiles.getUpperBound(), one);
  map.map(tiles.getInductionVar(), arith::MinSIOp::create(builder, loc, tile, last));
  for (Operation *op : operations)
    builder.clone(*op, map);
  return llvm::map_to_vector(values, [&](Value value) { return map.lookupOrDefault(value); });
}

SmallVector<Value> Cursor::begin(OpBuilder &builder) {
  SmallVector<Value> position = {first};
  if (tiles) {
    position.push_back(tiles.getLowerBound());
    position.append(followed(builder, position[1]));
  }
  return position;
}

SmallVector<Value> Cursor::next(OpBuilder &builder, Location loc, ValueRange position, Value end) {
  Value iteration = arith::AddIOp::create(builder, loc, position[0], step);
  if (!tiles)
    return {iteration};
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, iteration, end);
  auto branch =
      scf::IfOp::create(builder, loc, position.getTypes(), isLast, /*withElseRegion=*/true);
  OpBuilder inside = branch.getThenBodyBuilder();
  Value tile = arith::AddIOp::create(inside, loc, position[1], tiles.getStep());
  SmallVector<Value> start = {first, tile};
  start.append(followed(inside, tile));
  scf::YieldOp::create(inside, loc, start);
  inside = branch.getElseBodyBuilder();
  SmallVector<Value> same(position);
  same[0] = iteration;
  scf::YieldOp::create(inside, loc, same);
  return branch.getResults();
}

Value Cursor::hasIteration(OpBuilder &builder, Location loc, ValueRange position, Value end) {
  Value isIteration =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position[0], end);
  if (!tiles)
    return isIteration;
  Value isTile = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position[1],
                                       tiles.getUpperBound());
  return arith::AndIOp::create(builder, loc, isIteration, isTile);
}

void Cursor::replace(Value tile, scf::ForOp by) {
  llvm::replace(values, tile, by.getInductionVar());
  tiles = by;
}

Value Cursor::at(ValueRange position, Value value) {
  const auto *known = llvm::find(values, value);
  return known == values.end() ? value : position[2 + (known - values.begin())];
}
