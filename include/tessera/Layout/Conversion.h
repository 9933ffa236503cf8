//===- Conversion.h - From one layout to another ---------------*- C++ -*-===//
//
// A tile in registers under the layout `from` is wanted under the layout `to`. Which data must move
// how far is a linear system: find for each place of `to` a place of `from` with the same element,
// such that block, warp and lane stay. If there is none, let the lane go, then the warp, then the
// block. The first system with a solution names the cheapest road:
//
//   thread    registers are renamed (or selected by lane, where a thread holds several copies)
//   warp      shuffles, in the fewest rounds, or shared memory without a block's barrier
//   block     shared memory: stores, a barrier, loads, in an arrangement that Swizzle.h finds
//   cluster   the same, and loads reach into the shared memory of other blocks
//
// A plan says it all in layouts, so that who emits the code only evaluates linear maps.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LAYOUT_CONVERSION_H
#define TESSERA_LAYOUT_CONVERSION_H

#include "tessera/Layout/Access.h"

namespace tessera {

/// For each place of `to` a place of `from` that holds the same element and has the same
/// coordinates in the dimensions `keep`; nothing if there is none for some.
std::optional<Layout> holder(const Layout &from, const Layout &to, DimSet keep);

//===----------------------------------------------------------------------===//
// Within a warp: shuffles
//===----------------------------------------------------------------------===//

/// Rounds of one shuffle each. The registers are words of 2^packed elements: word w of the source
/// is made of the registers source.order(w << packed | 0, 1, …), and the same for the result. In
/// round k a thread offers the word send(k, thread), receives what lane `lane(k, thread)` offers,
/// and takes it as word keep(k, thread) of the result; numbers from 2^(result.distinct - packed) on
/// are dropped. All three are linear in (round, lane, warp, block).
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
// Within a block or a cluster: shared memory
//===----------------------------------------------------------------------===//

/// How the threads store to shared memory or load from it. Where a tile goes in several passes,
/// each is as the first, with registers.order(number, round: the pass) and a barrier before it.
///
/// Plain: access n = 0, 1, … moves the elements n << vector | 0, 1, … of the order of registers,
/// to or from the address of the first.
///
/// Matrix (ldmatrix, stmatrix; Transposed: with .trans): instruction n moves 2^matrices matrices of
/// 8 rows of 16 bytes; matrix m of it is the 32-bit register of the elements (n << matrices | m) <<
/// vector | 0, 1, …. The address of lane l is that of row l % 8 of matrix l / 8; lanes beyond the
/// matrices give any address.
struct SharedAccess {
  enum class Kind { Plain, Matrix, Transposed };
  Kind kind = Kind::Plain;
  RegisterOrder registers;
  unsigned matrices = 0;
  /// (register: the element's number in that order, lane, warp, block) -> (block, offset), where
  /// the offset counts elements. Linear: the address is a thread's part ^ a constant for each
  /// access.
  Layout address;
  /// Bits of a packed place of the layout; threads that have one of them set do not store.
  uint64_t idle = 0;
  unsigned accesses = 0, wavefronts = 0; // of one warp, for the whole tile
  /// Whether some phase takes more than one wavefront.
  bool hasConflicts(unsigned bits) const;
  /// In units of half a wavefront.
  unsigned cost() const { return 2 * wavefronts + accesses; }
};

struct SharedExchange {
  Layout memory; // offset -> element, for block 0 and pass 0; the others hold other cosets so
  SharedAccess store, load;
  unsigned passes() const { return 1u << store.registers.order.in().bits(Dim::Round); }
  /// In units of half a wavefront, without the barrier.
  unsigned cost() const;
};

struct SharedFeatures {
  bool ldmatrix = false, stmatrix = false; // sm_75, sm_90 and later
  uint64_t memoryBytes = UINT64_MAX;       // of a block, for the exchange
};
/// The cheapest exchange; loads stay within the block where they can. A tile that needs more memory
/// is exchanged in passes. Nothing if it cannot be split so.
std::optional<SharedExchange> planExchange(const Layout &from, const Layout &to, unsigned bits,
                                           SharedFeatures features);

/// The exchange of a tile that copies bring into shared memory past the registers: the first
/// 2^vector registers of `from` are one piece of memory, and stay one. Nothing if no arrangement
/// has them so.
std::optional<SharedExchange> planCopy(const Layout &from, const Layout &to, unsigned bits,
                                       unsigned vector, SharedFeatures features);

/// The arrangement `memory` of block 0 in all blocks of a cluster: (block, offset) -> element, where
/// blocks hold different parts of a tile, as they do in `from`.
Layout inAllBlocks(const Layout &memory, const Layout &from);
/// What each block of a cluster has of a tile: equal parts side by side along one dimension, which lie alike.
struct BlockPart {
  Layout layout; // of the first block's part
  unsigned dim, blocks;
};
/// Of (…, block) -> element; nothing where blocks have other parts. Where all hold the same, that is one part.
std::optional<BlockPart> partOfBlock(const Layout &layout);
/// Where threads find what they want of their own block's part, by bits of their registers' numbers: those of each bit of
/// a register's number as it is wanted, and of the block's.
struct OwnRegisters {
  std::vector<unsigned> registers, blocks;
};
/// Of `parts`, along whose last dimension each block has one, and of a layout `wanted` without that dimension; nothing where
/// other threads have it.
std::optional<OwnRegisters> ownRegisters(const Layout &parts, const Layout &wanted);
/// Element -> its offset in the memory of the block that holds it.
Layout offsetsOf(const Layout &memory);

/// The cheapest way to load a tile of `layout` from a block's memory, and to store it there, where
/// the arrangement `memory` ((block, offset) -> element) is given. Of threads that hold the same element the
/// one stores whose free bits are zero.
SharedAccess planLoad(const Layout &memory, const Layout &layout, unsigned bits,
                      SharedFeatures features);
SharedAccess planStore(const Layout &memory, const Layout &layout, unsigned bits,
                       SharedFeatures features);

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

struct ConversionPlan {
  enum class Kind { None, Registers, Shuffles, Shared };
  /// How far data move: what the barrier of an exchange must cover.
  enum class Scope { Thread, Warp, Block, Cluster };
  Kind kind = Kind::None;
  Scope scope = Scope::Thread;
  /// Registers: (register, lane, warp, block) of `to` -> register of `from`.
  Layout registers;
  ShuffleSchedule shuffles;
  SharedExchange exchange;
};

/// Both layouts are of the same tile; nothing if `to` has elements that `from` has not.
std::optional<ConversionPlan> planConversion(const Layout &from, const Layout &to, unsigned bits,
                                             SharedFeatures features);

} // namespace tessera

#endif
