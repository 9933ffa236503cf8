//===- Scan.cpp - Scans within a warp -------------------------------------===//
//
// Each bit of a position along the scanned dimension is a bit of the register's number or of the
// lane's. Neighbours in the lowest registers form a leaf, which is scanned sequentially. From there
// on two segments at a time become one: the leaves of the second one get the total of the first one
// as a carry. Segments in different lanes exchange their totals by a shuffle. In the end the
// initial value and the carry of each leaf are combined with its elements. The order depends only
// on the shape and the layout of the tile.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

namespace {
/// Where a bit of the position is: a bit of the register's number or of the lane's.
struct PositionBit {
  bool isRegister;
  unsigned mask;
};
/// Registers that hold neighbours.
struct Leaf {
  SmallVector<unsigned> registers;
  SmallVector<Value> scanned; // up to each register
  Value carry;                // of the leaves before; null: none yet
};
/// Leaves first … last, and the total of their elements.
struct Segment {
  unsigned first, last;
  Value total;
};

/// The scan of one row.
class RowScan {
public:
  using Combine = llvm::function_ref<Value(Value, Value)>;
  using Exchange = llvm::function_ref<Value(Value, unsigned)>;

  /// `exchange` returns the value of the lane whose number differs in a mask.
  RowScan(codegen::Emitter &e, Value lane, ArrayRef<PositionBit> bits, Value neutral,
          Combine combine, Exchange exchange)
      : e(e), lane(lane), neutral(neutral), combine(combine), exchange(exchange) {
    size_t leafBits = 0;
    while (leafBits < bits.size() && bits[leafBits].isRegister)
      ++leafBits;
    low = bits.take_front(leafBits);
    high = bits.drop_front(leafBits);
  }

  /// Scans the leaves of the row that starts in register `row`.
  void scanLeaves(unsigned row, ArrayRef<Value> parts);
  /// Gives each leaf its carry and returns the total of the row.
  Value carryTotals();

  SmallVector<Leaf> leaves;

private:
  /// Combines a total before the leaves of a segment; only where `isSecond`, unless that is null.
  void addCarry(const Segment &to, Value before, Value isSecond);

  codegen::Emitter &e;
  Value lane, neutral;
  Combine combine;
  Exchange exchange;
  ArrayRef<PositionBit> low, high; // within a leaf, and across leaves and lanes
};
} // namespace

void RowScan::scanLeaves(unsigned row, ArrayRef<Value> parts) {
  SmallVector<unsigned> firsts = {row};
  for (PositionBit bit : high)
    for (unsigned i = 0, count = firsts.size(); bit.isRegister && i < count; ++i)
      firsts.push_back(firsts[i] | bit.mask);
  for (unsigned first : firsts) {
    Leaf leaf;
    leaf.registers = {first};
    for (PositionBit bit : low)
      for (unsigned i = 0, count = leaf.registers.size(); i < count; ++i)
        leaf.registers.push_back(leaf.registers[i] | bit.mask);
    for (unsigned reg : leaf.registers)
      leaf.scanned.push_back(leaf.scanned.empty() ? parts[reg]
                                                  : combine(leaf.scanned.back(), parts[reg]));
    leaves.push_back(leaf);
  }
}

void RowScan::addCarry(const Segment &to, Value before, Value isSecond) {
  for (Leaf &leaf : MutableArrayRef(leaves).slice(to.first, to.last - to.first + 1)) {
    Value old = leaf.carry ? leaf.carry : neutral;
    Value sum = leaf.carry ? combine(before, leaf.carry) : before;
    leaf.carry = isSecond ? e.select(isSecond, sum, old) : sum;
  }
}

