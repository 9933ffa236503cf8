//===- Exchange.cpp - Conversions through shared memory -------------------===//
//
// Each side uses plain vector accesses or, for elements that fill 32-bit registers, ldmatrix or
// stmatrix. The kind determines which elements are contiguous in memory: any registers for plain
// accesses; a register and lanes 1, 2 for a matrix (four lanes hold a row of 16 bytes); lanes 4, 8,
// 16 for a transposed one. If one side is fixed, the other uses as much of the same vector as it
// can. For every pair of kinds, Swizzle.h computes a shared-memory layout or none. The plan is the
// cheapest by exact counts of wavefronts.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "SharedAccess.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Swizzle.h"

#include <algorithm>
#include <cassert>

using namespace tessera;
using gf2::Vectors;
using gf2::VectorsRef;
using Kind = SharedAccess::Kind;

namespace {
/// One side of the exchange, with locations mapped to the slice of one CTA. For a store, the
/// elements of idle threads are zero.
struct Side {
  Layout layout;
  Layout block; // location -> the CTA whose memory it accesses
  unsigned bits;

  /// The elements of registers that access the memory of the same CTA.
  Vectors registers() const {
    Vectors elements;
    for (uint64_t number : gf2::kernel(block.columns(Dim::Register)))
      elements.push_back(layout(number));
    return elements;
  }
  VectorsRef lanes() const { return layout.columns(Dim::Lane); }
  Vectors warps() const { return layout.columnsOf({Dim::Warp, Dim::Block}); }

  SharedSide plain(VectorsRef vector) const {
    unsigned phase = std::min<unsigned>(phaseBits(vector.size(), bits), lanes().size());
    return {Vectors(vector.begin(), vector.end()), gf2::concat({lanes().subspan(0, phase)}),
            gf2::concat({lanes(), warps()})};
  }

  /// `inRegister` are the elements of one 32-bit register.
  SharedSide matrix(VectorsRef inRegister) const {
    return {gf2::concat({inRegister, lanes().subspan(0, 2)}), gf2::concat({lanes().subspan(2)}),
            gf2::concat({lanes().subspan(2), warps(), gf2::extend(inRegister, registers())})};
  }

  SharedSide transposed(VectorsRef inRegister) const {
    Vectors rows = gf2::concat({inRegister, lanes().subspan(0, 2)});
    return {gf2::concat({lanes().subspan(2)}), rows,
            gf2::concat({rows, warps(), gf2::extend(inRegister, registers())})};
  }

  /// The `wanted` vectors, in order, that registers hold and that can have the lowest offsets: no
  /// thread coordinate moves along them.
  Vectors held(VectorsRef wanted, VectorsRef others, unsigned most) const {
    gf2::Subspace inRegisters(registers());
    Vectors vectors;
    for (uint64_t v : wanted)
      if (vectors.size() < most && inRegisters.contains(v) &&
          !gf2::Subspace(gf2::concat({vectors, others})).contains(v))
        vectors.push_back(v);
    return vectors;
  }
};

/// The search for the cheapest shared-memory layout over the kinds of stores and loads.
class Search {
public:
  /// `holds` maps locations of `to` to locations of `from` (holder).
  Search(const Layout &from, const Layout &holds, unsigned bits)
      : from(from), store(storing(from, bits)), load(loading(from, holds, bits)), bits(bits) {
    gf2::Vectors held = from.columnsOf(~DimSet{Dim::Block}), even;
    for (uint64_t unit : gf2::units(from.out().bits()))
      if (gf2::Subspace(held).contains(unit))
        even.push_back(unit);
    share = gf2::extend({}, gf2::concat({even, held}));
    // ldmatrix and stmatrix need all lanes of a warp.
    wholeWarps = !(from.freeBits() & from.in().mask({Dim::Lane}));
    both = gf2::intersect(store.registers(), load.registers());
    gf2::Subspace shared(both);
    Vectors first;
    for (uint64_t column : store.registers())
      if (shared.contains(column))
        first.push_back(column);
    both = gf2::extend({}, gf2::concat({first, both}));
  }

  void plainPlain() {
    Vectors ofStore = gf2::concat({store.lanes(), store.warps()});
    Vectors ofLoad = gf2::concat({load.lanes(), load.warps()});
    Vectors common = store.held(both, gf2::concat({ofStore, ofLoad}), widest(bits));
    Vectors wideStore = store.held(gf2::concat({common, store.registers()}), ofStore, widest(bits));
    Vectors wideLoad = load.held(gf2::concat({common, load.registers()}), ofLoad, widest(bits));
    // Wider accesses are better unless they cause bank conflicts.
    attempt(Kind::Plain, store.plain(common), Kind::Plain, load.plain(common));
    for (size_t n = wideStore.size(); n > common.size(); --n)
      if (attempt(Kind::Plain, store.plain(VectorsRef(wideStore).subspan(0, n)), Kind::Plain,
                  load.plain(common)))
        break;
    for (size_t n = wideLoad.size(); n > common.size(); --n)
      if (attempt(Kind::Plain, store.plain(common), Kind::Plain,
                  load.plain(VectorsRef(wideLoad).subspan(0, n))))
        break;
  }

