//===- Executor.h - Executes conversion plans ------------------*- C++ -*-===//
//
// A model of registers and shared memory that hold element indices. It executes plans by the
// definitions of shuffles, vector accesses, ldmatrix and stmatrix, and counts wavefronts bank by
// bank.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_UNITTESTS_LAYOUT_EXECUTOR_H
#define TESSERA_UNITTESTS_LAYOUT_EXECUTOR_H

#include "tessera/Layout/Conversion.h"

namespace tessera {

class Executor {
public:
  Executor(const Layout &from, const Layout &to, unsigned bits);

  /// Empty if every location of `to` holds its element, else the error.
  std::string run(const ConversionPlan &plan);
  std::string runShuffles(const ShuffleSchedule &schedule);
  std::string runExchange(const SharedExchange &exchange);

  /// The wavefronts of all accesses of the first warp, counted by runExchange.
  unsigned storeWavefronts = 0, loadWavefronts = 0;

private:
  using Registers = std::vector<int64_t>; // by packed location
  struct Access {
    unsigned lane;
    int64_t offset;
  };
  std::string compare() const;
  /// Wavefronts of accesses of `bytes` each; a phase is served together.
  unsigned count(const std::vector<Access> &accesses, unsigned elements,
                 unsigned lanesInPhase) const;
  std::string plainAccess(const SharedAccess &access, const Layout &layout, bool isLoad,
                          unsigned warp, unsigned pass);
  std::string matrixAccess(const SharedAccess &access, const Layout &layout, bool isLoad,
                           unsigned warp, unsigned pass);
  std::string transfer(Registers &registers, uint64_t place, Point address, bool isLoad);
  void copyDuplicates(const SharedAccess &access, const Layout &layout, unsigned pass);

  Layout from, to;
  unsigned bits;
  Registers source, result;
  std::vector<int64_t> memory; // of all CTAs, one after the other
};

} // namespace tessera

#endif
