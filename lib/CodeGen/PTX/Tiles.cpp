//===- Tiles.cpp - Tiles from tiles ---------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Layout/Reduction.h"
#include "tessera/Support/GpuDescription.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

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
  case ScalarOp::Reciprocal:
    return assembly("rcp.approx.ftz.f32 $0, $1;", "=f,f", e.f32, x);
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

/// Philox4x32-10 in 32 bits: a round is two wide products and two exclusive ors of three. LLVM would make products and
/// comparisons of 64 bits of them, and of the last round an exclusive or for every few bits that are wanted. Of what is
/// constant, as streams and keys mostly are, the first rounds' products are known.
Value KernelEmitter::philox(ValueRange x, bool isUpper) {
  auto low = [&](Value wide) -> Value {
    APInt known;
    if (matchPattern(wide, m_ConstantInt(&known)))
      return e.integer(int32_t(known.getZExtValue()), e.i32);
    return LLVM::TruncOp::create(e.b, e.i32, wide);
  };
  auto high = [&](Value wide) -> Value {
    APInt known;
    if (matchPattern(wide, m_ConstantInt(&known)))
      return e.integer(int32_t(known.getZExtValue() >> 32), e.i32);
    return low(LLVM::LShrOp::create(e.b, wide, e.integer(32)));
  };
  auto wide = [&](Value narrow) -> Value { return LLVM::ZExtOp::create(e.b, e.i64, narrow); };
  Type both = LLVM::LLVMStructType::getLiteral(kernel.getContext(), {e.i32, e.i32});
  auto product = [&](Value a, int64_t b) -> std::pair<Value, Value> { // low and high
    if (APInt known; matchPattern(a, m_ConstantInt(&known))) {
      uint64_t all = known.getZExtValue() * uint64_t(b);
      return {e.integer(int32_t(all), e.i32), e.integer(int32_t(all >> 32), e.i32)};
    }
    Value halves = assembly("{ .reg .b64 p; mul.wide.u32 p, $2, $3; mov.b64 {$0, $1}, p; }", "=r,=r,r,r", both,
                            {a, e.integer(int32_t(b), e.i32)});
    return {LLVM::ExtractValueOp::create(e.b, halves, 0), LLVM::ExtractValueOp::create(e.b, halves, 1)};
  };
  auto xorAll = [&](Value a, Value b, Value key, bool isLast) -> Value {
    if (isLast)
      return assembly("lop3.b32 $0, $1, $2, $3, 0x96;", "=r,r,r,r", e.i32, {a, b, key});
    APInt p, q, r;
    if (matchPattern(a, m_ConstantInt(&p)) && matchPattern(b, m_ConstantInt(&q)) && matchPattern(key, m_ConstantInt(&r)))
      return e.integer(int32_t((p ^ q ^ r).getZExtValue()), e.i32);
    return LLVM::XOrOp::create(e.b, LLVM::XOrOp::create(e.b, a, b), key);
  };
  auto keyOf = [&](Value key, int64_t step) -> Value {
    if (APInt known; matchPattern(key, m_ConstantInt(&known)))
      return e.integer(int32_t(known.getZExtValue() + step), e.i32);
    return e.addI(key, e.integer(int32_t(step), e.i32));
  };
  constexpr int64_t kRounds = 10;
  Value c0 = low(x[0]), c1 = high(x[0]), c2 = low(x[1]), c3 = high(x[1]), key0 = low(x[2]), key1 = high(x[2]);
  for (int64_t round = 0; round < kRounds; ++round) {
    bool isLast = round + 1 == kRounds;
    auto [low0, high0] = product(c0, 0xD2511F53);
    auto [low1, high1] = product(c2, 0xCD9E8D57);
    c0 = xorAll(high1, c1, keyOf(key0, round * 0x9E3779B9), isLast);
    c1 = low1;
    c2 = xorAll(high0, c3, keyOf(key1, round * 0xBB67AE85), isLast);
    c3 = low0;
  }
  auto pair = [&](Value first, Value second) {
    return e.orI(LLVM::ShlOp::create(e.b, wide(second), e.integer(32)), wide(first));
  };
  return isUpper ? pair(c2, c3) : pair(c0, c1);
}

