//===- CpuDescription.h - What code generation asks of a CPU ---*- C++ -*-===//
//
// The CPU backend and the cost model read this description, never a host macro, so that code for
// another CPU is generated like code for this one. It follows from an architecture name and the
// enabled LLVM features through the table of Cpus.h.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_CPUDESCRIPTION_H
#define TESSERA_TARGET_CPUDESCRIPTION_H

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tessera {

struct CpuDescription {
  enum class Arch { X86_64, AArch64 };
  Arch arch = Arch::X86_64;
  int64_t vectorBytes = 16; ///< width of one vector register
  int64_t vectorRegisters = 16;
  bool hasFma = false;
  bool multipliesByLane = false;  ///< an FMA multiplies by one lane of a register
  bool hasMaskedMemory = false;   ///< masked loads and stores of 32- and 64-bit elements
  bool hasHalfConversion = false; ///< f16 to and from f32
  bool hasHalfProducts = false;   ///< multiplies f16 and adds in f32 with one rounding (FMLAL)
  bool hasScaleF = false;         ///< multiplies by a power of two (AVX-512F VSCALEF)
  bool hasEstimates = false;      ///< 1/x and 1/sqrt(x) to 14 bits, and fractions (AVX-512F)
  bool hasBf16Conversion = false;
  bool hasBf16Products = false; ///< multiplies 2×4 by 4×2 bf16 and adds in f32 (BFMMLA)
  bool hasByteProducts = false; ///< adds four products of bytes to each 32-bit lane (VNNI, SDOT)
  bool hasAmx = false;          ///< multiplies 16×32 by 32×16 tiles of bf16
  static constexpr int64_t amxRows = 16, amxDepth = 32;
  bool detectsStreams = false; ///< full-line writes do not read the line first (write streaming)
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 1 << 20;

  // Set by numerics options, not by the table.
  bool fusesArithmetic = true;  ///< an FMA may replace a multiplication and an addition
  bool usesReciprocals = false; ///< a division may become a multiplication by a reciprocal
  bool rowsAlone = false; ///< batch-invariant: MMA of few rows are computed like those of many

  /// Lanes of `bytes`-wide elements in one register.
  int64_t lanes(int64_t bytes) const { return vectorBytes / bytes; }

  /// Rows of a contraction whose accumulators are all in registers. Where an instruction multiplies
  /// by lanes, more rows are loaded for several steps at once.
  int64_t fewRows() const { return multipliesByLane ? 4 : vectorRegisters / 2; }

  /// `arch` is "x86_64" or "aarch64"; `features` are LLVM's names without a sign.
  static CpuDescription from(std::string_view arch, const std::set<std::string> &features);
};

/// The register block of the mma micro-kernel: `rows` × `vectors` accumulators.
struct MicroTile {
  int64_t rows;
  int64_t vectors;
};

/// The micro-tile for a tile of `tileRows` rows. The register file decides the size; a height that
/// divides the tile is preferred to a slightly larger one that leaves a tail. The last tile of a
/// `isRagged` dimension has fewer rows.
MicroTile chooseMicroTile(const CpuDescription &cpu, int64_t tileRows, bool isRagged = false);

/// The micro-tile for an interleaved left-hand side, where a vector holds one k-step of as many
/// rows as it has lanes. That needs few registers for the left-hand side and leaves more for
/// accumulators, so that an addition does not wait for the one before it.
MicroTile interleavedMicroTile(const CpuDescription &cpu, int64_t lanes);

} // namespace tessera

#endif
