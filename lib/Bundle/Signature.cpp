//===- Signature.cpp - Signatures in a bundle's manifest ------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

using namespace mlir;
using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;

static Object describe(gir::TensorType type) {
  Array sizes;
  for (SymExpr size : type.getShape())
    sizes.push_back(size.str());
  return Object{{"dtype", dtypeName(*dtypeFromMlir(type.getElementType()))},
                {"sizes", std::move(sizes)}};
}

/// "x.1 == 64", "S is a multiple of 16".
static std::string describe(target::GuardOp guard) {
  std::string predicate = llvm::StringSwitch<std::string>(guard.getPredicate())
                              .Case("eq", "==")
                              .Case("ne", "!=")
                              .Case("lt", "<")
                              .Case("le", "<=")
                              .Case("gt", ">")
                              .Case("ge", ">=")
                              .Default("is a multiple of");
  return guard.getLhs().str() + " " + predicate + " " + guard.getRhs().str();
}

Array tessera::describeSignatures(target::ModuleOp module, const std::string &target) {
  Array signatures;
  for (auto program : module.getBody().getOps<target::ProgramOp>()) {
    Array arguments, results, guards;
    for (auto argument : program.getBody().getOps<target::ArgumentOp>()) {
      Object entry;
      if (std::optional<StringRef> scalar = argument.getScalar())
        entry["kind"] = scalar->str();
      else
        entry = describe(argument.getType());
      entry["name"] = argument.getName().str();
      arguments.push_back(std::move(entry));
    }
    for (auto result : program.getBody().getOps<target::ResultOp>())
      results.push_back(describe(cast<gir::TensorType>(result.getValue().getType())));
    for (auto guard : program.getBody().getOps<target::GuardOp>())
      if (!guard.getError())
        guards.push_back(describe(guard));
    signatures.push_back(Object{{"function", program.getSymName().str()},
                                {"target", target},
                                {"arguments", std::move(arguments)},
                                {"results", std::move(results)},
                                {"guards", std::move(guards)}});
  }
  return signatures;
}