Value RowScan::carryTotals() {
  SmallVector<Segment> segments;
  for (auto [i, leaf] : llvm::enumerate(leaves))
    segments.push_back({unsigned(i), unsigned(i), leaf.scanned.back()});
  for (PositionBit bit : high) {
    if (bit.isRegister) {
      SmallVector<Segment> wider;
      for (unsigned i = 0; i < segments.size(); i += 2) {
        addCarry(segments[i + 1], segments[i].total, Value());
        wider.push_back({segments[i].first, segments[i + 1].last,
                         combine(segments[i].total, segments[i + 1].total)});
      }
      segments = wider;
      continue;
    }
    Value isSecond = e.cmp(LLVM::ICmpPredicate::ne, e.andI(lane, e.integer(bit.mask, e.i32)),
                           e.integer(0, e.i32));
    for (Segment &segment : segments) {
      Value other = exchange(segment.total, bit.mask);
      addCarry(segment, other, isSecond);
      segment.total = combine(segment.total, other);
    }
  }
  return segments.front().total;
}

/// The bits of the position, the lowest first; none where a warp holds one, or where one input
/// moves along two dimensions.
static std::optional<SmallVector<PositionBit>> positionBits(const Layout &layout, Dim dim) {
  SmallVector<PositionBit> bits(layout.out().bits(dim), {false, 0});
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (auto [i, column] : llvm::enumerate(layout.columns(in))) {
      uint64_t position = layout.out().unpack(column)[dim];
      if (!position)
        continue;
      if (in == Dim::Warp || !llvm::isPowerOf2_64(column))
        return std::nullopt;
      bits[llvm::Log2_64(position)] = {in == Dim::Register, 1u << i};
    }
  return bits;
}

LogicalResult KernelEmitter::emitScan(tile::ScanOp scan) {
  if (scan.getKey())
    return scan.emitOpError("expected no keys for PTX");
  Layout layout = layoutOf(scan.getInput());
  Type element = elementOf(scan.getInput());
  std::optional<SmallVector<PositionBit>> bits = positionBits(layout, tensorDim(scan.getDim()));
  if (!bits)
    return scan.emitError(
               "expected the scanned dimension in the registers and lanes of each warp, got ")
           << scan.getInput().getType();
  unsigned along = 0;
  for (PositionBit bit : *bits)
    along |= bit.isRegister ? bit.mask : 0;

  // Every thread with a part of a row also holds the row's initial value and its total.
  Layout rest = layoutOf(scan.getInit()), totalLayout = layoutOf(scan.getTotal());
  auto rowOf = [&](unsigned reg) {
    Point all = layout(Point({{Dim::Register, reg}})), kept;
    for (unsigned i = 0, other = 0; i < unsigned(scan.getInput().getType().getRank()); ++i)
      if (i != scan.getDim())
        kept[tensorDim(other++)] = all[tensorDim(i)];
    return rest.out().pack(kept);
  };
  llvm::DenseMap<uint64_t, Value> initial, totals;
  for (auto [reg, value] : llvm::enumerate(tiles.lookup(scan.getInit())))
    initial.try_emplace(rest(uint64_t(reg)), value);

  auto combine = [&](Value a, Value b) { return e.join(scan.getReduceOp(), a, b, element); };
  auto exchangeWith = [&](Value value, unsigned lanes) { return exchange(value, lanes); };
  const Registers parts = tiles.lookup(scan.getInput());
  Registers result(parts.size());
  for (unsigned row = 0; row < parts.size(); ++row) {
    if (row & along)
      continue;
    Value before = initial.lookup(rowOf(row));
    if (!before)
      return scan.emitError("expected an initial value in the threads that hold its row");
    RowScan rowScan(e, lane, *bits, e.unit(scan.getReduceOp(), element, 0), combine, exchangeWith);
    rowScan.scanLeaves(row, parts);
    totals[rowOf(row)] = combine(before, rowScan.carryTotals());
    for (Leaf &leaf : rowScan.leaves) {
      Value carry = leaf.carry ? combine(before, leaf.carry) : before;
      for (auto [i, reg] : llvm::enumerate(leaf.registers)) {
        if (scan.getExclusive())
          result[reg] = i ? combine(carry, leaf.scanned[i - 1]) : carry;
        else
          result[reg] = combine(carry, leaf.scanned[i]);
      }
    }
  }
  tiles[scan.getResult()] = result;
  for (unsigned reg = 0; reg < countRegisters(scan.getTotal()); ++reg)
    tiles[scan.getTotal()].push_back(totals.lookup(totalLayout(uint64_t(reg))));
  return success();
}
