//===- Emit.cpp - Writing a planned kernel as Schedule IR -----------------===//
#include "Emit.h"
#include "Contraction.h"
#include "Pull.h"

#include "tessera/Analysis/MaskRanges.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace tessera;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {
/// Conditions that empty a contribution to a state, found where they stand: -inf added in an exponent, 0 as a factor.
struct Masks {
  llvm::DenseMap<Expr, Expr> conditionOf; ///< where-node → its condition (negated nodes are left alone)

  void inExponent(Expr e) {
    if (e->kind != ExprNode::Map)
      return;
    if (e->op == ScalarOp::Add || e->op == ScalarOp::Sub) {
      inExponent(e->args[0]);
      if (e->op == ScalarOp::Add)
        inExponent(e->args[1]);
    }
    if (e->op == ScalarOp::Where && e->args[2]->isConstant(-inf)) {
      conditionOf[e] = e->args[0];
      inExponent(e->args[1]);
    }
  }
  void inProduct(Expr e) {
    if (e->kind != ExprNode::Map)
      return;
    if (e->op == ScalarOp::Mul) {
      inProduct(e->args[0]);
      inProduct(e->args[1]);
    }
    if (e->op == ScalarOp::Where && e->args[2]->isConstant(0)) {
      conditionOf[e] = e->args[0];
      inProduct(e->args[1]);
    }
  }
};

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, ExprPool &pool, const KernelPlan &plan) : builder(builder), pool(pool), plan(plan) {}

  sched::KernelOp run(mlir::Location loc, llvm::StringRef name, llvm::DenseMap<mlir::Value, mlir::Value> &written) {
    collectInputs();
    llvm::SmallVector<mlir::Attribute> dims;
    llvm::SmallVector<llvm::StringRef> order;
    for (const KernelDim &dim : plan.dims)
      dims.push_back(sched::DimAttr::get(builder.getContext(), builder.getStringAttr(dim.name), dim.size,
                                         builder.getStringAttr(dim.role), dim.tile));
    for (auto dim = plan.dims.rbegin(); dim != plan.dims.rend(); ++dim)
      if (dim->role == sched::kParallel)
        order.push_back(dim->name);
    llvm::SmallVector<mlir::Type> outputTypes;
    llvm::SmallVector<int64_t> into;
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value input : inputs)
      operands.push_back(llvm::isa<mlir::BlockArgument>(input) ? input : written.lookup(input));
    bool continues = false;
    for (const KernelOutput &output : plan.outputs) {
      outputTypes.push_back(output.value.getType());
      auto existing = written.find(output.value);
      into.push_back(existing == written.end() ? -1 : static_cast<int64_t>(operands.size()));
      if (existing != written.end()) {
        operands.push_back(existing->second);
        continues = true;
      }
    }
    kernel = sched::KernelOp::create(builder, loc, outputTypes, builder.getStringAttr(name), operands,
                                     builder.getArrayAttr(dims), builder.getStrArrayAttr(order));
    if (continues)
      kernel->setAttr("into", builder.getDenseI64ArrayAttr(into));
    if (!plan.notes.empty()) {
      llvm::SmallVector<llvm::StringRef> notes(plan.notes.begin(), plan.notes.end());
      kernel->setAttr("sched.notes", builder.getStrArrayAttr(notes));
    }
    mlir::Block &block = kernel.getBody().emplaceBlock();
    for (mlir::Value operand : operands)
      block.addArgument(operand.getType(), loc);
    for (mlir::Type type : outputTypes)
      block.addArgument(type, loc);
    for (auto [i, input] : llvm::enumerate(inputs))
      arguments[input] = block.getArgument(i);

    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    for (unsigned pass = 0; pass < plan.passes; ++pass)
      emitPass(pass, loc);
    for (auto [i, output] : llvm::enumerate(plan.outputs))
      if (output.pass < 0 || plan.stream.empty())
        emitStore(output, i);
    for (auto [i, output] : llvm::enumerate(plan.outputs))
      written[output.value] = kernel.getResult(i);
    return kernel;
  }

