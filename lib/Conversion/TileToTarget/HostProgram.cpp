//===- HostProgram.cpp - Host functions to host programs ------------------===//
//
// The facts of a function become guards, its memory and its launches become operations of the
// program. The view of a tensor in a launch becomes words of the kernel's argument block: its
// address in bytes, its sizes and strides as expressions.
//
// The names of sizes are: the symbol of a dimension, `x.0` for dimension 0 of argument x without a
// symbol, `x.stride.0` for its stride, and the name of an integer argument.
//
//===----------------------------------------------------------------------===//
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"

using namespace mlir;
using namespace tessera;

namespace {

class HostConverter {
public:
  HostConverter(ModuleOp module, func::FuncOp function, OpBuilder &builder,
                const HostProgramOptions &options)
      : module(module), function(function), builder(builder), options(options) {}
  LogicalResult run();
  void convertSignature() {
    convertArguments();
    addFactGuards();
  }
  const IRMapping &getMapping() const { return mapping; }

private:
  void convertArguments();
  void addLayoutGuards(unsigned index, StringRef name, gir::TensorType type);
  void addFactGuards();
  void addCountGuard(Value tensor, bool dense, const Twine &name);
  void guard(SymExpr lhs, StringRef predicate, SymExpr rhs, const Twine &message);
  LogicalResult convertLaunch(tile::LaunchOp op);
  SmallVector<Attribute> convertTensorMaps(tile::KernelOp kernel);
  SymExpr strideOf(Value tensor, unsigned dim);
  SymExpr withStrides(SymExpr expr, Value tensor);
  StringAttr text(SymExpr expr) { return builder.getStringAttr(expr.str()); }

  ModuleOp module;
  func::FuncOp function;
  OpBuilder &builder;
  const HostProgramOptions &options;
  IRMapping mapping;
  llvm::DenseMap<Value, std::string> names; // arguments
};

} // namespace

std::string tessera::argumentName(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, gir::kNameAttr))
    return name.str();
  return "arg" + std::to_string(index);
}

void HostConverter::guard(SymExpr lhs, StringRef predicate, SymExpr rhs, const Twine &message) {
  target::GuardOp::create(builder, function.getLoc(), text(lhs), builder.getStringAttr(predicate),
                          text(rhs),
                          /*error=*/UnitAttr(), builder.getStringAttr(message));
}

void HostConverter::convertArguments() {
  std::set<std::string> bound;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto type = cast<gir::TensorType>(argument.getType());
    std::string name = argumentName(function, i);
    names[argument] = name;
    StringAttr scalar;
    if (Attribute kind = function.getArgAttr(i, "gir.scalar")) {
      scalar = dyn_cast<StringAttr>(kind);
      if (!scalar) {
        Type element = type.getElementType();
        scalar = builder.getStringAttr(isa<FloatType>(element) ? "float"
                                       : element.isInteger(1)  ? "bool"
                                                               : "int");
      }
    }
    auto op = target::ArgumentOp::create(builder, argument.getLoc(), type,
                                         builder.getStringAttr(name), scalar);
    mapping.map(argument, op.getResult());
    // The first dimension with a symbol defines its value; the others must agree.
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      if (size.isSymbol() && bound.insert(size.symbolName()).second)
        continue;
      SymExpr actual = SymExpr::symbol(name + "." + std::to_string(d));
      if (size != actual)
        guard(actual, "eq", size,
              "expected size {1} in dimension " + Twine(d) + " of '" + name + "', got {0}");
    }
    addLayoutGuards(i, name, type);
    if (scalar)
      continue;
    int64_t alignment = options.addressAlignment;
    if (options.alignedElements)
      alignment = std::max<int64_t>(
          alignment, llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8));
    if (alignment > 1)
      guard(SymExpr::symbol(name + ".address"), "multiple", alignment,
            "expected an address that is a multiple of {1} for '" + name + "', got {0}");
    addCountGuard(argument, function.getArgAttr(i, gir::kContiguousAttr) != nullptr,
                  "'" + name + "'");
  }
}

/// Strides are arbitrary, so the guard limits the extent of the tensor in memory.
void HostConverter::addCountGuard(Value tensor, bool dense, const Twine &name) {
  auto type = cast<gir::TensorType>(tensor.getType());
  if (!options.maxElements || !type.getRank())
    return;
  SymExpr reach = dense ? type.getNumElements() : SymExpr(0);
  for (unsigned d = 0; !dense && d < type.getRank(); ++d) {
    SymExpr stride = strideOf(tensor, d);
    reach = reach + (type.getDim(d) - 1) * SymExpr::max(stride, SymExpr(0) - stride);
  }
  if (!reach.isConstant() || reach.constantValue() > options.maxElements)
    guard(reach, "le", options.maxElements,
          "expected " + name + " to reach over at most {1} elements, got {0}");
}

void HostConverter::addLayoutGuards(unsigned index, StringRef name, gir::TensorType type) {
  auto expectStride = [&](unsigned d, SymExpr expected) {
    // The stride of a dimension of size 1 is never used.
    SymExpr actual = SymExpr::symbol((name + ".stride." + Twine(d)).str());
    SymExpr counts = SymExpr::max(SymExpr::min(type.getDim(d), 2) - 1, 0);
    SymExpr difference = (actual - expected) * counts;
    if (!difference.isConstant(0))
      guard(difference, "eq", 0,
            "expected another stride in dimension " + Twine(d) + " of '" + name + "'");
  };
  // The strides of an empty tensor are not used, either.
  if (llvm::any_of(type.getShape(), [](SymExpr size) { return size.isConstant(0); }))
    return;
  if (!function.getArgAttr(index, gir::kContiguousAttr)) {
    auto unit = function.getArgAttrOfType<IntegerAttr>(index, gir::kUnitStrideAttr);
    if (unit)
      expectStride(unit.getInt(), 1);
    for (unsigned d = 0; options.forwardStrides && d < type.getRank(); ++d)
      if (!unit || unit.getInt() != d)
        guard(SymExpr::symbol((name + ".stride." + Twine(d)).str()), "ge", 0,
              "expected no negative stride in dimension " + Twine(d) + " of '" + name +
                  "', got {0}");
    return;
  }
  SymExpr stride = 1;
  for (unsigned d = type.getRank(); d-- > 0;) {
    expectStride(d, stride);
    stride = stride * type.getDim(d);
  }
}

void HostConverter::addFactGuards() {
  if (auto symbols = function->getAttrOfType<DictionaryAttr>(gir::kSymbolsAttr))
    for (NamedAttribute entry : symbols) {
      auto facts = dyn_cast<DictionaryAttr>(entry.getValue());
      SymExpr symbol = SymExpr::symbol(entry.getName().strref());
      auto fact = [&](StringRef name) {
        auto number = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
        return number ? std::optional(number.getInt()) : std::nullopt;
      };
      if (auto divisor = fact("divisor"); divisor && *divisor > 1)
        guard(symbol, "multiple", *divisor,
              "expected a multiple of {1} as size '" + entry.getName().strref() + "', got {0}");
      if (auto most = fact("max"))
        guard(symbol, "le", *most,
              "expected at most {1} as size '" + entry.getName().strref() + "', got {0}");
      if (auto least = fact("min"); least && *least > 0)
        guard(symbol, "ge", *least,
              "expected at least {1} as size '" + entry.getName().strref() + "', got {0}");
    }
  if (auto guards = function->getAttrOfType<ArrayAttr>(gir::kGuardsAttr))
    for (auto entry : guards.getAsRange<StringAttr>()) {
      auto [left, right] = entry.getValue().split(" == ");
      std::optional<SymExpr> lhs = SymExpr::parse(left), rhs = SymExpr::parse(right);
      if (lhs && rhs)
        guard(*lhs, "eq", *rhs, "expected " + entry.getValue());
    }
}

SymExpr HostConverter::strideOf(Value tensor, unsigned dim) {
  if (auto it = names.find(tensor); it != names.end())
    return SymExpr::symbol(it->second + ".stride." + std::to_string(dim));
  auto type = cast<gir::TensorType>(tensor.getType());
  SymExpr stride = 1;
  for (unsigned d = type.getRank(); d-- > dim + 1;)
    stride = stride * type.getDim(d);
  return stride;
}

/// Replaces `$0`, `$1`, … by the strides of the tensor.
SymExpr HostConverter::withStrides(SymExpr expr, Value tensor) {
  return expr.substitute([&](const std::string &name) -> std::optional<SymExpr> {
    unsigned dim;
    if (name.empty() || name[0] != '$' || StringRef(name).drop_front().getAsInteger(10, dim))
      return std::nullopt;
    return strideOf(tensor, dim);
  });
}

SmallVector<Attribute> HostConverter::convertTensorMaps(tile::KernelOp kernel) {
  SmallVector<Attribute> maps;
  for (const TensorMap &map : tensorMapsOf(kernel)) {
    int64_t address = -1, number = 0;
    forEachWord(kernel, [&](WordRole role, unsigned argument, unsigned) {
      if (role == WordRole::Address && argument == map.argument)
        address = number;
      ++number;
    });
    auto view = cast<tile::ViewType>(kernel.getArgument(map.argument).getType());
    int64_t bytes = llvm::divideCeil(view.getElementType().getIntOrFloatBitWidth(), 8);
    maps.push_back(target::TensorMapAttr::get(
        kernel.getContext(), address, bytes, map.box.span, map.box.isWhole ? map.box.count : 1,
        map.box.dims, map.box.sizes,
        map.isRounded ? FloatTF32Type::get(kernel.getContext()) : Type()));
  }
  return maps;
}

LogicalResult HostConverter::convertLaunch(tile::LaunchOp op) {
  auto kernel = module.lookupSymbol<tile::KernelOp>(op.getKernel());
  if (!kernel)
    return op.emitOpError("expected kernel '") << op.getKernel() << "' in the module";
  unsigned tensors = op.getTensors().size(), sizes = op.getSizes().size();
  if (kernel.getArgumentTypes().size() != tensors + sizes + op.getScalars().size())
    return op.emitOpError("passes ")
           << tensors + sizes + op.getScalars().size() << " arguments, but kernel '"
           << op.getKernel() << "' takes " << kernel.getArgumentTypes().size();
  SmallVector<Attribute> words;
  auto word = [&](StringRef kind, int64_t operand, SymExpr expr) {
    words.push_back(target::WordAttr::get(op.getContext(), kind, operand, text(expr)));
  };
  // Only the first dimension of a CUDA grid may be large. Where the others are not known to be
  // small, the launch folds them, and the kernel gets the sizes of its grid as words. So does a
  // persistent kernel.
  std::optional<int64_t> persistent =
      options.isGpu ? kernel.getField(LaunchField::PersistentCtas) : std::nullopt;
  size_t axes = options.hasAxes && !persistent ? launchAxes(kernel) : 1;
  bool isFolded = options.isGpu && (persistent || op.getGrid().size() > axes);
  forEachWord(kernel, [&](WordRole role, unsigned argument, unsigned dim) {
    if (role == WordRole::Grid && options.isGpu && !isFolded)
      return;
    if (role == WordRole::Grid)
      return word("integer", 0, *SymExpr::parse(cast<StringAttr>(op.getGrid()[dim]).getValue()));
    if (role == WordRole::Scalar) {
      if (argument >= tensors + sizes)
        return word("scalar", argument - sizes, 0);
      return word("integer", 0,
                  *SymExpr::parse(cast<StringAttr>(op.getSizes()[argument - tensors]).getValue()));
    }
    Value tensor = op.getTensors()[argument];
    auto view = cast<tile::OperandViewAttr>(op.getViews()[argument]);
    if (role == WordRole::Address) {
      Type element = cast<gir::TensorType>(tensor.getType()).getElementType();
      int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
      return word("address", argument, withStrides(view.getOffset(), tensor) * bytes);
    }
    SymExpr expr = role == WordRole::Size ? view.getSizes()[dim] : view.getStrides()[dim];
    word("integer", 0, withStrides(expr, tensor));
  });
  SmallVector<Attribute> maps = convertTensorMaps(kernel);
  SmallVector<Value> operands;
  for (Value operand : op.getTensors())
    operands.push_back(mapping.lookup(operand));
  for (Value operand : op.getScalars())
    operands.push_back(mapping.lookup(operand));
  SmallVector<SymExpr> launched;
  for (auto size : op.getGrid().getAsRange<StringAttr>()) {
    SymExpr each = *SymExpr::parse(size.getValue());
    if (isFolded && launched.size() == axes)
      launched.back() = launched.back() * each;
    else
      launched.push_back(each);
  }
  if (persistent)
    launched[0] = SymExpr::min(launched[0], *persistent);
  if (std::optional<int64_t> cluster = kernel.getField(LaunchField::ClusterSize);
      cluster && options.hasClusters)
    launched[0] = launched[0] * *cluster;
  SmallVector<Attribute> grid;
  for (SymExpr size : launched)
    grid.push_back(text(size));
  llvm::SetVector<gir::FailureAttr> failures = failuresOf(kernel);
  SmallVector<Attribute> checks(failures.begin(), failures.end());
  target::LaunchOp::create(
      builder, op.getLoc(), op.getKernelAttr(), builder.getArrayAttr(grid), operands,
      builder.getArrayAttr(words), maps.empty() ? ArrayAttr() : builder.getArrayAttr(maps),
      op->getAttrOfType<IntegerAttr>("grain"), op->getAttrOfType<StringAttr>("work"),
      checks.empty() ? ArrayAttr() : builder.getArrayAttr(checks));
  return success();
}

LogicalResult HostConverter::run() {
  auto program = target::ProgramOp::create(builder, function.getLoc(), function.getSymName());
  OpBuilder::InsertionGuard insertion(builder);
  builder.createBlock(&program.getBody());
  convertSignature();
  for (Operation &op : function.front()) {
    if (auto empty = dyn_cast<tile::EmptyOp>(op)) {
      addCountGuard(empty.getResult(), /*dense=*/true, "memory");
      mapping.map(empty.getResult(),
                  target::AllocateOp::create(builder, op.getLoc(), empty.getType()).getResult());
    } else if (auto launch = dyn_cast<tile::LaunchOp>(op)) {
      if (failed(convertLaunch(launch)))
        return failure();
    } else if (auto print = dyn_cast<gir::PrintOp>(op)) {
      if (!print.getValue().getDefiningOp<tile::EmptyOp>())
        return op.emitOpError("expected a tensor that a launch has written");
      target::PrintOp::create(builder, op.getLoc(), print.getLabelAttr(),
                              mapping.lookup(print.getValue()));
    } else if (isa<func::ReturnOp>(op)) {
      llvm::DenseSet<Value> returned;
      for (Value value : op.getOperands()) {
        if (!value.getDefiningOp<tile::EmptyOp>() || !returned.insert(value).second)
          return op.emitOpError("expected each result to be a tensor of its own");
        target::ResultOp::create(builder, op.getLoc(), mapping.lookup(value));
      }
    } else {
      return op.emitOpError(
          "is not part of a host function; expected tile.empty, tile.launch or gir.print");
    }
  }
  return success();
}

void tessera::buildSignature(func::FuncOp function, OpBuilder &builder,
                             const HostProgramOptions &options, IRMapping &mapping) {
  HostConverter converter(function->getParentOfType<ModuleOp>(), function, builder, options);
  converter.convertSignature();
  mapping = converter.getMapping();
}

LogicalResult tessera::convertHostFunctions(ModuleOp module, target::ModuleOp target,
                                            const HostProgramOptions &options) {
  OpBuilder builder = OpBuilder::atBlockBegin(&target.getBody().front());
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (function.isDeclaration())
      continue;
    if (failed(HostConverter(module, function, builder, options).run()))
      return failure();
    function.erase();
  }
  return success();
}
