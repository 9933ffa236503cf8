//===- ShapeKernel.cpp - Order and tiles of a kernel's dimensions ---------===//
//
// The canonical order follows memory: a dimension stands before another if most tensors have it
// further out. Ties keep the order outputs, stream, inner. The cost model then sees roles, sizes
// and contractions, and gives the tiles.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "Emit.h"
#include "LimitWork.h"
#include "tessera/CostModel/BackendChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <bit>

using namespace tessera;

namespace {
struct Access {
  std::vector<SymExpr> index;
  int weight;
};

/// Dimensions by where they occur in an access, outermost first.
std::vector<std::string> positions(const ExprPool &pool, const Access &access) {
  std::vector<std::string> result;
  for (SymExpr e : access.index) {
    std::set<std::string> names;
    e.collectSymbols(names);
    // In one row-major index the dimension with the larger factor is further out.
    std::vector<std::string> here;
    for (const std::string &name : names)
      if (pool.isDim(name))
        here.push_back(name);
    auto factorLength = [&](const std::string &name) {
      SymExpr rest = e - e.substitute([&](const std::string &s) -> std::optional<SymExpr> {
        return s == name ? std::optional<SymExpr>(SymExpr(0)) : std::nullopt;
      });
      return rest.kind() == SymExpr::Kind::Mul ? rest.operands().size() : 1;
    };
    std::sort(here.begin(), here.end(), [&](const std::string &a, const std::string &b) {
      return std::make_pair(factorLength(b), a) < std::make_pair(factorLength(a), b);
    });
    for (const std::string &name : here)
      if (std::find(result.begin(), result.end(), name) == result.end())
        result.push_back(name);
  }
  return result;
}
} // namespace

/// The number of parts into which a stream is split so that every core has work: the grid is too
/// small, and the stream is long. It is split along its last dimension; on a GPU along the one with
/// most blocks.
static int64_t chooseSplit(const MachineModel &machine, const SizeFacts &facts,
                           const KernelShape &shape, KernelPlan &plan) {
  constexpr int64_t fewest = 8;
  if (!shape.canSplit)
    return 1;
  int64_t programs = 1, blocks = 1, elements = 1, tile = 1, most = 0;
  std::string longest = plan.stream.back();
  for (const KernelShape::Dim &dim : shape.dims) {
    int64_t count = std::max<int64_t>(1, (facts.hint(dim.size) + dim.tile - 1) / dim.tile);
    if (dim.role == KernelShape::Dim::Parallel)
      programs *= count;
    if (dim.role != KernelShape::Dim::Inner) {
      elements *= std::max<int64_t>(1, facts.hint(dim.size));
      tile *= dim.tile;
    }
    if (dim.name == plan.stream.back())
      blocks = count;
    if (dim.role == KernelShape::Dim::Stream && count > most) {
      most = count;
      longest = dim.name;
    }
  }
  int64_t cluster = shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize);
  programs *= cluster;
  // A CTA with a large tile has enough bytes in flight for its SM; small ones need others beside
  // them. Rows that are not adjacent are processed with the same small tile.
  int64_t programsEach = tile > 4096 ? 1 : 8;
  bool areApart = plan.stream.size() > 1;
  // Leaving some SMs idle is better than a second kernel.
  int64_t enough =
      machine.isGpu ? 3 * machine.cores * (areApart ? programsEach : 1) / 4 : machine.cores;
  bool isOther = machine.isGpu && blocks < fewest && most >= fewest;
  if (programs >= enough || (blocks < fewest && !isOther) || elements < 1 << 16)
    return 1;
  if (isOther) {
    // Parts replace the cluster that shares a row; a CTA then has the threads of the cluster.
    plan.launch = plan.launch.without({LaunchField::ClusterSize, LaunchField::ClusterAxis});
    if (std::optional<int64_t> warps = plan.launch.get(LaunchField::NumWarps))
      plan.launch.set(LaunchField::NumWarps, std::min<int64_t>(16, *warps * cluster));
    programs /= cluster;
    std::stable_partition(plan.stream.begin(), plan.stream.end(),
                          [&](const std::string &name) { return name != longest; });
    blocks = most;
  }
  if (!machine.isGpu)
    return std::min(blocks / 4, 4 * machine.cores);
  // All parts are one tile of the kernel that merges them, and tiles of GPUs are powers of two.
  return std::bit_floor(uint64_t(std::min(blocks / 4, programsEach * machine.cores / programs)));
}