/// How many low bits of an integer tile are those of the position along its last dimension, and how many are zero.
KernelEmitter::LowBits KernelEmitter::lowBits(Value tile) const {
  auto bitsOf = [&](Value index) {
    int64_t known = coordinates.divisor(index);
    return known ? unsigned(llvm::countr_zero(uint64_t(known))) : 63u;
  };
  auto type = cast<RankedTensorType>(tile.getType());
  Operation *op = tile.getDefiningOp();
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(op))
    return {bitsOf(iota.getStart()), 0};
  if (auto splat = dyn_cast_or_null<tile::SplatOp>(op); splat && splat.getScalar().getType().isIndex())
    return {0, bitsOf(splat.getScalar())};
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op)) {
    LowBits bits = lowBits(broadcast.getInput());
    bool isAlong = !broadcast.getDims().empty() && broadcast.getDims().back() == type.getRank() - 1;
    return {isAlong ? bits.position : 0, bits.zero};
  }
  if (auto cast = dyn_cast_or_null<tile::CastOp>(op); cast && elementOf(cast.getInput()).isSignlessInteger())
    return lowBits(cast.getInput());
  auto map = dyn_cast_or_null<tile::MapOp>(op);
  if (!map || map.getInputs().size() != 2 || !type.getElementType().isSignlessInteger())
    return {0, 0};
  LowBits a = lowBits(map.getInputs()[0]), b = lowBits(map.getInputs()[1]);
  if (map.getScalarOp() == ScalarOp::Mul)
    return {0, std::max(a.zero, b.zero)};
  if (map.getScalarOp() == ScalarOp::Add)
    return {std::max(std::min(a.position, b.zero), std::min(a.zero, b.position)), std::min(a.zero, b.zero)};
  return {0, 0};
}

/// Where positions are compared with a size and both step by 2^n, or are divided by 2^n, neighbours below that step share
/// the answer: how many bits of a position do not matter.
unsigned KernelEmitter::sharedBits(tile::MapOp map) const {
  if (map.getScalarOp() == ScalarOp::Shr && map.getType().getRank()) {
    auto by = map.getInputs()[1].getDefiningOp<tile::ConstantOp>();
    auto number = by ? dyn_cast<IntegerAttr>(by.getValue()) : IntegerAttr();
    bool isShared = number && number.getValue().ult(63) && number.getInt() <= lowBits(map.getInputs()[0]).position;
    return isShared ? number.getInt() : 0;
  }
  if (map.getScalarOp() != ScalarOp::Lt || map.getType().getRank() != 1)
    return 0;
  auto iota = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto splat = map.getInputs()[1].getDefiningOp<tile::SplatOp>();
  if (!iota || !splat || !splat.getScalar().getType().isIndex())
    return 0;
  int64_t step = std::gcd(coordinates.divisor(iota.getStart()), coordinates.divisor(splat.getScalar()));
  return step ? llvm::countr_zero(uint64_t(step)) : 0;
}

/// x == b or x is nan, of floats that were widened to f32: one comparison. Where b is nan its place is taken by a number that
/// no narrow float is.
bool KernelEmitter::emitEqualOrNan(tile::MapOp map) {
  auto equal = map.getInputs().front().getDefiningOp<tile::MapOp>(), nan = map.getInputs().back().getDefiningOp<tile::MapOp>();
  if (map.getScalarOp() != ScalarOp::Or || !equal || !nan || equal.getScalarOp() != ScalarOp::Eq ||
      nan.getScalarOp() != ScalarOp::Ne || nan.getInputs()[0] != nan.getInputs()[1] ||
      nan.getInputs()[0] != equal.getInputs()[0])
    return false;
  Value x = equal.getInputs()[0];
  auto widened = x.getDefiningOp<tile::CastOp>();
  if (!widened || !elementOf(x).isF32() || !(elementOf(widened.getInput()).isBF16() || elementOf(widened.getInput()).isF16()))
    return false;
  constexpr double noNarrow = 0x1.000002p0;
  Registers parts;
  for (auto [each, b] : llvm::zip_equal(tiles.lookup(x), tiles.lookup(equal.getInputs()[1]))) {
    Value isNan = e.fcmp(LLVM::FCmpPredicate::uno, b, b);
    parts.push_back(e.fcmp(LLVM::FCmpPredicate::ueq, each, e.select(isNan, e.real(noNarrow, e.f32), b)));
  }
  tiles[map.getResult()] = parts;
  return true;
}

