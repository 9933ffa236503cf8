//===- Tiles.cpp - Elementwise operations and reductions ------------------===//
//
// Emits the operations on tiles in registers: maps, casts, moves between registers, and reductions
// within a warp. Comparisons with positions and selections of a ragged tail have forms of their
// own, which take fewer instructions than LLVM finds.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Layout/Reduction.h"
#include "tessera/Target/GpuDescription.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The approximate instruction for an operation; none: there is none.
Value KernelEmitter::approximate(ScalarOp op, ValueRange x) {
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
  case ScalarOp::Log2:
    return assembly("lg2.approx.f32 $0, $1;", "=f,f", e.f32, x);
  default:
    return Value();
  }
}

/// Philox4x32-10 in 32-bit operations: a round is two wide multiplications and two three-input
/// exclusive ors. From the 64-bit form LLVM makes 64-bit multiplications and comparisons, and
/// splits the exclusive or of the last round by the bits that are used. Streams and keys are mostly
/// constant, so the multiplications of the first rounds fold.
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
  auto multiply = [&](Value a, int64_t b) -> std::pair<Value, Value> { // low and high
    if (APInt known; matchPattern(a, m_ConstantInt(&known))) {
      uint64_t all = known.getZExtValue() * uint64_t(b);
      return {e.integer(int32_t(all), e.i32), e.integer(int32_t(all >> 32), e.i32)};
    }
    Value halves = assembly("{ .reg .b64 p; mul.wide.u32 p, $2, $3; mov.b64 {$0, $1}, p; }",
                            "=r,=r,r,r", both, {a, e.integer(int32_t(b), e.i32)});
    return {LLVM::ExtractValueOp::create(e.b, halves, 0),
            LLVM::ExtractValueOp::create(e.b, halves, 1)};
  };
  auto xorAll = [&](Value a, Value b, Value key, bool isLast) -> Value {
    if (isLast)
      return assembly("lop3.b32 $0, $1, $2, $3, 0x96;", "=r,r,r,r", e.i32, {a, b, key});
    APInt p, q, r;
    if (matchPattern(a, m_ConstantInt(&p)) && matchPattern(b, m_ConstantInt(&q)) &&
        matchPattern(key, m_ConstantInt(&r)))
      return e.integer(int32_t((p ^ q ^ r).getZExtValue()), e.i32);
    return LLVM::XOrOp::create(e.b, LLVM::XOrOp::create(e.b, a, b), key);
  };
  auto keyOf = [&](Value key, int64_t step) -> Value {
    if (APInt known; matchPattern(key, m_ConstantInt(&known)))
      return e.integer(int32_t(known.getZExtValue() + step), e.i32);
    return e.addI(key, e.integer(int32_t(step), e.i32));
  };
  constexpr int64_t kRounds = 10;
  Value c0 = low(x[0]), c1 = high(x[0]), c2 = low(x[1]), c3 = high(x[1]), key0 = low(x[2]),
        key1 = high(x[2]);
  for (int64_t round = 0; round < kRounds; ++round) {
    bool isLast = round + 1 == kRounds;
    auto [low0, high0] = multiply(c0, 0xD2511F53);
    auto [low1, high1] = multiply(c2, 0xCD9E8D57);
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

KernelEmitter::LowBits KernelEmitter::lowBits(Value tile) const {
  auto bitsOf = [&](Value index) {
    int64_t known = coordinates.divisor(index);
    return known ? unsigned(llvm::countr_zero(uint64_t(known))) : 63u;
  };
  auto type = cast<RankedTensorType>(tile.getType());
  Operation *op = tile.getDefiningOp();
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(op))
    return {bitsOf(iota.getStart()), 0};
  if (auto splat = dyn_cast_or_null<tile::SplatOp>(op);
      splat && splat.getScalar().getType().isIndex())
    return {0, bitsOf(splat.getScalar())};
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op)) {
    LowBits bits = lowBits(broadcast.getInput());
    bool isAlong = !broadcast.getDims().empty() && broadcast.getDims().back() == type.getRank() - 1;
    return {isAlong ? bits.position : 0, bits.zero};
  }
  if (auto cast = dyn_cast_or_null<tile::CastOp>(op);
      cast && elementOf(cast.getInput()).isSignlessInteger())
    return lowBits(cast.getInput());
  auto map = dyn_cast_or_null<tile::MapOp>(op);
  if (!map || map.getInputs().size() != 2 || !type.getElementType().isSignlessInteger())
    return {0, 0};
  LowBits a = lowBits(map.getInputs()[0]), b = lowBits(map.getInputs()[1]);
  if (map.getScalarOp() == ScalarOp::Mul)
    return {0, std::max(a.zero, b.zero)};
  if (map.getScalarOp() == ScalarOp::Add)
    return {std::max(std::min(a.position, b.zero), std::min(a.zero, b.position)),
            std::min(a.zero, b.zero)};
  return {0, 0};
}

