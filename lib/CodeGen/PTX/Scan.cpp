//===- Scan.cpp - Running joins -------------------------------------------===//
//
// In shared memory, in as many steps as the length has bits: in step s each element joins what lies
// 2^s before it. The order depends on nothing but the tile's shape.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;

LogicalResult KernelEmitter::emitScan(tile::ScanOp scan) {
  Layout layout = layoutOf(scan.getInput());
  ArrayRef<int64_t> shape = scan.getInput().getType().getShape();
  unsigned along = scan.getDim();
  Type element = elementOf(scan.getInput()), stored = e.storageType(element);
  auto join = [&](Value a, Value b) { return e.join(scan.getReduceOp(), a, b, element); };
  Value buffer = sharedBuffer(layout.out().size() * codegen::Emitter::byteWidth(element));
  // Where an element lies: at `position` along the dimension, else where the register is.
  auto placeOf = [&](const Layout &of, unsigned reg, Ix position) {
    Ix offset = 0;
    for (unsigned dim = 0, other = 0; dim < shape.size(); ++dim) {
      bool isOfTile = &of == &layout;
      Ix index = dim == along ? position : coordinate(of, reg, tensorDim(isOfTile ? dim : other));
      other += dim != along;
      offset = e.add(e.mul(offset, shape[dim]), index);
    }
    return LLVM::GEPOp::create(e.b, buffer.getType(), stored, buffer, ValueRange(e.materialize(offset)));
  };
  auto load = [&](Value from) { return e.fromStorage(LLVM::LoadOp::create(e.b, stored, from), element); };
  auto put = [&](const Registers &parts) {
    for (auto [reg, part] : llvm::enumerate(parts))
      LLVM::StoreOp::create(e.b, e.toStorage(part, element),
                            placeOf(layout, reg, coordinate(layout, reg, tensorDim(along))));
    barrier();
  };

  Registers parts = tiles.lookup(scan.getInput());
  for (int64_t back = 1; back < shape[along]; back *= 2) {
    put(parts);
    for (auto [reg, part] : llvm::enumerate(parts)) {
      Ix position = coordinate(layout, reg, tensorDim(along));
      Value before = e.subI(e.materialize(position), e.integer(back));
      // What has nothing before it reads itself, and keeps what it is.
      Value exists = e.cmp(LLVM::ICmpPredicate::sge, before, e.integer(0));
      Value other = load(placeOf(layout, reg, Ix(e.select(exists, before, e.materialize(position)))));
      part = e.select(exists, join(other, part), part);
    }
    barrier();
  }
  // The initial value of a row is with every thread that has a part of the row.
  Layout rest = layoutOf(scan.getInit());
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < countRegisters(scan.getInit()); ++reg)
    held.try_emplace(rest(rest.in().pack(Point({{Dim::Register, reg}}))), reg);
  for (auto [reg, part] : llvm::enumerate(parts)) {
    Point all = layout(Point({{Dim::Register, unsigned(reg)}})), kept;
    for (unsigned dim = 0, other = 0; dim < shape.size(); ++dim)
      if (dim != along)
        kept[tensorDim(other++)] = all[tensorDim(dim)];
    auto found = held.find(rest.out().pack(kept));
    if (found == held.end())
      return scan.emitError("expected an initial value that is where its row is");
    part = join(tiles.lookup(scan.getInit())[found->second], part);
  }
  put(parts);
  Layout total = layoutOf(scan.getTotal());
  for (unsigned reg = 0; reg < countRegisters(scan.getTotal()); ++reg)
    tiles[scan.getTotal()].push_back(load(placeOf(total, reg, Ix(shape[along] - 1))));
  barrier();
  tiles[scan.getResult()] = parts;
  return success();
}
