//===- Transpose.cpp - Loads that are contiguous along another dimension --===//
//
// A tile that is contiguous in memory along dimension `unit`, not along its last one, is copied to
// scratch memory block by block. Short runs (128 bits of the result) of as many memory rows as a
// vector has lanes are combined to vectors, each holding every w-th row, and a w×w transposition
// inside the 128-bit lanes finishes the work. Combining takes no shuffles beyond the loads, so a
// block takes w·log2(w) shuffles per w vectors.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

void KernelEmitter::emitTranspose(const Item &item) {
  if (item.roots.front().dest->interleaved)
    return emitInterleave(item);
  auto load = item.roots.front().value.getDefiningOp<tile::LoadOp>();
  const Buffer &dest = *item.roots.front().dest;
  emitVersioned(isFull({load.getOperation()}),
                [&] { emitTransposeNest(load, dest, Ix(0), item.shape.back()); });
}

/// Transposes the w vectors (two or four) inside each group of w lanes with shuffles that are
/// single instructions on every target.
SmallVector<Value> KernelEmitter::transposeLanes(ArrayRef<Value> vectors) {
  int32_t w = vectors.size(), lanes = Emitter::lanesOf(vectors[0].getType());
  auto inLanes = [&](Value x, Value y, ArrayRef<int32_t> pattern) {
    SmallVector<int32_t> mask;
    for (int32_t group = 0; group < lanes; group += w)
      for (int32_t from : pattern)
        mask.push_back(from < w ? group + from : lanes + group + from - w);
    return e.shuffle(x, y, mask);
  };
  if (w == 2)
    return {inLanes(vectors[0], vectors[1], {0, 2}), inLanes(vectors[0], vectors[1], {1, 3})};
  Value low01 = inLanes(vectors[0], vectors[1], {0, 4, 1, 5}),
        high01 = inLanes(vectors[0], vectors[1], {2, 6, 3, 7});
  Value low23 = inLanes(vectors[2], vectors[3], {0, 4, 1, 5}),
        high23 = inLanes(vectors[2], vectors[3], {2, 6, 3, 7});
  return {inLanes(low01, low23, {0, 1, 4, 5}), inLanes(low01, low23, {2, 3, 6, 7}),
          inLanes(high01, high23, {0, 1, 4, 5}), inLanes(high01, high23, {2, 3, 6, 7})};
}

/// Copies `count` positions of the last dimension, from `first` on, to the start of `dest`.
void KernelEmitter::emitTransposeNest(tile::LoadOp load, const Buffer &dest, Ix first,
                                      int64_t count) {
  const Access &access = accesses.find(load)->second;
  Type element = Plan::elementOf(load.getResult()), stored = e.storageType(element);
  ArrayRef<int64_t> shape = Plan::shapeOf(load.getResult());
  int unit = Plan::unitDim(load), last = int(shape.size()) - 1;
  int64_t destBytes = Emitter::byteWidth(dest.element);
  int64_t w = destBytes >= 8 ? 2 : 4, lanes = cpu.lanes(std::max<int64_t>(destBytes, 4));

  // Loads `width` consecutive elements (widened to w) of memory row `row`, from `start` along the
  // unit dimension.
  auto piece = [&](ArrayRef<Ix> index, Ix start, Ix row, int64_t width) {
    Position at;
    at.index.assign(index.begin(), index.end());
    at.index[unit] = start;
    at.index[last] = e.add(first, row);
    at.vectorDim = unit;
    at.lanes = width;
    Value address = accessAddress(access, at, element), count = validLanes(access, at);
    Type type = Emitter::withLanes(stored, width);
    Value value;
    if (count) {
      Value pad = e.toStorage(e.number(load.getPadAttr(), element, width), element);
      value = e.loadLanes(type, address, count, pad);
    } else {
      value = e.load(type, address, access.scope);
    }
    return e.widen(value, e.integerOrReal(0, Emitter::withLanes(stored, w)));
  };
  // A block of `rows` memory rows by `width` consecutive elements.
  auto block = [&](ArrayRef<Ix> index, Ix start, int64_t width, Ix row, int64_t rows) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < w; ++i) {
      SmallVector<Value> parts;
      for (int64_t g = 0; g * w < lanes; ++g) {
        int64_t r = g * w + i;
        parts.push_back(r < rows ? piece(index, start, e.add(row, r), width)
                                 : e.integerOrReal(0, Emitter::withLanes(stored, w)));
      }
      while (parts.size() > 1) {
        SmallVector<Value> joined;
        for (size_t p = 0; p < parts.size(); p += 2)
          joined.push_back(e.concat(parts[p], parts[p + 1]));
        parts = joined;
      }
      vectors.push_back(e.cast(e.fromStorage(parts[0], element), element, dest.element));
    }
    vectors = transposeLanes(vectors);
    for (int64_t t = 0; t < width; ++t) {
      Position to;
      to.index.assign(index.begin(), index.end());
      to.index[unit] = e.add(start, t);
      to.index[last] = row;
      Value value = vectors[t];
      if (rows < lanes) {
        SmallVector<int32_t> keep;
        for (int64_t lane = 0; lane < rows; ++lane)
          keep.push_back(lane);
        value = e.shuffle(value, value, keep);
      }
      storeBuffer(dest, value, to);
    }
  };
  auto sweep = [&](ArrayRef<Ix> index, Ix row, int64_t rows) {
    int64_t whole = shape[unit] / w * w;
    if (whole) {
      Value end = e.minI(limit(extents.of(load, unit), shape[unit], extents.contractionStep()),
                         e.integer(whole));
      e.loop(e.integer(0), end, w, [&](Value start) { block(index, Ix(start), w, row, rows); });
    }
    if (shape[unit] > whole)
      block(index, Ix(whole), shape[unit] - whole, row, rows);
  };

  SmallVector<Ix> index(shape.size(), Ix(0));
  std::function<void(int)> nest = [&](int d) {
    if (d == int(shape.size())) {
      int64_t whole = count / lanes * lanes;
      if (whole) {
        Value end = e.integer(whole);
        if (first.isConstant() && count == shape[last])
          end = e.minI(
              limit(extents.of(load, last), count, std::max(lanes, extents.contractionStep())),
              end);
        e.loop(e.integer(0), end, lanes, [&](Value row) { sweep(index, Ix(row), lanes); });
      }
      if (count > whole)
        sweep(index, Ix(whole), count - whole);
      return;
    }
    if (d == unit || d == last)
      return nest(d + 1);
    e.loop(e.integer(0), e.integer(shape[d]), 1, [&](Value i) {
      index[d] = Ix(i);
      nest(d + 1);
    });
    index[d] = Ix(0);
  };
  nest(0);
}
