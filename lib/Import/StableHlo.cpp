//===- StableHlo.cpp - StableHLO modules as programs --------------------------------===//
#include "tessera/Import/StableHlo.h"

#include "StableHloReader.h"
#include "StableHloTables.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace tessera;

/// Brackets within each other. MLIR's parser recurses, and so does what reads its result.
static constexpr size_t kMostNested = 128;

const importer::Table &stablehlo::operations() {
  static const importer::Table table = [] {
    importer::Table made;
    addElementwiseOperations(made);
    addShapeOperations(made);
    addIndexingOperations(made);
    addWindowOperations(made);
    return made;
  }();
  return table;
}

static bool isTooDeep(llvm::StringRef text) {
  size_t depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString && c == '\\') {
      ++i;
    } else if (c == '"') {
      isString = !isString;
    } else if (isString) {
      continue;
    } else if (c == '/' && text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (llvm::StringRef("([{<").contains(c)) {
      if (++depth > kMostNested)
        return true;
    } else if (llvm::StringRef(")]}>").contains(c) && !(c == '>' && i && text[i - 1] == '-')) {
      depth -= depth > 0;
    }
  }
  return false;
}

/// Replaces calls by operations that are not verified: MLIR does not look for the symbol of a call
/// beyond a region of an operation that is not registered.
static void releaseCalls(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> calls;
  module.walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "func.call")
      calls.push_back(op);
  });
  for (mlir::Operation *op : calls) {
    mlir::OpBuilder builder(op);
    mlir::OperationState state(op->getLoc(), stablehlo::kCall, op->getOperands(),
                               op->getResultTypes(), op->getAttrs());
    op->replaceAllUsesWith(builder.create(state));
    op->erase();
  }
}

llvm::Expected<ImportedModule> tessera::importStableHlo(llvm::StringRef text) {
  if (text.starts_with("ML\xefR"))
    return llvm::createStringError("the module is bytecode, not text");
  if (text.contains('\0') || isTooDeep(text))
    return llvm::createStringError(text.contains('\0') ? "the text has a null byte"
                                                       : "brackets are nested too deeply");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.loadDialect<mlir::func::FuncDialect>();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    unsigned line = stablehlo::lineOf(diagnostic.getLocation());
    if (message.empty())
      message = (line ? "line " + std::to_string(line) + ": " : "") + diagnostic.str();
    return mlir::success();
  });
  mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "module");
  if (module)
    releaseCalls(*module);
  if (!module || failed(mlir::verify(*module)))
    return llvm::createStringError(message.empty() ? "the text is not an MLIR module" : message);
  return stablehlo::Reader(*module).run();
}

std::vector<std::string> tessera::stableHloOperations() {
  std::vector<std::string> names = importer::namesOf(stablehlo::operations());
  llvm::erase_if(names, [](llvm::StringRef name) { return name.starts_with("."); });
  return names;
}
