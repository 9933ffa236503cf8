//===- CpuCosts.h - Predicted times of contractions on CPUs -----*- C++ -*-===//
//
// A grid task computes one output tile. For each block of K it copies the left-hand side, packs the
// right-hand side into panels, and multiplies blocks of registers; accumulators are loaded and
// stored once per block of K. The accumulators of few rows are all in registers: the right-hand
// side is read where it is. Grid tasks run in rounds, one per core.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_CPUCOSTS_H
#define TESSERA_COSTMODEL_CPUCOSTS_H

#include "tessera/CostModel/PredictedTime.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// What a core takes for the parts of a contraction.
struct CpuCosts {
  double cyclesPerUs;              ///< the clock
  double l2BytesPerUs;             ///< operands and accumulators from the L2 cache
  double dramBytesPerUs;           ///< operands that no cache holds
  double blockUs;                  ///< for each block of K of a tile
  double taskUs;                   ///< to start a grid task
  double launchUs;                 ///< to start and end a kernel
  double instructionUs;            ///< an instruction on a vector
  double productUs;                ///< a multiply-add of vectors
  double loadsOfProduct;           ///< how much longer that is where no rows share the loads
  double runUs;                    ///< to start an inner loop
  double stepUs;                   ///< for each block of a stream
  double disturbance;              ///< of what is slowest by a unit of what runs beside it
  int64_t microRows, microColumns; ///< of fp32 in registers
  int64_t vectorBytes, fewRows;    ///< MachineModel
  int64_t l1Bytes, l2Bytes;
  /// Whether these costs choose tiles. Their cycles were measured with AVX-512; narrower vectors of
  /// x86-64 are assumed to take as many.
  bool choosesTiles;
};

/// The size of a contraction, with all batches.
struct CpuContraction {
  int64_t rows = 1, columns = 1, depth = 1, batches = 1;
  int64_t elementBytes = 4; ///< in panels
  int64_t storageBytes = 4; ///< in memory
};

/// The tile of a grid task.
struct CpuTile {
  int64_t rows, columns, depth;
};

/// The tiles that are compared: multiples of the block of registers, no larger than the sizes.
std::vector<CpuTile> cpuTiles(const CpuCosts &costs, const CpuContraction &size);

PredictedTime predictTime(const CpuCosts &costs, int64_t cores, const CpuContraction &size,
                          const CpuTile &tile);

} // namespace tessera

#endif
