//===- ShapesTest.cpp - Launch attributes of GPU kernels ------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera_rt/bundle.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {
class ShapesTest : public testing::Test {
protected:
  /// A module of two kernels, the first of which is launched.
  ShapesTest() {
    DialectRegistry registry;
    registry.insert<target::TargetDialect, gir::GraphDialect>();
    context.appendDialectRegistry(registry);
    module = parseSourceString<mlir::ModuleOp>(R"mlir(
tessera_target.module @m triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @f {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    tessera_target.launch @wide grid ["S"] (%x) words [#tessera_target.word<"address", 0, "0">]
      : !gir.tensor<S, f32>
    tessera_target.launch @plain grid ["S"] (%x) words [#tessera_target.word<"address", 0, "0">]
      : !gir.tensor<S, f32>
  }
  tessera_target.image @image format "ptx" kernels ["plain", "wide"]
    configs [#tessera_target.kernel_config<block = [128], shared = 512>,
             #tessera_target.kernel_config<block = [32, 4, 2], shared = 65536, cluster = [2]>]
    code dense<47> : tensor<2xui8>
})mlir",
                                               &context);
  }

  target::ModuleOp getTarget() { return *module->getOps<target::ModuleOp>().begin(); }

  MLIRContext context;
  OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

TEST_F(ShapesTest, InBundles) {
  ASSERT_TRUE(module);
  FailureOr<std::vector<uint8_t>> bytes =
      makeBundle(getTarget(), "sm_90a:ptx", {{"sm_90a:ptx", {1, 2, 3}}});
  ASSERT_TRUE(succeeded(bytes));
  rt::Bundle bundle;
  std::string error;
  ASSERT_TRUE(rt::decode(*bytes, bundle, error)) << error;
  ASSERT_EQ(bundle.images.size(), 1u);
  EXPECT_EQ(bundle.images[0].target, "sm_90a:ptx");
  const std::vector<rt::KernelEntry> &kernels = bundle.images[0].kernels;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "plain");
  EXPECT_EQ(kernels[0].shape.block[0], 128u);
  EXPECT_EQ(kernels[0].shape.block[1], 1u);
  EXPECT_EQ(kernels[0].shape.sharedBytes, 512u);
  EXPECT_EQ(kernels[0].shape.cluster[0], 1u);
  EXPECT_EQ(kernels[1].shape.block[0], 32u);
  EXPECT_EQ(kernels[1].shape.block[1], 4u);
  EXPECT_EQ(kernels[1].shape.block[2], 2u);
  EXPECT_EQ(kernels[1].shape.sharedBytes, 65536u);
  EXPECT_EQ(kernels[1].shape.cluster[0], 2u);
}

TEST_F(ShapesTest, InLaunchers) {
  ASSERT_TRUE(module);
  FailureOr<std::string> text = makeLauncher(getTarget());
  ASSERT_TRUE(succeeded(text));
  size_t at = 0;
  for (const char *part :
       {"cuLibraryGetKernel(&kernels[0], library, \"wide\")",
        "cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernels[0]",
        "{ // wide", "config.blockDimX = 32;", "config.blockDimY = 4;", "config.blockDimZ = 2;",
        "config.sharedMemBytes = 65536;", "cluster.value.clusterDim = {2, 1, 1};", "{ // plain",
        "config.blockDimX = 128;", "config.sharedMemBytes = 512;"}) {
    at = text->find(part, at);
    ASSERT_NE(at, std::string::npos) << part << " is not in\n" << *text;
  }
  EXPECT_EQ(text->find("clusterDim", at), std::string::npos);
  EXPECT_EQ(text->find("a tile block"), std::string::npos);
}
