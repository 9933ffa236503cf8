//===- Programs.h - Running graph functions in tests -----------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_REFERENCE_PROGRAMS_H
#define TESSERA_UNITTESTS_REFERENCE_PROGRAMS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Reference/Reference.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tessera::test {

/// A context with the dialects of graph functions.
inline std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>();
  context->loadDialect<gir::GraphDialect, mlir::func::FuncDialect>();
  return context;
}

/// A contiguous float32 argument that owns its data.
struct FloatArgument {
  FloatArgument(std::vector<int64_t> sizes, std::vector<float> data)
      : sizes(std::move(sizes)), data(std::move(data)) {}

  operator reference::HostTensor() const {
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t dim = sizes.size(); dim-- > 0; stride *= sizes[dim])
      strides[dim] = stride;
    return {DType::FP32, sizes, strides, data.data()};
  }

  std::vector<int64_t> sizes;
  std::vector<float> data;
};

/// Parses a module and evaluates its one function.
class Program {
public:
  explicit Program(const std::string &text)
      : context(makeContext()),
        module(mlir::parseSourceString<mlir::ModuleOp>(text, context.get())) {
    EXPECT_TRUE(module) << text;
  }

  mlir::FailureOr<std::vector<reference::Result>>
  tryRun(std::vector<reference::HostTensor> arguments) {
    return reference::evaluate(*module->getOps<mlir::func::FuncOp>().begin(), arguments);
  }
  std::vector<reference::Result> run(std::vector<reference::HostTensor> arguments) {
    auto results = tryRun(std::move(arguments));
    EXPECT_TRUE(mlir::succeeded(results));
    return mlir::succeeded(results) ? *results : std::vector<reference::Result>();
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A function of one elementwise float32 operation on vectors of N elements.
inline std::string elementwise(const std::string &name, unsigned arity,
                               const std::string &result = "f32") {
  std::string parameters, operands, types;
  for (unsigned i = 0; i < arity; ++i) {
    std::string separator = i ? ", " : "", operand = "%" + std::string(1, 'x' + i);
    parameters += separator + operand + ": !gir.tensor<N, f32>";
    operands += separator + operand;
    types += separator + "!gir.tensor<N, f32>";
  }
  std::string type = "!gir.tensor<N, " + result + ">";
  return "func.func @f(" + parameters + ") -> " + type + " { %r = gir.map " + name + "(" +
         operands + ") : (" + types + ") -> " + type + " return %r : " + type + " }";
}

} // namespace tessera::test

#endif
