//===- PlaceBarriersTest.cpp - Barriers are necessary and sufficient ------===//
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

struct PlaceBarriers : testing::Test {
  PlaceBarriers() {
    context.loadDialect<tile::TileDialect, scf::SCFDialect, arith::ArithDialect>();
    programs = parseSourceFile<ModuleOp>(TESSERA_PLACED_PROGRAMS, &context);
  }
  static SmallVector<tile::BarrierOp> barriersOf(tile::KernelOp kernel) {
    SmallVector<tile::BarrierOp> barriers;
    kernel.walk([&](tile::BarrierOp barrier) { barriers.push_back(barrier); });
    return barriers;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> programs;
};

TEST_F(PlaceBarriers, AreEnough) {
  ASSERT_TRUE(programs);
  for (auto kernel : programs->getOps<tile::KernelOp>()) {
    if (barriersOf(kernel).empty()) {
      EXPECT_FALSE(findHazards(kernel).empty()) << kernel.getSymName().str();
    }
    placeBarriers(kernel);
    EXPECT_TRUE(findHazards(kernel).empty()) << kernel.getSymName().str();
    size_t count = barriersOf(kernel).size();
    placeBarriers(kernel);
    EXPECT_EQ(barriersOf(kernel).size(), count) << kernel.getSymName().str();
  }
}

TEST_F(PlaceBarriers, AreNeeded) {
  ASSERT_TRUE(programs);
  unsigned removed = 0;
  for (auto kernel : programs->getOps<tile::KernelOp>()) {
    placeBarriers(kernel);
    for (size_t i = 0; i < barriersOf(kernel).size(); ++i) {
      OwningOpRef<tile::KernelOp> mutant = kernel.clone();
      barriersOf(*mutant)[i].erase();
      EXPECT_FALSE(findHazards(*mutant).empty()) << kernel.getSymName().str() << ", barrier " << i;
      ++removed;
    }
  }
  EXPECT_GT(removed, 10u);
}

TEST_F(PlaceBarriers, OfTheWarpAreTooWeakForTheBlock) {
  ASSERT_TRUE(programs);
  for (auto kernel : programs->getOps<tile::KernelOp>()) {
    placeBarriers(kernel);
    for (tile::BarrierOp barrier : barriersOf(kernel)) {
      if (barrier.getWarp())
        continue;
      barrier.setWarp(true);
      EXPECT_FALSE(findHazards(kernel).empty()) << kernel.getSymName().str();
      barrier.setWarp(false);
    }
  }
}

} // namespace