/// Positions that are compared with one number: a thread knows how far that is from its first position, and compares this
/// with a constant for each register.
bool KernelEmitter::emitPlace(tile::MapOp map) {
  if (map.getScalarOp() != ScalarOp::Eq || map.getType().getRank() != 1)
    return false;
  auto iota = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto number = map.getInputs()[1].getDefiningOp<tile::BroadcastOp>();
  if (!iota || !number || number.getInput().getType().getRank() || !elementOf(number).isInteger(64))
    return false;
  Layout layout = layoutOf(map);
  auto reached = [&](DimSet dims) {
    uint64_t all = 0;
    for (uint64_t column : layout.columnsOf(dims))
      all |= column;
    return all;
  };
  if (reached({Dim::Register}) & reached(~DimSet{Dim::Register}))
    return false;
  codegen::Ix first = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, 0, Dim::D0));
  Value far = e.subI(tiles.lookup(number.getResult()).front(), e.materialize(first));
  Value isNear = e.cmp(LLVM::ICmpPredicate::ult, far, e.integer(layout.out().size()));
  Value near = e.select(isNear, LLVM::TruncOp::create(e.b, e.i32, far), e.integer(-1, e.i32));
  for (unsigned reg = 0; reg < countRegisters(map); ++reg) {
    Value place = e.integer(layout(Point({{Dim::Register, reg}}))[Dim::D0], e.i32);
    tiles[map.getResult()].push_back(e.cmp(LLVM::ICmpPredicate::eq, near, place));
  }
  return true;
}

/// Whether all that a register holds in any thread lies before a position.
static bool isBefore(const Layout &layout, unsigned reg, unsigned position) {
  uint64_t reached = layout(layout.in().pack(Point({{Dim::Register, reg}})));
  for (uint64_t column : layout.columnsOf(~DimSet{Dim::Register}))
    reached |= column;
  return reached < position;
}

