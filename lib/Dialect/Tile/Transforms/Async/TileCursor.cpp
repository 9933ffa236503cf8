//===- TileCursor.cpp - Where a loop's copies are, across programs ------------===//
#include "TileCursor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

bool Cursor::follow(Value value) {
  if (!programs || programs.isDefinedOutsideOfLoop(value))
    return true;
  SmallVector<Operation *> made;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == programs.getInductionVar() || programs.isDefinedOutsideOfLoop(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || op->getBlock() != programs.getBody() || op->getNumRegions() ||
        !isMemoryEffectFree(op))
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

/// Behind the last program, what was computed for it: its operations may not stand for others.
SmallVector<Value> Cursor::followed(OpBuilder &builder, Value program) {
  IRMapping map;
  Location loc = programs.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, programs.getUpperBound(), one);
  map.map(programs.getInductionVar(), arith::MinSIOp::create(builder, loc, program, last));
  for (Operation *op : operations)
    builder.clone(*op, map);
  return llvm::map_to_vector(values, [&](Value value) { return map.lookupOrDefault(value); });
}

SmallVector<Value> Cursor::begin(OpBuilder &builder) {
  SmallVector<Value> place = {first};
  if (programs) {
    place.push_back(programs.getLowerBound());
    place.append(followed(builder, place[1]));
  }
  return place;
}

SmallVector<Value> Cursor::next(OpBuilder &builder, Location loc, ValueRange place, Value end) {
  Value iteration = arith::AddIOp::create(builder, loc, place[0], step);
  if (!programs)
    return {iteration};
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, iteration, end);
  auto branch = scf::IfOp::create(builder, loc, place.getTypes(), isLast, /*withElseRegion=*/true);
  OpBuilder inside = branch.getThenBodyBuilder();
  Value program = arith::AddIOp::create(inside, loc, place[1], programs.getStep());
  SmallVector<Value> begun = {first, program};
  begun.append(followed(inside, program));
  scf::YieldOp::create(inside, loc, begun);
  inside = branch.getElseBodyBuilder();
  SmallVector<Value> same(place);
  same[0] = iteration;
  scf::YieldOp::create(inside, loc, same);
  return branch.getResults();
}

Value Cursor::exists(OpBuilder &builder, Location loc, ValueRange place, Value end) {
  Value isIteration = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, place[0], end);
  if (!programs)
    return isIteration;
  Value isProgram = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, place[1],
                                          programs.getUpperBound());
  return arith::AndIOp::create(builder, loc, isIteration, isProgram);
}

void Cursor::replace(Value program, scf::ForOp by) {
  llvm::replace(values, program, by.getInductionVar());
  programs = by;
}

Value Cursor::at(ValueRange place, Value value) {
  const auto *known = llvm::find(values, value);
  return known == values.end() ? value : place[2 + (known - values.begin())];
}
