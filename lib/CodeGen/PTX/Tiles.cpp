//===- Tiles.cpp - Tiles from tiles ---------------------------------------===//
#include "KernelEmitter.h"
#include "tessera/Layout/Reduction.h"
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

/// How many low bits of an integer tile are those of the position along its last dimension, and how many are zero.
KernelEmitter::LowBits KernelEmitter::lowBits(Value tile) const {
  auto bitsOf = [&](Value index) {
    int64_t known = coordinates.divisor(index);
    return known ? unsigned(llvm::countr_zero(uint64_t(known))) : 63u;
  };
  auto type = cast<RankedTensorType>(tile.getType());
  Operation *op = tile.getDefiningOp();
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(op); iota && !iota.getTurn())
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
  if (!iota || iota.getTurn() || !splat || !splat.getScalar().getType().isIndex())
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
    codegen::Ix index = e.add(codegen::Ix(get(iota.getStart())), coordinate(layout, reg, Dim::D0, iota.getTurn()));
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
// Joins
//===----------------------------------------------------------------------===//

/// What each of a thread's registers would be after all steps within the warp: registers in order, then lanes by
/// shuffles. Registers that end up with the same are joined once.
KernelEmitter::Registers KernelEmitter::joinInWarp(Value input, const ReductionPlan &plan,
                                                   llvm::function_ref<Value(Value, Value)> join) {
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
    for (uint64_t member : membersOf(reg, plan.registers))
      sums[reg] = sums[reg] ? join(sums[reg], parts[member]) : parts[member];
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
  if (!plan.warps.empty())
    return reduce.emitError("expected the joined dimensions in the registers and lanes of each warp, got ")
           << reduce.getInput().getType();
  auto joined = joinInWarp(reduce.getInput(), plan, [&](Value a, Value b) { return join(e, reduce, a, b); });
  return takeJoined(reduce, plan.result, joined);
}

LogicalResult KernelEmitter::emitPartial(tile::PartialOp partial) {
  ReductionPlan plan = planOf(partial);
  unsigned last = partial.getType().getRank() - 1;
  auto joined = joinInWarp(partial.getInput(), plan, [&](Value a, Value b) { return join(e, partial, a, b); });
  return takeJoined(partial, plan.partial(last), joined);
}
