//===- Tiles.cpp - Tiles from tiles ---------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Support/GpuDescription.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// One instruction of the machine; none: there is no such.
Value KernelEmitter::quick(ScalarOp op, ValueRange x) {
  switch (op) {
  case ScalarOp::Exp2:
    return assembly("ex2.approx.ftz.f32 $0, $1;", "=f,f", e.f32, x);
  case ScalarOp::Rsqrt:
    return assembly("rsqrt.approx.ftz.f32 $0, $1;", "=f,f", e.f32, x);
  case ScalarOp::Div:
    return assembly("div.full.ftz.f32 $0, $1, $2;", "=f,f,f", e.f32, x);
  case ScalarOp::Sqrt:
    return assembly("sqrt.approx.ftz.f32 $0, $1;", "=f,f", e.f32, x);
  case ScalarOp::Tanh:
    return assembly("tanh.approx.f32 $0, $1;", "=f,f", e.f32, x);
  default:
    return Value();
  }
}

/// Where positions are compared with a size and both step by 2^n, neighbours below that step share the answer: how many
/// bits of a position do not matter.
unsigned KernelEmitter::sharedBits(tile::MapOp map) const {
  if (map.getScalarOp() != ScalarOp::Lt || map.getType().getRank() != 1)
    return 0;
  auto iota = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto splat = map.getInputs()[1].getDefiningOp<tile::SplatOp>();
  if (!iota || !splat || !splat.getScalar().getType().isIndex())
    return 0;
  int64_t step = std::gcd(coordinates.divisor(iota.getStart()), coordinates.divisor(splat.getScalar()));
  return step ? llvm::countr_zero(uint64_t(step)) : 0;
}

LogicalResult KernelEmitter::emitMap(tile::MapOp map) {
  Type element = elementOf(map.getInputs().back());
  Registers &parts = tiles[map.getResult()];
  unsigned shared = sharedBits(map);
  Layout layout = layoutOf(map);
  llvm::DenseMap<uint64_t, Value> answers;
  for (unsigned reg = 0; reg < countRegisters(map); ++reg) {
    uint64_t place = shared ? layout(Point({{Dim::Register, reg}}))[Dim::D0] >> shared : 0;
    if (shared && answers.contains(place)) {
      parts.push_back(answers[place]);
      continue;
    }
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(tiles.lookup(input)[reg]);
    Value result = map.getFast() && element.isF32() ? quick(map.getScalarOp(), inputs) : Value();
    if (!result && map.getScalarOp() == ScalarOp::Exp2 && element.isF32())
      result = assembly("ex2.approx.f32 $0, $1;", "=f,f", e.f32, inputs);
    parts.push_back(result ? result : e.scalarOp(map.getScalarOp(), inputs, element));
    answers[place] = parts.back();
  }
  return success();
}

Value KernelEmitter::castElement(Value value, Type from, Type to) {
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  if (from.isF32() && to.isBF16() && gpu && gpu->hasBf16)
    return assembly("cvt.rn.bf16.f32 $0, $1;", "=h,f", e.i16, value);
  if (from.isF32() && isa<FloatTF32Type>(to))
    return LLVM::BitcastOp::create(e.b, e.f32, assembly("cvt.rna.tf32.f32 $0, $1;", "=r,f", e.i32, value));
  return isa<FloatTF32Type>(from) ? e.cast(value, e.f32, to) : e.cast(value, from, to);
}

/// Two at a time where one instruction rounds both, which is as fast as an addition; rounding one is not.
LogicalResult KernelEmitter::emitCast(tile::CastOp cast) {
  Type from = elementOf(cast.getInput()), to = elementOf(cast);
  const Registers parts = tiles.lookup(cast.getInput());
  Registers &result = tiles[cast.getResult()];
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  if (!from.isF32() || !to.isBF16() || !gpu || !gpu->hasBf16 || parts.size() % 2) {
    for (Value part : parts)
      result.push_back(castElement(part, from, to));
    return success();
  }
  for (unsigned i = 0; i < parts.size(); i += 2) {
    Value both = assembly("cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", e.i32, {parts[i], parts[i + 1]});
    result.push_back(LLVM::TruncOp::create(e.b, e.i16, both));
    Value high = LLVM::LShrOp::create(e.b, both, e.integer(16, e.i32));
    result.push_back(LLVM::TruncOp::create(e.b, e.i16, high));
  }
  return success();
}

void KernelEmitter::emitIota(tile::IotaOp iota) {
  Layout layout = layoutOf(iota);
  for (unsigned reg = 0; reg < countRegisters(iota); ++reg) {
    codegen::Ix index = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, reg, Dim::D0));
    tiles[iota.getResult()].push_back(e.cast(e.materialize(index), e.i64, elementOf(iota)));
  }
}

LogicalResult KernelEmitter::emitMove(Operation *op, llvm::function_ref<uint64_t(uint64_t)> element) {
  Value input = op->getOperand(0), result = op->getResult(0);
  Layout from = layoutOf(input), to = layoutOf(result);
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < countRegisters(input); ++reg)
    held.try_emplace(from(from.in().pack(Point({{Dim::Register, reg}}))), reg);
  Registers parts;
  for (unsigned reg = 0; reg < countRegisters(result); ++reg) {
    auto found = held.find(element(to(to.in().pack(Point({{Dim::Register, reg}})))));
    if (found == held.end())
      return op->emitError("expected an operand whose threads hold what the result's threads need");
    parts.push_back(tiles.lookup(input)[found->second]);
  }
  tiles[result] = parts;
  return success();
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

