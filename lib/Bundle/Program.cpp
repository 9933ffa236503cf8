//===- Program.cpp - Host programs in the runtime's form ------------------===//
//
// Names of sizes become slots, in the order of first use: a symbol that is a dimension of an
// argument, `x.0` and `x.stride.0` for any dimension, `x.address` for its address, integer
// arguments by their name, `device.sm_count` and `device.l2_bytes` for the device that the program
// runs on. Size expressions become postfix code.
//
//===----------------------------------------------------------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include <map>

using namespace mlir;
using namespace tessera;

namespace {

class ProgramWriter {
public:
  explicit ProgramWriter(target::ProgramOp op) : op(op) {}
  FailureOr<rt::Program> run();

private:
  LogicalResult addArgument(target::ArgumentOp argument);
  LogicalResult addGuard(target::GuardOp guard);
  LogicalResult addLaunch(target::LaunchOp launch);
  LogicalResult addPrint(target::PrintOp print);
  void addMemory();
  std::optional<rt::Expr> convert(SymExpr expr);
  std::optional<rt::Expr> convert(StringRef text) { return convert(*SymExpr::parse(text)); }
  std::optional<uint32_t> slotOf(const std::string &name);
  FailureOr<rt::Expr> expect(Operation *at, StringRef text);

  target::ProgramOp op;
  rt::Program program;
  std::map<std::string, rt::Slot> sources;   // the source of each name
  std::map<std::string, uint32_t> slots;     // names in use
  llvm::DenseMap<Value, uint32_t> arguments; // numbers of arguments, results, temporaries
  llvm::DenseMap<Value, uint32_t> results, temporaries;
  std::map<std::string, uint32_t> kernels;
  std::string unknown; // the last name that has no source
};

} // namespace

std::optional<uint32_t> ProgramWriter::slotOf(const std::string &name) {
  if (auto it = slots.find(name); it != slots.end())
    return it->second;
  auto source = sources.find(name);
  if (source == sources.end()) {
    unknown = name;
    return std::nullopt;
  }
  program.slots.push_back(source->second);
  return slots[name] = uint32_t(program.slots.size() - 1);
}

std::optional<rt::Expr> ProgramWriter::convert(SymExpr expr) {
  if (expr.isConstant())
    return rt::Expr::constant(expr.constantValue());
  if (expr.isSymbol()) {
    std::optional<uint32_t> slot = slotOf(expr.symbolName());
    return slot ? std::optional(rt::Expr::slot(*slot)) : std::nullopt;
  }
  rt::ExprOp op;
  switch (expr.kind()) {
  case SymExpr::Kind::Add:
    op = rt::ExprOp::Add;
    break;
  case SymExpr::Kind::Mul:
    op = rt::ExprOp::Mul;
    break;
  case SymExpr::Kind::FloorDiv:
    op = rt::ExprOp::FloorDiv;
    break;
  case SymExpr::Kind::CeilDiv:
    op = rt::ExprOp::CeilDiv;
    break;
  case SymExpr::Kind::Mod:
    op = rt::ExprOp::Mod;
    break;
  case SymExpr::Kind::Min:
    op = rt::ExprOp::Min;
    break;
  default:
    op = rt::ExprOp::Max;
    break;
  }
  std::optional<rt::Expr> result;
  for (SymExpr operand : expr.operands()) {
    std::optional<rt::Expr> part = convert(operand);
    if (!part)
      return std::nullopt;
    result = result ? rt::Expr::binary(op, *result, *part) : *part;
  }
  return result;
}

FailureOr<rt::Expr> ProgramWriter::expect(Operation *at, StringRef text) {
  if (std::optional<rt::Expr> expr = convert(text))
    return *expr;
  return at->emitOpError("expected a size of an argument, got '")
         << unknown << "' in '" << text << "'";
}