private:
  void collectInputs() {
    std::vector<Expr> roots;
    for (const KernelOutput &output : plan.outputs)
      roots.push_back(output.resolved);
    for (const StreamState &state : plan.states)
      if (state.used)
        roots.push_back(state.isGauge ? state.exponent : state.value);
    visitExprs(roots, [&](Expr e) {
      if (e->kind == ExprNode::Load && !llvm::is_contained(inputs, e->tensor))
        inputs.push_back(e->tensor);
    });
  }

  sched::ValType valType(Expr e) { return valType(e->dims, e->type); }
  sched::ValType valType(const DimSet &dims, mlir::Type type) {
    llvm::SmallVector<mlir::StringAttr> names;
    for (const KernelDim &dim : plan.dims)
      if (dims.count(dim.name))
        names.push_back(builder.getStringAttr(dim.name));
    return sched::ValType::get(builder.getContext(), names, type);
  }

  mlir::TypedAttr number(double value, mlir::Type type) {
    if (llvm::isa<mlir::FloatType>(type))
      return builder.getFloatAttr(type, value);
    if (type.isInteger(1))
      return builder.getBoolAttr(value != 0);
    return llvm::cast<mlir::TypedAttr>(builder.getIntegerAttr(type, static_cast<int64_t>(value)));
  }

  mlir::ArrayAttr strings(llvm::ArrayRef<SymExpr> exprs) {
    llvm::SmallVector<mlir::Attribute> result;
    for (SymExpr e : exprs)
      result.push_back(builder.getStringAttr(e.str()));
    return builder.getArrayAttr(result);
  }

  /// Emits an expression where its operands live: inside the stream if it depends on it, before it otherwise.
  mlir::Value emit(Expr e) {
    bool inside = stream && (e->dependsOn(plan.streamSet()));
    auto &memo = inside ? streamValues : kernelValues;
    auto it = memo.find(e);
    if (it != memo.end())
      return it->second;
    if (e->kind == ExprNode::State)
      return kernelValues.at(e);
    mlir::OpBuilder::InsertionGuard guard(builder);
    if (stream && !inside)
      builder.setInsertionPoint(stream);
    mlir::Value value = create(e);
    (inside ? streamValues : kernelValues)[e] = value;
    return value;
  }

  mlir::Value create(Expr e) {
    sched::ValType type = valType(e);
    switch (e->kind) {
    case ExprNode::Constant:
      return sched::ConstantOp::create(builder, e->loc, type, number(e->number, e->type));
    case ExprNode::Index:
      return sched::IndexOp::create(builder, e->loc, type, builder.getStringAttr(e->index.str()));
    case ExprNode::Load:
      return sched::LoadOp::create(builder, e->loc, type, arguments.at(e->tensor), strings(e->indices));
    case ExprNode::Cast:
      return sched::CastOp::create(builder, e->loc, type, emit(e->args[0]));
    case ExprNode::Map: {
      auto mask = masks.find(e);
      if (mask != masks.end()) {
        mlir::Value condition = emit(e->args[0]), value = emit(e->args[1]);
        return sched::MaskOp::create(builder, e->loc, type, condition, value, number(e->args[2]->number, e->type));
      }
      llvm::SmallVector<mlir::Value> args;
      for (Expr arg : e->args)
        args.push_back(emit(arg));
      return sched::MapOp::create(builder, e->loc, type, builder.getStringAttr(scalarOpInfo(e->op).name), args);
    }
    case ExprNode::Reduce: {
      DimSet over(e->over.begin(), e->over.end());
      llvm::SmallVector<mlir::Value> values;
      std::optional<Contraction> contraction;
      if (e->monoid == ReduceOp::Sum)
        contraction = splitContraction(pool, e->args[0], over, nullptr, dimOrder());
      if (contraction)
        values = {emit(contraction->lhs), emit(contraction->rhs)};
      else
        values = {emit(e->args[0])};
      llvm::SmallVector<llvm::StringRef> names(e->over.begin(), e->over.end());
      return sched::ReduceOp::create(builder, e->loc, type, builder.getStringAttr(reduceOpName(e->monoid)), values,
                                     builder.getStrArrayAttr(names));
    }
    case ExprNode::State:
      break;
    }
    return {};
  }

  std::vector<std::string> dimOrder() const {
    std::vector<std::string> result;
    for (const KernelDim &dim : plan.dims)
      result.push_back(dim.name);
    return result;
  }

  void emitStore(const KernelOutput &output, unsigned i) {
    Expr stored = pool.cast(output.resolved, llvm::cast<gir::TensorType>(output.value.getType()).getElementType(), false,
                            output.expr->loc);
    mlir::Value value = emit(stored);
    mlir::Value tensor = kernel.getBody().getArgument(kernel.getInputs().size() + i);
    sched::StoreOp::create(builder, output.expr->loc, value, tensor, strings(output.index));
  }

  /// The ranges of a pass along its last stream dimension, and which masks they account for.
  std::pair<Interval, Interval> ranges(unsigned pass) {
    const std::string &n = plan.stream.back();
    SymExpr size = pool.dimSize(n);
    MaskRange everything{{SymExpr(0), size}, Interval{SymExpr(0), size}};
    std::optional<Interval> live;
    MaskRange full = everything;
    auto contribution = [&](const Masks &found) {
      MaskRange mine = everything;
      for (auto &[where, condition] : found.conditionOf) {
        MaskRange range = maskRange(pool, condition, n, size);
        if (!range.full)
          continue;
        masks.insert(where);
        mine = intersect(mine, range);
      }
      full = intersect(full, mine);
      if (!live)
        live = mine.live;
      else
        live = Interval{SymExpr::min(live->lo, mine.live.lo), SymExpr::max(live->hi, mine.live.hi)};
    };
    for (const StreamState &state : plan.states) {
      if (!state.used || state.pass != pass || state.isGauge)
        continue;
      Masks found;
      if (state.gauge >= 0)
        found.inExponent(plan.states[state.gauge].exponent);
      if (state.monoid == ReduceOp::Sum)
        found.inProduct(state.value);
      else if (state.monoid == ReduceOp::Max)
        found.inExponent(state.value);
      contribution(found);
    }
    for (const KernelOutput &output : plan.outputs)
      if (output.pass == static_cast<int>(pass))
        contribution(Masks());
    return {live.value_or(everything.live), *full.full};
  }

  void emitPass(unsigned pass, mlir::Location loc) {
    streamValues.clear();
    masks.clear();
    auto [live, full] = ranges(pass);
    llvm::SmallVector<mlir::Type> stateTypes;
    for (const StreamState &state : plan.states)
      if (state.used && state.pass == pass)
        stateTypes.push_back(valType(state.node));
    llvm::SmallVector<llvm::StringRef> over(plan.stream.begin(), plan.stream.end());
    stream = sched::StreamOp::create(builder, loc, stateTypes, builder.getStrArrayAttr(over),
                                     strings({live.lo, live.hi}), strings({full.lo, full.hi}),
                                     builder.getF64FloatAttr(0));
    mlir::Block &block = stream.getBody().emplaceBlock();
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&block);
      std::map<unsigned, mlir::Value> gauges, weights;
      llvm::SmallVector<mlir::Value> yields;
      for (auto [number, state] : llvm::enumerate(plan.states)) {
        if (!state.used || state.pass != pass)
          continue;
        if (state.isGauge) {
          mlir::Value exponent = emit(state.exponent);
          mlir::Value gauge = sched::GaugeOp::create(builder, state.exponent->loc, valType(state.node), exponent);
          gauges[number] = gauge;
          weights[number] = sched::WeighOp::create(builder, state.exponent->loc, exponent.getType(), exponent, gauge);
          yields.push_back(gauge);
          continue;
        }
        yields.push_back(emitAccumulate(state, gauges, weights));
      }
      for (auto [i, output] : llvm::enumerate(plan.outputs))
        if (output.pass == static_cast<int>(pass))
          emitStore(output, i);
      sched::YieldOp::create(builder, loc, yields);
    }
    unsigned result = 0;
    for (const StreamState &state : plan.states)
      if (state.used && state.pass == pass)
        kernelValues[state.node] = stream.getResult(result++);
    stream = nullptr;
  }

  mlir::Value emitAccumulate(const StreamState &state, std::map<unsigned, mlir::Value> &gauges,
                             std::map<unsigned, mlir::Value> &weights) {
    mlir::Location loc = state.value->loc;
    mlir::Value gauge = state.gauge >= 0 ? gauges.at(state.gauge) : mlir::Value();
    mlir::Value weight = state.gauge >= 0 ? weights.at(state.gauge) : mlir::Value();
    llvm::SmallVector<mlir::Value> values;
    std::optional<Contraction> contraction;
    if (state.monoid == ReduceOp::Sum) {
      const DimSet *weightDims = state.gauge >= 0 ? &plan.states[state.gauge].exponent->dims : nullptr;
      contraction = splitContraction(pool, state.value, plan.streamSet(), weightDims, dimOrder());
    }
    auto weighted = [&](Expr factor, bool weigh) -> mlir::Value {
      if (!weigh)
        return emit(factor);
      if (!factor)
        return weight;
      mlir::Value other = emit(factor);
      DimSet dims = factor->dims;
      const DimSet &more = plan.states[state.gauge].exponent->dims;
      dims.insert(more.begin(), more.end());
      return sched::MapOp::create(builder, loc, valType(dims, factor->type),
                                  builder.getStringAttr(scalarOpInfo(ScalarOp::Mul).name),
                                  mlir::ValueRange{weight, other});
    };
    if (contraction)
      values = {weighted(contraction->lhs, contraction->weightOnLeft),
                weighted(contraction->rhs, contraction->weightOnRight)};
    else if (weight)
      values = {weighted(state.value->isConstant(1) ? nullptr : state.value, true)};
    else
      values = {emit(state.value)};
    return sched::AccumulateOp::create(builder, loc, valType(state.node),
                                       builder.getStringAttr(reduceOpName(state.monoid)), values, gauge);
  }

  mlir::OpBuilder &builder;
  ExprPool &pool;
  const KernelPlan &plan;
  sched::KernelOp kernel;
  sched::StreamOp stream;
  std::vector<mlir::Value> inputs;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::DenseMap<Expr, mlir::Value> kernelValues, streamValues;
  std::set<Expr> masks;
};
} // namespace

sched::KernelOp tessera::emitKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name, ExprPool &pool,
                                    const KernelPlan &plan, llvm::DenseMap<mlir::Value, mlir::Value> &written) {
  return Emitter(builder, pool, plan).run(loc, name, written);
}