/// How many low bits of a position do not change the result. They do not where positions are
/// divided by 2^n, or compared with a size of which 2^n is a divisor as it is of the first
/// position.
unsigned KernelEmitter::sharedBits(tile::MapOp map) const {
  if (map.getScalarOp() == ScalarOp::Shr && map.getType().getRank()) {
    auto by = map.getInputs()[1].getDefiningOp<tile::ConstantOp>();
    auto number = by ? dyn_cast<IntegerAttr>(by.getValue()) : IntegerAttr();
    bool isShared = number && number.getValue().ult(63) &&
                    number.getInt() <= lowBits(map.getInputs()[0]).position;
    return isShared ? number.getInt() : 0;
  }
  if (map.getScalarOp() != ScalarOp::Lt || map.getType().getRank() != 1)
    return 0;
  auto iota = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto splat = map.getInputs()[1].getDefiningOp<tile::SplatOp>();
  if (!iota || !splat || !splat.getScalar().getType().isIndex())
    return 0;
  int64_t step =
      std::gcd(coordinates.divisor(iota.getStart()), coordinates.divisor(splat.getScalar()));
  return step ? llvm::countr_zero(uint64_t(step)) : 0;
}

/// Emits `x == b or x is nan` as one comparison for 16-bit floats that were widened to f32. A nan b
/// is replaced by an f32 that no 16-bit float equals.
bool KernelEmitter::emitEqualOrNan(tile::MapOp map) {
  auto equal = map.getInputs().front().getDefiningOp<tile::MapOp>(),
       nan = map.getInputs().back().getDefiningOp<tile::MapOp>();
  if (map.getScalarOp() != ScalarOp::Or || !equal || !nan || equal.getScalarOp() != ScalarOp::Eq ||
      nan.getScalarOp() != ScalarOp::Ne || nan.getInputs()[0] != nan.getInputs()[1] ||
      nan.getInputs()[0] != equal.getInputs()[0])
    return false;
  Value x = equal.getInputs()[0];
  auto widened = x.getDefiningOp<tile::CastOp>();
  if (!widened || !elementOf(x).isF32() ||
      !(elementOf(widened.getInput()).isBF16() || elementOf(widened.getInput()).isF16()))
    return false;
  constexpr double noHalf = 0x1.000002p0;
  Registers parts;
  for (auto [each, b] : llvm::zip_equal(tiles.lookup(x), tiles.lookup(equal.getInputs()[1]))) {
    Value isNan = e.fcmp(LLVM::FCmpPredicate::uno, b, b);
    parts.push_back(
        e.fcmp(LLVM::FCmpPredicate::ueq, each, e.select(isNan, e.real(noHalf, e.f32), b)));
  }
  tiles[map.getResult()] = parts;
  return true;
}