LogicalResult ProgramWriter::addArgument(target::ArgumentOp argument) {
  uint32_t index = program.arguments.size();
  arguments[argument.getResult()] = index;
  std::string name = argument.getName().str();
  gir::TensorType type = argument.getType();
  rt::Argument entry;
  entry.name = name;
  if (std::optional<StringRef> scalar = argument.getScalar()) {
    entry.kind = *scalar == "int"     ? rt::Argument::Int
                 : *scalar == "float" ? rt::Argument::Float
                                      : rt::Argument::Bool;
    if (*scalar != "float")
      sources.try_emplace(name, rt::Slot{rt::Slot::ArgInt, index, 0, {}});
  } else {
    entry.dtype = *dtypeFromMlir(type.getElementType());
    entry.rank = type.getRank();
    sources.try_emplace(name + ".address", rt::Slot{rt::Slot::ArgAddress, index, 0, {}});
    for (uint32_t d = 0; d < entry.rank; ++d) {
      std::string dim = std::to_string(d);
      if (type.getDim(d).isSymbol())
        sources.try_emplace(type.getDim(d).symbolName(), rt::Slot{rt::Slot::ArgSize, index, d, {}});
      sources.try_emplace(name + "." + dim, rt::Slot{rt::Slot::ArgSize, index, d, {}});
      sources.try_emplace(name + ".stride." + dim, rt::Slot{rt::Slot::ArgStride, index, d, {}});
    }
  }
  program.arguments.push_back(std::move(entry));
  return success();
}

LogicalResult ProgramWriter::addGuard(target::GuardOp guard) {
  std::optional<rt::Expr> lhs = convert(guard.getLhs()), rhs = convert(guard.getRhs());
  // A name that became a constant is checked at the dimension.
  if (!lhs || !rhs)
    return success();
  rt::Guard entry;
  entry.kind = guard.getError() ? rt::Guard::Error : rt::Guard::Specialisation;
  entry.message = guard.getMessage().str();
  entry.operands = {*lhs, *rhs};
  StringRef predicate = guard.getPredicate();
  if (predicate == "multiple") {
    rt::Expr rest = rt::Expr::binary(rt::ExprOp::Mod, *lhs, *rhs);
    entry.condition = rt::Expr::binary(rt::ExprOp::Eq, rest, rt::Expr::constant(0));
  } else {
    static const std::map<StringRef, rt::ExprOp> ops = {
        {"eq", rt::ExprOp::Eq}, {"ne", rt::ExprOp::Ne}, {"lt", rt::ExprOp::Lt},
        {"le", rt::ExprOp::Le}, {"gt", rt::ExprOp::Gt}, {"ge", rt::ExprOp::Ge}};
    entry.condition = rt::Expr::binary(ops.at(predicate), *lhs, *rhs);
  }
  program.guards.push_back(std::move(entry));
  return success();
}

LogicalResult ProgramWriter::addLaunch(target::LaunchOp launch) {
  rt::Step step;
  auto [kernel, isNew] = kernels.try_emplace(launch.getKernel().str(), program.kernels.size());
  if (isNew)
    program.kernels.push_back(launch.getKernel().str());
  step.kernel = kernel->second;
  if (std::optional<uint64_t> grain = launch.getGrain())
    step.grain = std::max<uint32_t>(1, *grain);
  if (std::optional<StringRef> work = launch.getWork()) {
    FailureOr<rt::Expr> expr = expect(launch, *work);
    if (failed(expr))
      return failure();
    step.work = *expr;
  }
  for (auto size : launch.getGrid().getAsRange<StringAttr>()) {
    FailureOr<rt::Expr> expr = expect(launch, size.getValue());
    if (failed(expr))
      return failure();
    step.grid.push_back(*expr);
  }
  uint32_t number = program.steps.size();
  for (auto attribute : launch.getWords().getAsRange<target::WordAttr>()) {
    FailureOr<rt::Expr> expr = expect(launch, attribute.getExpr().getValue());
    if (failed(expr))
      return failure();
    rt::Word word;
    word.expr = *expr;
    if (attribute.getKind() == "integer") {
      step.words.push_back(std::move(word));
      continue;
    }
    Value operand = launch.getOperands()[attribute.getOperand()];
    if (auto it = arguments.find(operand); it != arguments.end()) {
      bool isScalar = attribute.getKind() == "scalar";
      word.kind = isScalar ? rt::Word::Scalar : rt::Word::ArgAddress;
      word.index = it->second;
      word.dtype = *dtypeFromMlir(cast<gir::TensorType>(operand.getType()).getElementType());
      if (isScalar)
        word.expr = {};
    } else if (auto it = results.find(operand); it != results.end()) {
      word.kind = rt::Word::ResultAddress;
      word.index = it->second;
    } else {
      word.kind = rt::Word::TempAddress;
      word.index = temporaries.lookup(operand);
      rt::Temporary &memory = program.temporaries[word.index];
      memory.firstStep = std::min(memory.firstStep, number);
      memory.lastStep = std::max(memory.lastStep, number);
    }
    step.words.push_back(std::move(word));
  }
  if (ArrayAttr maps = launch.getMapsAttr())
    for (auto map : maps.getAsRange<target::TensorMapAttr>())
      step.maps.push_back({uint32_t(map.getWord()),
                           uint32_t(map.getBytes()),
                           uint32_t(map.getSpan()),
                           uint32_t(map.getSpans()),
                           {map.getDims().begin(), map.getDims().end()},
                           {map.getBoxes().begin(), map.getBoxes().end()},
                           uint32_t(bool(map.getRounded()))});
  if (ArrayAttr checks = launch.getChecksAttr())
    for (auto reported : checks.getAsRange<gir::FailureAttr>()) {
      rt::Check check;
      check.kind = reported.getKind() == "index" ? rt::Check::Index : rt::Check::Assertion;
      check.message = reported.getMessage().str();
      if (reported.getExcerpt())
        check.excerpt = reported.getExcerpt().str();
      for (auto size : reported.getSizes().getAsRange<StringAttr>()) {
        FailureOr<rt::Expr> expr = expect(launch, size.getValue());
        if (failed(expr))
          return failure();
        check.operands.push_back(*expr);
      }
      step.checks.push_back(std::move(check));
    }
  program.steps.push_back(std::move(step));
  return success();
}

