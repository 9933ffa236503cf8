//===- Context.cpp - IR in the fuzzers ------------------------------------===//
#include "Context.h"
#include "Fuzz.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/StringExtras.h"

#include <memory>

using namespace tessera;
using namespace mlir;

MLIRContext &fuzz::freshContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    context->loadDialect<arith::ArithDialect, func::FuncDialect, scf::SCFDialect, gir::GraphDialect,
                         sched::ScheduleDialect, tile::TileDialect, target::TargetDialect>();
    context->printOpOnDiagnostic(false);
  }
  return *context;
}

fuzz::Messages::Messages(MLIRContext &context) : ScopedDiagnosticHandler(&context) {
  setHandler([this](Diagnostic &diagnostic) {
    std::string message = diagnostic.str();
    saw(message);
    count += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    all += message + "\n";
  });
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Without the names of values, which are made unique in the order of printing: two arguments of
/// one name get other ones when they are parsed.
static std::string withoutNames(llvm::StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split('%');
    result += before;
    result += '%';
    text = after.drop_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-'; });
  }
  return result;
}

void fuzz::checkRoundTrip(ModuleOp module, const Messages &messages) {
  std::string text = print(module);
  // A function of MLIR's own may have no name, which MLIR has no text for.
  if (llvm::StringRef(text).contains("@<<INVALID EMPTY SYMBOL>>"))
    return;
  OwningOpRef<ModuleOp> again =
      parseSourceString<ModuleOp>(text, ParserConfig(module.getContext()));
  expect(bool(again), "a module from its own text", messages.text() + text);
  std::string written = print(*again);
  expect(withoutNames(written) == withoutNames(text), "the same text of what was parsed from it",
         text + written);
}
