//===- Amx.cpp - Contractions on AMX --------------------------------------===//
//
// AMX multiplies 16×32 by 32×16 tiles of bf16 and accumulates in f32, sixteen times as fast as the
// vector unit. Wider operands are split into sums of bf16 parts: an f32 is exactly hi + mid + lo of
// eight bits each, an f16 is hi + lo. The products of parts up to second order are computed. With
// parts rounded to nearest, the omitted products are at most 2^-23 of the product of the operands,
// which is two roundings of an f32. An f32 contraction therefore keeps f32 accuracy and takes six
// tile multiplications.
//
// There are two differences to the vector unit. Products of parts below 2^-126 become zero. An
// infinity or a NaN would be multiplied by the zero parts of the other operand, so packing detects
// numbers whose parts do not add up (their remainder is a NaN) and stores such a number unsplit in
// its first part. A contraction that reads one takes a slower path, which adds the parts up again.
//
// Layout: blocks of 16 rows of 64 bytes. Word k of a row of the left-hand side holds the elements k
// (low half) and k + 16 (high half). Row k of a block of the right-hand side holds rows k (low
// halves) and k + 16 (high halves) of the operand. One shift joins two vectors in this order, and
// the order along K does not matter to the sum. The blocks of one k-step of the right-hand side are
// adjacent: a strip is split along its rows, so that memory is read in long contiguous runs.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::FCmpPredicate;
using LLVM::ICmpPredicate;

static constexpr int64_t blockBytes = 1024, blockRow = 64;
static constexpr int64_t blockRows = CpuDescription::amxRows, blockColumns = blockRows;
static constexpr int64_t blockDepth = CpuDescription::amxDepth;
/// Tile registers: 0 to 3 are accumulators, followed by two for each operand.
static constexpr int lhsRegister = 4, rhsRegister = 6;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Every tile is 16 rows of 64 bytes; the shapes are configured once per kernel.
void KernelEmitter::configureAmx() {
  const Buffer &at = *plan.amxConfiguration();
  SmallVector<int64_t> words(8, 0);
  words[0] = 1; // the palette
  for (int64_t i = 2; i < 4; ++i)
    words[i] = 0x0040'0040'0040'0040; // bytes per row, eight 16-bit fields
  words[6] = 0x1010'1010'1010'1010;   // rows, eight 8-bit fields
  for (auto [i, word] : llvm::enumerate(words))
    e.store(e.integer(word), e.address(scratch, at.offset + 8 * int64_t(i)), {});
  e.procedure("llvm.x86.ldtilecfg", e.address(scratch, at.offset));
}

void KernelEmitter::releaseAmx() { e.procedure("llvm.x86.tilerelease", {}); }

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace {
/// The parts of a vector of f32 as words whose high half is the bf16, and the remainder before the
/// last part.
struct Parts {
  SmallVector<Value, 3> words;
  Value remainder;
};
} // namespace

static constexpr int64_t highHalf = 0xffff'0000;

static Parts split(Emitter &e, Value value, int64_t count, bool careful) {
  Type type = value.getType(), words = Emitter::withLanes(e.i32, Emitter::lanesOf(type));
  Value mask = e.integer(int32_t(highHalf), words), half = e.integer(0x8000, words);
  Parts parts;
  for (int64_t part = 0; part + 1 < count; ++part) {
    Value bits = e.bitcast(value, e.i32);
    Value high = e.andI(e.addI(bits, half), mask);
    auto rest = [&](Value taken) -> Value {
      return LLVM::FSubOp::create(e.b, value, e.bitcast(taken, e.f32));
    };
    Value next = rest(high);
    if (careful) {
      auto isFinite = [&](Value x) {
        Value zero = LLVM::FSubOp::create(e.b, x, x);
        return e.fcmp(FCmpPredicate::ord, zero, zero);
      };
      high = e.select(isFinite(next), high, e.andI(bits, mask));
      next = rest(high);
      next = e.select(isFinite(next), next, e.real(0, type));
    }
    parts.words.push_back(high);
    value = next;
  }
  parts.words.push_back(e.bitcast(value, e.i32));
  parts.remainder = value;
  return parts;
}

Value KernelEmitter::unsplitFlag(const Buffer &buffer) {
  return e.address(scratch, buffer.offset + buffer.partBytes() * buffer.parts);
}

