//===- DescribeKernel.cpp - The cost model's view of a kernel -------------===//
//
// A kernel of Schedule IR is a few trees of values: those of its stores and checks, and those of
// the states of its streams. An operation that several streams compute alike counts once.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/DescribeKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

using Dim = KernelShape::Dim;
using Names = std::vector<std::string>;
using NameSet = std::set<std::string>;

static ArrayRef<StringAttr> dimsOf(Value value) { return cast<ValType>(value.getType()).getDims(); }
static Type elementOf(Value value) { return cast<ValType>(value.getType()).getElementType(); }
static unsigned bytesOf(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }
static bool dependsOn(Value value, const NameSet &names) {
  return llvm::any_of(dimsOf(value), [&](StringAttr dim) { return names.count(dim.str()) != 0; });
}

static SmallVector<SymExpr> expressions(ArrayAttr texts) {
  return llvm::map_to_vector(texts.getAsRange<StringAttr>(), [](StringAttr text) {
    return *SymExpr::parse(text.getValue().str());
  });
}

Names tessera::dimsByPosition(ArrayRef<SymExpr> index,
                              llvm::function_ref<bool(const std::string &)> isDim) {
  Names result;
  for (SymExpr e : index) {
    NameSet names;
    e.collectSymbols(names);
    // In one row-major index the dimension with the larger factor is further out.
    Names here;
    llvm::copy_if(names, std::back_inserter(here), isDim);
    auto factors = [](SymExpr term) {
      return term.kind() == SymExpr::Kind::Mul ? term.operands().size() : size_t(1);
    };
    auto factorLength = [&](const std::string &name) {
      SymExpr rest = e - e.substitute([&](const std::string &s) -> std::optional<SymExpr> {
        return s == name ? std::optional<SymExpr>(SymExpr(0)) : std::nullopt;
      });
      // Sizes like `H - 4` make a factor a sum: its longest term counts.
      size_t longest = factors(rest);
      if (rest.kind() == SymExpr::Kind::Add)
        for (SymExpr term : rest.operands())
          longest = std::max(longest, factors(term));
      return longest;
    };
    std::sort(here.begin(), here.end(), [&](const std::string &a, const std::string &b) {
      return std::make_pair(factorLength(b), a) < std::make_pair(factorLength(a), b);
    });
    for (const std::string &name : here)
      if (!llvm::is_contained(result, name))
        result.push_back(name);
  }
  return result;
}

/// Whether a weight is relative to the running gauge of its own stream, and not to a final one.
static bool isRunning(WeighOp weigh) {
  return isa_and_nonnull<GaugeOp>(weigh.getGauge().getDefiningOp());
}

/// Those of a bitonic network, which compares and exchanges words of one or two registers. Rows of
/// unknown size are taken for long ones.
static int64_t networkInstructions(SortOp sort) {
  auto along = cast<StringAttr>(cast<StreamOp>(sort->getParentOp()).getOver()[0]);
  SymExpr size = sort->getParentOfType<KernelOp>().getDim(along).getSize();
  int64_t bits = llvm::Log2_64_Ceil(size.isConstant() ? size.constantValue() : 1024);
  return bits * (bits + 1) / 2 * (elementOf(sort.getResult()).isInteger(64) ? 4 : 2);
}

