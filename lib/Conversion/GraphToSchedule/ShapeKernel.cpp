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

/// Into how many parts a stream is cut so that every core has work: the grid is too small, and the
/// stream is long. It is cut along its last dimension; on a GPU that is the one with most blocks.
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
  for (const auto &[name, value] : shape.hints)
    if (name == "cluster_size")
      programs *= value;
  // A program with a large tile has enough in flight for its SM, small ones need company. Rows that
  // lie apart are walked by steps of the same small tile.
  int64_t programsEach = tile > 4096 ? 1 : 8;
  bool areApart = plan.stream.size() > 1;
  // A GPU that is filled but for some SMs is better off than with a second kernel.
  int64_t enough =
      machine.isGpu ? 3 * machine.cores * (areApart ? programsEach : 1) / 4 : machine.cores;
  bool isOther = machine.isGpu && blocks < fewest && most >= fewest;
  if (programs >= enough || (blocks < fewest && !isOther) || elements < 1 << 16)
    return 1;
  if (isOther) {
    // Parts take the place of blocks that share a row, whose threads a block has then.
    int64_t sharers = 1;
    for (const auto &[name, value] : plan.hints)
      sharers = name == "cluster_size" ? value : sharers;
    llvm::erase_if(plan.hints, [](const auto &hint) { return hint.first == "cluster_size"; });
    for (auto &[name, value] : plan.hints)
      value = name == "num_warps" ? std::min<int64_t>(16, value * sharers) : value;
    programs /= sharers;
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

/// Across rows, NVIDIA's assembler takes minutes over a scan of a large tile: a few rows at a time.
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

/// Whether conditions drop elements of the stream: of all that it computes, or blocks are visited
/// for the rest in any case.
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

/// What the backend to a GPU depends on, beside tiles.
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

/// Elements that wait for each other, since they are added at computed places or joined by a key,
/// are walked one by one. Along memory, more rows at a time would be of no use.
static void walkSingleRows(llvm::ArrayRef<Expr> roots, const KernelPlan &plan, KernelShape &shape) {
  bool walks = llvm::any_of(plan.outputs, [](const KernelOutput &output) { return output.isSum; });
  visitExprs(roots, [&](Expr e) { walks |= e->kind == ExprNode::Scan && e->args.size() > 1; });
  if (!walks || shape.dims.empty() || shape.dims.back().role != KernelShape::Dim::Stream)
    return;
  for (KernelShape::Dim &dim : shape.dims)
    if (dim.role == KernelShape::Dim::Parallel)
      dim.tile = 1;
}

/// The bytes of a tensor that leaves the program right from the kernel; 0 where something reads it
/// before.
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

void tessera::shapeKernel(ExprPool &pool, const SizeFacts &facts, const MachineModel &machine,
                          KernelPlan &plan) {
  std::vector<Expr> roots;
  for (const KernelOutput &output : plan.outputs)
    roots.push_back(output.resolved);
  for (const StreamState &state : plan.states)
    if (state.used)
      roots.push_back(state.isGauge ? state.exponent : state.value);

  // All dimensions with their roles.
  std::vector<std::string> names;
  std::map<std::string, KernelShape::Dim::Role> roles;
  auto addDim = [&](const std::string &name, KernelShape::Dim::Role role) {
    if (roles.emplace(name, role).second)
      names.push_back(name);
  };
  DimSet stream = plan.streamSet();
  std::vector<Access> accesses;
  auto addOutputDim = [&](const std::string &name) {
    addDim(name, stream.count(name) ? KernelShape::Dim::Stream : KernelShape::Dim::Parallel);
  };
  for (const KernelOutput &output : plan.outputs) {
    accesses.push_back({output.index, 2});
    llvm::for_each(positions(pool, accesses.back()), addOutputDim);
    for (const ExprPool::Place &place : pool.placesIn(output.index))
      llvm::for_each(place.value->dims, addOutputDim);
  }
  for (const std::string &name : plan.stream)
    addDim(name, KernelShape::Dim::Stream);
  unsigned bytes = 1, floatBytes = 0;
  size_t mostDims = 0; // of a tensor of floating point; vectors beside it do not count
  bool hasFloat = false;
  std::set<std::string> beside; // short and reduced outside the stream
  llvm::DenseSet<Expr> places;  // what says where elements are is no operand of the work
  for (const KernelOutput &output : plan.outputs)
    for (const ExprPool::Place &place : pool.placesIn(output.index)) {
      roots.push_back(place.value);
      visitExprs({place.value}, [&](Expr part) { places.insert(part); });
    }
  bool stores =
      llvm::any_of(plan.outputs, [](const KernelOutput &output) { return !output.check; });
  for (const KernelOutput &output : plan.outputs)
    if (output.check && stores)
      visitExprs({output.resolved}, [&](Expr part) { places.insert(part); });
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      visitExprs(e->args, [&](Expr part) { places.insert(part); });
  });
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Load)
      accesses.push_back({e->indices, 1});
    if (e->kind == ExprNode::Load && !places.contains(e)) {
      bytes = std::max(bytes, (e->type.getIntOrFloatBitWidth() + 7) / 8);
      hasFloat |= llvm::isa<mlir::FloatType>(e->type);
      if (llvm::isa<mlir::FloatType>(e->type) && e->dims.size() >= mostDims) {
        unsigned mine = e->type.getIntOrFloatBitWidth() / 8;
        floatBytes = e->dims.size() > mostDims ? mine : std::max(floatBytes, mine);
        mostDims = e->dims.size();
      }
    }
    if (e->kind == ExprNode::Reduce)
      for (const std::string &name : e->over) {
        addDim(name, KernelShape::Dim::Inner);
        if (!stream.empty() && !e->args[0]->dependsOn(stream) &&
            facts.hint(pool.dimSize(name)) <= 32)
          beside.insert(name);
      }
  });

  // Votes of the accesses, then the first name nothing else must precede.
  std::map<std::pair<std::string, std::string>, int> votes;
  for (const Access &access : accesses) {
    std::vector<std::string> order = positions(pool, access);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        votes[{order[i], order[j]}] += access.weight;
  }
  std::vector<std::string> order;
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
  // The stream is what runs along memory; short loops beside it stand back.
  std::vector<std::string> others;
  for (const std::string &name : std::exchange(order, {}))
    (beside.count(name) ? order : others).push_back(name);
  order.insert(order.end(), others.begin(), others.end());

  KernelShape shape;
  shape.batchInvariant = plan.batchInvariant;
  shape.canSplit =
      !plan.batchInvariant && plan.passes == 1 &&
      llvm::all_of(plan.outputs, [](const KernelOutput &output) { return output.pass < 0; });
  shape.waits = plan.passes +
                llvm::count_if(plan.states, [](const StreamState &state) { return state.used; });
  shape.walks = plan.passes;
  shape.elementBytes = std::max(4u, bytes);
  shape.storageBytes = floatBytes ? floatBytes : bytes;
  visitExprs(roots, [&](Expr e) {
    if (e->kind == ExprNode::Scan)
      shape.scanBytes = std::max(shape.scanBytes, (e->type.getIntOrFloatBitWidth() + 7) / 8);
    shape.draws |= e->isMap(ScalarOp::Philox) || e->isMap(ScalarOp::PhiloxUpper);
  });
  shape.onTensorCores = bytes <= (hasFloat ? 4 : 1);
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
  noteMasks(plan, stream, shape);
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
  auto ordered = [&](const DimSet &set) {
    std::vector<std::string> result;
    for (const std::string &name : order)
      if (set.count(name))
        result.push_back(name);
    return result;
  };
  unsigned factorBytes = 0; // of what products multiply: indices and masks beside it do not count
  unsigned sideBytes = 0;   // as which products take it
  // What is computed element by element: of products their sides.
  std::vector<Expr> elementwise;
  llvm::DenseSet<Expr> multiplied;
  auto addContraction = [&](Expr value, const DimSet &over, const DimSet *weight, bool inner) {
    auto c = splitContraction(pool, value, over, weight, order);
    if (!c)
      return false;
    auto stripped = [](Expr side) {
      while (side && side->kind == ExprNode::Cast)
        side = side->args[0];
      return side;
    };
    Expr left = stripped(c->lhs), right = stripped(c->rhs);
    auto isHalf = [&](Expr side) { return side && (side->type.isBF16() || side->type.isF16()); };
    auto isPlain = [&](Expr side) {
      return isHalf(side) && side->kind == ExprNode::Load && side->args.empty();
    };
    shape.contractions.push_back({ordered(c->rows), ordered(c->columns), ordered(over), inner,
                                  isPlain(left), isPlain(right)});
    KernelShape::Contraction &made = shape.contractions.back();
    bool areNarrowed = plan.narrowsProducts && shape.storageBytes == 2;
    made.halves = areNarrowed || (isHalf(left) && isHalf(right));
    bool isOne = !made.plainRows || !made.plainColumns || left->type == right->type;
    made.dense = isOne && (!made.plainRows || isDense(pool, facts, left)) &&
                 (!made.plainColumns || isDense(pool, facts, right));
    auto bytesOf = [](Expr side) {
      unsigned bits = side->type.getIntOrFloatBitWidth();
      for (; side->kind == ExprNode::Cast; side = side->args[0])
        bits = std::min(bits, side->args[0]->type.getIntOrFloatBitWidth());
      return (bits + 7) / 8;
    };
    for (Expr side : {c->lhs, c->rhs})
      if (side) {
        elementwise.push_back(side);
        sideBytes = std::max(sideBytes, bytesOf(side));
        visitExprs({side}, [&](Expr e) {
          if (e->kind == ExprNode::Load && llvm::isa<mlir::FloatType>(e->type))
            factorBytes = std::max(factorBytes, e->type.getIntOrFloatBitWidth() / 8);
        });
      }
    return true;
  };
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
  // What is computed before it is multiplied may be wider than it is in memory.
  bool isChain =
      llvm::any_of(shape.contractions, [](const KernelShape::Contraction &c) { return c.inner; });
  if (machine.isGpu && !plan.narrowsProducts && !isChain)
    shape.storageBytes = std::max(shape.storageBytes, sideBytes);
  for (const KernelOutput &output : plan.outputs)
    elementwise.push_back(output.resolved);
  std::vector<Expr> work;
  visitExprs(
      elementwise, [&](Expr e) { work.push_back(e); },
      [&](Expr e) { return !multiplied.contains(e); });
  auto fit = [&](const MachineModel &machine) {
    chooseTiles(machine, facts, shape);
    if (machine.tilesInRegisters && !shape.contractions.empty())
      limitWork(work, shape);
    if (machine.isGpu)
      visitExprs(roots, [&](Expr e) {
        if (e->kind == ExprNode::Scan)
          limitScannedRows(e->over[0], shape);
      });
    else
      walkSingleRows(roots, plan, shape);
  };
  noteProducts(plan, stream, work, shape);
  KernelShape unfit = shape;
  fit(machine);
  if (machine.byTiles) {
    // Threads read such rows element by element.
    plan.backend =
        !plan.alignsRows && usesPtx(machine, facts, shape) ? sched::kPtx : sched::kCudaTile;
    if (plan.backend == sched::kCudaTile) {
      shape = std::move(unfit);
      fit(*machine.byTiles);
    }
  }
  plan.dims.clear();
  for (const KernelShape::Dim &dim : shape.dims) {
    llvm::StringRef role = dim.role == KernelShape::Dim::Parallel ? sched::kParallel
                           : dim.role == KernelShape::Dim::Stream ? sched::kStream
                                                                  : sched::kInner;
    plan.dims.push_back({dim.name, dim.size, role, dim.tile});
  }
  plan.hints = shape.hints;
  plan.visitsRanges = machine.isGpu; // branches would keep loads from running ahead
  plan.split = chooseSplit(machine, facts, shape, plan);
  plan.mergeElements = machine.isGpu ? 8192 : 0;
  plan.multiplies = !shape.contractions.empty();
}
