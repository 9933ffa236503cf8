//===- Scan.cpp - Running joins within a warp -----------------------------===//
//
// The bits of a position along the dimension are bits of the register or of the lane. Neighbours in
// the lowest registers are a leaf, joined one after the other. From there upward, two segments
// become one: the second one's leaves get the total of the first one as a carry. Where the two are
// in different lanes they tell each other their totals by a shuffle. At the end each leaf's carry,
// with the initial value before it, is joined to its elements. The order depends on nothing but the
// tile's shape and layout.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

namespace {
/// Who holds a bit of the position: a register's bit or a lane's.
struct PositionBit {
  bool isRegister;
  unsigned mask;
};
/// Registers that hold neighbours.
struct Leaf {
  SmallVector<unsigned> registers;
  SmallVector<Value> joined; // up to each register
  Value carry;               // of the leaves before; none yet
};
/// Leaves first … last, and the join of all their elements.
struct Segment {
  unsigned first, last;
  Value total;
};
} // namespace

/// From the lowest bit of the position; nothing where warps hold one, or something moves along two dimensions.
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
  Dim dim = tensorDim(scan.getDim());
  std::optional<SmallVector<PositionBit>> bits = positionBits(layout, dim);
  if (!bits)
    return scan.emitError("expected the scanned dimension in the registers and lanes of each warp, got ")
           << scan.getInput().getType();
  auto join = [&](Value a, Value b) { return e.join(scan.getReduceOp(), a, b, element); };
  const Registers parts = tiles.lookup(scan.getInput());
  unsigned along = 0, inLeaf = 0;
  for (PositionBit bit : *bits)
    along |= bit.isRegister ? bit.mask : 0;
  while (inLeaf < bits->size() && (*bits)[inLeaf].isRegister)
    ++inLeaf;

  auto leavesOf = [&](unsigned row) {
    SmallVector<Leaf> leaves;
    SmallVector<unsigned> firsts = {row};
    for (PositionBit bit : ArrayRef(*bits).drop_front(inLeaf))
      for (unsigned i = 0, count = firsts.size(); bit.isRegister && i < count; ++i)
        firsts.push_back(firsts[i] | bit.mask);
    for (unsigned first : firsts) {
      Leaf leaf;
      leaf.registers = {first};
      for (PositionBit bit : ArrayRef(*bits).take_front(inLeaf))
        for (unsigned i = 0, count = leaf.registers.size(); i < count; ++i)
          leaf.registers.push_back(leaf.registers[i] | bit.mask);
      for (unsigned reg : leaf.registers)
        leaf.joined.push_back(leaf.joined.empty() ? parts[reg] : join(leaf.joined.back(), parts[reg]));
      leaves.push_back(leaf);
    }
    return leaves;
  };
  // The total of all leaves, which get their carries.
  auto climb = [&](MutableArrayRef<Leaf> leaves) {
    SmallVector<Segment> segments;
    for (auto [i, leaf] : llvm::enumerate(leaves))
      segments.push_back({unsigned(i), unsigned(i), leaf.joined.back()});
    for (PositionBit bit : ArrayRef(*bits).drop_front(inLeaf)) {
      auto carry = [&](const Segment &to, Value before, Value isSecond) {
        for (Leaf &leaf : leaves.slice(to.first, to.last - to.first + 1)) {
          Value old = leaf.carry ? leaf.carry : e.unit(scan.getReduceOp(), element, 0);
          Value sum = leaf.carry ? join(before, leaf.carry) : before;
          leaf.carry = isSecond ? e.select(isSecond, sum, old) : sum;
        }
      };
      SmallVector<Segment> wider;
      if (bit.isRegister) {
        for (unsigned i = 0; i < segments.size(); i += 2) {
          carry(segments[i + 1], segments[i].total, Value());
          wider.push_back({segments[i].first, segments[i + 1].last, join(segments[i].total, segments[i + 1].total)});
        }
        segments = wider;
        continue;
      }
      Value isSecond = e.cmp(LLVM::ICmpPredicate::ne, e.andI(lane, e.integer(bit.mask, e.i32)), e.integer(0, e.i32));
      for (Segment &segment : segments) {
        Value other = exchange(segment.total, bit.mask);
        carry(segment, other, isSecond);
        segment.total = join(segment.total, other);
      }
    }
    return segments.front().total;
  };

  // The initial value of a row is with every thread that has a part of the row, and so is its total.
  Layout rest = layoutOf(scan.getInit()), restOfTotal = layoutOf(scan.getTotal());
  auto keptBy = [&](unsigned reg) {
    Point all = layout(Point({{Dim::Register, reg}})), kept;
    for (unsigned i = 0, other = 0; i < unsigned(scan.getInput().getType().getRank()); ++i)
      if (i != scan.getDim())
        kept[tensorDim(other++)] = all[tensorDim(i)];
    return rest.out().pack(kept);
  };
  llvm::DenseMap<uint64_t, Value> initial, totals;
  for (auto [reg, value] : llvm::enumerate(tiles.lookup(scan.getInit())))
    initial.try_emplace(rest(uint64_t(reg)), value);
  Registers result(parts.size());
  for (unsigned row = 0; row < parts.size(); ++row) {
    if (row & along)
      continue;
    Value before = initial.lookup(keptBy(row));
    if (!before)
      return scan.emitError("expected an initial value that is where its row is");
    SmallVector<Leaf> leaves = leavesOf(row);
    totals[keptBy(row)] = join(before, climb(leaves));
    for (Leaf &leaf : leaves) {
      Value carry = leaf.carry ? join(before, leaf.carry) : before;
      for (auto [i, reg] : llvm::enumerate(leaf.registers)) {
        if (scan.getExclusive())
          result[reg] = i ? join(carry, leaf.joined[i - 1]) : carry;
        else
          result[reg] = join(carry, leaf.joined[i]);
      }
    }
  }
  tiles[scan.getResult()] = result;
  for (unsigned reg = 0; reg < countRegisters(scan.getTotal()); ++reg)
    tiles[scan.getTotal()].push_back(totals.lookup(restOfTotal(uint64_t(reg))));
  return success();
}