/// Instructions for one element, about.
static int64_t instructionsOf(Operation *op) {
  Type element = elementOf(op->getResult(0));
  bool isWide = element.isF64();
  constexpr int64_t function = 24, wideFunction = 64;
  if (isa<LoadOp>(op))
    return 4;
  if (auto weigh = dyn_cast<WeighOp>(op)) // a difference, its multiple and a power of two
    return isRunning(weigh) ? 0 : 2 + (isWide ? wideFunction : function);
  if (auto sort = dyn_cast<SortOp>(op))
    return networkInstructions(sort);
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return 1;
  switch (map.getScalarOp()) {
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
  case ScalarOp::Rsqrt:
  case ScalarOp::Reciprocal:
  case ScalarOp::Fma:
    return isWide ? 8 : 2;
  case ScalarOp::Sin:
  case ScalarOp::Cos:
  case ScalarOp::Tan:
    return isWide ? 128 : 48;
  case ScalarOp::Remainder:
  case ScalarOp::FMod:
    if (isa<FloatType>(element)) // a digit of the quotient at a time
      return isWide ? 320 : 96;
    [[fallthrough]];
  case ScalarOp::FloorDiv:
    return element.getIntOrFloatBitWidth() == 64 ? wideFunction : function;
  case ScalarOp::Philox:
  case ScalarOp::PhiloxUpper:
    return 32;
  default: {
    bool isFunction = scalarOpInfo(map.getScalarOp()).rule == TypeRule::Float ||
                      map.getScalarOp() == ScalarOp::Pow;
    return !isFunction ? 1 : isWide ? wideFunction : function;
  }
  }
}

namespace {
/// The values of a kernel as trees in which equal ones are one.
class Trees {
public:
  /// Calls `visit` for what computes the roots, operands first and each different one once. States
  /// of streams end a tree, and so does what `enter` declines.
  void visit(ArrayRef<Value> roots, llvm::function_ref<void(Operation *)> visit,
             llvm::function_ref<bool(Operation *)> enter = nullptr) {
    llvm::DenseSet<unsigned> seen;
    std::function<void(Value)> go = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op || isa<StreamOp, GaugeOp, AccumulateOp>(op) || !seen.insert(number(value)).second)
        return;
      if (!enter || enter(op))
        llvm::for_each(operandsOf(op), go);
      visit(op);
    };
    llvm::for_each(roots, go);
  }

private:
  static SmallVector<Value> operandsOf(Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getPlaces();
    return op->getOperands();
  }

  unsigned number(Value value) {
    if (auto it = numbers.find(value); it != numbers.end())
      return it->second;
    Operation *op = value.getDefiningOp();
    unsigned next = numbers.size();
    if (!op || isa<StreamOp, GaugeOp, AccumulateOp>(op))
      return numbers[value] = next;
    std::vector<const void *> key = {op->getName().getAsOpaquePointer(),
                                     op->getAttrDictionary().getAsOpaquePointer(),
                                     value.getType().getAsOpaquePointer()};
    for (Value operand : op->getOperands())
      key.push_back(reinterpret_cast<const void *>(uintptr_t(number(operand))));
    unsigned mine = same.try_emplace(key, unsigned(numbers.size())).first->second;
    return numbers[value] = mine;
  }

  llvm::DenseMap<Value, unsigned> numbers;
  std::map<std::vector<const void *>, unsigned> same;
};

class Describer {
public:
  Describer(KernelOp kernel, const SizeFacts &facts)
      : kernel(kernel), facts(facts), function(kernel->getParentOfType<func::FuncOp>()) {}
  KernelShape run();

private:
  void collectDims();
  void collectRoots();
  void collectGatherIndices();
  void describeOperands();
  void describeMemory();
  void describeSlides(LoadOp load);
  void describeMasks();
  void describeResults();
  void addContractions();
  bool noteMasks(Value root, SmallVectorImpl<Value> &conditions);
  void noteOperand(LoadOp load);
  void noteSide(Value side);
  void addContraction(ValueRange values, const Names &over, bool inner);
  Names positions(ArrayAttr index) {
    return dimsByPosition(expressions(index),
                          [&](const std::string &name) { return bool(kernel.getDim(name)); });
  }
  Names ordered(const NameSet &set);
  SmallVector<SymExpr> placedIndex(LoadOp load);
  int64_t sizeHint(const std::string &name) { return facts.hint(kernel.getDim(name).getSize()); }
  std::optional<int64_t> denseAlignment(LoadOp load, int64_t bits, StringRef inner = "");
  bool areWordsAlongK(ValueRange values, const Names &over);
  int64_t bytesLeaving(StoreOp store);
  Value hostTensor(Value argument) {
    unsigned i = cast<BlockArgument>(argument).getArgNumber();
    return i < kernel.getInputs().size() ? kernel.getInputs()[i]
                                         : kernel.getResult(i - kernel.getInputs().size());
  }