/// Whether a tensor of a 16-bit float that is dense in memory is read in rows of whole pieces of 16
/// bytes, wherever a tile begins.
static bool isDense(const ExprPool &pool, const SizeFacts &facts, Expr load) {
  constexpr int64_t piece = 8;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(load->tensor)) {
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function || !function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr))
      return false;
  }
  auto type = llvm::cast<gir::TensorType>(load->tensor.getType());
  if (type.getRank() < 2 || facts.divisor(type.getDim(type.getRank() - 1)) % piece != 0)
    return false;
  SymExpr beside = load->indices.back();
  unsigned along = 0;
  for (SymExpr index : load->indices) {
    std::set<std::string> names;
    index.collectSymbols(names);
    for (const std::string &name : names) {
      if (!pool.isDim(name))
        continue;
      auto at = [&](int64_t place) {
        return index.substitute([&](const std::string &s) {
          return s == name ? std::optional(SymExpr(place)) : std::nullopt;
        });
      };
      SymExpr step = at(1) - at(0), dim = SymExpr::symbol(name);
      if (index != at(0) + step * dim)
        return false;
      if (index == load->indices.back() && step.isConstant(1)) {
        beside = beside - dim;
        ++along;
      }
    }
  }
  return along == 1 && facts.divisor(beside) % piece == 0;
}

/// Across rows, ptxas takes minutes for a scan of a large tile: only a few rows at a time.
static void limitScannedRows(const std::string &along, KernelShape &shape) {
  if (shape.dims.back().name == along)
    return;
  int64_t elements = 1;
  for (KernelShape::Dim &dim : shape.dims) {
    if (dim.name == along)
      dim.tile = std::min<int64_t>(dim.tile, 8);
    elements *= dim.tile;
  }
  for (KernelShape::Dim &dim : shape.dims)
    for (; elements > 4096 && dim.name != along && dim.tile > 1; elements /= 2)
      dim.tile /= 2;
}

/// Notes whether masks drop elements of the stream: of everything that it computes, or whether
/// blocks are visited for the rest in any case.
static void noteMasks(const KernelPlan &plan, const DimSet &stream, KernelShape &shape) {
  std::vector<Expr> conditions;
  auto collect = [&](Expr root) {
    size_t known = conditions.size();
    visitExprs({root}, [&](Expr e) {
      if (e->kind == ExprNode::Map && e->op == ScalarOp::Where && e->args[0]->dependsOn(stream))
        conditions.push_back(e->args[0]);
    });
    return conditions.size() > known;
  };
  shape.masked = false;
  for (const StreamState &state : plan.states) {
    if (!state.used)
      continue;
    const StreamState *weight = state.isGauge ? nullptr : plan.weightOf(state);
    bool own = collect(state.isGauge ? state.exponent : state.value);
    bool weighed = weight && collect(weight->exponent);
    if (!own && !weighed)
      return void(shape.masked = false);
    shape.masked = true;
  }
  for (const KernelOutput &output : plan.outputs)
    shape.masked |= collect(output.resolved);
  if (shape.masked)
    visitExprs(conditions, [&](Expr part) { shape.dataMasked |= part->kind == ExprNode::Load; });
}