/// Emits the comparison of positions with one value: the thread computes the distance to its first
/// position once and compares it with a constant per register.
bool KernelEmitter::emitIndexMap(tile::MapOp map) {
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
  Value distance = e.subI(tiles.lookup(number.getResult()).front(), e.materialize(first));
  Value isNear = e.cmp(LLVM::ICmpPredicate::ult, distance, e.integer(layout.out().size()));
  Value near = e.select(isNear, LLVM::TruncOp::create(e.b, e.i32, distance), e.integer(-1, e.i32));
  for (unsigned reg = 0; reg < countRegisters(map); ++reg) {
    Value place = e.integer(layout(Point({{Dim::Register, reg}}))[Dim::D0], e.i32);
    tiles[map.getResult()].push_back(e.cmp(LLVM::ICmpPredicate::eq, near, place));
  }
  return true;
}

/// Whether the elements of a register lie before a position in every thread.
static bool isBefore(const Layout &layout, unsigned reg, unsigned position) {
  uint64_t reached = layout(layout.in().pack(Point({{Dim::Register, reg}})));
  for (uint64_t column : layout.columnsOf(~DimSet{Dim::Register}))
    reached |= column;
  return reached < position;
}

/// Selects the elements of a row before the position `end` (i32, uniform), and `others` from there
/// on. Most rows end in the last eighth of their tile: a branch then skips the comparisons of the
/// registers before it. Returns nothing where a thread has few registers.
KernelEmitter::Registers KernelEmitter::selectBelow(ArrayRef<Value> parts, ArrayRef<Value> others,
                                                    const Layout &layout, Value end) {
  constexpr unsigned many = 16, part = 8; // registers; of a tile
  unsigned size = layout.out().size(Dim::D0), last = size - size / part;
  auto isEarly = [&](unsigned reg) { return isBefore(layout, reg, last); };
  if (parts.size() < many || llvm::none_of(llvm::seq<unsigned>(0, parts.size()), isEarly))
    return {};
  SmallVector<Type> types(parts.size(), parts.front().getType());
  auto branch =
      scf::IfOp::create(e.b, types, e.cmp(LLVM::ICmpPredicate::sge, end, e.integer(last, e.i32)),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  for (bool isLate : {true, false}) {
    e.b.setInsertionPointToStart(isLate ? branch.thenBlock() : branch.elseBlock());
    // Without this LLVM hoists the bounds out of a loop, at one register each.
    Value here = assembly("mov.b32 $0, $1;", "=r,r", e.i32, end, /*hasEffects=*/true);
    Registers chosen(parts);
    for (auto [reg, each] : llvm::enumerate(chosen)) {
      if (isLate && isEarly(reg))
        continue;
      // The register's constant goes to the uniform side of the comparison.
      codegen::Ix place = coordinate(layout, reg, Dim::D0);
      Value at = LLVM::TruncOp::create(e.b, e.i32, e.materialize(codegen::Ix(place.value)));
      each = e.select(
          e.cmp(LLVM::ICmpPredicate::slt, at, e.subI(here, e.integer(place.constant, e.i32))), each,
          others[reg]);
    }
    scf::YieldOp::create(e.b, chosen);
  }
  return Registers(branch.getResults());
}

/// Whether all values that are computed from a tile's elements past the end of a row, except by the
/// operation `beside`, are masked where the row is stored.
bool KernelEmitter::isUnusedPast(Value tile, Operation *beside, SymExpr end) const {
  auto endsThere = [&](auto row) {
    return row.getBounded() && isZero(row.getCoords()[row.getDims()[0]]) &&
           coordinates.size(row.getView(), row.getDims()[0]) == end;
  };
  auto isStored = [&](Operation *user) {
    auto store = dyn_cast<tile::BulkStoreOp>(user);
    return isa<tile::SharedStoreOp, tile::BulkWaitOp>(user) || (store && endsThere(store));
  };
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (user == beside)
        continue;
      if (isa<tile::MapOp, tile::CastOp>(user))
        made.insert(user->getResult(0));
      else if (auto write = dyn_cast<tile::SharedStoreOp>(user);
               !write || !llvm::all_of(write.getBuffer().getUsers(), isStored))
        if (auto store = dyn_cast<tile::StoreOp>(user); !store || !endsThere(store))
          return false;
    }
  return true;
}

