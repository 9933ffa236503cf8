//===- ScheduleOps.cpp - Textual form and helpers of the operations -------===//
//
// A kernel is printed with named arguments in its head, like a loop, so that the text is read and
// edited from top to bottom; lists of dimensions are plain names.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/AsmDirectives.h"
#include "tessera/Dialect/Common/LaunchAttrs.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

//===----------------------------------------------------------------------===//
// Lists of names
//===----------------------------------------------------------------------===//

/// `[i, n]` for `["i", "n"]`.
static ParseResult parseNames(OpAsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> list;
  auto parseName = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    list.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName))
    return failure();
  names = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printNames(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  printer << '[';
  llvm::interleaveComma(names.getAsRange<StringAttr>(), printer,
                        [&](StringAttr name) { printer << name.getValue(); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleOps.cpp.inc"

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

DimAttr KernelOp::getDim(StringRef name) {
  for (DimAttr dim : getDims().getAsRange<DimAttr>())
    if (dim.getName().getValue() == name)
      return dim;
  return {};
}

unsigned KernelOp::getDimPosition(StringRef name) {
  for (auto [i, dim] : llvm::enumerate(getDims().getAsRange<DimAttr>()))
    if (dim.getName().getValue() == name)
      return i;
  return getDims().size();
}

SmallVector<StringAttr> KernelOp::getDimsIn(ArrayRef<SymExpr> expressions) {
  std::set<std::string> symbols;
  for (SymExpr expression : expressions)
    expression.collectSymbols(symbols);
  SmallVector<StringAttr> dims;
  for (DimAttr dim : getDims().getAsRange<DimAttr>())
    if (symbols.count(dim.getName().str()))
      dims.push_back(dim.getName());
  return dims;
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() < getInputs().size() ? "in" : "out");
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes;
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes))
    return failure();
  SMLoc operandsLoc = parser.getCurrentLocation();
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) || parser.parseColonType(argument.type))
      return failure();
    operandTypes.push_back(argument.type);
    return success();
  };
  auto parseOutput = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseColonType(argument.type))
      return failure();
    result.addTypes(argument.type);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
      parser.parseArrow() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOutput) ||
      parser.resolveOperands(operands, operandTypes, operandsLoc, result.operands))
    return failure();

  SmallVector<Attribute> dims;
  ArrayAttr order;
  auto parseDim = [&]() -> ParseResult {
    dims.push_back(DimAttr::parseBody(parser));
    return success(dims.back() != nullptr);
  };
  if (parser.parseKeyword("dims") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseKeyword("order") || parseNames(parser, order) ||
      parseLaunchAndTuning<KernelOp>(parser, result) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getDimsAttrName(result.name), builder.getArrayAttr(dims));
  result.addAttribute(getOrderAttrName(result.name), order);
  Region &body = *result.addRegion();
  if (parser.parseRegion(body, arguments))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(llvm::enumerate(getInputs()), printer, [&](auto input) {
    printer << getInputArgument(input.index()) << " = " << input.value() << " : "
            << input.value().getType();
  });
  printer << ") -> (";
  llvm::interleaveComma(llvm::enumerate(getOutputs()), printer, [&](auto output) {
    printer << getOutputArgument(output.index()) << " : " << output.value().getType();
  });
  printer << ')';
  printer.printNewline();
  printer << "    dims [";
  llvm::interleaveComma(getDims().getAsRange<DimAttr>(), printer,
                        [&](DimAttr dim) { dim.printBody(printer); });
  printer << "] order ";
  printNames(printer, *this, getOrder());
  printLaunchAndTuning(printer, *this);
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getDimsAttrName(), getOrderAttrName(),
                            getLaunchAttrName(), getTuningAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}