/// Notes what the choice of the GPU backend depends on, besides tiles.
static void noteProducts(const KernelPlan &plan, const DimSet &stream, llvm::ArrayRef<Expr> work,
                         KernelShape &shape) {
  std::vector<Expr> outputs;
  for (const KernelOutput &output : plan.outputs)
    outputs.push_back(output.expr);
  size_t reductions = 0;
  visitExprs(outputs, [&](Expr e) {
    bool isReduction = e->kind == ExprNode::Reduce || e->kind == ExprNode::Scan;
    reductions += isReduction;
    shape.multiplies |= isReduction && e->origin && e->origin.getDefiningOp<gir::ContractOp>();
  });
  shape.onlyMaps = reductions == shape.contractions.size();
  for (const KernelOutput &output : plan.outputs)
    visitExprs({output.resolved}, [&](Expr e) {
      shape.readsResults |=
          e->kind == ExprNode::Load && e->dims.size() >= output.resolved->dims.size();
    });
  for (Expr e : work)
    if (e->kind != ExprNode::Load && e->dependsOn(stream) && e->dims.size() > stream.size())
      shape.streamInstructions += instructionsOf(e);
}

/// Elements that depend on each other, because they are added at computed indices or scanned by a
/// key, are processed one by one. Along memory, several rows at a time would not help.
static void processSingleRows(llvm::ArrayRef<Expr> roots, const KernelPlan &plan,
                              KernelShape &shape) {
  bool isSequential =
      llvm::any_of(plan.outputs, [](const KernelOutput &output) { return output.isSum; });
  visitExprs(roots,
             [&](Expr e) { isSequential |= e->kind == ExprNode::Scan && e->args.size() > 1; });
  if (!isSequential || shape.dims.empty() || shape.dims.back().role != KernelShape::Dim::Stream)
    return;
  for (KernelShape::Dim &dim : shape.dims)
    if (dim.role == KernelShape::Dim::Parallel)
      dim.tile = 1;
}

/// The bytes of a result that nothing in the program reads; 0 if something reads it.
static int64_t bytesLeaving(const ExprPool &pool, const SizeFacts &facts,
                            const KernelOutput &output) {
  auto leaves = [](mlir::Operation *user) { return mlir::isa<mlir::func::ReturnOp>(user); };
  if (!output.value || output.isSum || !llvm::all_of(output.value.getUsers(), leaves))
    return 0;
  mlir::Type element = llvm::cast<gir::TensorType>(output.value.getType()).getElementType();
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  for (const std::string &name : positions(pool, {output.index, 1}))
    bytes *= facts.hint(pool.dimSize(name));
  return bytes;
}

namespace {
/// Describes a kernel to the cost model and writes the order and the tiles of its dimensions into
/// the plan.
class KernelShaper {
public:
  KernelShaper(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
               KernelPlan &plan)
      : pool(pool), facts(facts), machine(machine), plan(plan), stream(plan.streamSet()) {}
  void run();

private:
  void addDim(const std::string &name, KernelShape::Dim::Role role);
  void collectOutputs();
  void collectPlaces();
  void collectLoads();
  void noteOperand(Expr load);
  void orderDims();
  void describeWork();
  void describeMemory();
  std::vector<std::string> ordered(const DimSet &set) const;
  bool addContraction(Expr value, const DimSet &over, const DimSet *weight, bool inner);
  void noteSide(Expr side);
  void addContractions();
  void fit(const MachineModel &model, KernelShape &shape);
  void choose();
  void writePlan();

  ExprPool &pool;
  const SizeFacts &facts;
  const MachineModel &machine;
  KernelPlan &plan;
  DimSet stream;

  std::vector<Expr> roots;
  std::vector<std::string> names, order; ///< the dimensions as they are found, and ordered
  std::map<std::string, KernelShape::Dim::Role> roles;
  std::vector<Access> accesses;
  std::set<std::string> beside; ///< short and reduced outside the stream
  llvm::DenseSet<Expr> places;  ///< what says where elements are is no operand of the work

  unsigned bytes = 1, floatBytes = 0; ///< of an element of the operands
  size_t mostDims = 0; ///< of a tensor of floating point; vectors beside it do not count
  bool hasFloat = false;
  unsigned factorBytes = 0; ///< of what products multiply: indices and masks do not count
  unsigned sideBytes = 0;   ///< as which products take it

  /// What is computed element by element: of products their sides.
  std::vector<Expr> elementwise, work;
  llvm::DenseSet<Expr> multiplied;
  KernelShape shape;
};
} // namespace