/// The value of the lane whose number differs in the bits `lanes`.
Value KernelEmitter::exchange(Value value, unsigned lanes) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Value whole = isa<FloatType>(type)
                    ? Value(LLVM::BitcastOp::create(e.b, IntegerType::get(type.getContext(), bits), value))
                    : value;
  auto shuffle = [&](Value word) {
    std::string text = "shfl.sync.bfly.b32 $0, $1, " + std::to_string(lanes) + ", 31, -1;";
    return assembly(text, "=r,r", e.i32, word, /*hasEffects=*/true);
  };
  Value moved;
  if (bits == 64) {
    Value low = shuffle(LLVM::TruncOp::create(e.b, e.i32, whole));
    Value high = shuffle(LLVM::TruncOp::create(e.b, e.i32, LLVM::LShrOp::create(e.b, whole, e.integer(32))));
    moved = e.orI(LLVM::ZExtOp::create(e.b, e.i64, low),
                  LLVM::ShlOp::create(e.b, LLVM::ZExtOp::create(e.b, e.i64, high), e.integer(32)));
  } else {
    moved = shuffle(bits < 32 ? Value(LLVM::ZExtOp::create(e.b, e.i32, whole)) : whole);
    if (bits < 32)
      moved = LLVM::TruncOp::create(e.b, whole.getType(), moved);
  }
  return moved.getType() == type ? moved : Value(LLVM::BitcastOp::create(e.b, type, moved));
}

/// Registers, then lanes by shuffles, then warps by shared memory; always in the same order.
LogicalResult KernelEmitter::emitReduce(tile::ReduceOp reduce) {
  Layout from = layoutOf(reduce.getInput()), to = layoutOf(reduce.getResult());
  Type element = elementOf(reduce);
  auto join = [&](Value a, Value b) { return e.join(reduce.getReduceOp(), a, b, element, reduce.getSkipNan()); };
  auto kept = [&](uint64_t packed) {
    Point point = from.out().unpack(packed), rest;
    unsigned next = 0;
    for (int64_t dim = 0; dim < reduce.getInput().getType().getRank(); ++dim)
      if (!llvm::is_contained(reduce.getDims(), dim))
        rest[tensorDim(next++)] = point[tensorDim(dim)];
    return to.out().pack(rest);
  };
  llvm::DenseMap<uint64_t, Value> sums;
  for (auto [reg, part] : llvm::enumerate(tiles.lookup(reduce.getInput()))) {
    Value &sum = sums[kept(from(from.in().pack(Point({{Dim::Register, reg}}))))];
    sum = sum ? join(sum, part) : part;
  }
  Registers parts;
  for (unsigned reg = 0; reg < countRegisters(reduce); ++reg)
    parts.push_back(sums.lookup(to(to.in().pack(Point({{Dim::Register, reg}})))));

  // The bits of a dimension that only tell what is joined.
  auto joined = [&](Dim dim, unsigned &bits) -> LogicalResult {
    for (auto [i, column] : llvm::enumerate(from.columns(dim))) {
      Point point = from.out().unpack(column);
      bool isJoined = llvm::any_of(reduce.getDims(), [&](int64_t dim) { return point[tensorDim(dim)] != 0; });
      if (isJoined && kept(column))
        return failure();
      bits |= unsigned(isJoined) << i;
    }
    return success();
  };
  unsigned lanes = 0, among = 0;
  if (failed(joined(Dim::Lane, lanes)) || failed(joined(Dim::Warp, among)))
    return reduce.emitError("expected a layout that keeps the joined dimensions apart");
  for (unsigned bit = 1; bit < 32; bit *= 2)
    for (Value &part : parts)
      if (lanes & bit)
        part = join(part, exchange(part, bit));
  if (among) {
    Type stored = e.storageType(element);
    unsigned bytes = codegen::Emitter::byteWidth(element);
    Value buffer = sharedBuffer(parts.size() * threads() * bytes);
    auto at = [&](Value warp, unsigned reg) {
      Value place = e.addI(e.mulI(warp, e.integer(32, e.i32)), lane);
      place = e.addI(place, e.integer(reg * threads(), e.i32));
      return LLVM::GEPOp::create(e.b, buffer.getType(), stored, buffer, ValueRange(place));
    };
    for (auto [reg, part] : llvm::enumerate(parts))
      LLVM::StoreOp::create(e.b, e.toStorage(part, element), at(warp, reg));
    barrier();
    Value others = e.andI(warp, e.integer(~among & (warps - 1), e.i32));
    for (auto [reg, part] : llvm::enumerate(parts)) {
      Value sum;
      for (unsigned which = 0; which < warps; ++which) {
        if (which & ~among)
          continue;
        Value from = at(e.orI(others, e.integer(which, e.i32)), reg);
        Value value = e.fromStorage(LLVM::LoadOp::create(e.b, stored, from), element);
        sum = sum ? join(sum, value) : value;
      }
      part = sum;
    }
    barrier();
  }
  tiles[reduce.getResult()] = parts;
  return success();
}
