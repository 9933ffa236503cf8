//===- Host.cpp - The host function of placed kernels ---------------------===//
#include "Explore.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <ctime>

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

namespace {
class Host {
public:
  Host(func::FuncOp function, const llvm::StringMap<int64_t> &symbols, const Options &options)
      : function(function), symbols(symbols), options(options) {}

  LogicalResult run(ArrayRef<reference::HostTensor> arguments);
  Report report;

private:
  LogicalResult bind(ArrayRef<reference::HostTensor> arguments);
  LogicalResult allocate(tile::EmptyOp empty);
  LogicalResult launch(tile::LaunchOp launch);
  LogicalResult collectResults(func::ReturnOp last);
  std::optional<int64_t> evaluate(SymExpr expression, ArrayRef<int64_t> strides = {}) const;
  std::optional<int64_t> evaluate(Attribute text) const;

  /// A tensor's sizes and strides, and its memory.
  struct Tensor {
    unsigned memory;
    SmallVector<int64_t> sizes, strides;
  };

  func::FuncOp function;
  llvm::StringMap<int64_t> symbols;
  const Options &options;
  std::vector<Memory> memories;
  llvm::DenseMap<Value, Tensor> tensors;
  Findings findings;
  std::map<Operation *, std::unique_ptr<Program>> programs;
};
} // namespace