void KernelShaper::addDim(const std::string &name, KernelShape::Dim::Role role) {
  if (roles.emplace(name, role).second)
    names.push_back(name);
}

/// The dimensions of the outputs and the stream.
void KernelShaper::collectOutputs() {
  for (const KernelOutput &output : plan.outputs)
    roots.push_back(output.resolved);
  for (const StreamState &state : plan.states)
    if (state.used)
      roots.push_back(state.isGauge ? state.exponent : state.value);
  auto addOutputDim = [&](const std::string &name) {
    addDim(name, stream.count(name) ? KernelShape::Dim::Stream : KernelShape::Dim::Parallel);
  };
  for (const KernelOutput &output : plan.outputs) {
    accesses.push_back({output.index, 2});
    llvm::for_each(positions(pool, accesses.back()), addOutputDim);
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
      llvm::for_each(place.value->dims, addOutputDim);
  }
  for (const std::string &name : plan.stream)
    addDim(name, KernelShape::Dim::Stream);
}

void KernelShaper::collectPlaces() {
  auto add = [&](Expr part) { places.insert(part); };
  for (const KernelOutput &output : plan.outputs)
    for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index)) {
      roots.push_back(place.value);
      visitExprs({place.value}, add);
    }
  bool stores =
      llvm::any_of(plan.outputs, [](const KernelOutput &output) { return !output.check; });
  for (const KernelOutput &output : plan.outputs)
    if (output.check && stores)
      visitExprs({output.resolved}, add);
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      visitExprs(e->args, add);
  });
}

/// Widens the widths of operands by that of a load.
void KernelShaper::noteOperand(Expr load) {
  bytes = std::max(bytes, (load->type.getIntOrFloatBitWidth() + 7) / 8);
  hasFloat |= llvm::isa<mlir::FloatType>(load->type);
  if (llvm::isa<mlir::FloatType>(load->type) && load->dims.size() >= mostDims) {
    unsigned mine = load->type.getIntOrFloatBitWidth() / 8;
    floatBytes = load->dims.size() > mostDims ? mine : std::max(floatBytes, mine);
    mostDims = load->dims.size();
  }
}

/// What is loaded, and the dimensions that are reduced.
void KernelShaper::collectLoads() {
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      accesses.push_back({e->indices, 1});
    if (e->kind == ExprNode::Load && !places.contains(e))
      noteOperand(e);
    if (e->kind == ExprNode::Reduce)
      for (const std::string &name : e->over) {
        addDim(name, KernelShape::Dim::Inner);
        if (!stream.empty() && !e->args[0]->dependsOn(stream) &&
            facts.hint(pool.dimSize(name)) <= 32)
          beside.insert(name);
      }
  });
}

/// Votes of the accesses, then the first name nothing else must precede.
void KernelShaper::orderDims() {
  std::map<std::pair<std::string, std::string>, int> votes;
  for (const Access &access : accesses) {
    std::vector<std::string> order = positions(pool, access);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        votes[{order[i], order[j]}] += access.weight;
  }
  while (!names.empty()) {
    size_t best = 0;
    int fewest = INT_MAX;
    for (size_t i = 0; i < names.size(); ++i) {
      int against = 0;
      for (const std::string &other : names)
        against += std::max(0, votes[{other, names[i]}] - votes[{names[i], other}]);
      if (against < fewest) {
        fewest = against;
        best = i;
      }
    }
    order.push_back(names[best]);
    names.erase(names.begin() + best);
  }
  // The stream goes along memory; short loops beside it come first.
  std::vector<std::string> others;
  for (const std::string &name : std::exchange(order, {}))
    (beside.count(name) ? order : others).push_back(name);
  order.insert(order.end(), others.begin(), others.end());
}