/// Stores two vectors, 16 apart along K, to their common row of a block, once for each part.
void KernelEmitter::storeParts(const Buffer &buffer, Ix bytes, Value low, Value high) {
  auto store = [&](const Parts &lows, const Parts &highs) {
    for (int64_t part = 0; part < buffer.parts; ++part) {
      Value shift = e.integer(16, lows.words[part].getType());
      Value high = highs.words[part];
      if (part && part + 1 == buffer.parts) // a remainder below 2^-126 may occupy the low half
        high = e.andI(high, e.integer(int32_t(highHalf), high.getType()));
      Value words = e.orI(LLVM::LShrOp::create(e.b, lows.words[part], shift), high);
      Ix offset = e.add(bytes, buffer.offset + part * buffer.partBytes());
      e.store(words, e.address(scratch, offset), scratchScope);
    }
  };
  Parts lows = split(e, low, buffer.parts, false), highs = split(e, high, buffer.parts, false);
  store(lows, highs);
  if (buffer.parts == 1)
    return; // the operand was not split
  Value odd = e.fcmp(FCmpPredicate::uno, lows.remainder, highs.remainder);
  Type bits = e.b.getIntegerType(Emitter::lanesOf(odd.getType()));
  Value any = e.cmp(ICmpPredicate::ne, LLVM::BitcastOp::create(e.b, bits, odd), e.integer(0, bits));
  e.branch(
      any,
      [&] {
        store(split(e, low, buffer.parts, true), split(e, high, buffer.parts, true));
        e.store(e.integer(1), unsplitFlag(buffer), scratchScope);
      },
      nullptr);
}

/// Returns the offset of a row of the left-hand side, relative to the start of a part.
Ix KernelEmitter::splitRowStart(const Buffer &buffer, Ix row) {
  Value number = e.materialize(row);
  Ix block(LLVM::LShrOp::create(e.b, number, e.integer(llvm::Log2_64(blockRows))));
  Ix inBlock(e.andI(number, e.integer(blockRows - 1)));
  return e.add(e.mul(block, buffer.shape[1] / blockDepth * blockBytes), e.mul(inBlock, blockRow));
}

/// The rows of the left-hand side are stored vector by vector; every second vector completes a
/// pair.
void KernelEmitter::storeSplitRow(const Buffer &buffer, Value value, const Position &at) {
  Ix row = at.index[0], column = at.index[1];
  Value &first = firstOfPair[&buffer];
  if (!first) {
    first = value;
    return;
  }
  Ix start = e.add(column, -(blockDepth / 2));
  Ix bytes = e.add(splitRowStart(buffer, row), e.mul(start, blockBytes / blockDepth));
  storeParts(buffer, bytes, first, value);
  first = Value();
}

/// Distance in bytes between two k-steps of a part of the right-hand side.
static int64_t stepBytes(const Buffer &rhs) { return rhs.shape[1] / blockColumns * blockBytes; }

/// Splits `width` columns; `source` returns a vector of row k.
void KernelEmitter::splitRows(const Buffer &to, int64_t width, Value depth,
                              function_ref<Value(Ix k, Ix column, int64_t lanes)> source) {
  constexpr int64_t unrolled = 2 * blockColumns;
  int64_t whole = width / unrolled * unrolled;
  e.store(e.integer(0), unsplitFlag(to), scratchScope);
  e.loop(e.integer(0), depth, blockDepth, [&](Value k) {
    Ix step = e.mul(Ix(k), stepBytes(to) / blockDepth);
    e.loop(e.integer(0), e.integer(blockRows), 1, [&](Value row) {
      MemoScope scope(*this);
      Value first = e.addI(k, row);
      Ix target = e.add(step, e.mul(Ix(row), blockRow));
      auto splitBlockRow = [&](Ix column, int64_t lanes) {
        Ix bytes = e.add(target, e.mul(column, blockBytes / blockColumns));
        storeParts(to, bytes, source(Ix(first), column, lanes),
                   source(Ix(first, blockRows), column, lanes));
      };
      if (whole)
        e.loop(e.integer(0), e.integer(whole), unrolled, [&](Value column) {
          MemoScope scope(*this);
          for (int64_t start = 0; start < unrolled; start += blockColumns)
            splitBlockRow(Ix(column, start), blockColumns);
        });
      for (int64_t start = whole; start < width; start += blockColumns)
        splitBlockRow(Ix(start), std::min(blockColumns, width - start));
    });
  });
}

/// Splits the f32 panel at `panelStart`.
void KernelEmitter::splitPanel(tile::MmaOp op, Ix panelStart, int64_t vectors, Value depth) {
  const Buffer &from = *plan.rhsOf(op);
  Type vectorType = Emitter::withLanes(e.f32, blockColumns);
  Value start = e.address(scratch, e.add(panelStart, from.offset));
  int64_t width = vectors * blockColumns;
  splitRows(*plan.splitRhsOf(op), width, depth, [&](Ix k, Ix column, int64_t) {
    Ix bytes = e.add(e.mul(k, from.panel * 4), e.mul(column, 4));
    return e.load(vectorType, e.address(start, bytes), scratchScope);
  });
}

/// Splits columns [start, start + width) of a tile that is evaluated here.
void KernelEmitter::splitStrip(tile::MmaOp op, Ix start, int64_t width, Value depth) {
  Type from = Plan::elementOf(op.getRhs()), vectorType = Emitter::withLanes(e.f32, blockColumns);
  splitRows(*plan.splitRhsOf(op), width, depth, [&](Ix k, Ix column, int64_t lanes) {
    Position at;
    at.index = {k, e.add(start, column)};
    at.vectorDim = 1;
    at.lanes = lanes;
    Value value = e.cast(evaluate(op.getRhs(), at), from, e.f32);
    return e.widen(value, e.real(0, vectorType));
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns the panel that follows the current one: the panel at `column`, or past the end of the
/// tile, the first panel of the next loop iteration's tile. Strips need no prefetch: they are split
/// at memory bandwidth.
KernelEmitter::NextPanel KernelEmitter::findNextPanel(tile::MmaOp op, Ix column, Value columnEnd) {
  if (!plan.packsPanels(op))
    return {};
  tile::LoadOp load = Plan::definingLoad(op.getRhs());
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  Value step = load.getCoords()[load.getDims()[0]];
  if (!loop || (step != loop.getInductionVar() && step.getParentBlock() != loop.getBody()))
    return {Ix(0), column, true};
  Value at = e.materialize(column), isHere = e.cmp(ICmpPredicate::slt, at, columnEnd),
        zero = e.integer(0);
  Value below = e.integer(Plan::shapeOf(op.getRhs())[0]);
  return {Ix(e.select(isHere, zero, below)), Ix(e.select(isHere, at, zero)), true};
}

/// Prefetches the rows of a panel that belong to one k-step while AMX multiplies, spread over
/// `shares` places in the code: each pair of row blocks prefetches a share. The columns are
/// contiguous in memory.
void KernelEmitter::prefetchBlock(tile::MmaOp op, const NextPanel &next, Ix row, Value k,
                                  int64_t index, int64_t shares) {
  tile::LoadOp load = Plan::definingLoad(op.getRhs());
  const Access &access = accesses.find(load)->second;
  Type element = Plan::elementOf(load.getResult());
  int64_t pairs = llvm::divideCeil(Plan::shapeOf(op.getLhs())[0], 2 * blockRows);
  if (!extents.of(op, 0).all && pairs * 2 * blockRows <= maxShortRows)
    pairs = std::min<int64_t>(pairs, 2);
  int64_t share = llvm::divideCeil(blockDepth, pairs),
          bytes = blockDepth * Emitter::byteWidth(element);
  Value pair =
      LLVM::LShrOp::create(e.b, e.materialize(row), e.integer(llvm::Log2_64(2 * blockRows)));
  Value first = e.andI(e.mulI(pair, e.integer(share)), e.integer(blockDepth - 1));
  for (int64_t i = share * index / shares; i < share * (index + 1) / shares; ++i) {
    Position at;
    at.index = {e.add(next.row, Ix(k)), e.add(next.column, Ix(first, i))};
    prefetchRun(accessAddress(access, at, element), bytes, /*hint=*/2);
  }
}

/// Multiplies all rows by the 16 or 32 columns at `column`, which are at `inStrip` in the split
/// operand.
void KernelEmitter::emitAmxRows(tile::MmaOp op, Ix column, Ix inStrip, int64_t vectors,
                                Value rowEnd, Value depth, const NextPanel &next) {
  const Buffer &lhs = *plan.lhsOf(op), &rhs = *plan.splitRhsOf(op);
  constexpr int64_t pair = 2 * blockRows;
  int64_t rows = lhs.shape[0], whole = rows / pair * pair;
  // A dynamic number of rows ends with a single block where one is enough.
  bool hasDynamicEnd = whole && !extents.of(op, 0).all;
  Value inPairs = e.integer(whole);
  if (hasDynamicEnd)
    inPairs = e.minI(e.andI(e.addI(rowEnd, e.integer(blockRows - 1)), e.integer(-pair)), inPairs);
  auto fast = [&] {
    if (whole)
      e.loop(e.integer(0), e.minI(rowEnd, inPairs), pair, [&](Value row) {
        MemoScope scope(*this);
        emitAmxBlock(op, 2, vectors, Ix(row), column, inStrip, depth, next);
      });
    if (rows > whole || hasDynamicEnd)
      e.branch(
          e.cmp(ICmpPredicate::sgt, rowEnd, inPairs),
          [&] {
            MemoScope scope(*this);
            emitAmxBlock(op, 1, vectors, hasDynamicEnd ? Ix(inPairs) : Ix(whole), column, inStrip,
                         depth, next);
          },
          nullptr);
  };
  Value odd;
  for (const Buffer *buffer : {&lhs, &rhs})
    if (buffer->parts > 1) {
      Value flag = e.load(e.i64, unsplitFlag(*buffer), scratchScope);
      odd = odd ? e.orI(odd, flag) : flag;
    }
  if (!odd)
    return fast();
  e.branch(e.cmp(ICmpPredicate::eq, odd, e.integer(0)), fast, [&] {
    e.loop(e.integer(0), rowEnd, 1, [&](Value row) {
      MemoScope scope(*this);
      emitUnsplitRow(op, vectors, Ix(row), column, inStrip, depth);
    });
  });
}

/// Multiplies one block of 16 or 32 rows by 16 or 32 columns, over the whole K dimension.
void KernelEmitter::emitAmxBlock(tile::MmaOp op, int64_t blocks, int64_t vectors, Ix row, Ix column,
                                 Ix inStrip, Value depth, const NextPanel &next) {
  const Buffer &lhs = *plan.lhsOf(op), &rhs = *plan.splitRhsOf(op),
               &to = *plan.bufferOf(op.getResult());
  auto number = [&](int64_t i) { return e.integer(i, e.i8); };
  auto accumulator = [&](int64_t i, int64_t v) { return number(2 * i + v); };
  auto forEachTile = [&](function_ref<void(Value, Value)> body) {
    for (int64_t i = 0; i < blocks; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        body(accumulator(i, v),
             bufferAddress(to, {e.add(row, i * blockRows), e.add(column, v * blockRows)}));
  };
  Value rowBytes = e.integer(to.rowStride * 4), blockStride = e.integer(blockRow);

  bool isZero = false;
  if (auto number = op.getAcc().getDefiningOp<tile::ConstantOp>())
    if (auto real = dyn_cast<FloatAttr>(number.getValue()))
      isZero = real.getValue().isPosZero();
  if (!isZero && plan.bufferOf(op.getAcc()) != &to)
    e.loop(e.integer(0), e.integer(blocks * blockRows), 1, [&](Value i) {
      MemoScope scope(*this);
      for (int64_t v = 0; v < vectors; ++v) {
        Position at = accumulatorAt(op, e.add(row, Ix(i)), column, v);
        storeBuffer(to, evaluate(op.getAcc(), at), at);
      }
    });
  forEachTile([&](Value tile, Value address) {
    if (isZero)
      e.procedure("llvm.x86.tilezero", tile);
    else
      e.procedure("llvm.x86.tileloadd64", {tile, address, rowBytes});
  });

  // Integer arithmetic keeps addresses in the form of one induction variable plus a constant in the
  // instruction.
  Value base = LLVM::PtrToIntOp::create(e.b, e.i64, scratch);
  Ix lhsStart = e.mul(row, lhs.shape[1] / blockDepth * blockBytes / blockRows);
  Ix rhsStart = e.mul(inStrip, blockBytes / blockColumns);
  e.loop(e.integer(0), depth, blockDepth, [&](Value k) {
    Ix lhsStep = e.mul(Ix(k), blockBytes / blockDepth);
    Ix rhsStep = e.mul(Ix(k), stepBytes(rhs) / blockDepth);
    auto pointer = [&](Ix offset) -> Value {
      Value sum = e.materialize(e.add(Ix(base), Ix(offset.value)));
      return e.address(LLVM::IntToPtrOp::create(e.b, e.ptr, sum), offset.constant);
    };
    Value lhsAt = pointer(e.add(lhsStart, lhsStep)), rhsAt = pointer(e.add(rhsStart, rhsStep));
    auto loadTiles = [&](const Buffer &from, int first, int64_t count, int64_t part, Value at,
                         int64_t apart) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = from.offset + part * from.partBytes() + i * apart;
        e.procedure("llvm.x86.tileloadd64",
                    {number(first + i), e.address(at, offset), blockStride});
      }
    };
    // The outer order is the parts of the left-hand side, each starting with the part of the
    // right-hand side that is already loaded, so that most steps load the tiles of one operand
    // only. The largest products are added last.
    int64_t loaded = -1, index = 0, shares = 0;
    for (int64_t p = 0; p < lhs.parts; ++p)
      shares += std::min(rhs.parts, 3 - p);
    for (int64_t p = lhs.parts; p-- > 0;) {
      loadTiles(lhs, lhsRegister, blocks, p, lhsAt, lhs.shape[1] / blockDepth * blockBytes);
      SmallVector<int64_t> partners;
      for (int64_t q = 0; q < rhs.parts && p + q <= 2; ++q)
        partners.push_back(q);
      if (loaded < 0 && p == 0)
        std::reverse(partners.begin(), partners.end());
      else if (loaded > 0)
        std::rotate(partners.begin(), partners.begin() + loaded, partners.end());
      for (int64_t q : partners) {
        if (q != loaded)
          loadTiles(rhs, rhsRegister, vectors, q, rhsAt, blockBytes);
        loaded = q;
        if (next.exists)
          prefetchBlock(op, next, row, k, index++, shares);
        for (int64_t i = 0; i < blocks; ++i)
          for (int64_t v = 0; v < vectors; ++v)
            e.procedure("llvm.x86.tdpbf16ps",
                        {accumulator(i, v), number(lhsRegister + i), number(rhsRegister + v)});
      }
    }
  });
  forEachTile([&](Value tile, Value address) {
    e.procedure("llvm.x86.tilestored64", {tile, address, rowBytes});
  });
}

/// The slow path: adds the parts of each number up and multiplies with the vector unit.
void KernelEmitter::emitUnsplitRow(tile::MmaOp op, int64_t vectors, Ix row, Ix column, Ix inStrip,
                                   Value depth) {
  const Buffer &lhs = *plan.lhsOf(op), &rhs = *plan.splitRhsOf(op),
               &to = *plan.bufferOf(op.getResult());
  int64_t lanes = cpu.lanes(4);
  Ix lhsRow = splitRowStart(lhs, row), rhsStart = e.mul(inStrip, blockBytes / blockColumns);
  // The numbers in the low and high halves of words.
  auto whole = [&](const Buffer &from, Ix start, Type words) {
    std::pair<Value, Value> sums;
    for (int64_t part = from.parts; part-- > 0;) {
      Value address = e.address(scratch, e.add(start, from.offset + part * from.partBytes()));
      Value bits = e.load(words, address, scratchScope);
      Value low = LLVM::ShlOp::create(e.b, bits, e.integer(16, words));
      Value high = e.andI(bits, e.integer(int32_t(highHalf), words));
      auto join = [&](Value sum, Value next) {
        next = e.bitcast(next, e.f32);
        return sum ? Value(LLVM::FAddOp::create(e.b, sum, next)) : next;
      };
      sums = {join(sums.first, low), join(sums.second, high)};
    }
    return sums;
  };
  SmallVector<Value> sums;
  for (int64_t v = 0; v < vectors; ++v)
    sums.push_back(e.widen(evaluate(op.getAcc(), accumulatorAt(op, row, column, v)),
                           e.real(0, Emitter::withLanes(e.f32, lanes))));
  sums = e.loop(e.integer(0), depth, blockDepth, sums, [&](Value k, ValueRange outer) {
    Ix lhsStep = e.mul(Ix(k), blockBytes / blockDepth);
    Ix rhsStep = e.add(rhsStart, e.mul(Ix(k), stepBytes(rhs) / blockDepth));
    return e.loop(e.integer(0), e.integer(blockRows), 1, outer, [&](Value i, ValueRange carried) {
      auto [lowScalar, highScalar] =
          whole(lhs, e.add(e.add(lhsRow, lhsStep), e.mul(Ix(i), 4)), e.i32);
      SmallVector<Value> next;
      for (int64_t v = 0; v < vectors; ++v) {
        Ix at = e.add(e.add(rhsStep, e.mul(Ix(i), blockRow)), v * blockBytes);
        auto [low, high] = whole(rhs, at, Emitter::withLanes(e.i32, lanes));
        Value sum = e.mulAdd(e.splat(lowScalar, lanes), low, carried[v]);
        next.push_back(e.mulAdd(e.splat(highScalar, lanes), high, sum));
      }
      return next;
    });
  });
  for (int64_t v = 0; v < vectors; ++v) {
    Position at = accumulatorAt(op, row, column, v);
    at.lanes = lanes;
    storeBuffer(to, sums[v], at);
  }
}

/// The position of 16 columns of the accumulators; columns past the tile exist only in the padding.
Position KernelEmitter::accumulatorAt(tile::MmaOp op, Ix row, Ix column, int64_t v) {
  int64_t n = Plan::shapeOf(op.getResult())[1];
  Position at;
  at.index = {row, e.add(column, v * blockRows)};
  at.vectorDim = 1;
  at.lanes = blockRows;
  if (column.isConstant())
    at.lanes = std::min(blockRows, n - at.index[1].constant);
  return at;
}