/// Elements before a position `end` (i32), which all threads have in common, of a tile that holds a row, and others in the place
/// of those behind it. Most rows end in their tile's last part: then those before that part are not asked. Gives none where a
/// thread has few.
KernelEmitter::Registers KernelEmitter::chooseBelow(ArrayRef<Value> parts, ArrayRef<Value> others, const Layout &layout, Value end) {
  constexpr unsigned many = 16, part = 8; // registers; of a tile
  unsigned size = layout.out().size(Dim::D0), last = size - size / part;
  auto isEarly = [&](unsigned reg) { return isBefore(layout, reg, last); };
  if (parts.size() < many || llvm::none_of(llvm::seq<unsigned>(0, parts.size()), isEarly))
    return {};
  SmallVector<Type> types(parts.size(), parts.front().getType());
  auto branch = scf::IfOp::create(e.b, types, e.cmp(LLVM::ICmpPredicate::sge, end, e.integer(last, e.i32)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  for (bool isLate : {true, false}) {
    e.b.setInsertionPointToStart(isLate ? branch.thenBlock() : branch.elseBlock());
    // LLVM would have a register for each bound in front of a loop.
    Value here = assembly("mov.b32 $0, $1;", "=r,r", e.i32, end, /*hasEffects=*/true);
    Registers chosen(parts);
    for (auto [reg, each] : llvm::enumerate(chosen)) {
      if (isLate && isEarly(reg))
        continue;
      // A thread's part is the same for all registers, and the bound the same for all threads.
      codegen::Ix place = coordinate(layout, reg, Dim::D0);
      Value at = LLVM::TruncOp::create(e.b, e.i32, e.materialize(codegen::Ix(place.value)));
      each = e.select(e.cmp(LLVM::ICmpPredicate::slt, at, e.subI(here, e.integer(place.constant, e.i32))), each, others[reg]);
    }
    scf::YieldOp::create(e.b, chosen);
  }
  return Registers(branch.getResults());
}

/// Whether all that is made of a tile's elements from a row's end on, beside one operation, is left out where rows are stored.
bool KernelEmitter::isUnseenBehind(Value tile, Operation *beside, SymExpr end) const {
  auto endsThere = [&](auto row) {
    return row.getBounded() && isZero(row.getCoords()[row.getDims()[0]]) && coordinates.size(row.getView(), row.getDims()[0]) == end;
  };
  auto isSent = [&](Operation *user) {
    auto send = dyn_cast<tile::SendOp>(user);
    return isa<tile::WriteOp, tile::SentOp>(user) || (send && endsThere(send));
  };
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (user == beside)
        continue;
      if (isa<tile::MapOp, tile::CastOp>(user))
        made.insert(user->getResult(0));
      else if (auto write = dyn_cast<tile::WriteOp>(user); !write || !llvm::all_of(write.getBuffer().getUsers(), isSent))
        if (auto store = dyn_cast<tile::StoreOp>(user); !store || !endsThere(store))
          return false;
    }
  return true;
}

/// Elements that are chosen by their position in rows that end anywhere. Of a product with itself, or zero, the factor is
/// chosen: its sum is one instruction then.
bool KernelEmitter::emitChoice(tile::MapOp map) {
  auto less = map.getScalarOp() == ScalarOp::Where ? map.getInputs()[0].getDefiningOp<tile::MapOp>() : tile::MapOp();
  if (!less || less.getScalarOp() != ScalarOp::Lt || map.getType().getRank() != 1 || sharedBits(less))
    return false;
  auto iota = less.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto splat = less.getInputs()[1].getDefiningOp<tile::SplatOp>();
  if (!iota || !splat || !splat.getScalar().getType().isIndex() || !elementOf(splat).isInteger(32) ||
      !isZero(iota.getStart()))
    return false;
  std::optional<SymExpr> size = coordinates.expression(splat.getScalar());
  if (!size)
    return false;
  auto square = map.getInputs()[1].getDefiningOp<tile::MapOp>();
  auto zero = map.getInputs()[2].getDefiningOp<tile::ConstantOp>();
  bool isSquare = square && square.getScalarOp() == ScalarOp::Mul && square.getInputs()[0] == square.getInputs()[1] && zero &&
                  matchPattern(zero.getValue(), m_PosZeroFloat());
  Value from = isSquare ? square.getInputs()[0] : map.getInputs()[1];
  Value end = LLVM::TruncOp::create(e.b, e.i32, get(splat.getScalar()));
  Registers parts = chooseBelow(tiles.lookup(from), tiles.lookup(map.getInputs()[2]), layoutOf(map), end);
  if (parts.empty())
    return false;
  // What is chosen takes the place of what it is chosen from, so that not both are in registers.
  if (isSquare && from.getParentBlock() == map->getBlock() && isUnseenBehind(from, square, *size))
    tiles[from] = parts;
  if (isSquare)
    for (Value &each : parts)
      each = e.scalarOp(ScalarOp::Mul, {each, each}, elementOf(map));
  tiles[map.getResult()] = parts;
  return true;
}

LogicalResult KernelEmitter::emitMap(tile::MapOp map) {
  if (emitEqualOrNan(map) || emitPlace(map) || emitChoice(map))
    return success();
  Type element = elementOf(map.getInputs().back());
  Registers &parts = tiles[map.getResult()];
  unsigned shared = sharedBits(map);
  Layout layout = layoutOf(map);
  llvm::DenseMap<uint64_t, Value> answers;
  for (unsigned reg = 0; reg < countRegisters(map); ++reg) {
    // The last dimension has an element's low bits.
    uint64_t place = shared ? layout(layout.in().pack(Point({{Dim::Register, reg}}))) >> shared : 0;
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
    if (map.getScalarOp() == ScalarOp::Philox || map.getScalarOp() == ScalarOp::PhiloxUpper)
      result = philox(inputs, map.getScalarOp() == ScalarOp::PhiloxUpper);
    parts.push_back(result ? result : e.scalarOp(map.getScalarOp(), inputs, element));
    answers[place] = parts.back();
  }
  return success();
}

Value KernelEmitter::castElement(Value value, Type from, Type to) {
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  if (from.isF32() && to.isBF16() && gpu && gpu->hasBf16)
    return assembly("cvt.rn.bf16.f32 $0, $1;", "=h,f", e.i16, value);
  if (from.isF32() && to.isF16() && gpu && gpu->hasBf16) // four times as fast as the instruction that rounds one
    return halvesOf(assembly("cvt.rn.f16x2.f32 $0, 0f00000000, $1;", "=r,f", e.i32, value), to)[0];
  if (from.isF32() && isa<FloatTF32Type>(to))
    return LLVM::BitcastOp::create(e.b, e.f32, assembly("cvt.rna.tf32.f32 $0, $1;", "=r,f", e.i32, value));
  return isa<FloatTF32Type>(from) ? e.cast(value, e.f32, to) : e.cast(value, from, to);
}

/// Whether elements are written one by one, to where a row begins anywhere.
static bool isWrittenAlone(tile::CastOp cast) {
  return llvm::all_of(cast->getUsers(), [](Operation *user) {
    auto write = dyn_cast<tile::WriteOp>(user);
    return write && write.getBehind();
  });
}

/// Two at a time where one instruction rounds both, unless they would only be taken apart.
LogicalResult KernelEmitter::emitCast(tile::CastOp cast) {
  Type from = elementOf(cast.getInput()), to = elementOf(cast);
  const Registers parts = tiles.lookup(cast.getInput());
  Registers &result = tiles[cast.getResult()];
  std::optional<GpuDescription> gpu = GpuDescription::from(options.chip);
  // The chips with bf16 are those that round two of either type.
  bool rounds = from.isF32() && (to.isBF16() || to.isF16()) && gpu && gpu->hasBf16;
  if (!rounds || parts.size() % 2 || isWrittenAlone(cast)) {
    for (Value part : parts)
      result.push_back(castElement(part, from, to));
    return success();
  }
  StringRef text = to.isBF16() ? "cvt.rn.bf16x2.f32 $0, $2, $1;" : "cvt.rn.f16x2.f32 $0, $2, $1;";
  for (unsigned i = 0; i < parts.size(); i += 2)
    result.append(halvesOf(assembly(text, "=r,f,f", e.i32, {parts[i], parts[i + 1]}), to));
  return success();
}

KernelEmitter::Registers KernelEmitter::halvesOf(Value both, Type element) {
  Value high = LLVM::LShrOp::create(e.b, both, e.integer(16, e.i32));
  Registers halves = {LLVM::TruncOp::create(e.b, e.i16, both), LLVM::TruncOp::create(e.b, e.i16, high)};
  if (element.isF16())
    for (Value &half : halves)
      half = LLVM::BitcastOp::create(e.b, element, half);
  return halves;
}

void KernelEmitter::emitIota(tile::IotaOp iota) {
  Layout layout = layoutOf(iota);
  bool isNarrow = elementOf(iota).isInteger(64) && coordinates.isNonNegative(iota.getStart()) &&
                  coordinates.most(iota.getStart()) <= UINT32_MAX - int64_t(layout.out().size());
  for (unsigned reg = 0; reg < countRegisters(iota); ++reg) {
    codegen::Ix index = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, reg, Dim::D0));
    Value place = e.cast(e.materialize(index), e.i64, elementOf(iota));
    if (isNarrow) // LLVM then knows that the upper half is zero
      place = LLVM::ZExtOp::create(e.b, e.i64, LLVM::TruncOp::create(e.b, e.i32, place));
    tiles[iota.getResult()].push_back(place);
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
// Joins
//===----------------------------------------------------------------------===//

/// where(condition, positions, the type's largest number), of which the least is looked for; null: it is something else.
static tile::MapOp positionsIn(Value tile, ReduceOp kind) {
  while (auto reshape = tile.getDefiningOp<tile::ReshapeOp>())
    tile = reshape.getInput();
  auto where = tile.getDefiningOp<tile::MapOp>();
  if (kind != ReduceOp::Min || !where || where.getScalarOp() != ScalarOp::Where)
    return {};
  auto iota = where.getInputs()[1].getDefiningOp<tile::IotaOp>();
  auto other = where.getInputs()[2].getDefiningOp<tile::ConstantOp>();
  bool isLeast = iota && other && other.getValue() == unitOf(kind, where.getType().getElementType());
  return isLeast ? where : tile::MapOp();
}

/// The least of a thread's own positions. All differ from the thread's by constants: chosen one after the other from the
/// last to the first, the least remains, at one instruction each. Null where a thread's places are not of that kind.
Value KernelEmitter::leastPosition(tile::MapOp positions, ArrayRef<Value> parts) {
  const Registers all = tiles.lookup(positions.getResult()), conditions = tiles.lookup(positions.getInputs()[0]);
  auto iota = positions.getInputs()[1].getDefiningOp<tile::IotaOp>();
  Layout layout = layoutOf(positions);
  SmallVector<std::pair<int64_t, Value>> places;
  for (Value part : parts) {
    unsigned reg = llvm::find(all, part) - all.begin();
    int64_t place = layout(Point({{Dim::Register, reg}}))[Dim::D0];
    if (coordinate(layout, reg, Dim::D0).constant != place)
      return Value();
    places.push_back({place, conditions[reg]});
  }
  llvm::sort(places, [](auto &a, auto &b) { return a.first > b.first; });
  Type type = elementOf(positions);
  Value none = e.integer(-1, type), best = none;
  for (auto [place, condition] : places)
    best = e.select(condition, e.integer(place, type), best);
  codegen::Ix first = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, 0, Dim::D0));
  Value found = e.addI(e.cast(e.materialize(first), e.i64, type), best);
  Value most = e.number(unitOf(ReduceOp::Min, type), type, 0);
  return e.select(e.cmp(LLVM::ICmpPredicate::eq, best, none), most, found);
}