/// What the kernel computes, beside contractions.
void KernelShaper::describeWork() {
  shape.batchInvariant = plan.batchInvariant;
  shape.canSplit =
      !plan.batchInvariant && plan.passes == 1 &&
      llvm::all_of(plan.outputs, [](const KernelOutput &output) { return output.pass < 0; });
  shape.waits = plan.passes +
                llvm::count_if(plan.states, [](const StreamState &state) { return state.used; });
  shape.passes = plan.passes;
  shape.elementBytes = std::max(4u, bytes);
  shape.storageBytes = floatBytes ? floatBytes : bytes;
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Scan)
      shape.scanBytes = std::max(shape.scanBytes, (e->type.getIntOrFloatBitWidth() + 7) / 8);
    shape.draws |= e->isMap(ScalarOp::Philox) || e->isMap(ScalarOp::PhiloxUpper);
  });
  shape.onTensorCores = bytes <= (hasFloat ? 4 : 1);
  noteMasks(plan, stream, shape);
}

/// What the kernel reads and writes, and along which dimensions.
void KernelShaper::describeMemory() {
  unsigned rowTensors = 0;
  bool hasPlaces = false; // that are known only once they are read
  visitExprs(roots, [&](Expr e) {
    bool isAlong = e->kind == ExprNode::Load && e->dependsOn(stream);
    shape.rowOperands |= isAlong && e->dims.size() == stream.size();
    rowTensors += isAlong && e->dims.size() > stream.size();
    shape.loads += e->kind == ExprNode::Load;
    hasPlaces |= e->kind == ExprNode::Load && !e->args.empty();
  });
  shape.rowTensors = std::max(1u, rowTensors);
  shape.waits += hasPlaces;
  for (const KernelOutput &output : plan.outputs)
    shape.resultBytes = std::max(shape.resultBytes, bytesLeaving(pool, facts, output));
  for (const std::string &name : order)
    shape.dims.push_back({name, pool.dimSize(name), roles.at(name), 1});
  for (const Access &access : accesses) {
    std::vector<std::string> mine = positions(pool, access);
    if (!mine.empty() && !order.empty() && mine.back() != order.back() &&
        std::find(mine.begin(), mine.end(), order.back()) != mine.end())
      shape.otherContiguous.push_back(mine.back());
  }
}

std::vector<std::string> KernelShaper::ordered(const DimSet &set) const {
  std::vector<std::string> result;
  for (const std::string &name : order)
    if (set.count(name))
      result.push_back(name);
  return result;
}

/// The operand below the casts of a contraction's side.
static Expr withoutCasts(Expr side) {
  while (side && side->kind == ExprNode::Cast)
    side = side->args[0];
  return side;
}

/// Bytes of the narrowest type that an operand has before it is multiplied.
static unsigned narrowestBytes(Expr side) {
  unsigned bits = side->type.getIntOrFloatBitWidth();
  for (; side->kind == ExprNode::Cast; side = side->args[0])
    bits = std::min(bits, side->args[0]->type.getIntOrFloatBitWidth());
  return (bits + 7) / 8;
}

/// A side of a contraction is computed element by element.
void KernelShaper::noteSide(Expr side) {
  elementwise.push_back(side);
  sideBytes = std::max(sideBytes, narrowestBytes(side));
  visitExprs({side}, [&](Expr e) {
    if (e->kind == ExprNode::Load && llvm::isa<mlir::FloatType>(e->type))
      factorBytes = std::max(factorBytes, e->type.getIntOrFloatBitWidth() / 8);
  });
}

/// Adds a sum to the contractions of the shape, if it is one.
bool KernelShaper::addContraction(Expr value, const DimSet &over, const DimSet *weight,
                                  bool inner) {
  auto c = splitContraction(pool, value, over, weight, order);
  if (!c)
    return false;
  Expr left = withoutCasts(c->lhs), right = withoutCasts(c->rhs);
  auto isHalf = [&](Expr side) { return side && (side->type.isBF16() || side->type.isF16()); };
  auto isPlain = [&](Expr side) {
    return isHalf(side) && side->kind == ExprNode::Load && side->args.empty();
  };
  shape.contractions.push_back(
      {ordered(c->rows), ordered(c->columns), ordered(over), inner, isPlain(left), isPlain(right)});
  KernelShape::Contraction &made = shape.contractions.back();
  bool areNarrowed = plan.narrowsProducts && shape.storageBytes == 2;
  made.halves = areNarrowed || (isHalf(left) && isHalf(right));
  bool isOne = !made.plainRows || !made.plainColumns || left->type == right->type;
  made.dense = isOne && (!made.plainRows || isDense(pool, facts, left)) &&
               (!made.plainColumns || isDense(pool, facts, right));
  for (Expr side : {c->lhs, c->rhs})
    if (side)
      noteSide(side);
  return true;
}