/// Emits the selection of the elements of a ragged row by their position. Of a square or zero, the
/// factor is selected, so that the sum of squares is one FMA per element.
bool KernelEmitter::emitTailSelect(tile::MapOp map) {
  auto less = map.getScalarOp() == ScalarOp::Where ? map.getInputs()[0].getDefiningOp<tile::MapOp>()
                                                   : tile::MapOp();
  if (!less || less.getScalarOp() != ScalarOp::Lt || map.getType().getRank() != 1 ||
      sharedBits(less))
    return false;
  auto iota = less.getInputs()[0].getDefiningOp<tile::IotaOp>();
  auto splat = less.getInputs()[1].getDefiningOp<tile::SplatOp>();
  if (!iota || !splat || !splat.getScalar().getType().isIndex() ||
      !elementOf(splat).isInteger(32) || !isZero(iota.getStart()))
    return false;
  std::optional<SymExpr> size = coordinates.expression(splat.getScalar());
  if (!size)
    return false;
  auto square = map.getInputs()[1].getDefiningOp<tile::MapOp>();
  auto zero = map.getInputs()[2].getDefiningOp<tile::ConstantOp>();
  bool isSquare = square && square.getScalarOp() == ScalarOp::Mul &&
                  square.getInputs()[0] == square.getInputs()[1] && zero &&
                  matchPattern(zero.getValue(), m_PosZeroFloat());
  Value from = isSquare ? square.getInputs()[0] : map.getInputs()[1];
  Value end = LLVM::TruncOp::create(e.b, e.i32, get(splat.getScalar()));
  Registers parts =
      selectBelow(tiles.lookup(from), tiles.lookup(map.getInputs()[2]), layoutOf(map), end);
  if (parts.empty())
    return false;
  // The selected elements replace the others, so that not both are in registers.
  if (isSquare && from.getParentBlock() == map->getBlock() && isUnusedPast(from, square, *size))
    tiles[from] = parts;
  if (isSquare)
    for (Value &each : parts)
      each = e.scalarOp(ScalarOp::Mul, {each, each}, elementOf(map));
  tiles[map.getResult()] = parts;
  return true;
}

