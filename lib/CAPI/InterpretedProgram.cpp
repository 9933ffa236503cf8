//===- InterpretedProgram.cpp - Interpreted programs of the C ABI ---------===//
#include "InterpretedProgram.h"

#include "tessera/Bundle/Bundle.h"
#include "tessera/Interpreter/Interpreter.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::capi {

using namespace mlir;

/// The requested function of the module; null after an error.
static func::FuncOp findFunction(ModuleOp module, const std::string &name) {
  func::FuncOp function;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!function || candidate.getSymName() == name)
      function = candidate;
  if (!function)
    module.emitError("expected a function");
  return function;
}

void interpretProgram(const CompileRequest &given, CompileResult &result, std::string &program) {
  CompileRequest request = given;
  request.program.sortsSequentially = request.program.sortsAllRows = true;
  withGraph(request, result, [&](ModuleOp module) -> LogicalResult {
    func::FuncOp function = findFunction(module, request.program.function);
    if (!function)
      return failure();
    if (StringRef option = interpreter::exactOption(function); !option.empty())
      return function.emitError() << "option '" << option
                                  << "' is not supported by the interpreter";
    // The program of the runtime is made from this one, which stays outside of the module's stages.
    OwningOpRef<ModuleOp> holder = ModuleOp::create(module.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
    FailureOr<target::ProgramOp> made = interpreter::interpret(function, builder);
    if (failed(made))
      return failure();
    if (request.texts.count(Stage::Target)) {
      llvm::raw_string_ostream os(result.texts[Stage::Target]);
      (*made)->print(os);
      os << "\n";
    }
    FailureOr<rt::Program> written = makeProgram(*made);
    if (failed(written))
      return failure();
    std::vector<uint8_t> bytes = rt::encode(*written);
    program.assign(bytes.begin(), bytes.end());
    return success();
  });
}

} // namespace tessera::capi