/// Four joins are under way, since each waits for the one before it.
static Value joinAll(ArrayRef<Value> parts, llvm::function_ref<Value(Value, Value)> join) {
  constexpr size_t kWays = 4;
  SmallVector<Value> sums(parts.take_front(kWays));
  for (size_t i = kWays; i < parts.size(); ++i)
    sums[i % kWays] = join(sums[i % kWays], parts[i]);
  if (sums.size() < kWays)
    return std::accumulate(sums.begin() + 1, sums.end(), sums.front(), join);
  return join(join(sums[0], sums[1]), join(sums[2], sums[3]));
}

/// What each of a thread's registers would be after all steps within the warp: registers, then lanes by
/// shuffles. Registers that end up with the same are joined once.
KernelEmitter::Registers KernelEmitter::joinInWarp(Value input, const ReductionPlan &plan,
                                                   llvm::function_ref<Value(Value, Value)> join,
                                                   tile::MapOp positions) {
  const Registers parts = tiles.lookup(input);
  Layout layout = layoutOf(input);
  gf2::Vectors same = gf2::concat({plan.registers, gf2::kernel(layout.columns(Dim::Register))});
  auto membersOf = [](uint64_t reg, gf2::VectorsRef steps) {
    SmallVector<uint64_t> members;
    for (uint64_t number = 0; number < uint64_t(1) << steps.size(); ++number)
      members.push_back(reg ^ gf2::sum(steps, number));
    llvm::sort(members);
    return members;
  };
  Registers sums(parts.size());
  SmallVector<unsigned> first(parts.size());
  for (unsigned reg = 0; reg < parts.size(); ++reg) {
    first[reg] = membersOf(reg, same).front();
    if (first[reg] != reg)
      continue;
    SmallVector<Value> joined;
    for (uint64_t member : membersOf(reg, plan.registers))
      joined.push_back(parts[member]);
    if (positions && joined.size() > 2)
      sums[reg] = leastPosition(positions, joined);
    if (!sums[reg])
      sums[reg] = joinAll(joined, join);
  }
  for (uint64_t step : plan.lanes) {
    Point other = layout.in().unpack(step);
    const Registers before = sums;
    for (unsigned reg = 0; reg < parts.size(); ++reg)
      if (first[reg] == reg)
        sums[reg] = join(before[reg], exchange(before[first[reg ^ other[Dim::Register]]], other[Dim::Lane]));
  }
  for (unsigned reg = 0; reg < parts.size(); ++reg)
    sums[reg] = sums[first[reg]];
  return sums;
}