  /// ldmatrix or stmatrix on one side, plain accesses with as much of the same vector as possible
  /// on the other.
  void matrixPlain(Kind kind, bool isLoad) {
    const Side &mine = isLoad ? load : store, &other = isLoad ? store : load;
    std::optional<SharedSide> side = sideOf(mine, kind, both);
    if (!side || (!isLoad && !wholeWarps))
      return;
    gf2::Subspace held(other.registers());
    size_t most = 0;
    while (most < side->vector.size() && held.contains(side->vector[most]))
      ++most;
    for (size_t n = most + 1; n-- > 0;) {
      SharedSide plain = other.plain(VectorsRef(side->vector).subspan(0, n));
      if (isLoad ? attempt(Kind::Plain, plain, kind, *side)
                 : attempt(kind, *side, Kind::Plain, plain))
        break;
    }
  }

  void matrixMatrix(Kind storeKind, Kind loadKind) {
    if (!wholeWarps || store.lanes().size() != 5 || load.lanes().size() != 5)
      return;
    // A transposed side determines which elements the other side has in a 32-bit register.
    Vectors wanted = storeKind == Kind::Transposed  ? gf2::concat({store.lanes().subspan(2)})
                     : loadKind == Kind::Transposed ? gf2::concat({load.lanes().subspan(2)})
                                                    : both;
    std::optional<SharedSide> a = sideOf(store, storeKind, wanted),
                              b = sideOf(load, loadKind, wanted);
    if (a && b)
      attempt(storeKind, *a, loadKind, *b);
  }

  std::optional<SharedExchange> best;

private:
  /// Every CTA stores its slice in its own memory.
  static Side storing(const Layout &from, unsigned bits) {
    Space blocks = from.in().only({Dim::Block});
    Layout stored = pinned(from);
    Vectors own(from.in().bits()), elements(from.in().bits());
    for (unsigned i = 0; i < own.size(); ++i) {
      own[i] = from.in().carry(uint64_t(1) << i, blocks);
      elements[i] = own[i] ? 0 : stored.columns()[i];
    }
    return {Layout(from.in(), from.out(), elements), Layout(from.in(), blocks, own), bits};
  }

  /// An element is loaded from where its holder stored it.
  static Side loading(const Layout &from, const Layout &holds, unsigned bits) {
    Layout where = holds.sublayout(allDims, ~DimSet{Dim::Block});
    return {where.then(from), holds.sublayout(allDims, {Dim::Block}), bits};
  }

  uint64_t idleThreads() const { return from.freeBits() & from.in().mask({Dim::Lane, Dim::Warp}); }

  std::optional<SharedSide> sideOf(const Side &side, Kind kind, VectorsRef wanted) const {
    if (bits > 32 || side.lanes().size() != 5 || (kind == Kind::Transposed && bits != 16))
      return std::nullopt;
    Vectors inRegister = side.held(gf2::concat({wanted, side.registers()}),
                                   gf2::concat({side.lanes(), side.warps()}), ::inRegister(bits));
    if (inRegister.size() < ::inRegister(bits))
      return std::nullopt;
    return kind == Kind::Matrix ? side.matrix(inRegister) : side.transposed(inRegister);
  }

  /// Computes the layout for a pair of kinds and keeps the cheapest. Returns whether it is free of
  /// bank conflicts.
  bool attempt(Kind storeKind, const SharedSide &a, Kind loadKind, const SharedSide &b) {
    std::optional<Layout> memory = swizzle(a, b, from.out(), share, bits);
    if (!memory)
      return false;
    SharedExchange exchange;
    exchange.memory = std::move(*memory);
    std::optional<SharedAccess> stores = access(store, storeKind, a, exchange.memory);
    std::optional<SharedAccess> loads = access(load, loadKind, b, exchange.memory);
    if (!stores || !loads)
      return false;
    bool isConflictFree = !stores->hasConflicts(bits) && !loads->hasConflicts(bits);
    exchange.store = std::move(*stores);
    exchange.load = std::move(*loads);
    exchange.store.idle = idleThreads();
    if (!best || exchange.cost() < best->cost())
      best = std::move(exchange);
    return isConflictFree;
  }

  std::optional<SharedAccess> access(const Side &side, Kind kind, const SharedSide &shape,
                                     const Layout &memory) const {
    Layout address = combine(side.block, side.layout.then(*memory.leftInverse()));
    uint64_t idle = &side == &store ? idleThreads() : 0;
    if (kind == Kind::Plain) {
      SharedAccess result = plainAccess(address, bits, idle);
      return result.registers.vector < shape.vector.size() ? std::nullopt : std::optional(result);
    }
    gf2::Subspace held(side.registers());
    Vectors word;
    for (uint64_t v : VectorsRef(kind == Kind::Transposed ? shape.phase : shape.vector)
                          .subspan(0, ::inRegister(bits)))
      word.push_back(*held.express(v));
    return matrixAccess(address, kind, bits, word);
  }

