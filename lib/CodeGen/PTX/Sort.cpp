//===- Sort.cpp - Sorting networks within a warp --------------------------===//
//
// Each bit of a position along the sorted dimension is a bit of the register's number, the lane's
// or the warp's. A step of the network compares two registers of a thread, or a register with that
// of another lane. The bit that determines the direction may also be one of the warp.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

namespace {
/// Where a bit of the position is: which bit of the register's number, the lane's or the warp's.
struct PositionBit {
  Dim in = Dim::Register;
  unsigned mask = 0;
};
} // namespace

/// The bits of the position, the lowest first; none where one input moves along two dimensions.
static std::optional<SmallVector<PositionBit>> positionBits(const Layout &layout, Dim dim) {
  SmallVector<PositionBit> bits(layout.out().bits(dim));
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (auto [i, column] : llvm::enumerate(layout.columns(in))) {
      uint64_t position = layout.out().unpack(column)[dim];
      if (position && !llvm::isPowerOf2_64(column))
        return std::nullopt;
      if (position)
        bits[llvm::Log2_64(position)] = {in, 1u << i};
    }
  return bits;
}

LogicalResult KernelEmitter::emitSort(tile::SortOp sort) {
  std::optional<SmallVector<PositionBit>> bits =
      positionBits(layoutOf(sort.getInput()), tensorDim(sort.getDim()));
  auto isInThread = [&](tile::SortOp::Step step) {
    return (*bits)[step.bit].mask && (*bits)[step.bit].in != Dim::Warp;
  };
  SmallVector<tile::SortOp::Step> network = sort.getNetwork();
  if (!bits || !llvm::all_of(network, isInThread))
    return sort.emitError("expected the compared elements in the registers and lanes of each warp, "
                          "got ")
           << sort.getType();
  auto isSet = [&](PositionBit bit) {
    return e.cmp(LLVM::ICmpPredicate::ne,
                 e.andI(bit.in == Dim::Lane ? lane : warp, e.integer(bit.mask, e.i32)),
                 e.integer(0, e.i32));
  };
  Registers words = tiles.lookup(sort.getInput());
  for (auto [at, phase] : network) {
    PositionBit bit = (*bits)[at], direction;
    if (phase < bits->size())
      direction = (*bits)[phase];
    // Whether the larger element comes first: in some threads, or in some registers.
    Value descends;
    if (direction.mask && direction.in != Dim::Register)
      descends = isSet(direction);
    Value isUpper = bit.in == Dim::Lane ? isSet(bit) : Value();
    for (unsigned reg = 0; reg < words.size(); ++reg) {
      bool isReversed = direction.in == Dim::Register && (reg & direction.mask);
      auto oriented = [&](Value condition) {
        return descends ? e.xorI(condition, descends) : condition;
      };
      if (isUpper) {
        Value other = exchange(words[reg], bit.mask);
        Value comesFirst = e.cmp(isReversed ? LLVM::ICmpPredicate::sgt : LLVM::ICmpPredicate::slt,
                                 other, words[reg]);
        words[reg] = e.select(e.xorI(oriented(comesFirst), isUpper), other, words[reg]);
      } else if (!(reg & bit.mask)) {
        Value &low = words[reg], &high = words[reg | bit.mask];
        Value isWrong = oriented(
            e.cmp(isReversed ? LLVM::ICmpPredicate::slt : LLVM::ICmpPredicate::sgt, low, high));
        Value first = e.select(isWrong, high, low);
        high = e.select(isWrong, low, high);
        low = first;
      }
    }
  }
  tiles[sort.getResult()] = std::move(words);
  return success();
}
