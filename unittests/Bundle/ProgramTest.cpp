//===- ProgramTest.cpp - Host programs in the runtime's form --------------===//
#include "tessera/Bundle/Bundle.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

/// The listing of the program @f in a module around `body`, "" if it cannot be encoded.
static std::string listing(const std::string &body) {
  DialectRegistry registry;
  registry.insert<target::TargetDialect, gir::GraphDialect, LLVM::LLVMDialect>();
  MLIRContext context(registry);
  std::string text = R"mlir(
tessera_target.module @m triple "x86_64" cpu "x" features "" {
  tessera_target.program @f {)mlir" +
                     body + R"mlir(
  }
  tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 1, scratch_bytes = 0> {
  ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
    tessera_target.return
  }
})mlir";
  OwningOpRef<mlir::ModuleOp> module = parseSourceString<mlir::ModuleOp>(text, &context);
  std::string result;
  EXPECT_TRUE(module);
  if (module)
    module->walk([&](target::ProgramOp op) {
      if (FailureOr<rt::Program> program = makeProgram(op); succeeded(program))
        result = rt::toString(*program);
    });
  return result;
}

TEST(Program, DeviceAndAddresses) {
  // A persistent grid, and a guard of the alignment that TMA copies require.
  EXPECT_EQ(listing(R"mlir(
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    tessera_target.guard "x.address" "multiple" "16" "x is not aligned"
    tessera_target.launch @k grid ["min(ceildiv(S, 128), 2*device.sm_count)"] (%x)
      words [#tessera_target.word<"address", 0, "0">] : !gir.tensor<S, f32>
)mlir"),
            R"out(arg0 x: tensor fp32 rank 1
s0 = &arg0
s1 = sm_count
s2 = arg0.size[0]
guard ((s0 % 16) == 0) "x is not aligned"
launch k grid (min((2 * s1), ceildiv(s2, 128))) (&arg0 + 0)
)out");
}