/// Each thread takes what it is to hold from what its registers have joined; `joined` says what that is.
LogicalResult KernelEmitter::takeJoined(Operation *op, const Layout &joined, const Registers &sums) {
  Value result = op->getResult(0);
  Layout to = layoutOf(result);
  std::optional<Layout> source = holder(joined, to, threadDims);
  bool isStatic = source && llvm::all_of(source->sublayout(allDims, {Dim::Register}).columnsOf(threadDims),
                                         [](uint64_t column) { return !column; });
  if (!isStatic)
    return op->emitError("expected a result whose threads hold what the operand's threads have joined");
  Registers &parts = tiles[result];
  for (unsigned reg = 0; reg < countRegisters(result); ++reg)
    parts.push_back(sums[(*source)(Point({{Dim::Register, reg}}))[Dim::Register]]);
  return success();
}

template <typename OpTy> static ReductionPlan planOf(OpTy op) {
  SmallVector<unsigned> dims(op.getDims().begin(), op.getDims().end());
  return planReduction(*tile::layoutOf(op.getInput()), dims);
}

/// One instruction leaves nans out of a maximum, one lets them through.
template <typename OpTy> static Value join(codegen::Emitter &e, OpTy op, Value a, Value b) {
  ReduceOp kind = op.getReduceOp();
  Type element = op.getType().getElementType();
  if (op.getSkipNan() && (element.isF32() || element.isF64())) {
    if (kind == ReduceOp::Max)
      return LLVM::MaxNumOp::create(e.b, a, b);
    if (kind == ReduceOp::Min)
      return LLVM::MinNumOp::create(e.b, a, b);
  }
  return e.join(kind, a, b, element, op.getSkipNan());
}

LogicalResult KernelEmitter::emitReduce(tile::ReduceOp reduce) {
  ReductionPlan plan = planOf(reduce);
  if (!plan.warps.empty() || !plan.blocks.empty())
    return reduce.emitError("expected the joined dimensions in the registers and lanes of each warp, got ")
           << reduce.getInput().getType();
  auto joined = joinInWarp(reduce.getInput(), plan, [&](Value a, Value b) { return join(e, reduce, a, b); },
                           positionsIn(reduce.getInput(), reduce.getReduceOp()));
  return takeJoined(reduce, plan.result, joined);
}

LogicalResult KernelEmitter::emitPartial(tile::PartialOp partial) {
  ReductionPlan plan = planOf(partial);
  unsigned last = partial.getType().getRank() - 1;
  auto joined = joinInWarp(partial.getInput(), plan, [&](Value a, Value b) { return join(e, partial, a, b); },
                           positionsIn(partial.getInput(), partial.getReduceOp()));
  return takeJoined(partial, plan.partial(last), joined);
}