LogicalResult KernelEmitter::emitMap(tile::MapOp map) {
  if (emitEqualOrNan(map) || emitIndexMap(map) || emitTailSelect(map))
    return success();
  Type element = elementOf(map.getInputs().back());
  Registers &parts = tiles[map.getResult()];
  unsigned shared = sharedBits(map);
  Layout layout = layoutOf(map);
  llvm::DenseMap<uint64_t, Value> answers;
  for (unsigned reg = 0; reg < countRegisters(map); ++reg) {
    // The last dimension has the low bits of an element's index.
    uint64_t place = shared ? layout(layout.in().pack(Point({{Dim::Register, reg}}))) >> shared : 0;
    if (shared && answers.contains(place)) {
      parts.push_back(answers[place]);
      continue;
    }
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(tiles.lookup(input)[reg]);
    Value result =
        map.getFast() && element.isF32() ? approximate(map.getScalarOp(), inputs) : Value();
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
  if (from.isF32() && to.isBF16() && gpu.has(GpuFeature::Bf16Arithmetic))
    return assembly("cvt.rn.bf16.f32 $0, $1;", "=h,f", e.i16, value);
  if (from.isF32() && to.isF16() &&
      gpu.has(GpuFeature::Bf16Arithmetic)) // four times the rate of cvt.rn.f16.f32
    return halvesOf(assembly("cvt.rn.f16x2.f32 $0, 0f00000000, $1;", "=r,f", e.i32, value), to)[0];
  if (from.isF32() && isa<FloatTF32Type>(to))
    return LLVM::BitcastOp::create(e.b, e.f32,
                                   assembly("cvt.rna.tf32.f32 $0, $1;", "=r,f", e.i32, value));
  return isa<FloatTF32Type>(from) ? e.cast(value, e.f32, to) : e.cast(value, from, to);
}

/// Whether elements are written one by one, to an unaligned row of shared memory.
static bool isWrittenUnaligned(tile::CastOp cast) {
  return llvm::all_of(cast->getUsers(), [](Operation *user) {
    auto write = dyn_cast<tile::SharedStoreOp>(user);
    return write && write.getShift();
  });
}

/// Rounds two elements by one instruction, unless they are written one by one.
LogicalResult KernelEmitter::emitCast(tile::CastOp cast) {
  Type from = elementOf(cast.getInput()), to = elementOf(cast);
  const Registers parts = tiles.lookup(cast.getInput());
  Registers &result = tiles[cast.getResult()];
  // Chips with bf16 arithmetic round two elements of either type.
  bool roundsPairs =
      from.isF32() && (to.isBF16() || to.isF16()) && gpu.has(GpuFeature::Bf16Arithmetic);
  if (!roundsPairs || parts.size() % 2 || isWrittenUnaligned(cast)) {
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
  Registers halves = {LLVM::TruncOp::create(e.b, e.i16, both),
                      LLVM::TruncOp::create(e.b, e.i16, high)};
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
    if (isNarrow) // tells LLVM that the upper half is zero
      place = LLVM::ZExtOp::create(e.b, e.i64, LLVM::TruncOp::create(e.b, e.i32, place));
    tiles[iota.getResult()].push_back(place);
  }
}

LogicalResult KernelEmitter::emitMove(Operation *op,
                                      llvm::function_ref<uint64_t(uint64_t)> element) {
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
// Reductions
//===----------------------------------------------------------------------===//

/// The map where(condition, positions, the type's largest value) below a minimum; null: another
/// operand.
static tile::MapOp positionsIn(Value tile, ReduceOp kind) {
  while (auto reshape = tile.getDefiningOp<tile::ReshapeOp>())
    tile = reshape.getInput();
  auto where = tile.getDefiningOp<tile::MapOp>();
  if (kind != ReduceOp::Min || !where || where.getScalarOp() != ScalarOp::Where)
    return {};
  auto iota = where.getInputs()[1].getDefiningOp<tile::IotaOp>();
  auto other = where.getInputs()[2].getDefiningOp<tile::ConstantOp>();
  bool isLeast =
      iota && other && other.getValue() == unitOf(kind, where.getType().getElementType());
  return isLeast ? where : tile::MapOp();
}

/// The least of a thread's own positions. They differ from the first one by constants, so selects
/// from the last to the first leave the least, at one instruction each. Null where the layout adds
/// register and thread parts with carries.
Value KernelEmitter::leastPosition(tile::MapOp positions, ArrayRef<Value> parts) {
  const Registers all = tiles.lookup(positions.getResult()),
                  conditions = tiles.lookup(positions.getInputs()[0]);
  auto iota = positions.getInputs()[1].getDefiningOp<tile::IotaOp>();
  Layout layout = layoutOf(positions);
  SmallVector<std::pair<int64_t, Value>> offsets;
  for (Value part : parts) {
    unsigned reg = llvm::find(all, part) - all.begin();
    int64_t offset = layout(Point({{Dim::Register, reg}}))[Dim::D0];
    if (coordinate(layout, reg, Dim::D0).constant != offset)
      return Value();
    offsets.push_back({offset, conditions[reg]});
  }
  llvm::sort(offsets, [](auto &a, auto &b) { return a.first > b.first; });
  Type type = elementOf(positions);
  Value none = e.integer(-1, type), best = none;
  for (auto [offset, condition] : offsets)
    best = e.select(condition, e.integer(offset, type), best);
  codegen::Ix first = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, 0, Dim::D0));
  Value found = e.addI(e.cast(e.materialize(first), e.i64, type), best);
  Value most = e.number(unitOf(ReduceOp::Min, type), type, 0);
  return e.select(e.cmp(LLVM::ICmpPredicate::eq, best, none), most, found);
}

