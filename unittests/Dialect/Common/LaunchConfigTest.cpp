//===- LaunchConfigTest.cpp - Fields of launch and tuning, and changes ----===//
#include "tessera/Dialect/Common/LaunchConfig.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace mlir;
using namespace tessera;

template <typename Field> static std::string textOf(const FieldValues<Field> &config) {
  std::string text;
  llvm::raw_string_ostream(text) << config;
  return text;
}

TEST(LaunchConfig, Values) {
  LaunchConfig config;
  EXPECT_TRUE(config.empty());
  config.set(LaunchField::ClusterSize, 2);
  config.set(LaunchField::NumWarps, 8);
  EXPECT_EQ(config.get(LaunchField::NumWarps), 8);
  EXPECT_EQ(config.get(LaunchField::ClusterAxis), std::nullopt);
  EXPECT_EQ(textOf(config), "num_warps = 8, cluster_size = 2");
  EXPECT_EQ(textOf(config.without({LaunchField::NumWarps})), "cluster_size = 2");
  EXPECT_EQ(config.with(LaunchField::NumWarps, 8), config);
  EXPECT_EQ(hash_value(config.with(LaunchField::NumWarps, 8)), hash_value(config));
  EXPECT_NE(config.with(LaunchField::NumWarps, 4), config);
}

TEST(LaunchConfig, Names) {
  EXPECT_EQ(LaunchConfig::lookup("cluster_axis"), LaunchField::ClusterAxis);
  EXPECT_EQ(LaunchConfig::lookup("num_stages"), std::nullopt);
  EXPECT_EQ(TuningConfig::lookup("num_stages"), TuningField::NumStages);
  for (const FieldInfo &field : kLaunchFields)
    EXPECT_FALSE(TuningConfig::lookup(field.name)) << field.name.str();
}

TEST(LaunchConfig, Problems) {
  LaunchConfig config;
  EXPECT_EQ(config.problem(), "");
  EXPECT_EQ(config.with(LaunchField::NumWarps, 33).problem(),
            "expected num_warps from 1 to 32, got 33");
  EXPECT_EQ(config.with(LaunchField::ClusterAxis, 0).problem(),
            "expected cluster_size beside cluster_axis");
  EXPECT_EQ(
      config.with(LaunchField::PersistentCtas, 132).with(LaunchField::TilesPerCta, 4).problem(),
      "expected persistent_ctas or tiles_per_cta, got both");
  EXPECT_EQ(TuningConfig().with(TuningField::UseTma, 2).problem(),
            "expected use_tma from 0 to 1, got 2");
}

TEST(LaunchConfig, ThePageHasEveryField) {
  std::stringstream page;
  page << std::ifstream(TESSERA_SCHEDULES_PAGE).rdbuf();
  for (llvm::ArrayRef<FieldInfo> fields : {llvm::ArrayRef(kLaunchFields), {kTuningFields}})
    for (const FieldInfo &field : fields)
      EXPECT_NE(page.str().find("| `" + field.name.str() + "` |"), std::string::npos)
          << TESSERA_SCHEDULES_PAGE << " has no row for " << field.name.str();
}

/// A change of what was chosen is listed; a first choice is not.
TEST(LaunchConfig, Changes) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto kernel = tile::KernelOp::create(builder, builder.getUnknownLoc(), "k", ArrayRef<Type>(), 1);
  auto changes = [&] {
    std::vector<std::string> texts;
    if (auto list = kernel->getAttrOfType<ArrayAttr>(tile::KernelOp::kChangedAttr))
      for (auto text : list.getAsRange<StringAttr>())
        texts.push_back(text.str());
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(kernel.getNumWarps(), kDefaultNumWarps);
  EXPECT_EQ(kernel.getClusterSize(), kDefaultClusterSize);

  LaunchConfig launch = LaunchConfig().with(LaunchField::NumWarps, 8);
  kernel.changeConfig(launch, "first");
  kernel.changeConfig(TuningConfig().with(TuningField::NumStages, 5), "first");
  EXPECT_EQ(kernel.getNumWarps(), 8);
  kernel.changeConfig(launch.with(LaunchField::ClusterSize, 2), "added");
  EXPECT_EQ(changes(), Texts());

  kernel.changeConfig(launch.with(LaunchField::NumWarps, 4), "a reason");
  EXPECT_EQ(changes(), (Texts{"num_warps 8 -> 4: a reason", "cluster_size 2 -> none: a reason"}));
  EXPECT_EQ(kernel.getNumWarps(), 4);
  kernel.noteUse(TuningField::NumStages, 5, "as it is");
  kernel.noteUse(TuningField::UseTma, 1, "was not given");
  EXPECT_EQ(changes().size(), 2u);
  kernel.noteUse(TuningField::NumStages, 4, "shared memory");
  EXPECT_EQ(changes().back(), "num_stages 5 -> 4: shared memory");
  EXPECT_EQ(kernel.getField(TuningField::NumStages), 5);

  kernel.changeConfig(LaunchConfig(), "nothing left");
  EXPECT_FALSE(kernel.getLaunchAttr());
}
