//===- DerivativesTest.cpp - Every operation has a derivative or a reason -===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace tessera;

namespace {

struct Entry {
  const char *kind;
  std::string reason;
};

/// The table, by the name of the operation.
std::multimap<std::string, Entry> readTable() {
  std::multimap<std::string, Entry> table;
#define TESSERA_DERIVATIVE(Op, ...) table.insert({#Op, {"derivative", ""}});
#define TESSERA_LINEAR(Op, ...) table.insert({#Op, {"linear", ""}});
#define TESSERA_NO_DERIVATIVE(Op, reason) table.insert({#Op, {"none", reason}});
#include "tessera/Support/ScalarDerivatives.def"
  return table;
}

std::vector<std::string> scalarOps() {
  std::vector<std::string> names;
#define TESSERA_SCALAR_OP(Enumerator, name, arity, rule, visibility, meaning)                      \
  names.push_back(#Enumerator);
#include "tessera/Support/ScalarOps.def"
  return names;
}

TEST(Derivatives, NoOperationIsSilent) {
  MLIRContext context;
  context.loadDialect<gir::GraphDialect>();
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "gir")
      continue;
    ++count;
    bool hasRule = name.hasInterface<gir::DifferentiableOpInterface>();
    bool hasReason = name.hasInterface<gir::NonDifferentiableOpInterface>();
    EXPECT_NE(hasRule, hasReason) << name.getStringRef().str();
  }
  EXPECT_GT(count, 25u);
}

TEST(Derivatives, TableHasEveryScalarOperationOnce) {
  std::multimap<std::string, Entry> table = readTable();
  for (const std::string &name : scalarOps())
    EXPECT_EQ(table.count(name), 1u) << name;
  EXPECT_EQ(table.size(), scalarOps().size());
  for (const auto &[name, entry] : table)
    EXPECT_EQ(std::string(entry.kind) == "none", !entry.reason.empty()) << name;
}

/// Every rule gives a cotangent of its operand's type for every operand that is wanted.
TEST(Derivatives, CotangentsHaveTheTypesOfOperands) {
  MLIRContext context;
  context.loadDialect<gir::GraphDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  std::multimap<std::string, Entry> table = readTable();
  std::vector<std::string> names = scalarOps();
  for (Type element : {Type(builder.getF64Type()), Type(builder.getBF16Type())})
    forEachScalarOp([&](const ScalarOpInfo &info) {
      if (std::string(table.find(names[size_t(info.op)])->second.kind) == "none")
        return;
      auto type = gir::TensorType::get({SymExpr::symbol("S")}, element);
      auto bools = type.withElementType(builder.getI1Type());
      Location loc = builder.getUnknownLoc();
      SmallVector<Value> operands;
      SmallVector<bool> wanted;
      for (unsigned i = 0; i < info.arity; ++i) {
        bool isCondition = info.rule == TypeRule::Select && i == 0;
        operands.push_back(gir::ConstantOp::create(builder, loc, isCondition ? bools : type, 1.0));
        wanted.push_back(!isCondition);
      }
      auto op = gir::MapOp::create(builder, loc, info.op, operands);
      Value cotangent = gir::ConstantOp::create(builder, loc, type, 1.0);
      SmallVector<Value> gradients = op.buildVjp(builder, cotangent, wanted);
      ASSERT_EQ(gradients.size(), operands.size()) << std::string(info.name);
      for (auto [gradient, operand, isWanted] : llvm::zip(gradients, operands, wanted)) {
        EXPECT_EQ(bool(gradient), isWanted) << std::string(info.name);
        if (gradient)
          EXPECT_EQ(gradient.getType(), operand.getType()) << std::string(info.name);
      }
    });
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace
