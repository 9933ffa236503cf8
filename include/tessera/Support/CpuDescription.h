//===- CpuDescription.h - What code generation asks of a CPU ---*- C++ -*-===//
//
// The CPU back end and the cost model read this description, never a host macro: code for another
// machine is generated in the same way as for this one. It follows from an architecture name and
// the LLVM feature names that are enabled.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_CPUDESCRIPTION_H
#define TESSERA_SUPPORT_CPUDESCRIPTION_H

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tessera {

struct CpuDescription {
  enum class Arch { X86_64, AArch64 };
  Arch arch = Arch::X86_64;
  int64_t vectorBytes = 16; // width of one vector register
  int64_t vectorRegisters = 16;
  bool hasFma = false;
  bool multipliesByLane = false; // one lane of a register times all lanes of another is one instruction
  bool hasMaskedMemory =
      false; // masked loads and stores of 32- and 64-bit elements are instructions
  bool hasHalfConversion = false;
  bool hasHalfProducts = false; // multiplies f16 and adds in f32 with one rounding (FMLAL)
  bool hasScaleF = false; // one instruction multiplies by a power of two (AVX-512F)
  bool hasEstimates = false; // instructions give 1/x and 1/sqrt(x) to 14 bits, and fractions
  bool hasBf16Conversion = false;
  bool hasBf16Products = false; // multiplies 2×4 by 4×2 bf16 and adds in f32 (BFMMLA)
  bool hasTileUnit = false; // multiplies 16×32 by 32×16 tiles of bf16 (AMX)
  static constexpr int64_t tileUnitRows = 16, tileUnitDepth = 32;
  bool fusesArithmetic = true; // a product may go into the addition behind it without being rounded
  bool usesReciprocals = false; // quotients may be products with reciprocals
  bool detectsStreams = false; // lines that are written as a whole are not read first, whatever the stores
  bool rowsAlone = false; // products of few rows are computed as those of many
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 1 << 20;

  /// Lanes of `bytes`-wide elements in one register.
  int64_t lanes(int64_t bytes) const { return vectorBytes / bytes; }

  /// `arch` is "x86_64" or "aarch64"; `features` are LLVM's names without a sign.
  static CpuDescription from(std::string_view arch, const std::set<std::string> &features);
};

/// The register block of the mma micro-kernel: `rows` × `vectors` accumulators.
struct MicroTile {
  int64_t rows;
  int64_t vectors;
};

/// The block for a tile of `tileRows` rows: the register file decides the size, and a height that
/// divides the tile is preferred to a slightly larger one that leaves a remainder.
MicroTile chooseMicroTile(const CpuDescription &cpu, int64_t tileRows, bool endsAnywhere = false);

/// The block where a vector holds one step of as many rows as it has lanes: of the left-hand side few registers are
/// wanted, so there is room for more sums, and an addition does not wait for the one before it.
MicroTile interleavedMicroTile(const CpuDescription &cpu, int64_t lanes);

} // namespace tessera

#endif
