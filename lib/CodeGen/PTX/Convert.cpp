//===- Convert.cpp - Layout conversions within a warp ---------------------===//
//
// Emits the plans of lib/Layout that need no shared memory: a permutation of a thread's registers,
// selected by lane and warp where the thread holds several candidates, or rounds of shuffles within
// the warp.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

/// Applies `shuffle` to the 32-bit words of a value of any size.
static Value inWords(codegen::Emitter &e, Value value, llvm::function_ref<Value(Value)> shuffle) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Value whole =
      isa<FloatType>(type)
          ? Value(LLVM::BitcastOp::create(e.b, IntegerType::get(type.getContext(), bits), value))
          : value;
  Value moved;
  if (bits == 64) {
    Value low = shuffle(LLVM::TruncOp::create(e.b, e.i32, whole));
    Value high =
        shuffle(LLVM::TruncOp::create(e.b, e.i32, LLVM::LShrOp::create(e.b, whole, e.integer(32))));
    moved = e.orI(LLVM::ZExtOp::create(e.b, e.i64, low),
                  LLVM::ShlOp::create(e.b, LLVM::ZExtOp::create(e.b, e.i64, high), e.integer(32)));
  } else {
    moved = shuffle(bits < 32 ? Value(LLVM::ZExtOp::create(e.b, e.i32, whole)) : whole);
    if (bits < 32)
      moved = LLVM::TruncOp::create(e.b, whole.getType(), moved);
  }
  return moved.getType() == type ? moved : Value(LLVM::BitcastOp::create(e.b, type, moved));
}

/// The value of the lane whose number differs in the bits `lanes`.
Value KernelEmitter::exchange(Value value, unsigned lanes) {
  std::string text = "shfl.sync.bfly.b32 $0, $1, " + std::to_string(lanes) + ", 31, -1;";
  return inWords(e, value, [&](Value word) {
    return assembly(text, "=r,r", e.i32, word, /*hasEffects=*/true);
  });
}

/// The value of the lane `source`.
Value KernelEmitter::receive(Value value, Value source) {
  return inWords(e, value, [&](Value word) {
    return assembly("shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "=r,r,r", e.i32, {word, source},
                    /*hasEffects=*/true);
  });
}

/// The low bits of the position are the lane's, the others the register's.
Value KernelEmitter::emitElement(tile::ElementOp element) {
  constexpr unsigned laneBits = 5;
  Value position = LLVM::TruncOp::create(e.b, e.i32, get(element.getPosition()));
  Registers parts = tiles.lookup(element.getTile());
  for (unsigned bit = laneBits; parts.size() > 1; ++bit) {
    Value isSet = e.cmp(LLVM::ICmpPredicate::ne, e.andI(position, e.integer(1 << bit, e.i32)),
                        e.integer(0, e.i32));
    Registers half;
    for (unsigned i = 0; i < parts.size(); i += 2)
      half.push_back(LLVM::SelectOp::create(e.b, isSet, parts[i + 1], parts[i]));
    parts = half;
  }
  Value lane = e.andI(position, e.integer((1 << laneBits) - 1, e.i32));
  return e.cast(receive(parts[0], lane), elementOf(element.getTile()), e.i64);
}

//===----------------------------------------------------------------------===//
// Selection by thread
//===----------------------------------------------------------------------===//

namespace {
/// Selects values by number, where the number is a constant ^ a linear function of lane and warp.
/// Each basis vector of that function's image takes one level of selects.
class Selector {
public:
  /// `number` maps (…, lane, warp) to the number, as its coordinate `dim`.
  Selector(codegen::Emitter &e, ArrayRef<Value> values, const Layout &number, Dim dim, Value lane,
           Value warp)
      : e(e), values(values) {
    gf2::Subspace image;
    SmallVector<std::pair<Value, uint64_t>> bits; // of the thread, with its column
    for (Dim in : {Dim::Lane, Dim::Warp})
      for (auto [i, column] : llvm::enumerate(number.columns(in)))
        if (uint64_t moved = number.out().unpack(column)[dim]) {
          Value place = in == Dim::Lane ? lane : warp;
          bits.push_back({LLVM::LShrOp::create(e.b, place, e.integer(i, e.i32)), moved});
          if (!image.contains(moved)) { // each vector that is added takes a bit of a combination
            image.add(moved);
            steps.push_back({Value(), moved});
          }
        }
    for (auto [bit, column] : bits)
      for (auto [i, step] : llvm::enumerate(steps))
        if (*image.express(column) >> i & 1)
          step.first = step.first ? e.xorI(step.first, bit) : bit;
    for (auto &[condition, column] : steps) {
      Value bit = e.andI(condition, e.integer(1, e.i32));
      condition = e.cmp(LLVM::ICmpPredicate::ne, bit, e.integer(0, e.i32));
    }
  }

