//===- ByteProducts.cpp - Contractions of int8 by dot products ------------===//
//
// An instruction multiplies four bytes along K of each lane and adds the products to int32 sums
// (VPDPBUSD on x86, SDOT on AArch64). Four bytes of a row are one 32-bit element that is broadcast;
// four bytes of a column are one element of a panel. The micro-kernel is the one of other types
// (Mma.cpp), with a fourth of the steps.
//
// VPDPBUSD multiplies unsigned bytes by signed ones. Rows are packed plus 128, and 128 times the
// sum of each column is subtracted; sums wrap around, so that the difference is exact.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static constexpr int64_t step = 4; // elements along K of one element of a panel

Value KernelEmitter::addByteProducts(Value rows, Value columns, Value sums) {
  int64_t lanes = Emitter::lanesOf(sums.getType());
  Type bytes = Emitter::withLanes(e.i8, lanes * step);
  Value left = LLVM::BitcastOp::create(e.b, bytes, rows),
        right = LLVM::BitcastOp::create(e.b, bytes, columns);
  if (cpu.arch == CpuDescription::Arch::AArch64)
    return e.intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", sums.getType(), {sums, left, right});
  std::string name = "llvm.x86.avx512.vpdpbusd." + std::to_string(lanes * 32);
  return e.intrinsic(name, sums.getType(), {sums, left, right});
}

/// Packs columns [column, column + width) of the right-hand side into the panel.
void KernelEmitter::packBytes(tile::MmaOp op, Ix column, int64_t width, Value depth) {
  const Buffer &panel = *plan.rhsOf(op);
  Value bytes = Plan::bytesOf(op.getRhs());
  bool isAlongDepth = Plan::isTransposedLoad(bytes);
  int64_t lanes = cpu.lanes(4);
  auto packStep = [&](Ix row, Ix packedRow) {
    if (isAlongDepth) {
      for (int64_t i = 0; i < width; ++i)
        e.store(evaluate(bytes, columnSegment(row, e.add(column, i), step)),
                bufferAddress(panel, {packedRow, Ix(i)}), scratchScope);
      return;
    }
    for (int64_t start = 0; start < width; start += lanes) {
      int64_t count = std::min(lanes, width - start);
      Type type = Emitter::withLanes(e.i32, count);
      Value quads;
      for (int64_t i = 0; i < step; ++i) {
        Value row32 = LLVM::ZExtOp::create(
            e.b, type, evaluate(bytes, rowSegment(e.add(row, i), e.add(column, start), count)));
        row32 = i ? LLVM::ShlOp::create(e.b, row32, e.integer(8 * i, type)) : row32;
        quads = i ? e.orI(quads, row32) : row32;
      }
      e.store(quads, bufferAddress(panel, {packedRow, Ix(start)}), scratchScope);
    }
  };
  emitInside(bytes.getDefiningOp(), depth, e.add(column, width), [&] {
    e.loop(e.integer(0), depth, step, [&](Value row) {
      MemoScope scope(*this);
      packStep(Ix(row), Ix(LLVM::LShrOp::create(e.b, row, e.integer(2))));
    });
  });
}