  KernelOp kernel;
  const SizeFacts &facts;
  func::FuncOp function;
  Trees trees;
  KernelShape shape;
  NameSet stream;

  SmallVector<StreamOp> streams;
  SmallVector<StoreOp> stores;
  SmallVector<CheckOp> checks;
  SmallVector<Value> results; ///< what is stored or checked
  SmallVector<Value> states;  ///< what the streams carry
  SmallVector<Value> roots;
  llvm::DenseSet<Operation *> indices; ///< what computes gather indices is no operand of the work
  SmallVector<Value> elementwise;      ///< computed element by element: of contractions their sides

  unsigned bytes = 1, floatBytes = 0; ///< of an element of the operands
  size_t mostDims = 0; ///< of a tensor of floating point; vectors beside it do not count
  bool hasFloat = false;
  unsigned factorBytes = 0; ///< of what contractions multiply: indices and masks do not count
  unsigned sideBytes = 0;   ///< as which contractions take it
};
} // namespace

void Describer::collectDims() {
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>()) {
    Dim::Role role = dim.isParallel() ? Dim::Parallel : dim.isStream() ? Dim::Stream : Dim::Inner;
    shape.dims.push_back({dim.getName().str(), dim.getSize(), role, dim.getTile()});
    if (dim.isStream())
      stream.insert(dim.getName().str());
  }
  shape.launch = kernel.getLaunchConfig();
  shape.tuning = kernel.getTuningConfig();
}

/// What the kernel stores and checks, and what its streams carry.
void Describer::collectRoots() {
  kernel.walk([&](Operation *op) {
    if (auto each = dyn_cast<StreamOp>(op)) {
      streams.push_back(each);
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      stores.push_back(store);
      results.push_back(store.getValue());
      llvm::append_range(roots, store.getPlaces());
    } else if (auto check = dyn_cast<CheckOp>(op)) {
      checks.push_back(check);
      results.append({check.getCondition(), check.getValue()});
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      auto parent = cast<StreamOp>(scan->getParentOp());
      shape.scanned.push_back(cast<StringAttr>(parent.getOver()[0]).str());
      shape.scanBytes = std::max(shape.scanBytes, bytesOf(elementOf(scan.getResult())));
      shape.sequential |= scan.getKey() != nullptr;
    } else if (auto visit = dyn_cast<VisitOp>(op)) {
      shape.listsBlocks |= visit.getAsList();
    } else if (isa<SortOp>(op)) {
      shape.sorted = cast<StringAttr>(cast<StreamOp>(op->getParentOp()).getOver()[0]).str();
    } else if (isa<GaugeOp, AccumulateOp>(op)) {
      states.push_back(op->getResult(0));
      ValueRange operands = isa<GaugeOp>(op) ? ValueRange(op->getOperands())
                                             : ValueRange(cast<AccumulateOp>(op).getValues());
      llvm::append_range(roots, operands);
    }
  });
  llvm::append_range(roots, results);
  if (!streams.empty())
    for (StringAttr name : streams.front().getOver().getAsRange<StringAttr>())
      shape.streamOrder.push_back(name.str());
}

void Describer::collectGatherIndices() {
  auto add = [&](Operation *op) { indices.insert(op); };
  for (StoreOp store : stores)
    trees.visit(SmallVector<Value>(store.getPlaces()), add);
  if (!stores.empty())
    for (CheckOp check : checks)
      trees.visit({check.getCondition(), check.getValue()}, add);
  trees.visit(roots, [&](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load || load.getPlaces().empty())
      return;
    shape.gathers = true;
    trees.visit(SmallVector<Value>(load.getPlaces()), add);
  });
}

/// Widens the widths of operands by that of a load.
void Describer::noteOperand(LoadOp load) {
  Type element = elementOf(load.getResult());
  size_t rank = dimsOf(load.getResult()).size();
  bytes = std::max(bytes, bytesOf(element));
  hasFloat |= isa<FloatType>(element);
  if (isa<FloatType>(element) && rank >= mostDims) {
    unsigned mine = element.getIntOrFloatBitWidth() / 8;
    floatBytes = rank > mostDims ? mine : std::max(floatBytes, mine);
    mostDims = rank;
  }
}

/// What the kernel reads, and how wide it is.
void Describer::describeOperands() {
  unsigned rowTensors = 0;
  bool gathers = false; // at indices that are known only once they are read
  trees.visit(roots, [&](Operation *op) {
    if (auto map = dyn_cast<MapOp>(op))
      shape.draws |=
          map.getScalarOp() == ScalarOp::Philox || map.getScalarOp() == ScalarOp::PhiloxUpper;
    auto load = dyn_cast<LoadOp>(op);
    if (!load)
      return;
    if (!indices.contains(op))
      noteOperand(load);
    size_t rank = dimsOf(load.getResult()).size();
    bool isAlong = dependsOn(load.getResult(), stream);
    shape.rowOperands |= isAlong && rank == stream.size();
    rowTensors += isAlong && rank > stream.size();
    ++shape.loads;
    gathers |= !load.getPlaces().empty();
  });
  shape.rowTensors = std::max(1u, rowTensors);
  shape.batchInvariant = gir::numericsOption(function, "batch_invariant") == "true";
  StringRef factors = gir::numericsOption(function, "matmul");
  shape.roundsFactors = factors == "tf32" || factors == "bf16";
  shape.passes = streams.size();
  shape.waits = streams.size() + states.size() + gathers;
  auto isInStream = [](Operation *op) { return isa<StreamOp>(op->getParentOp()); };
  shape.canSplit = !shape.batchInvariant && streams.size() == 1 &&
                   llvm::none_of(stores, isInStream) && llvm::none_of(checks, isInStream);
  WalkResult others = kernel.walk([](Operation *op) {
    bool isKnown = isa<KernelOp, StreamOp, YieldOp, AccumulateOp, LoadOp, StoreOp, ConstantOp,
                       IndexOp, MapOp, MaskOp, CastOp>(op);
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  shape.canDivideTile = streams.size() == 1 && states.size() == 1 && !gathers &&
                        llvm::none_of(stores, isInStream) && !others.wasInterrupted();
  shape.elementBytes = std::max(4u, bytes);
  shape.storageBytes = floatBytes ? floatBytes : bytes;
  shape.onTensorCores = bytes <= (hasFloat ? 4 : 1);
  shape.sequential |= llvm::any_of(stores, [](StoreOp store) { return store.getSum(); });
}

/// Dimensions that move a load along memory as the last one does. The place there is an index, or
/// computed from one.
void Describer::describeSlides(LoadOp load) {
  if (load.getIndex().empty() || shape.dims.empty())
    return;
  SymExpr place = expressions(load.getIndex()).back();
  for (auto [i, value] : llvm::enumerate(load.getPlaces()))
    if (auto index = value.getDefiningOp<IndexOp>();
        index && place == SymExpr::symbol("#" + std::to_string(i)))
      place = *SymExpr::parse(index.getExpression().str());
  auto moves = [&](const std::string &name) {
    auto at = [&](int64_t element) {
      return place.substitute([&](const std::string &s) {
        return s == name ? std::optional(SymExpr(element)) : std::nullopt;
      });
    };
    return (at(1) - at(0)).isConstant(1);
  };
  if (!moves(shape.dims.back().name))
    return;
  for (const Dim &dim : ArrayRef(shape.dims).drop_back())
    if (moves(dim.name) && !llvm::is_contained(shape.slidWithLast, dim.name))
      shape.slidWithLast.push_back(dim.name);
}

/// The difference of an index from one element of a dimension to the next.
static SymExpr stepAlong(SymExpr index, const std::string &name) {
  auto at = [&](int64_t place) {
    return index.substitute([&](const std::string &s) {
      return s == name ? std::optional(SymExpr(place)) : std::nullopt;
    });
  };
  return at(1) - at(0);
}

/// The index of a load with computed places that are functions of dimensions, as under padding.
SmallVector<SymExpr> Describer::placedIndex(LoadOp load) {
  return llvm::map_to_vector(expressions(load.getIndex()), [&](SymExpr index) {
    return index.substitute([&](const std::string &name) -> std::optional<SymExpr> {
      unsigned place;
      if (name[0] == '#' && !StringRef(name).drop_front().getAsInteger(10, place))
        if (auto at = load.getPlaces()[place].getDefiningOp<IndexOp>())
          return SymExpr::parse(at.getExpression().str());
      return std::nullopt;
    });
  });
}

/// Dimensions along which some tensor is contiguous, and the size of results.
void Describer::describeMemory() {
  auto note = [&](ArrayRef<SymExpr> index, unsigned bytes) {
    Names mine =
        dimsByPosition(index, [&](const std::string &name) { return bool(kernel.getDim(name)); });
    if (mine.empty() || shape.dims.empty())
      return;
    // Of dimensions that are added, as in a window, the longest one whose elements share sectors.
    constexpr int64_t sector = 32;
    SymExpr row = index.back();
    std::string along = mine.back();
    for (const std::string &name : mine)
      if (SymExpr step = stepAlong(row, name); step.isConstant() && step.constantValue() > 0 &&
                                               step.constantValue() * bytes < sector &&
                                               sizeHint(name) > sizeHint(along))
        along = name;
    const std::string &last = shape.dims.back().name;
    SymExpr step = stepAlong(row, last);
    bool isNear =
        step.isConstant() && step.constantValue() != 0 && std::abs(step.constantValue()) < sector;
    if (along != last && llvm::is_contained(mine, last) && !isNear)
      shape.otherContiguous.push_back(along);
  };
  for (StoreOp store : stores) {
    note(expressions(store.getIndex()), bytesOf(elementOf(store.getValue())));
    shape.operands.push_back({positions(store.getIndex()), bytesOf(elementOf(store.getValue()))});
    shape.resultBytes = std::max(shape.resultBytes, bytesLeaving(store));
  }
  trees.visit(roots, [&](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load)
      return;
    note(placedIndex(load), bytesOf(elementOf(load.getResult())));
    describeSlides(load);
    // Dimensions of gathers are beside the index.
    Names dims = positions(load.getIndex());
    for (StringAttr dim : dimsOf(load.getResult()))
      if (!llvm::is_contained(dims, dim.getValue()))
        dims.push_back(dim.str());
    shape.operands.push_back({dims, bytesOf(elementOf(load.getResult()))});
  });
}

/// The bytes of a result that nothing in the program reads; 0 if something reads it.
int64_t Describer::bytesLeaving(StoreOp store) {
  std::function<bool(Value)> leaves = [&](Value tensor) {
    return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
      auto user = dyn_cast<KernelOp>(use.getOwner());
      if (!user)
        return isa<func::ReturnOp>(use.getOwner());
      auto into = user.getInto();
      for (auto [i, input] : llvm::enumerate(into.value_or(ArrayRef<int64_t>())))
        if (input == int64_t(use.getOperandNumber()))
          return leaves(user.getResult(i));
      return false;
    });
  };
  Value tensor = hostTensor(store.getTensor());
  if (store.getSum() || !leaves(tensor))
    return 0;
  int64_t size = bytesOf(cast<gir::TensorType>(tensor.getType()).getElementType());
  for (const std::string &name : positions(store.getIndex()))
    size *= facts.hint(kernel.getDim(name).getSize());
  return size;
}

/// Adds the conditions along the stream under which a value has its elements; whether there are
/// any.
bool Describer::noteMasks(Value root, SmallVectorImpl<Value> &conditions) {
  size_t known = conditions.size();
  trees.visit({root}, [&](Operation *op) {
    Value condition;
    if (auto mask = dyn_cast<MaskOp>(op))
      condition = mask.getCondition();
    else if (auto map = dyn_cast<MapOp>(op); map && map.getScalarOp() == ScalarOp::Where)
      condition = map.getInputs()[0];
    if (condition && dependsOn(condition, stream))
      conditions.push_back(condition);
  });
  return conditions.size() > known;
}

/// Whether masks drop elements of the stream: of everything that it computes; otherwise blocks are
/// visited for the rest in any case.
void Describer::describeMasks() {
  SmallVector<Value> conditions;
  for (Value state : states) {
    SmallVector<Value> parts;
    if (auto gauge = state.getDefiningOp<GaugeOp>())
      parts = {gauge.getExponent()};
    else
      parts = state.getDefiningOp<AccumulateOp>().getValues();
    bool isMasked = false;
    for (Value part : parts)
      isMasked |= noteMasks(part, conditions);
    if (!isMasked)
      return void(shape.masked = false);
    shape.masked = true;
  }
  for (Value result : results)
    shape.masked |= noteMasks(result, conditions);
  if (shape.masked)
    trees.visit(conditions, [&](Operation *op) { shape.dataMasked |= isa<LoadOp>(op); });
}

Names Describer::ordered(const NameSet &set) {
  Names result;
  for (const Dim &dim : shape.dims)
    if (set.count(dim.name))
      result.push_back(dim.name);
  return result;
}

/// The operand below the casts of a contraction's side.
static Value withoutCasts(Value side) {
  while (auto cast = side ? side.getDefiningOp<CastOp>() : CastOp())
    side = cast.getInput();
  return side;
}

/// The parts of an operand that is the sum of several in memory (gir-store-floats), otherwise the
/// operand itself.
static SmallVector<Value> partsOf(Value side) {
  auto join = side ? side.getDefiningOp<MapOp>() : MapOp();
  if (!join || join.getScalarOp() != ScalarOp::Join)
    return {side};
  return llvm::to_vector(join.getInputs());
}

/// Bytes of the narrowest type that an operand has before it is multiplied.
static unsigned narrowestBytes(Value side) {
  side = partsOf(side).front();
  unsigned bits = elementOf(side).getIntOrFloatBitWidth();
  for (auto cast = side.getDefiningOp<CastOp>(); cast;
       cast = cast.getInput().getDefiningOp<CastOp>())
    bits = std::min(bits, elementOf(cast.getInput()).getIntOrFloatBitWidth());
  return (bits + 7) / 8;
}

/// What a value is without the weight that it is multiplied by; null for the weight alone.
static Value withoutWeight(Value value) {
  auto isWeight = [](Value part) {
    auto weigh = part.getDefiningOp<WeighOp>();
    return weigh && isRunning(weigh);
  };
  if (isWeight(value))
    return nullptr;
  auto map = value.getDefiningOp<MapOp>();
  bool isWeighted = map && map.getScalarOp() == ScalarOp::Mul && isWeight(map.getInputs().front());
  return isWeighted ? map.getInputs()[1] : value;
}

/// The bytes at whose multiples the rows of a tensor of floats of these many bits start, if it is
/// dense in memory and read in rows of whole pieces of 16 bytes, wherever a tile begins: rows along
/// the dimension `inner`, unless it is empty.
std::optional<int64_t> Describer::denseAlignment(LoadOp load, int64_t bits, StringRef inner) {
  constexpr int64_t pieceBits = 128;
  const int64_t piece = pieceBits / bits;
  if (auto argument = dyn_cast<BlockArgument>(hostTensor(load.getTensor())))
    if (!function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr))
      return std::nullopt;
  auto type = cast<gir::TensorType>(load.getTensor().getType());
  SmallVector<SymExpr> indices = expressions(load.getIndex());
  // In one index of a whole tensor, the rest of the index says where rows begin.
  bool isLinear = !inner.empty() && indices.size() == 1;
  if (!isLinear && type.getRank() < 2)
    return std::nullopt;
  // Last dimensions of one element leave rows as they are.
  int64_t last = int64_t(type.getRank()) - 1;
  for (bool isByDims = indices.size() == type.getRank();
       isByDims && last > 0 && indices.back().isConstant(0) && type.getDim(last).isConstant(1);
       --last)
    indices.pop_back();
  int64_t pitch = isLinear ? piece : facts.divisor(type.getDim(last));
  if (pitch % piece != 0)
    return std::nullopt;
  SymExpr beside = indices.back();
  unsigned along = 0;
  for (SymExpr index : indices) {
    NameSet names;
    index.collectSymbols(names);
    for (const std::string &name : names) {
      if (!kernel.getDim(name))
        continue;
      auto at = [&](int64_t place) {
        return index.substitute([&](const std::string &s) {
          return s == name ? std::optional(SymExpr(place)) : std::nullopt;
        });
      };
      SymExpr step = at(1) - at(0), dim = SymExpr::symbol(name);
      if (index != at(0) + step * dim)
        return std::nullopt;
      if (index == indices.back() && step.isConstant(1)) {
        if (!inner.empty() && inner != name)
          return std::nullopt;
        beside = beside - dim;
        ++along;
      }
    }
  }
  int64_t shift = facts.divisor(beside);
  if (along != 1 || shift % piece != 0)
    return std::nullopt;
  return bits / 8 * (beside.isConstant(0) ? pitch : std::gcd(pitch, shift));
}

/// A side of a contraction is computed element by element.
void Describer::noteSide(Value side) {
  elementwise.push_back(side);
  sideBytes = std::max(sideBytes, narrowestBytes(side));
  trees.visit({side}, [&](Operation *op) {
    if (isa<LoadOp>(op) && isa<FloatType>(elementOf(op->getResult(0))))
      factorBytes = std::max(factorBytes, elementOf(op->getResult(0)).getIntOrFloatBitWidth() / 8);
  });
}

/// Whether TMA can load the operands of a contraction and round them to tf32 for wgmma.
bool Describer::areWordsAlongK(ValueRange values, const Names &over) {
  return gir::numericsOption(function, "matmul") == "tf32" && !over.empty() &&
         llvm::all_of(values, [&](Value side) {
           auto load = side.getDefiningOp<LoadOp>();
           return load && load.getPlaces().empty() && elementOf(side).isF32() &&
                  denseAlignment(load, 32, over.back());
         });
}

void Describer::addContraction(ValueRange values, const Names &over, bool inner) {
  NameSet sides[2];
  for (auto [side, value] : llvm::zip_equal(sides, values))
    for (StringAttr dim : dimsOf(value))
      side.insert(dim.str());
  auto difference = [&](const NameSet &a, const NameSet &b) {
    NameSet result;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(),
                        std::inserter(result, result.end()));
    for (const std::string &name : over)
      result.erase(name);
    return ordered(result);
  };
  Value lhs = withoutWeight(values[0]), rhs = withoutWeight(values[1]);
  SmallVector<Value> lhsParts = partsOf(lhs), rhsParts = partsOf(rhs);
  Value left = withoutCasts(lhsParts.front()), right = withoutCasts(rhsParts.front());
  auto isHalf = [&](Value side) {
    return side && (elementOf(side).isBF16() || elementOf(side).isF16());
  };
  auto plainLoad = [&](Value side) {
    auto load = isHalf(side) ? side.getDefiningOp<LoadOp>() : LoadOp();
    return load && load.getPlaces().empty() ? load : LoadOp();
  };
  LoadOp rows = plainLoad(left), columns = plainLoad(right);
  shape.contractions.push_back({difference(sides[0], sides[1]), difference(sides[1], sides[0]),
                                ordered(NameSet(over.begin(), over.end())), inner, bool(rows),
                                bool(columns)});
  KernelShape::Contraction &made = shape.contractions.back();
  made.parts = int64_t(std::min(lhsParts.size(), rhsParts.size()));
  if (auto tensor = columns ? dyn_cast<BlockArgument>(columns.getTensor()) : BlockArgument())
    made.columnsTensor = tensor.getArgNumber();
  bool areNarrowed = function->hasAttr(gir::kProductTypeAttr) && shape.storageBytes == 2;
  made.halves = areNarrowed || (isHalf(left) && isHalf(right));
  bool isOne = !rows || !columns || elementOf(left) == elementOf(right);
  made.dense = isOne;
  for (auto [load, alignment] :
       {std::pair(rows, &made.rowsAlignment), std::pair(columns, &made.columnsAlignment)})
    if (load) {
      *alignment = denseAlignment(load, 16).value_or(0);
      made.dense &= *alignment != 0;
    }
  made.wordsAlongK = areWordsAlongK(values, made.over);
  for (Value side : {lhs, rhs})
    if (side)
      noteSide(side);
}

/// The contractions, and what is computed element by element beside them.
void Describer::addContractions() {
  for (Value state : states) {
    if (auto gauge = state.getDefiningOp<GaugeOp>()) {
      elementwise.push_back(gauge.getExponent());
      continue;
    }
    auto accumulate = state.getDefiningOp<AccumulateOp>();
    if (accumulate.getValues().size() == 2)
      addContraction(accumulate.getValues(), shape.streamOrder, /*inner=*/false);
    else if (Value value = withoutWeight(accumulate.getValues().front()))
      elementwise.push_back(value);
  }
  auto isContraction = [](Operation *op) {
    auto reduce = dyn_cast<sched::ReduceOp>(op);
    return reduce && reduce.getValues().size() == 2;
  };
  trees.visit(roots, [&](Operation *op) {
    if (!isContraction(op))
      return;
    Names over;
    for (StringAttr name : cast<sched::ReduceOp>(op).getOver().getAsRange<StringAttr>())
      over.push_back(name.str());
    addContraction(cast<sched::ReduceOp>(op).getValues(), over, /*inner=*/true);
  });
  if (factorBytes) {
    shape.onTensorCores = factorBytes <= 4;
    // Parts of a number are what is multiplied, whatever else the kernel reads.
    if (llvm::any_of(shape.contractions, [](const auto &each) { return each.parts > 1; }))
      shape.storageBytes = factorBytes;
  }
  llvm::append_range(elementwise, results);
  trees.visit(
      elementwise,
      [&](Operation *op) {
        Names dims;
        for (StringAttr dim : dimsOf(op->getResult(0)))
          dims.push_back(dim.str());
        shape.work.push_back({dims, instructionsOf(op)});
        if (!isa<LoadOp>(op) && dependsOn(op->getResult(0), stream) && dims.size() > stream.size())
          shape.streamInstructions += instructionsOf(op);
      },
      [&](Operation *op) { return !isContraction(op); });
}

/// What the choice of the GPU backend depends on, besides tiles.
void Describer::describeResults() {
  size_t reductions = states.size() + shape.scanned.size() + !shape.sorted.empty();
  trees.visit(roots, [&](Operation *op) { reductions += isa<sched::ReduceOp>(op); });
  shape.onlyMaps = reductions == shape.contractions.size();
  shape.multiplies = kernel->hasAttr(kContracts);
}

KernelShape Describer::run() {
  collectDims();
  collectRoots();
  collectGatherIndices();
  describeOperands();
  describeMemory();
  describeMasks();
  addContractions();
  describeResults();
  // Computed operands may be wider than they are in memory.
  bool isChain =
      llvm::any_of(shape.contractions, [](const KernelShape::Contraction &c) { return c.inner; });
  bool narrows = function->hasAttr(gir::kProductTypeAttr);
  shape.sideBytes = narrows || isChain ? 0 : sideBytes;
  return std::move(shape);
}

KernelShape tessera::describeKernel(KernelOp kernel, const SizeFacts &facts) {
  return Describer(kernel, facts).run();
}

void tessera::writeSchedule(const KernelShape &shape, KernelOp kernel) {
  SmallVector<Attribute> dims;
  for (auto [dim, chosen] : llvm::zip_equal(kernel.getDims().getAsRange<DimAttr>(), shape.dims))
    dims.push_back(
        DimAttr::get(dim.getContext(), dim.getName(), dim.getSize(), dim.getRole(), chosen.tile));
  kernel.setDimsAttr(ArrayAttr::get(kernel.getContext(), dims));
  kernel.changeConfig(shape.launch, "the cost model");
  kernel.changeConfig(shape.tuning, "the cost model");
}
