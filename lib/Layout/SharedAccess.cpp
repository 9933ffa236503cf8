//===- SharedAccess.cpp - Accesses to shared memory -----------------------===//
#include "SharedAccess.h"

#include <algorithm>

using namespace tessera;
using gf2::Vectors;
using gf2::VectorsRef;
using Kind = SharedAccess::Kind;

bool SharedAccess::hasConflicts(unsigned bits) const {
  unsigned phases = kind == Kind::Plain ? 32 >> phaseBits(registers.vector, bits) : 1u << matrices;
  return wavefronts > accesses * phases;
}

/// Addresses indexed by the position of an element in the sequence of accesses.
static Layout inAccessOrder(const Layout &address, const RegisterOrder &registers) {
  Vectors columns;
  for (uint64_t number : registers.order.columns())
    columns.push_back(address(number));
  return Layout(address.in(), address.out(),
                gf2::concat({columns, address.columnsOf(~DimSet{Dim::Register})}));
}

/// Whether every location accesses the memory of its own CTA.
static bool accessesOwnBlock(const Layout &address) {
  Layout block = address.sublayout(allDims, {Dim::Block});
  for (unsigned i = 0; i < block.in().bits(); ++i)
    if (block.columns()[i] != block.in().carry(uint64_t(1) << i, block.out()))
      return false;
  return true;
}

SharedAccess tessera::plainAccess(const Layout &address, unsigned bits, uint64_t idle) {
  SharedAccess result;
  result.registers = vectorise(address, Dim::Offset, widest(bits));
  result.address = inAccessOrder(address, result.registers);
  result.idle = idle;
  result.accesses = 1u << (result.registers.distinct - result.registers.vector);
  result.wavefronts = result.accesses * wavefronts(address.sublayout(allDims, {Dim::Offset}),
                                                   result.registers.vector, bits,
                                                   idle >> address.in().shift(Dim::Lane));
  return result;
}

std::optional<SharedAccess> tessera::matrixAccess(const Layout &address, Kind kind, unsigned bits,
                                                  VectorsRef word) {
  bool transposed = kind == Kind::Transposed;
  unsigned e = inRegister(bits);
  if (!accessesOwnBlock(address)) // ldmatrix and stmatrix cannot access other CTAs
    return std::nullopt;
  SharedAccess result;
  result.kind = kind;
  uint64_t inRow = (uint64_t(1) << widest(bits)) - 1;
  result.registers =
      registerOrder(address.sublayout(allDims, {Dim::Offset}), word, transposed ? 0 : inRow);
  result.address = inAccessOrder(address, result.registers);
  // The locations of a row have the offsets 1, 2, 4, …; all others are at the start of a row.
  Layout offsets = result.address.sublayout(allDims, {Dim::Offset});
  VectorsRef registers = offsets.columns(Dim::Register), lanes = offsets.columns(Dim::Lane);
  Vectors pairs = gf2::concat({registers.subspan(0, e), lanes.subspan(0, 2)});
  Vectors high = gf2::concat({lanes.subspan(2)});
  const Vectors &row = transposed ? high : pairs, &rows = transposed ? pairs : high;
  Vectors rest = gf2::concat({registers.subspan(e, result.registers.distinct - e), rows,
                              offsets.columnsOf({Dim::Warp, Dim::Block})});
  auto startsRow = [&](uint64_t offset) { return !(offset & inRow); };
  if (row != gf2::units(widest(bits)) || !std::all_of(rest.begin(), rest.end(), startsRow))
    return std::nullopt;

  // The address that a lane provides: its low bits select the row, its high bits the matrix.
  unsigned matrices = std::min(2u, result.registers.distinct - e);
  VectorsRef ofRegisters = result.address.columns(Dim::Register),
             ofLanes = result.address.columns(Dim::Lane);
  Vectors byLane = transposed ? gf2::concat({ofRegisters.subspan(0, e), ofLanes.subspan(0, 2)})
                              : gf2::concat({ofLanes.subspan(2)});
  for (unsigned i = 0; i < 2; ++i)
    byLane.push_back(i < matrices ? ofRegisters[e + i] : 0);
  Vectors columns(result.address.columns().begin(), result.address.columns().end());
  std::copy(byLane.begin(), byLane.end(), columns.begin() + result.address.in().shift(Dim::Lane));
  result.address = Layout(result.address.in(), result.address.out(), std::move(columns));
  result.matrices = matrices;
  result.accesses = 1u << (result.registers.distinct - e - matrices);
  result.wavefronts =
      (1u << (result.registers.distinct - e)) * phaseWavefronts(rows, widest(bits), bits);
  return result;
}

//===----------------------------------------------------------------------===//
// Accesses to a given shared-memory layout
//===----------------------------------------------------------------------===//