/// CPU time of this thread.
static double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// `$0`, `$1`, … are the tensor's own strides.
std::optional<int64_t> Host::evaluate(SymExpr expression, ArrayRef<int64_t> strides) const {
  return expression.evaluate([&](const std::string &name) -> std::optional<int64_t> {
    unsigned dim;
    if (!name.empty() && name[0] == '$' && !StringRef(name).drop_front().getAsInteger(10, dim))
      return dim < strides.size() ? std::optional(strides[dim]) : std::nullopt;
    auto found = symbols.find(name);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<int64_t> Host::evaluate(Attribute text) const {
  std::optional<SymExpr> expression = SymExpr::parse(cast<StringAttr>(text).getValue().str());
  return expression ? evaluate(*expression) : std::nullopt;
}

LogicalResult Host::bind(ArrayRef<reference::HostTensor> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitError("expected ")
           << function.getNumArguments() << " arguments, got " << arguments.size();
  for (auto [i, given] : llvm::enumerate(arguments)) {
    auto type = cast<gir::TensorType>(function.getArgument(i).getType());
    auto named = function.getArgAttrOfType<StringAttr>(i, gir::kNameAttr);
    std::string name = named ? named.str() : "arg" + std::to_string(i);
    std::optional<Element> element = Element::of(type.getElementType());
    if (!element || element->dtype() != given.dtype || given.sizes.size() != type.getRank())
      return function.emitError("expected argument '") << name << "' to be of type " << type;
    int64_t lowest = 0, highest = 0;
    bool isEmpty = false;
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      int64_t reach = (given.sizes[dim] - 1) * given.strides[dim];
      (reach < 0 ? lowest : highest) += reach;
      isEmpty |= given.sizes[dim] == 0;
      symbols[name + "." + std::to_string(dim)] = given.sizes[dim];
      symbols[name + ".stride." + std::to_string(dim)] = given.strides[dim];
      if (SymExpr size = type.getDim(dim); size.isSymbol())
        symbols.try_emplace(size.symbolName(), given.sizes[dim]);
    }
    Memory &memory = memories.emplace_back();
    memory.element = *element;
    memory.lowest = isEmpty ? 0 : lowest;
    memory.name = "'" + name + "'";
    size_t count = isEmpty ? 0 : highest - lowest + 1;
    memory.isInitialized.assign(count, true);
    memory.bytes.resize(count * element->bytes());
    if (count)
      std::copy_n(static_cast<const std::byte *>(given.data) + lowest * int64_t(element->bytes()),
                  memory.bytes.size(), memory.bytes.data());
    Tensor &tensor = tensors[function.getArgument(i)];
    tensor.memory = memories.size() - 1;
    tensor.sizes.assign(given.sizes.begin(), given.sizes.end());
    tensor.strides.assign(given.strides.begin(), given.strides.end());
  }
  return success();
}

LogicalResult Host::allocate(tile::EmptyOp empty) {
  auto type = cast<gir::TensorType>(empty.getResult().getType());
  std::optional<Element> element = Element::of(type.getElementType());
  Tensor tensor;
  int64_t count = 1;
  for (SymExpr size : type.getShape()) {
    std::optional<int64_t> value = evaluate(size);
    if (!value)
      return empty.emitError("expected sizes that follow from the arguments");
    tensor.sizes.push_back(*value);
    count *= *value;
  }
  tensor.strides.assign(tensor.sizes.size(), 1);
  for (size_t dim = tensor.sizes.size(); dim-- > 1;)
    tensor.strides[dim - 1] = tensor.strides[dim] * tensor.sizes[dim];
  if (!element)
    return empty.emitError("is not supported by the simulator");
  Memory &memory = memories.emplace_back();
  memory.element = *element;
  memory.isInitialized.assign(count, false);
  memory.bytes.assign(count * element->bytes(), std::byte(0xff));
  memory.name = "temporary memory";
  for (Operation *user : empty.getResult().getUsers())
    if (isa<func::ReturnOp>(user))
      memory.name = "the result";
  tensor.memory = memories.size() - 1;
  tensors[empty.getResult()] = tensor;
  return success();
}

LogicalResult Host::launch(tile::LaunchOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  auto kernel = module.lookupSymbol<tile::KernelOp>(op.getKernel());
  if (!kernel)
    return op.emitError("expected kernel '") << op.getKernel() << "' in the module";
  std::unique_ptr<Program> &program = programs[kernel];
  if (!program) {
    FailureOr<GpuDescription> gpu = gpuOf(module);
    if (failed(gpu) || !(program = Program::compile(kernel, *gpu)))
      return failure();
  }
  LaunchValues values;
  values.views.resize(kernel.getNumArguments());
  values.scalars.resize(kernel.getNumArguments(), integer(0));
  bool isKnown = true;
  auto known = [&](std::optional<int64_t> value) {
    isKnown &= value.has_value();
    return value.value_or(0);
  };
  for (Attribute size : op.getGrid())
    values.grid.push_back(known(evaluate(size)));
  unsigned argument = 0;
  for (auto [value, attribute] : llvm::zip(op.getTensors(), op.getViews())) {
    const Tensor &tensor = tensors[value];
    auto how = cast<tile::OperandViewAttr>(attribute);
    View &view = values.views[argument++];
    view.memory = tensor.memory;
    view.offset = known(evaluate(how.getOffset(), tensor.strides));
    for (SymExpr size : how.getSizes())
      view.sizes.push_back(known(evaluate(size, tensor.strides)));
    for (SymExpr stride : how.getStrides())
      view.strides.push_back(known(evaluate(stride, tensor.strides)));
  }
  for (Attribute size : op.getSizes())
    values.scalars[argument++] = integer(known(evaluate(size)));
  for (Value scalar : op.getScalars()) {
    const Memory &memory = memories[tensors[scalar].memory];
    values.scalars[argument++] = memory.element.load(memory.bytes.data());
  }
  if (!isKnown || argument != kernel.getNumArguments())
    return op.emitError("expected sizes that follow from the arguments");
  if (llvm::product_of(values.grid) > 0)
    Explorer(*program, values, memories, findings, options, report).run();
  return success();
}

LogicalResult Host::collectResults(func::ReturnOp last) {
  for (auto [number, value] : llvm::enumerate(last.getOperands())) {
    const Tensor &tensor = tensors[value];
    const Memory &memory = memories[tensor.memory];
    simulator::Tensor &result = report.results.emplace_back();
    result.dtype = memory.element.dtype();
    result.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    result.bytes = memory.bytes;
    if (options.stopsAtFirst && !findings.empty())
      continue;
    auto missing = llvm::find(memory.isInitialized, false);
    if (missing == memory.isInitialized.end())
      continue;
    SmallVector<int64_t> index(tensor.sizes.size());
    int64_t rest = missing - memory.isInitialized.begin();
    for (size_t dim = index.size(); dim-- > 0; rest /= tensor.sizes[dim])
      index[dim] = rest % tensor.sizes[dim];
    findings.add(FindingKind::Uninitialized, last,
                 "element " + indexText(index) + " of result " + std::to_string(number) +
                     " is returned, which nothing has written");
  }
  return success();
}

LogicalResult Host::run(ArrayRef<reference::HostTensor> arguments) {
  double start = threadSeconds();
  if (failed(bind(arguments)))
    return failure();
  for (Operation &op : function.front()) {
    LogicalResult done = failure();
    if (auto empty = dyn_cast<tile::EmptyOp>(op))
      done = allocate(empty);
    else if (auto kernel = dyn_cast<tile::LaunchOp>(op))
      done = launch(kernel);
    else if (auto last = dyn_cast<func::ReturnOp>(op))
      done = collectResults(last);
    else
      op.emitError("is not supported by the simulator");
    if (failed(done))
      return failure();
  }
  report.findings = std::move(findings.list);
  report.seconds = threadSeconds() - start;
  return success();
}

FailureOr<Report> simulator::simulate(func::FuncOp function,
                                      ArrayRef<reference::HostTensor> arguments,
                                      const llvm::StringMap<int64_t> &symbols,
                                      const Options &options) {
  Host host(function, symbols, options);
  if (failed(host.run(arguments)))
    return failure();
  return std::move(host.report);
}