/// Four accumulators hide the latency of each combination.
static Value reduceAll(ArrayRef<Value> parts, llvm::function_ref<Value(Value, Value)> combine) {
  constexpr size_t kWays = 4;
  SmallVector<Value> sums(parts.take_front(kWays));
  for (size_t i = kWays; i < parts.size(); ++i)
    sums[i % kWays] = combine(sums[i % kWays], parts[i]);
  if (sums.size() < kWays)
    return std::accumulate(sums.begin() + 1, sums.end(), sums.front(), combine);
  return combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]));
}

/// Reduces over the registers of a thread, then over lanes by shuffles. Registers with the same
/// result are reduced once.
KernelEmitter::Registers
KernelEmitter::reduceInWarp(Value input, const ReductionPlan &plan,
                            llvm::function_ref<Value(Value, Value)> combine,
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
    SmallVector<Value> members;
    for (uint64_t member : membersOf(reg, plan.registers))
      members.push_back(parts[member]);
    if (positions && members.size() > 2)
      sums[reg] = leastPosition(positions, members);
    if (!sums[reg])
      sums[reg] = reduceAll(members, combine);
  }
  for (uint64_t step : plan.lanes) {
    Point other = layout.in().unpack(step);
    const Registers before = sums;
    for (unsigned reg = 0; reg < parts.size(); ++reg)
      if (first[reg] == reg)
        sums[reg] = combine(before[reg],
                            exchange(before[first[reg ^ other[Dim::Register]]], other[Dim::Lane]));
  }
  for (unsigned reg = 0; reg < parts.size(); ++reg)
    sums[reg] = sums[first[reg]];
  return sums;
}

/// Binds the result to registers with reduced values, which `reduced` describes.
LogicalResult KernelEmitter::bindReduced(Operation *op, const Layout &reduced,
                                         const Registers &values) {
  Value result = op->getResult(0);
  Layout to = layoutOf(result);
  std::optional<Layout> source = holder(reduced, to, threadDims);
  bool isStatic =
      source && llvm::all_of(source->sublayout(allDims, {Dim::Register}).columnsOf(threadDims),
                             [](uint64_t column) { return !column; });
  if (!isStatic)
    return op->emitError(
        "expected a result that its threads have after the reduction within the warp");
  Registers &parts = tiles[result];
  for (unsigned reg = 0; reg < countRegisters(result); ++reg)
    parts.push_back(values[(*source)(Point({{Dim::Register, reg}}))[Dim::Register]]);
  return success();
}

template <typename OpTy> static ReductionPlan planOf(OpTy op) {
  SmallVector<unsigned> dims(op.getDims().begin(), op.getDims().end());
  return planReduction(*tile::layoutOf(op.getInput()), dims);
}

/// The hardware has one maximum that ignores nans and one that propagates them.
template <typename OpTy> static Value combine(codegen::Emitter &e, OpTy op, Value a, Value b) {
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
    return reduce.emitError(
               "expected the reduced dimensions in the registers and lanes of each warp, got ")
           << reduce.getInput().getType();
  Registers values = reduceInWarp(
      reduce.getInput(), plan, [&](Value a, Value b) { return combine(e, reduce, a, b); },
      positionsIn(reduce.getInput(), reduce.getReduceOp()));
  return bindReduced(reduce, plan.result, values);
}

LogicalResult KernelEmitter::emitWarpReduce(tile::WarpReduceOp partial) {
  ReductionPlan plan = planOf(partial);
  unsigned last = partial.getType().getRank() - 1;
  Registers values = reduceInWarp(
      partial.getInput(), plan, [&](Value a, Value b) { return combine(e, partial, a, b); },
      positionsIn(partial.getInput(), partial.getReduceOp()));
  return bindReduced(partial, plan.partial(last), values);
}