  /// location -> (block, offset), from location -> block and location -> offset.
  static Layout combine(const Layout &block, const Layout &offset) {
    Space out = offset.out();
    out.setBits(Dim::Block, block.out().bits(Dim::Block));
    Vectors columns;
    for (size_t i = 0; i < block.columns().size(); ++i)
      columns.push_back(block.out().carry(block.columns()[i], out) |
                        offset.out().carry(offset.columns()[i], out));
    return Layout(block.in(), out, std::move(columns));
  }

  const Layout &from;
  Side store, load;
  unsigned bits;
  Vectors share; // a basis of the slice of a CTA
  bool wholeWarps;
  Vectors both; // elements that registers hold on both sides
};
} // namespace

unsigned SharedExchange::cost() const { return store.cost() + load.cost(); }

/// Exchanges the whole tile in one pass.
static std::optional<SharedExchange> search(const Layout &from, const Layout &holds, unsigned bits,
                                            SharedFeatures features) {
  Search search(from, holds, bits);
  search.plainPlain();
  for (Kind kind : {Kind::Matrix, Kind::Transposed}) {
    if (features.ldmatrix)
      search.matrixPlain(kind, /*isLoad=*/true);
    if (features.stmatrix)
      search.matrixPlain(kind, /*isLoad=*/false);
    if (features.ldmatrix && features.stmatrix)
      for (Kind other : {Kind::Matrix, Kind::Transposed})
        search.matrixMatrix(kind, other);
  }
  return std::move(search.best);
}

/// Extends the access of the first pass to all passes.
static void extendToPasses(SharedAccess &access, const Layout &registers) {
  RegisterOrder &order = access.registers;
  Vectors columns;
  for (uint64_t number : order.order.columns())
    columns.push_back(registers(number));
  order.order = Layout(registers.in(), registers.out(),
                       gf2::concat({columns, registers.columns(Dim::Round)}));
  access.accesses <<= registers.in().bits(Dim::Round);
  access.wavefronts <<= registers.in().bits(Dim::Round);
}

std::optional<SharedExchange> tessera::planExchange(const Layout &from, const Layout &to,
                                                    unsigned bits, SharedFeatures features) {
  assert(bits >= 8 && bits <= 64 && "expected elements of 1, 2, 4 or 8 bytes");
  Layout source = from.broadcastTo(to.in().only(threadDims));
  Layout result = to.broadcastTo(from.in().only(threadDims));
  std::optional<Layout> holds = holder(source, result, {Dim::Block});
  unsigned share = gf2::rank(source.columnsOf(~DimSet{Dim::Block})), passes = 0;
  while (passes < share && (uint64_t(bits / 8) << (share - passes)) > features.memoryBytes)
    ++passes;
  if (!passes) {
    if (!holds)
      holds = holder(source, result, {});
    return holds ? search(source, *holds, bits, features) : std::nullopt;
  }
  std::optional<Passes> parts;
  if (holds)
    parts = splitPasses(source, result, *holds, passes);
  if (!parts)
    return std::nullopt;
  holds = holder(parts->from, parts->to, {Dim::Block});
  assert(holds && "expected a pass to hold all its elements");
  std::optional<SharedExchange> exchange = search(parts->from, *holds, bits, features);
  if (exchange) {
    extendToPasses(exchange->store, parts->fromRegisters);
    extendToPasses(exchange->load, parts->toRegisters);
    // `idle` refers to locations of the whole layout.
    exchange->store.idle <<= passes;
  }
  return exchange;
}

std::optional<SharedExchange> tessera::planCopy(const Layout &from, const Layout &to, unsigned bits,
                                                unsigned vector, SharedFeatures features) {
  features.stmatrix = false;
  // Registers beyond a chunk act like more warps: no access combines two of them.
  VectorsRef registers = from.columns(Dim::Register);
  Space in = from.in();
  in.setBits(Dim::Register, vector);
  in.setBits(Dim::Warp, from.in().bits(Dim::Warp) + registers.size() - vector);
  Layout chunks(in, from.out(),
                gf2::concat({registers.subspan(0, vector), from.columnsOf({Dim::Lane, Dim::Warp}),
                             registers.subspan(vector), from.columnsOf({Dim::Block})}));
  std::optional<SharedExchange> exchange = planExchange(chunks, to, bits, features);
  if (!exchange || exchange->store.kind != Kind::Plain)
    return std::nullopt;
  VectorsRef offsets = exchange->memory.columns(Dim::Offset);
  bool isContiguous = std::equal(registers.begin(), registers.begin() + vector, offsets.begin());
  return isContiguous ? exchange : std::nullopt;
}