/// The contractions, and what is computed element by element beside them.
void KernelShaper::addContractions() {
  for (const StreamState &state : plan.states) {
    const StreamState *weight = plan.weightOf(state);
    bool isSum = state.used && !state.isGauge && state.monoid == ReduceOp::Sum;
    if (!(isSum &&
          addContraction(state.value, stream, weight ? &weight->exponent->dims : nullptr, false)) &&
        state.used)
      elementwise.push_back(state.isGauge ? state.exponent : state.value);
  }
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Reduce && e->monoid == ReduceOp::Sum &&
        addContraction(e->args[0], DimSet(e->over.begin(), e->over.end()), nullptr, true))
      multiplied.insert(e);
  });
  if (factorBytes)
    shape.onTensorCores = factorBytes <= 4;
  // Computed operands may be wider than they are in memory.
  bool isChain =
      llvm::any_of(shape.contractions, [](const KernelShape::Contraction &c) { return c.inner; });
  if (machine.isGpu && !plan.narrowsProducts && !isChain)
    shape.storageBytes = std::max(shape.storageBytes, sideBytes);
  for (const KernelOutput &output : plan.outputs)
    elementwise.push_back(output.resolved);
  visitExprs(
      elementwise, [&](Expr e) { work.push_back(e); },
      [&](Expr e) { return !multiplied.contains(e); });
  noteProducts(plan, stream, work, shape);
}

/// Gives a shape the tiles that the cost model chooses for a machine.
void KernelShaper::fit(const MachineModel &model, KernelShape &shape) {
  chooseTiles(model, facts, shape);
  if (model.tilesInRegisters && !shape.contractions.empty())
    limitWork(work, shape);
  if (model.isGpu)
    visitExprs(roots, [&](Expr e) {
      if (e->kind == ExprNode::Scan)
        limitScannedRows(e->over[0], shape);
    });
  else
    processSingleRows(roots, plan, shape);
}

/// Chooses the tiles, and on a GPU the backend.
void KernelShaper::choose() {
  KernelShape unfit = shape;
  fit(machine, shape);
  if (!machine.byTiles)
    return;
  // Threads read such rows element by element.
  plan.backend =
      !plan.alignsRows && usesPtx(machine, facts, shape) ? sched::kPtx : sched::kCudaTile;
  if (plan.backend == sched::kCudaTile) {
    shape = std::move(unfit);
    fit(*machine.byTiles, shape);
  }
}

void KernelShaper::writePlan() {
  plan.dims.clear();
  for (const KernelShape::Dim &dim : shape.dims) {
    llvm::StringRef role = dim.role == KernelShape::Dim::Parallel ? sched::kParallel
                           : dim.role == KernelShape::Dim::Stream ? sched::kStream
                                                                  : sched::kInner;
    plan.dims.push_back({dim.name, dim.size, role, dim.tile});
  }
  plan.launch = shape.launch;
  plan.tuning = shape.tuning;
  plan.visitsRanges = machine.isGpu; // branches would keep loads from running ahead
  plan.split = chooseSplit(machine, facts, shape, plan);
  plan.mergeElements = machine.isGpu ? 8192 : 0;
  plan.multiplies = !shape.contractions.empty();
}

void KernelShaper::run() {
  collectOutputs();
  collectPlaces();
  collectLoads();
  orderDims();
  describeWork();
  describeMemory();
  addContractions();
  choose();
  writePlan();
}

void tessera::shapeKernel(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                          KernelPlan &plan) {
  KernelShaper(pool, facts, machine, plan).run();
}
