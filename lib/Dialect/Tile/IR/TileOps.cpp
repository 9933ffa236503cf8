//===- TileOps.cpp - Textual form and construction of tile operations -----===//
//
// Kernels in text, names of results, and the builders that infer result types.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/AsmDirectives.h"
#include "tessera/Dialect/Common/LaunchAttrs.h"
#include "tessera/Dialect/Common/Numbers.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

#define GET_OP_CLASSES
#include "tessera/Dialect/Tile/IR/TileOps.cpp.inc"

static StringRef toStringRef(std::string_view text) { return StringRef(text.data(), text.size()); }

static RankedTensorType tileType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     ArrayRef<Type> argumentTypes, int64_t gridRank) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argumentTypes, {})));
  state.addAttribute(getGridRankAttrName(state.name), builder.getI64IntegerAttr(gridRank));
  Block &entry = state.addRegion()->emplaceBlock();
  for (Type type : argumentTypes)
    entry.addArgument(type, state.location);
}

/// Whether `name` (without its sigil) was chosen by a person or a pass, not numbered by the
/// printer.
static bool isChosenName(StringRef name) {
  name.consume_front("arg");
  return !name.empty() && !llvm::all_of(name, llvm::isDigit);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  IntegerAttr gridRank;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true) ||
      parser.parseKeyword("grid") || parsePlainInt(parser, gridRank) ||
      parseLaunchAndTuning<KernelOp>(parser, state) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    StringRef written = argument.ssaName.name.drop_front();
    if (!isChosenName(written))
      continue;
    NamedAttrList attributes(argument.attrs);
    if (!attributes.get(kNameAttr))
      attributes.set(kNameAttr, builder.getStringAttr(written));
    argument.attrs = attributes.getDictionary(builder.getContext());
  }
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(types, {})));
  state.addAttribute(getGridRankAttrName(state.name), gridRank);
  call_interface_impl::addArgAndResultAttrs(builder, state, arguments, /*resultAttrs=*/{},
                                            getArgAttrsAttrName(state.name),
                                            getResAttrsAttrName(state.name));
  return parser.parseRegion(*state.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer, [&](BlockArgument argument) {
    NamedAttrList attributes(getArgAttrDict(argument.getArgNumber()));
    attributes.erase(kNameAttr);
    printer.printRegionArgument(argument, attributes);
  });
  printer << ") grid " << getGridRank();
  printLaunchAndTuning(printer, *this);
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getGridRankAttrName(), getLaunchAttrName(),
       getTuningAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (auto name = getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      setName(argument, name);
}

//===----------------------------------------------------------------------===//
// Names of results
//===----------------------------------------------------------------------===//

void ProgramIdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "pid" + std::to_string(getDim()));
}

/// Names a tile after the view that it is loaded from.
static void nameAfter(Value view, Value tile, OpAsmSetValueNameFn setName) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel)
    return;
  if (auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
    setName(tile, (name.getValue() + "_tile").str());
}

void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameAfter(getView(), getResult(), setName);
}
void GatherOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameAfter(getView(), getResult(), setName);
}

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "cst"); }

void OnlineUpdateOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getNext(), "next");
  setName(getReference(), "reference");
  setName(getScales(), "scales");
  setName(getFactor(), "factor");
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type,
                       double value) {
  build(builder, state, type, numberAttr(builder, type.getElementType(), value));
}

void AlignedRowOp::build(OpBuilder &builder, OperationState &state, Value view, ValueRange coords,
                         int64_t dim) {
  Type element = cast<ViewType>(view.getType()).getElementType();
  build(builder, state, ViewType::get({ShapedType::kDynamic}, element, {1}), view, coords, dim);
}

int64_t AlignedRowOp::getAlignmentElements() {
  return kAlignment /
         std::max(1u, getView().getType().getElementType().getIntOrFloatBitWidth() / 8);
}

void MapOp::build(OpBuilder &builder, OperationState &state, ScalarOp op, ValueRange inputs,
                  bool fast) {
  SmallVector<Type> elements;
  for (Value input : inputs)
    elements.push_back(tileType(input).getElementType());
  build(builder, state, tileType(inputs.front()).clone(scalarOpResultType(op, elements)),
        toStringRef(scalarOpInfo(op).name), inputs, fast);
}

void CastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType) {
  build(builder, state, tileType(input).clone(elementType), input);
}

void BitcastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType) {
  build(builder, state, tileType(input).clone(elementType), input);
}

void BroadcastOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  build(builder, state, tileType(input).clone(shape), input, dims);
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(tileType(input).getDimSize(dim));
  build(builder, state, tileType(input).clone(shape), input, permutation);
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value input,
                      ArrayRef<int64_t> shape) {
  build(builder, state, tileType(input).clone(shape), input);
}

Layout ElementOp::layoutInWarp(int64_t size) {
  constexpr int64_t lanes = 32;
  uint64_t dealt = std::min(size, lanes);
  return Layout::strided(Dim::Lane, Dim::D0, dealt) *
         Layout::strided(Dim::Register, Dim::D0, size / int64_t(dealt));
}

SmallVector<SortOp::Step> SortOp::getNetwork() {
  auto bits = int64_t(llvm::Log2_64(getType().getShape()[getDim()]));
  std::array<int64_t, 2> allPhases = {1, bits + 1}, allSteps = {0, bits};
  ArrayRef<int64_t> phases = getPhases().value_or(allPhases), steps = getSteps().value_or(allSteps);
  SmallVector<Step> network;
  for (int64_t phase = phases[0]; phase < phases[1]; ++phase)
    for (int64_t bit = std::min(phase, steps[1]) - 1; bit >= steps[0]; --bit)
      network.push_back({unsigned(bit), unsigned(phase)});
  return network;
}

void ScanOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op, Value input,
                   Value init, int64_t dim, Value key) {
  build(builder, state, input.getType(), init.getType(), toStringRef(reduceOpName(op)), input, init,
        key, dim, /*exclusive=*/false);
}

void AllocOp::build(OpBuilder &builder, OperationState &state, BufferType type, bool dsmem) {
  build(builder, state, type, /*offset=*/nullptr, dsmem);
}

void WarpReduceOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op,
                         Value input, ArrayRef<int64_t> dims, bool skipNan) {
  build(builder, state, partialType(tileType(input), dims), toStringRef(reduceOpName(op)), input,
        dims, skipNan);
}

void tile::ReduceOp::build(OpBuilder &builder, OperationState &state, tessera::ReduceOp op,
                           Value input, ArrayRef<int64_t> dims, bool skipNan) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(tileType(input).getShape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  build(builder, state, tileType(input).clone(shape), toStringRef(reduceOpName(op)), input, dims,
        skipNan);
}

void MmaOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, Value acc) {
  build(builder, state, acc.getType(), lhs, rhs, acc);
}