LogicalResult ProgramWriter::addPrint(target::PrintOp print) {
  rt::Print entry;
  auto type = cast<gir::TensorType>(print.getValue().getType());
  entry.label = print.getLabel().str();
  entry.dtype = *dtypeFromMlir(type.getElementType());
  for (SymExpr size : type.getShape()) {
    FailureOr<rt::Expr> expr = expect(print, size.str());
    if (failed(expr))
      return failure();
    entry.sizes.push_back(*expr);
  }
  if (auto it = results.find(print.getValue()); it != results.end()) {
    entry.index = it->second;
  } else {
    entry.isTemporary = true;
    entry.index = temporaries.lookup(print.getValue());
    if (!program.steps.empty())
      program.temporaries[entry.index].lastStep = program.steps.size() - 1;
  }
  program.prints.push_back(std::move(entry));
  return success();
}

FailureOr<rt::Program> ProgramWriter::run() {
  auto fact = [](rt::DeviceFact fact) {
    return rt::Slot{rt::Slot::Device, 0, static_cast<uint32_t>(fact), {}};
  };
  sources["device.sm_count"] = fact(rt::DeviceFact::SmCount);
  sources["device.l2_bytes"] = fact(rt::DeviceFact::L2Bytes);
  for (auto argument : op.getBody().getOps<target::ArgumentOp>())
    if (failed(addArgument(argument)))
      return failure();
  auto exprOf = [&](Operation *at, SymExpr expr) { return expect(at, expr.str()); };
  for (auto result : op.getBody().getOps<target::ResultOp>()) {
    results[result.getValue()] = program.results.size();
    rt::Result entry;
    auto type = cast<gir::TensorType>(result.getValue().getType());
    entry.dtype = *dtypeFromMlir(type.getElementType());
    for (SymExpr size : type.getShape()) {
      FailureOr<rt::Expr> expr = exprOf(result, size);
      if (failed(expr))
        return failure();
      entry.sizes.push_back(*expr);
    }
    program.results.push_back(std::move(entry));
  }
  for (auto memory : op.getBody().getOps<target::AllocateOp>()) {
    if (results.contains(memory.getResult()))
      continue;
    auto type = cast<gir::TensorType>(memory.getType());
    int64_t bytes = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    FailureOr<rt::Expr> expr = exprOf(memory, type.getNumElements() * bytes);
    if (failed(expr))
      return failure();
    temporaries[memory.getResult()] = program.temporaries.size();
    program.temporaries.push_back({*expr, UINT32_MAX, 0});
  }
  for (auto guard : op.getBody().getOps<target::GuardOp>())
    if (failed(addGuard(guard)))
      return failure();
  for (auto launch : op.getBody().getOps<target::LaunchOp>())
    if (failed(addLaunch(launch)))
      return failure();
  for (auto print : op.getBody().getOps<target::PrintOp>())
    if (failed(addPrint(print)))
      return failure();
  for (rt::Temporary &memory : program.temporaries)
    if (memory.firstStep == UINT32_MAX)
      memory.firstStep = memory.lastStep = 0;
  std::string error;
  if (!rt::validate(program, error))
    return op.emitOpError("cannot be written: ") << error;
  return program;
}

FailureOr<rt::Program> tessera::makeProgram(target::ProgramOp program) {
  return ProgramWriter(program).run();
}
