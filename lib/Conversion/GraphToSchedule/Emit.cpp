//===- Emit.cpp - Writing a planned kernel as Schedule IR -----------------===//
#include "Emit.h"
#include "Blocks.h"
#include "Contraction.h"
#include "Pull.h"

#include "tessera/Dialect/Common/ScalarTypes.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace tessera;

namespace {
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, ExprPool &pool, const KernelPlan &plan)
      : builder(builder), pool(pool), plan(plan) {}

  sched::KernelOp run(mlir::Location loc, llvm::StringRef name,
                      llvm::DenseMap<mlir::Value, mlir::Value> &written) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    open(loc, name, written);
    for (unsigned pass = 0; pass < plan.passes; ++pass)
      emitPass(pass, loc);
    close(written);
    return kernel;
  }

private:
  /// Makes the kernel and its block: arguments for the graph values it reads and for the outputs it
  /// writes.
  void open(mlir::Location loc, llvm::StringRef name,
            const llvm::DenseMap<mlir::Value, mlir::Value> &written) {
    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Value> operands;
    std::vector<mlir::Value> reads = tensorsRead();
    for (mlir::Value input : reads)
      operands.push_back(llvm::isa<mlir::BlockArgument>(input) ? input : written.lookup(input));
    llvm::SmallVector<int64_t> into;
    for (const KernelOutput &output : plan.outputs) {
      // Parts of one tensor are stored into one result.
      if (output.check ||
          !resultOf.insert({output.value.getAsOpaquePointer(), types.size()}).second)
        continue;
      types.push_back(output.type);
      mlir::Value existing = written.lookup(output.value);
      into.push_back(existing ? static_cast<int64_t>(operands.size()) : -1);
      if (existing)
        operands.push_back(existing);
    }
    makeKernel(loc, name, operands, types);
    if (llvm::any_of(into, [](int64_t i) { return i >= 0; }))
      kernel->setAttr("into", builder.getDenseI64ArrayAttr(into));
    for (auto [i, input] : llvm::enumerate(reads))
      arguments[input] = kernel.getBody().getArgument(i);
  }

  void makeKernel(mlir::Location loc, llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                  llvm::ArrayRef<mlir::Type> types) {
    llvm::SmallVector<mlir::Attribute> attributes;
    llvm::SmallVector<llvm::StringRef> order;
    for (const KernelDim &dim : plan.dims)
      attributes.push_back(sched::DimAttr::get(builder.getContext(),
                                               builder.getStringAttr(dim.name), dim.size,
                                               builder.getStringAttr(dim.role), /*tile=*/1));
    for (const KernelDim &dim : llvm::reverse(plan.dims))
      if (dim.role == sched::kParallel)
        order.push_back(dim.name);
    kernel =
        sched::KernelOp::create(builder, loc, types, builder.getStringAttr(name), operands,
                                builder.getArrayAttr(attributes), builder.getStrArrayAttr(order));
    if (!plan.notes.empty()) {
      llvm::SmallVector<llvm::StringRef> notes(plan.notes.begin(), plan.notes.end());
      kernel->setAttr("sched.notes", builder.getStrArrayAttr(notes));
    }
    if (contracts())
      kernel->setAttr(sched::kContracts, builder.getUnitAttr());
    if (plan.padsRows)
      kernel->setAttr(sched::kPadsRows, builder.getUnitAttr());
    mlir::Block &block = kernel.getBody().emplaceBlock();
    for (mlir::Value operand : operands)
      block.addArgument(operand.getType(), loc);
    for (mlir::Type type : types)
      block.addArgument(type, loc);
    builder.setInsertionPointToEnd(&block);
  }

  /// Whether a reduction of the kernel comes from a `gir.contract`.
  bool contracts() const {
    std::vector<Expr> roots;
    for (const KernelOutput &output : plan.outputs)
      roots.push_back(output.expr);
    bool found = false;
    visitExprs(roots, [&](Expr e) {
      found |= (e->kind == ExprNode::Reduce || e->kind == ExprNode::Scan) && e->origin &&
               e->origin.getDefiningOp<gir::ContractOp>();
    });
    return found;
  }

  /// Stores what is left and makes the outputs known.
  void close(llvm::DenseMap<mlir::Value, mlir::Value> &written) {
    for (const KernelOutput &output : plan.outputs) {
      if (output.pass < 0 || plan.stream.empty())
        emitStore(output);
      if (output.value)
        written[output.value] = kernel.getResult(resultOf.at(output.value.getAsOpaquePointer()));
    }
  }

  /// The tensors that the outputs' own expressions read, then those that the states read.
  std::vector<mlir::Value> tensorsRead() {
    std::vector<Expr> roots;
    for (const KernelOutput &output : plan.outputs) {
      roots.push_back(output.resolved);
      for (const ExprPool::GatherIndex &place : pool.gathersIn(output.index))
        roots.push_back(place.value);
    }
    for (const StreamState &state : plan.states)
      if (state.used)
        roots.push_back(state.isGauge ? state.exponent : state.value);
    std::vector<mlir::Value> result;
    visitExprs(roots, [&](Expr e) {
      if (e->kind == ExprNode::Load && !llvm::is_contained(result, e->tensor))
        result.push_back(e->tensor);
    });
    return result;
  }

  sched::ValType valType(Expr e) { return valType(e->dims, e->type); }
  sched::ValType valType(const DimSet &set, mlir::Type type) {
    llvm::SmallVector<mlir::StringAttr> names;
    for (const KernelDim &dim : plan.dims)
      if (set.count(dim.name))
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

  /// 2^((exponent - gauge) · scale) against the final gauge of an earlier pass: the weight that
  /// pass has used.
  struct Weight {
    Expr exponent, gauge;
    double scale;
  };
  std::optional<Weight> asWeight(Expr e) {
    if (!e->isMap(ScalarOp::Exp2) || !e->args[0]->isMap(ScalarOp::Mul))
      return std::nullopt;
    Expr factor = e->args[0]->args[1], difference = e->args[0]->args[0];
    if (difference->kind == ExprNode::Constant)
      std::swap(factor, difference);
    if (factor->kind != ExprNode::Constant || !difference->isMap(ScalarOp::Sub))
      return std::nullopt;
    Expr gauge = difference->args[1];
    if (gauge->kind != ExprNode::State || !plan.states[gauge->state].isGauge)
      return std::nullopt;
    return Weight{difference->args[0], gauge, factor->number};
  }

  /// Emits an expression where its operands live: inside the stream if it depends on it, before it
  /// otherwise.
  mlir::Value emit(Expr e) {
    bool inside = stream && (e->dependsOn(plan.streamSet()));
    auto &memo = inside ? streamValues : kernelValues;
    auto it = memo.find(e);
    if (it != memo.end())
      return it->second;
    if (e->kind == ExprNode::State)
      return running.count(e) ? running.at(e) : kernelValues.at(e);
    mlir::OpBuilder::InsertionGuard guard(builder);
    if (stream && !inside)
      builder.setInsertionPoint(stream);
    mlir::Value value = create(e);
    (inside ? streamValues : kernelValues)[e] = value;
    return value;
  }

  /// An index in the text, in which values are `#0`, `#1`, …
  struct PlacedIndex {
    mlir::ArrayAttr index;
    llvm::SmallVector<mlir::Value> places;
    mlir::ArrayAttr below;
  };
  PlacedIndex placedIndex(llvm::ArrayRef<SymExpr> indices) {
    PlacedIndex result;
    std::map<std::string, SymExpr> names;
    llvm::SmallVector<SymExpr> below, index;
    for (const ExprPool::GatherIndex &place : pool.gathersIn(indices)) {
      names.emplace(place.symbol, SymExpr::symbol("#" + std::to_string(below.size())));
      result.places.push_back(emit(place.value));
      below.push_back(place.size);
    }
    for (SymExpr i : indices)
      index.push_back(i.substitute([&](const std::string &name) -> std::optional<SymExpr> {
        auto it = names.find(name);
        return it == names.end() ? std::nullopt : std::optional<SymExpr>(it->second);
      }));
    result.index = strings(index);
    if (!below.empty())
      result.below = strings(below);
    return result;
  }

  mlir::Value create(Expr e) {
    sched::ValType type = valType(e);
    switch (e->kind) {
    case ExprNode::Constant:
      return sched::ConstantOp::create(builder, e->loc, type, number(e->number, e->type));
    case ExprNode::Index:
      return sched::IndexOp::create(builder, e->loc, type, builder.getStringAttr(e->index.str()));
    case ExprNode::Load: {
      PlacedIndex at = placedIndex(e->indices);
      return sched::LoadOp::create(builder, e->loc, type, arguments.at(e->tensor), at.index,
                                   at.places, at.below);
    }
    case ExprNode::Cast:
      return sched::CastOp::create(builder, e->loc, type, emit(e->args[0]));
    case ExprNode::Map: {
      auto mask = masks.find(e);
      if (mask != masks.end()) {
        mlir::Value condition = emit(e->args[0]), value = emit(e->args[1]);
        return sched::MaskOp::create(builder, e->loc, type, condition, value,
                                     number(e->args[2]->number, e->type));
      }
      if (auto weight = asWeight(e))
        return sched::WeighOp::create(builder, e->loc, type, emit(weight->exponent),
                                      emit(weight->gauge), builder.getF64FloatAttr(weight->scale));
      llvm::SmallVector<mlir::Value> args;
      for (Expr arg : e->args)
        args.push_back(emit(arg));
      return sched::MapOp::create(builder, e->loc, type,
                                  builder.getStringAttr(scalarOpInfo(e->op).name), args);
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
      return sched::ReduceOp::create(builder, e->loc, type,
                                     builder.getStringAttr(reduceOpName(e->monoid)), values,
                                     builder.getStrArrayAttr(names));
    }
    case ExprNode::Scan: {
      bool hasKey = e->args.size() > 1;
      return sched::ScanOp::create(
          builder, e->loc, type, builder.getStringAttr(reduceOpName(e->monoid)), emit(e->args[0]),
          hasKey ? emit(e->args[1]) : mlir::Value(),
          hasKey ? builder.getI64IntegerAttr(int64_t(e->number)) : mlir::IntegerAttr());
    }
    case ExprNode::Sort:
      return sched::SortOp::create(builder, e->loc, type, emit(e->args[0]));
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

  /// The condition precedes the value that is reported.
  void emitCheck(const KernelOutput &condition, const KernelOutput &value) {
    mlir::Value holds = emit(condition.resolved), reported = emit(value.resolved);
    sched::CheckOp::create(builder, condition.check->getLoc(), holds, reported,
                           llvm::cast<gir::CheckOp>(condition.check).getFailure());
  }

  void emitStore(const KernelOutput &output) {
    if (output.check) {
      const KernelOutput *next = &output + 1;
      bool isCondition = output.expr->type.isInteger(1);
      return isCondition ? emitCheck(output, *next) : void();
    }
    Expr stored = pool.cast(output.resolved,
                            llvm::cast<gir::TensorType>(output.value.getType()).getElementType(),
                            false, output.expr->loc);
    mlir::Value value = emit(stored);
    mlir::Value tensor = kernel.getOutputArgument(resultOf.at(output.value.getAsOpaquePointer()));
    PlacedIndex at = placedIndex(output.index);
    sched::StoreOp::create(builder, output.expr->loc, value, tensor, at.index, at.places, at.below,
                           output.isSum, output.isUnordered);
  }

  mlir::Value emitMap(ScalarOp op, llvm::ArrayRef<mlir::Value> args, mlir::Location loc) {
    DimSet set;
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value arg : args) {
      auto type = llvm::cast<sched::ValType>(arg.getType());
      types.push_back(type.getElementType());
      for (mlir::StringAttr dim : type.getDims())
        set.insert(dim.str());
    }
    return sched::MapOp::create(builder, loc, valType(set, scalarOpResultType(op, types)),
                                builder.getStringAttr(scalarOpInfo(op).name), args);
  }

  /// An extreme of an expression over the block; before the stream if it does not depend on it.
  mlir::Value emitBound(Expr e, ReduceOp kind) {
    llvm::SmallVector<llvm::StringRef> over;
    DimSet rest = e->dims;
    for (const KernelDim &dim : plan.dims)
      if (e->dims.count(dim.name)) {
        over.push_back(dim.name);
        rest.erase(dim.name);
      }
    mlir::Value value = emit(e);
    if (over.empty())
      return value;
    mlir::OpBuilder::InsertionGuard guard(builder);
    if (!e->dependsOn(plan.streamSet()))
      builder.setInsertionPoint(stream);
    return sched::BoundOp::create(builder, e->loc, valType(rest, e->type),
                                  builder.getStringAttr(reduceOpName(kind)), value,
                                  builder.getStrArrayAttr(over));
  }

  /// The least and the largest value over the block.
  using Bounds = std::pair<mlir::Value, mlir::Value>;

  mlir::Value emitInteger(int64_t value, Expr like) {
    return emit(pool.constant(double(value), like->type));
  }

  /// Of an index: linear in its dimensions, each of which has its bounds.
  std::optional<Bounds> emitIndexInterval(Expr e) {
    SymExpr rest = e->index;
    mlir::Value low, high;
    for (const std::string &dim : e->dims) {
      SymExpr others;
      std::optional<int64_t> slope = coefficientOf(rest, dim, others);
      if (!slope)
        return std::nullopt;
      rest = others;
      Expr along = pool.index(SymExpr::symbol(dim), e->type);
      mlir::Value factor = emitInteger(*slope, e);
      auto term = [&](ReduceOp kind) {
        mlir::Value bound = emitBound(along, kind);
        return *slope == 1 ? bound : emitMap(ScalarOp::Mul, {factor, bound}, e->loc);
      };
      bool isRising = *slope > 0;
      mlir::Value least = term(isRising ? ReduceOp::Min : ReduceOp::Max),
                  most = term(isRising ? ReduceOp::Max : ReduceOp::Min);
      low = low ? emitMap(ScalarOp::Add, {low, least}, e->loc) : least;
      high = high ? emitMap(ScalarOp::Add, {high, most}, e->loc) : most;
    }
    if (!low || rest.isConstant(0))
      return low ? std::optional(Bounds(low, high)) : std::nullopt;
    mlir::Value offset = emit(pool.index(rest, e->type));
    return Bounds(emitMap(ScalarOp::Add, {low, offset}, e->loc),
                  emitMap(ScalarOp::Add, {high, offset}, e->loc));
  }

  /// Whether the result may not be a number of the type. Positions are small.
  static bool mayOverflow(Expr e) {
    static const std::set<ScalarOp> growing = {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul,
                                               ScalarOp::Neg, ScalarOp::Abs};
    return growing.count(e->op) && (readsData(e) || !e->type.isInteger(64));
  }

  /// Of an operation on integers, from the bounds of its operands.
  std::optional<Bounds> emitMapInterval(Expr e) {
    if (mayOverflow(e))
      return std::nullopt;
    mlir::Location loc = e->loc;
    auto map = [&](ScalarOp op, mlir::Value a, mlir::Value b) { return emitMap(op, {a, b}, loc); };
    auto negated = [&](Bounds x) {
      return Bounds(emitMap(ScalarOp::Neg, {x.second}, loc),
                    emitMap(ScalarOp::Neg, {x.first}, loc));
    };
    auto operand = [&](unsigned i) { return emitInterval(e->args[i]); };
    unsigned last = 1; // the operand that may be constant
    if (e->op == ScalarOp::Mul && e->args[0]->kind == ExprNode::Constant)
      last = 0;
    std::optional<int64_t> constant;
    if (e->args.size() == 2 && e->args[last]->kind == ExprNode::Constant)
      constant = int64_t(e->args[last]->number);
    switch (e->op) {
    case ScalarOp::Add:
    case ScalarOp::Minimum:
    case ScalarOp::Maximum: {
      Bounds a = operand(0), b = operand(1);
      return Bounds(map(e->op, a.first, b.first), map(e->op, a.second, b.second));
    }
    case ScalarOp::Sub: {
      Bounds a = operand(0), b = operand(1);
      return Bounds(map(e->op, a.first, b.second), map(e->op, a.second, b.first));
    }
    case ScalarOp::Neg:
      return negated(operand(0));
    case ScalarOp::Abs: {
      Bounds a = operand(0), other = negated(a);
      mlir::Value zero = emitInteger(0, e);
      return Bounds(map(ScalarOp::Maximum, zero, map(ScalarOp::Maximum, a.first, other.first)),
                    map(ScalarOp::Maximum, a.second, other.second));
    }
    case ScalarOp::Mul: {
      if (!constant)
        return std::nullopt;
      Bounds a = operand(1 - last);
      mlir::Value factor = emit(e->args[last]);
      Bounds product(map(e->op, a.first, factor), map(e->op, a.second, factor));
      return *constant >= 0 ? product : Bounds(product.second, product.first);
    }
    case ScalarOp::FloorDiv:
    case ScalarOp::Remainder: {
      if (!constant || *constant <= 0)
        return std::nullopt;
      Bounds a = operand(0);
      mlir::Value divisor = emit(e->args[1]);
      Bounds quotient(map(ScalarOp::FloorDiv, a.first, divisor),
                      map(ScalarOp::FloorDiv, a.second, divisor));
      if (e->op == ScalarOp::FloorDiv)
        return quotient;
      // Over several multiples of the divisor, any remainder may occur.
      mlir::Value isOne = map(ScalarOp::Eq, quotient.first, quotient.second),
                  first = map(ScalarOp::Mul, quotient.first, divisor);
      return Bounds(
          emitMap(ScalarOp::Where, {isOne, map(ScalarOp::Sub, a.first, first), emitInteger(0, e)},
                  loc),
          emitMap(ScalarOp::Where,
                  {isOne, map(ScalarOp::Sub, a.second, first), emitInteger(*constant - 1, e)},
                  loc));
    }
    case ScalarOp::Where: {
      auto [maybe, always] = emitTest(e->args[0]);
      Bounds a = operand(1), b = operand(2);
      auto choose = [&](ScalarOp op, mlir::Value x, mlir::Value y) {
        mlir::Value either = emitMap(ScalarOp::Where, {maybe, map(op, x, y), y}, loc);
        return emitMap(ScalarOp::Where, {always, x, either}, loc);
      };
      return Bounds(choose(ScalarOp::Minimum, a.first, b.first),
                    choose(ScalarOp::Maximum, a.second, b.second));
    }
    default:
      return std::nullopt;
    }
  }

  /// Bounds of integers over the block. What is not reduced as a whole is reduced dimension by
  /// dimension, and bounds are computed from bounds: they need not be attained.
  Bounds emitInterval(Expr e) {
    auto known = intervals.find(e);
    if (known != intervals.end())
      return known->second;
    std::optional<Bounds> result;
    bool isWhole = plan.visit == KernelPlan::Visit::Range || e->type.isInteger(1);
    if (!isWhole && e->kind == ExprNode::Index)
      result = emitIndexInterval(e);
    else if (!isWhole && e->kind == ExprNode::Map)
      result = emitMapInterval(e);
    if (!result)
      result = Bounds(emitBound(e, ReduceOp::Min), emitBound(e, ReduceOp::Max));
    return intervals[e] = *result;
  }

  Bounds emitComparison(Expr e) {
    mlir::Location loc = e->loc;
    auto map = [&](ScalarOp op, mlir::Value a, mlir::Value b) { return emitMap(op, {a, b}, loc); };
    bool swapped = e->op == ScalarOp::Gt || e->op == ScalarOp::Ge;
    Bounds a = emitInterval(e->args[swapped]), b = emitInterval(e->args[!swapped]);
    if (e->op != ScalarOp::Eq && e->op != ScalarOp::Ne) {
      ScalarOp less = e->op == ScalarOp::Lt || e->op == ScalarOp::Gt ? ScalarOp::Lt : ScalarOp::Le;
      return {map(less, a.first, b.second), map(less, a.second, b.first)};
    }
    Bounds equal(map(ScalarOp::And, map(ScalarOp::Le, a.first, b.second),
                     map(ScalarOp::Le, b.first, a.second)),
                 map(ScalarOp::And, map(ScalarOp::Eq, a.first, b.second),
                     map(ScalarOp::Eq, a.second, b.first)));
    return e->op == ScalarOp::Eq ? equal : negate(equal, loc);
  }

  Bounds negate(Bounds test, mlir::Location loc) {
    return {emitMap(ScalarOp::Not, {test.second}, loc), emitMap(ScalarOp::Not, {test.first}, loc)};
  }

  /// Whether the condition may hold somewhere in the block, and whether it holds everywhere (Kleene
  /// logic on intervals).
  Bounds emitTest(Expr e) {
    mlir::Location loc = e->loc;
    auto both = [&](ScalarOp op, Bounds a, Bounds b) {
      return Bounds(emitMap(op, {a.first, b.first}, loc), emitMap(op, {a.second, b.second}, loc));
    };
    if (!isDecided(e)) // of a select: it may hold anywhere
      return {emit(pool.constant(1, e->type)), emit(pool.constant(0, e->type))};
    if (e->kind != ExprNode::Map)
      return {emitBound(e, ReduceOp::Any), emitBound(e, ReduceOp::All)};
    if (e->op == ScalarOp::Not)
      return negate(emitTest(e->args[0]), loc);
    if (e->op == ScalarOp::And || e->op == ScalarOp::Or)
      return both(e->op, emitTest(e->args[0]), emitTest(e->args[1]));
    if (!e->args[0]->type.isInteger(1))
      return emitComparison(e);
    // Equal bools: both hold, or none.
    Bounds a = emitTest(e->args[0]), b = emitTest(e->args[1]);
    Bounds equal = both(ScalarOp::Or, both(ScalarOp::And, a, b),
                        both(ScalarOp::And, negate(a, loc), negate(b, loc)));
    return e->op == ScalarOp::Eq ? equal : negate(equal, loc);
  }

  /// A block is left out if every contribution has a condition that holds nowhere in it.
  void emitVisit(const Blocks &blocks, mlir::Location loc) {
    mlir::Value live, full;
    for (const std::vector<Expr> &conditions : blocks.tests) {
      mlir::Value mine;
      for (Expr condition : conditions) {
        auto [maybe, always] = emitTest(condition);
        mine = mine ? emitMap(ScalarOp::And, {mine, maybe}, loc) : maybe;
        full = full ? emitMap(ScalarOp::And, {full, always}, loc) : always;
      }
      live = live ? emitMap(ScalarOp::Or, {live, mine}, loc) : mine;
    }
    sched::VisitOp::create(builder, loc, live, full,
                           /*as_range=*/plan.visit == KernelPlan::Visit::Range,
                           /*as_list=*/plan.visit == KernelPlan::Visit::List);
  }

  void emitPass(unsigned pass, mlir::Location loc) {
    streamValues.clear();
    intervals.clear();
    Blocks known = analyseBlocks(pool, plan, pass);
    masks = known.masks;
    Interval live = known.live, full = known.full;
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
      if (!known.tests.empty())
        emitVisit(known, loc);
      std::map<unsigned, mlir::Value> gauges, weights;
      llvm::SmallVector<mlir::Value> yields;
      for (auto [number, state] : llvm::enumerate(plan.states)) {
        if (!state.used || state.pass != pass)
          continue;
        if (state.isGauge) {
          mlir::Value exponent = emit(state.exponent);
          addGauge(state, number, exponent, gauges, weights);
          if (state.isIndicator)
            running[state.node] = gauges[number];
          yields.push_back(gauges[number]);
          continue;
        }
        yields.push_back(emitAccumulate(state, gauges, weights));
      }
      for (const KernelOutput &output : plan.outputs)
        if (output.pass == static_cast<int>(pass))
          emitStore(output);
      sched::YieldOp::create(builder, loc, yields);
    }
    running.clear();
    unsigned result = 0;
    for (const StreamState &state : plan.states)
      if (state.used && state.pass == pass)
        kernelValues[state.node] = stream.getResult(result++);
    stream = nullptr;
  }

  /// Where the program reduces; of a state that the compiler made, where its values are from.
  static mlir::Location locationOf(const StreamState &state, Expr values) {
    return state.loc && !llvm::isa<mlir::UnknownLoc>(*state.loc) ? *state.loc : values->loc;
  }

  void addGauge(const StreamState &state, unsigned number, mlir::Value exponent,
                std::map<unsigned, mlir::Value> &gauges, std::map<unsigned, mlir::Value> &weights) {
    mlir::FloatAttr scale = builder.getF64FloatAttr(state.scale * M_LOG2E);
    mlir::Location loc = locationOf(state, state.exponent);
    if (state.isIndicator) {
      gauges[number] = sched::GaugeOp::create(builder, loc, valType(state.node), exponent,
                                              builder.getF64FloatAttr(1), builder.getUnitAttr());
      return;
    }
    gauges[number] = sched::GaugeOp::create(builder, loc, valType(state.node), exponent, scale,
                                            mlir::UnitAttr());
    weights[number] =
        sched::WeighOp::create(builder, loc, exponent.getType(), exponent, gauges[number], scale);
  }

  mlir::Value emitAccumulate(const StreamState &state, std::map<unsigned, mlir::Value> &gauges,
                             std::map<unsigned, mlir::Value> &weights) {
    mlir::Location loc = locationOf(state, state.value);
    mlir::Value gauge = state.gauge >= 0 ? gauges.at(state.gauge) : mlir::Value();
    const StreamState *weighing = plan.weightOf(state);
    mlir::Value weight = weighing ? weights.at(state.gauge) : mlir::Value();
    llvm::SmallVector<mlir::Value> values;
    std::optional<Contraction> contraction;
    if (state.monoid == ReduceOp::Sum) {
      const DimSet *weightDims = weighing ? &weighing->exponent->dims : nullptr;
      contraction = splitContraction(pool, state.value, plan.streamSet(), weightDims, dimOrder());
    }
    auto weighted = [&](Expr factor, bool weigh) -> mlir::Value {
      if (!weigh)
        return emit(factor);
      if (!factor)
        return weight;
      mlir::Value other = emit(factor);
      DimSet dims = factor->dims;
      const DimSet &more = weighing->exponent->dims;
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
                                       builder.getStringAttr(reduceOpName(state.monoid)), values,
                                       gauge);
  }

  mlir::OpBuilder &builder;
  ExprPool &pool;
  const KernelPlan &plan;
  sched::KernelOp kernel;
  std::map<void *, unsigned> resultOf; ///< by the graph value that is stored
  sched::StreamOp stream;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::DenseMap<Expr, mlir::Value> kernelValues, streamValues;
  llvm::DenseMap<Expr, Bounds> intervals;    ///< of the current pass
  llvm::DenseMap<Expr, mlir::Value> running; ///< indicators inside their stream
  std::set<Expr> masks;
};
} // namespace

sched::KernelOp tessera::emitKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                    llvm::StringRef name, ExprPool &pool, const KernelPlan &plan,
                                    llvm::DenseMap<mlir::Value, mlir::Value> &written) {
  return Emitter(builder, pool, plan).run(loc, name, written);
}
