//===- GpuDescription.h - What is known of a GPU by its name ---*- C++ -*-===//
#ifndef TESSERA_SUPPORT_GPUDESCRIPTION_H
#define TESSERA_SUPPORT_GPUDESCRIPTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A chip as its largest product has it. The device that code runs on may have less of everything;
/// choices that depend on it are made again at run time.
struct GpuDescription {
  std::string chip; ///< "sm_90"
  int64_t multiprocessors = 0;
  int64_t l2Bytes = 0;
  bool hasFloat8 = false; ///< CUDA Tile IR has floats of 8 bits there
  bool sumsFloat8 = false; ///< their products are summed in fp32; a Hopper keeps some 14 bits
  bool operandsInRegisters = false; ///< tensor cores do not read them from shared memory
  bool hasTileIR = false;           ///< CUDA Tile IR is assembled for it
  bool hasBf16 = false;             ///< instructions compute in it, and convert to it
  bool hasLargeMma = false;         ///< mma.sync of 16x8x16 elements of 16 bits, and of all types
  bool hasAsyncCopies = false;      ///< to shared memory, past the registers
  bool hasBulkCopies = false;       ///< of rows of memory to shared memory and back, by the machine
  bool hasClusters = false;         ///< of multiprocessors that see each other's shared memory

  /// PTX's name of the chip with all of its features, "sm_90a", and the version of PTX that is
  /// written for it: 80 is 8.0, of CUDA 12.0, which the runtime asks of a driver; more where the chip
  /// came later.
  std::string ptxChip;
  unsigned ptxVersion = 80;
  /// The releases of CUDA whose ptxas has the chip in that version: 1209 is 12.9.
  unsigned firstCuda = 1200, lastCuda = 999999;

  /// What its multiprocessors have, and what a block may have of their shared memory.
  struct Multiprocessor {
    int64_t warps = 64, blocks = 32, sharedBytes = 0, sharedOfBlock = 0;
    static constexpr int64_t registers = 65536;
  } multiprocessor;

  /// What holds for every chip: the threads of a block, and the registers of a thread.
  static constexpr int64_t maxThreads = 1024, maxRegisters = 255;
  /// The blocks of a cluster at most; 1 where there are none.
  int64_t maxCluster() const { return !hasClusters ? 1 : number() < 120 ? 16 : 8; }
  /// 90 of "sm_90".
  int number() const { return std::stoi(chip.substr(3)); }

  /// How many blocks run on a multiprocessor at once; `registers` are of a thread.
  int64_t residentBlocks(int64_t threads, int64_t registers, int64_t sharedBytes) const;

  /// "sm_90", also as "sm_90a"; nothing for a chip that is not known.
  static std::optional<GpuDescription> from(std::string_view name);
  static std::vector<GpuDescription> all();
  /// "sm_70, sm_75, …"
  static std::string knownChips();
};

} // namespace tessera

#endif
