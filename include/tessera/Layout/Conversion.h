//===- Conversion.h - From one layout to another ---------------*- C++ -*-===//
//
// Converts a tile in registers from the layout `from` to the layout `to`. How far the data must
// move is a linear system: for each location of `to`, find a location of `from` with the same
// element and the same lane, warp and CTA. If there is none, allow another lane, then another warp,
// then another CTA. The first system with a solution gives the cheapest kind of conversion:
//
//   thread    rename registers (or select them by lane if a thread holds several copies)
//   warp      shuffles, in the fewest rounds, or shared memory with a warp barrier
//   CTA       shared memory: stores, a barrier, loads, with a swizzle that Swizzle.h computes
//   cluster   the same, and loads read the distributed shared memory of other CTAs
//
// A plan consists of layouts, so that code generation only evaluates linear maps. `Block` in names
// and in the dimensions of layouts is the CTA within a cluster.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_CONVERSION_H
#define TESSERA_LAYOUT_CONVERSION_H

#include "tessera/Layout/Access.h"

namespace tessera {

/// For each location of `to`, a location of `from` that holds the same element and has the same
/// coordinates in the dimensions `keep`; nothing if some location has none.
std::optional<Layout> holder(const Layout &from, const Layout &to, DimSet keep);

//===----------------------------------------------------------------------===//
// Within a warp: shuffles
//===----------------------------------------------------------------------===//

/// Rounds of one warp shuffle each. Registers are grouped into words of 2^packed elements: word w
/// of the source consists of the registers source.order(w << packed | 0, 1, …), and the same holds
/// for the result. In round k a thread sends the word send(k, thread), receives the word that lane
/// `lane(k, thread)` sends, and stores it as word keep(k, thread) of the result; words from
/// 2^(result.distinct - packed) on are dropped. All three maps are linear in (round, lane, warp,
/// block).
struct ShuffleSchedule {
  RegisterOrder source, result; // vector = packed in both
  Layout send, lane, keep;
  unsigned rounds() const { return 1u << send.in().bits(Dim::Round); }
  /// Whether every lane receives its own word in this round: a move.
  bool isLocal(unsigned round) const;
  /// In units of half a shuffle.
  unsigned cost(unsigned bits) const;
};
std::optional<ShuffleSchedule> planShuffles(const Layout &from, const Layout &to, unsigned bits);

//===----------------------------------------------------------------------===//
// Within a CTA or a cluster: shared memory
//===----------------------------------------------------------------------===//

/// How the threads store to shared memory or load from it. If a tile is exchanged in several
/// passes, each is like the first, with registers.order(number, round: the pass) and a barrier
/// before it.
///
/// Plain: vector access n = 0, 1, … moves the elements n << vector | 0, 1, … of the register order,
/// to or from the address of the first.
///
/// Matrix (ldmatrix, stmatrix; Transposed: with .trans): instruction n moves 2^matrices matrices of
/// 8 rows of 16 bytes. Its matrix m is the 32-bit register with the elements
/// (n << matrices | m) << vector | 0, 1, …. Lane l provides the address of row l % 8 of matrix l /
/// 8; lanes beyond the matrices provide any address.
struct SharedAccess {
  enum class Kind { Plain, Matrix, Transposed };
  Kind kind = Kind::Plain;
  RegisterOrder registers;
  unsigned matrices = 0;
  /// (register: the element's index in that order, lane, warp, block) -> (block, offset), where
  /// the offset counts elements. It is linear: an address is a part that depends on the thread, XOR
  /// a constant for each access.
  Layout address;
  /// Bits of a packed location of the layout; threads with one of them set do not store.
  uint64_t idle = 0;
  unsigned accesses = 0, wavefronts = 0; // of one warp, for the whole tile
  /// Whether a phase takes more than one wavefront: a bank conflict.
  bool hasConflicts(unsigned bits) const;
  /// In units of half a wavefront.
  unsigned cost() const { return 2 * wavefronts + accesses; }
};

struct SharedExchange {
  Layout memory; // offset -> element, for CTA 0 and pass 0; the others hold other cosets
  SharedAccess store, load;
  unsigned passes() const { return 1u << store.registers.order.in().bits(Dim::Round); }
  /// In units of half a wavefront, without the barrier.
  unsigned cost() const;
};

struct SharedFeatures {
  bool ldmatrix = false, stmatrix = false; // sm_75, sm_90 and later
  uint64_t memoryBytes = UINT64_MAX;       // per CTA, for the exchange
};
/// The cheapest exchange; loads stay within the CTA if possible. A tile that needs more memory is
/// exchanged in passes; nothing if it cannot be split into passes.
std::optional<SharedExchange> planExchange(const Layout &from, const Layout &to, unsigned bits,
                                           SharedFeatures features);

/// The exchange of a tile that asynchronous copies (cp.async) write to shared memory: the first
/// 2^vector registers of `from` stand for one chunk of a copy, which stays contiguous. Nothing if
/// no shared-memory layout keeps it contiguous.
std::optional<SharedExchange> planCopy(const Layout &from, const Layout &to, unsigned bits,
                                       unsigned vector, SharedFeatures features);

/// The shared-memory layout `memory` of CTA 0, extended to all CTAs of a cluster: (block, offset)
/// -> element, where each CTA holds the slice of the tile that it holds in `from`.
Layout inAllBlocks(const Layout &memory, const Layout &from);
/// How a tile is split among the CTAs of a cluster: equal slices along one dimension, with the same
/// layout in every CTA.
struct BlockPart {
  Layout layout; // of the first CTA's slice
  unsigned dim, blocks;
};
/// The slices of (…, block) -> element; nothing if the CTAs hold anything else. If all hold the
/// same, that is one slice.
std::optional<BlockPart> partOfBlock(const Layout &layout);
/// Bits of the register numbers at which a thread finds the elements of its own CTA's slice: for
/// each bit of a register number in the wanted layout, and for each bit of the CTA's rank.
struct OwnRegisters {
  std::vector<unsigned> registers, blocks;
};
/// For `parts`, whose last dimension is split among the CTAs, and a layout `wanted` without that
/// dimension; nothing if other threads hold the wanted elements.
std::optional<OwnRegisters> ownRegisters(const Layout &parts, const Layout &wanted);
/// Element -> its offset in the shared memory of the CTA that holds it.
Layout offsetsOf(const Layout &memory);

/// The cheapest accesses that load a tile of `layout` from shared memory with the given layout
/// `memory` ((block, offset) -> element), or store it there. Of threads that hold the same element,
/// the one whose free bits are zero stores it.
SharedAccess planLoad(const Layout &memory, const Layout &layout, unsigned bits,
                      SharedFeatures features);
SharedAccess planStore(const Layout &memory, const Layout &layout, unsigned bits,
                       SharedFeatures features);

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

struct ConversionPlan {
  enum class Kind { None, Registers, Shuffles, Shared };
  /// How far data move; the barrier of an exchange must cover this scope.
  enum class Scope { Thread, Warp, Block, Cluster };
  Kind kind = Kind::None;
  Scope scope = Scope::Thread;
  /// Registers: (register, lane, warp, block) of `to` -> register of `from`.
  Layout registers;
  ShuffleSchedule shuffles;
  SharedExchange exchange;
};

/// Both layouts are of the same tile; nothing if `to` has elements that `from` lacks.
std::optional<ConversionPlan> planConversion(const Layout &from, const Layout &to, unsigned bits,
                                             SharedFeatures features);

} // namespace tessera

#endif