/// The registers whose elements share a 32-bit register, one list for each possible choice. For
/// plain matrices they have the first offsets of a row; for transposed ones any register will do.
static std::vector<Vectors> wordsOf(const Layout &offsets, Kind kind, unsigned bits) {
  VectorsRef held = offsets.columns(Dim::Register);
  std::vector<Vectors> words;
  if (kind == Kind::Transposed) {
    Vectors units = gf2::units(held.size());
    for (uint64_t unit : units)
      words.push_back({unit});
    for (uint64_t a : units)
      for (uint64_t b : units)
        if (a < b)
          words.push_back({a | b});
    std::erase_if(words, [&](const Vectors &word) { return !gf2::sum(held, word[0]); });
    return words;
  }
  gf2::Subspace registers(held);
  Vectors word;
  for (uint64_t unit : gf2::units(inRegister(bits))) {
    std::optional<uint64_t> number = registers.express(unit);
    if (!number)
      return {};
    word.push_back(*number);
  }
  return {word};
}

static SharedAccess cheapestAccess(const Layout &address, unsigned bits, uint64_t idle,
                                   bool matrices) {
  SharedAccess best = plainAccess(address, bits, idle);
  bool wholeWarps = address.in().bits(Dim::Lane) == 5 && !(idle & address.in().mask({Dim::Lane}));
  if (!matrices || !wholeWarps || bits > 32)
    return best;
  for (Kind kind : {Kind::Matrix, Kind::Transposed}) {
    if (kind == Kind::Transposed && bits != 16)
      continue;
    for (const Vectors &word : wordsOf(address, kind, bits))
      if (std::optional<SharedAccess> other = matrixAccess(address, kind, bits, word);
          other && other->cost() < best.cost()) {
        other->idle = idle;
        best = std::move(*other);
      }
  }
  return best;
}

Layout tessera::inAllBlocks(const Layout &memory, const Layout &from) {
  Vectors blocks = from.columnsOf({Dim::Block});
  if (std::all_of(blocks.begin(), blocks.end(), [](uint64_t column) { return !column; }))
    return memory;
  Space in = memory.in();
  in.setBits(Dim::Block, blocks.size());
  return Layout(in, memory.out(), gf2::concat({blocks, memory.columns()}));
}

std::optional<BlockPart> tessera::partOfBlock(const Layout &layout) {
  unsigned bits = layout.in().bits(Dim::Block);
  Layout first = layout.sublayout(~DimSet{Dim::Block});
  if (first.broadcastTo(layout.in()) == layout)
    return BlockPart{first, 0, 1};
  for (unsigned i = 0; i < maxRank; ++i) {
    Dim dim = tensorDim(i);
    Space out = layout.out();
    if (out.bits(dim) < bits)
      continue;
    out.setBits(dim, out.bits(dim) - bits);
    Vectors columns;
    for (uint64_t column : first.columns())
      columns.push_back(first.out().carry(column, out));
    Layout part(first.in(), out, std::move(columns));
    if (part * Layout::strided(Dim::Block, dim, uint64_t(1) << bits) == layout)
      return BlockPart{part, i, 1u << bits};
  }
  return std::nullopt;
}

std::optional<OwnRegisters> tessera::ownRegisters(const Layout &parts, const Layout &wanted) {
  std::optional<BlockPart> part = partOfBlock(parts);
  unsigned last = 0;
  for (unsigned i = 0; i < maxRank; ++i)
    if (parts.out().bits(tensorDim(i)))
      last = i;
  if (!part || part->blocks < 2 || part->dim != last)
    return std::nullopt;
  Layout held = part->layout.withoutDim(last);
  VectorsRef registers = held.columns(Dim::Register);
  auto haveSameColumns = [&](Dim dim) {
    VectorsRef a = held.columns(dim), b = wanted.columns(dim);
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (held.out() != wanted.out() || !held.isInjective() || !haveSameColumns(Dim::Lane) ||
      !haveSameColumns(Dim::Warp))
    return std::nullopt;
  OwnRegisters own;
  for (auto [dim, bits] :
       {std::pair(Dim::Register, &own.registers), std::pair(Dim::Block, &own.blocks)})
    for (uint64_t column : wanted.columns(dim)) {
      auto found = std::find(registers.begin(), registers.end(), column);
      if (found == registers.end())
        return std::nullopt;
      bits->push_back(found - registers.begin());
    }
  bool isComplete = own.registers.size() + own.blocks.size() == registers.size();
  return isComplete && wanted.isInjective() ? std::optional(std::move(own)) : std::nullopt;
}

Layout tessera::offsetsOf(const Layout &memory) {
  if (!memory.in().bits(Dim::Block))
    return *memory.leftInverse();
  return memory.rightInverse()->sublayout(allDims, {Dim::Offset});
}

SharedAccess tessera::planLoad(const Layout &memory, const Layout &layout, unsigned bits,
                               SharedFeatures features) {
  return cheapestAccess(layout.then(offsetsOf(memory)), bits, 0, features.ldmatrix);
}

SharedAccess tessera::planStore(const Layout &memory, const Layout &layout, unsigned bits,
                                SharedFeatures features) {
  uint64_t idle = layout.freeBits() & layout.in().mask({Dim::Lane, Dim::Warp});
  return cheapestAccess(pinned(layout).then(offsetsOf(memory)), bits, idle, features.stmatrix);
}