  Value at(uint64_t number, unsigned step = 0) {
    if (step == steps.size())
      return values[number];
    auto known = made.find({step, number});
    if (known != made.end())
      return known->second;
    Value here = at(number, step + 1), across = at(number ^ steps[step].second, step + 1);
    Value chosen = here == across ? here : e.select(steps[step].first, across, here);
    return made[{step, number}] = chosen;
  }

private:
  codegen::Emitter &e;
  ArrayRef<Value> values;
  SmallVector<std::pair<Value, uint64_t>> steps;
  std::map<std::pair<unsigned, uint64_t>, Value> made;
};
} // namespace

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

KernelEmitter::Registers KernelEmitter::emitShuffles(const ShuffleSchedule &schedule,
                                                     ArrayRef<Value> parts, Type element,
                                                     unsigned count) {
  unsigned inWord = 1u << schedule.source.vector;
  Registers offered, received;
  for (unsigned word = 0; word < 1u << (schedule.source.distinct - schedule.source.vector);
       ++word) {
    Registers elements;
    for (unsigned i = 0; i < inWord; ++i)
      elements.push_back(parts[schedule.source.order(word * inWord + i)]);
    offered.push_back(pack(elements, element).front());
  }
  Selector send(e, offered, schedule.send, Dim::Register, lane, warp);
  bool isOwnLane = schedule.isLocal(0);
  for (unsigned round = 0; round < schedule.rounds(); ++round) {
    Point step({{Dim::Round, round}});
    Value word = send.at(schedule.send(step)[Dim::Register]);
    uint64_t moved = schedule.lane(step)[Dim::Lane];
    if (!isOwnLane)
      word = receive(word, e.xorI(threadPart(schedule.lane, Dim::Lane), e.integer(moved, e.i32)));
    else if (moved)
      word = exchange(word, moved);
    received.push_back(word);
  }
  Selector keep(e, received, schedule.keep, Dim::Register, lane, warp);
  Registers result(count);
  for (unsigned word = 0; word < 1u << (schedule.result.distinct - schedule.result.vector);
       ++word) {
    Registers elements = unpack(keep.at(word), element);
    for (unsigned number = word * inWord; number < count; number += 1u << schedule.result.distinct)
      for (unsigned i = 0; i < inWord; ++i)
        result[schedule.result.order(number + i)] = elements[i];
  }
  return result;
}

LogicalResult KernelEmitter::emitConvert(tile::ConvertOp convert) {
  Layout from = layoutOf(convert.getInput()), to = layoutOf(convert);
  Type element = elementOf(convert);
  const Registers parts = tiles.lookup(convert.getInput());
  std::optional<ConversionPlan> plan =
      planConversion(from, to, 8 * codegen::Emitter::byteWidth(element), sharedFeaturesOf(gpu));
  if (!plan || plan->kind == ConversionPlan::Kind::Shared)
    return convert.emitError("expected a conversion within warps, got one through shared memory");
  Registers &result = tiles[convert.getResult()];
  switch (plan->kind) {
  case ConversionPlan::Kind::Registers: {
    Selector own(e, parts, plan->registers, Dim::Register, lane, warp);
    for (unsigned reg = 0; reg < countRegisters(convert); ++reg)
      result.push_back(own.at(plan->registers(Point({{Dim::Register, reg}}))[Dim::Register]));
    break;
  }
  case ConversionPlan::Kind::Shuffles:
    result = emitShuffles(plan->shuffles, parts, element, countRegisters(convert));
    break;
  default:
    result = parts;
  }
  return success();
}
