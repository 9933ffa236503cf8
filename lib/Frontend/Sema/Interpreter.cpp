//===- Interpreter.cpp - Statements -----------------------------------------------------------===//
#include "Interpreter.h"

#include "Emitter.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

ErrorBuilder::~ErrorBuilder() {
  diagnostic.message = sizes.readable(diagnostic.message);
  for (Diagnostic &note : diagnostic.notes)
    note.message = sizes.readable(note.message);
  noteCalls(diagnostic, frame);
}

ErrorBuilder &ErrorBuilder::note(SourceRange range, std::string text) {
  for (const Diagnostic &known : diagnostic.notes)
    if (known.range == range && known.message == text)
      return *this;
  diagnostic.note(range, std::move(text));
  return *this;
}

void ErrorBuilder::noteCalls(Diagnostic &diagnostic, const Frame *frame) {
  // An error in the call's own arguments already shows the innermost call.
  auto shows = [&](const Frame *call) {
    return call->callSite.file == diagnostic.range.file &&
           call->callSite.begin <= diagnostic.range.begin &&
           diagnostic.range.end <= call->callSite.end;
  };
  if (frame && frame->caller && shows(frame))
    frame = frame->caller;
  // Only both ends of a long chain are shown.
  std::vector<const Frame *> chain;
  for (const Frame *at = frame; at && at->caller; at = at->caller)
    if (at->callSite.isValid()) // a gradient calls its function without one
      chain.push_back(at);
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain.size() > 9 && i == 4) {
      diagnostic.note({}, "(" + std::to_string(chain.size() - 8) + " calls are not shown)");
      i = chain.size() - 4;
    }
    const std::string &name = chain[i]->function->name;
    diagnostic.note(chain[i]->callSite, chain[i]->isConstant
                                            ? "the value of '" + name + "' is needed here"
                                            : "in the call of '" + name + "' here");
  }
}

Interpreter::Interpreter(Program &program, Sizes &sizes, Emitter *emitter)
    : program(program), diagnostics(program.diagnostics), sizes(sizes), emitter(emitter) {
  if (emitter)
    emitter->in = this;
}

/// A message about a location is not repeated for the next iteration or call.
ErrorBuilder Interpreter::error(SourceRange range, std::string message) {
  bool again = range.isValid() && diagnostics.hasErrorAt(range);
  return ErrorBuilder(again ? diagnostics.repeated(range)
                            : diagnostics.error(range, std::move(message)),
                      frame, sizes);
}

bool Interpreter::spend(SourceRange range, uint64_t count) {
  steps += count;
  if (exhausted)
    return false;
  if (steps <= maxSteps)
    return true;
  exhausted = true;
  error(range, "the function takes too many steps to compile");
  return false;
}

//===------------------------------------------------------------------------------------------===//
// Blocks and loops
//===------------------------------------------------------------------------------------------===//

void Interpreter::runBody() {
  if (frame->function->gradient) {
    frame->result = runGradient(*frame->function->gradient);
    return;
  }
  const FunctionStmt &def = *frame->function->def;
  Flow flow = run(def.body);
  SourceRange range = def.nameRange;
  if (!exhausted && !diagnostics.hasErrors())
    checkRegionsWritten();
  if (flow != Flow::Return && def.returns && !exhausted) {
    if (!def.returns->is<NoneExpr>() && !diagnostics.hasErrors())
      error(range, "'" + frame->function->name + "' ends without a return")
          .note(def.returns->range, "a value is promised here");
    return;
  }
}

Interpreter::Flow Interpreter::run(Block block) {
  for (const Stmt *stmt : block) {
    Flow flow = run(stmt);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::run(const Stmt *stmt) {
  if (!spend(stmt->range))
    return Flow::Return;
  switch (stmt->kind) {
  case StmtKind::Assign: {
    const auto *node = stmt->as<AssignStmt>();
    Value value = eval(node->value);
    for (const Expr *target : node->targets)
      if (const auto *region = target->as<SubscriptExpr>())
        writeRegion(*region, value, node->value);
      else
        assign(target, value, node->value->range);
    return Flow::Next;
  }
  case StmtKind::AugAssign: {
    const auto *node = stmt->as<AugAssignStmt>();
    if (const auto *region = node->target->as<SubscriptExpr>()) {
      writeRegion(*region, eval(node->value), node->value, node);
      return Flow::Next;
    }
    if (!node->target->is<NameExpr>()) {
      assign(node->target, Value::none(), node->target->range);
      return Flow::Next;
    }
    Value left = eval(node->target);
    Value right = eval(node->value);
    Emitter::At at(emitter, stmt->range, node->opRange);
    assign(node->target,
           binary(node->op, left, right, node->target, node->value, stmt->range, node->opRange),
           stmt->range);
    return Flow::Next;
  }
  case StmtKind::AnnAssign: {
    const auto *node = stmt->as<AnnAssignStmt>();
    if (!node->value)
      return Flow::Next;
    Value value = eval(node->value);
    if (!value.isError())
      checkAnnotation(node->annotation, value, node->value->range, "the value");
    assign(node->target, value, node->value->range);
    return Flow::Next;
  }
  case StmtKind::Return: {
    const auto *node = stmt->as<ReturnStmt>();
    frame->result = node->value ? eval(node->value) : Value::none();
    frame->returned = node->value;
    const Expr *promised = frame->function->def->returns;
    if (promised && !frame->result.isError())
      checkAnnotation(promised, frame->result, node->value ? node->value->range : stmt->range,
                      "the result", node->value);
    return Flow::Return;
  }
  case StmtKind::For:
    return runFor(*stmt->as<ForStmt>());
  case StmtKind::If:
    return runIf(*stmt->as<IfStmt>());
  case StmtKind::Assert:
    runAssert(*stmt->as<AssertStmt>());
    return Flow::Next;
  case StmtKind::Expression: {
    const Expr *value = stmt->as<ExpressionStmt>()->value;
    // Strings are documentation.
    if (!value->is<StringExpr>()) {
      statement = value;
      eval(value);
      statement = nullptr;
    }
    return Flow::Next;
  }
  case StmtKind::Break:
    return Flow::Break;
  case StmtKind::Continue:
    return Flow::Continue;
  default:
    return Flow::Next;
  }
}

Interpreter::Flow Interpreter::runFor(const ForStmt &loop) {
  Value iterable = eval(loop.iterable);
  if (iterable.isError())
    return Flow::Next;
  if (iterable.isTensor()) {
    error(loop.iterable->range,
          "expected a range, a tuple or a list to loop over, found " + describe(iterable))
        .help("use operations on the whole tensor, or 'for i in range(n)' with x[i]");
    return Flow::Next;
  }
  auto step = [&](const Value &item) -> std::optional<Flow> {
    if (++iterations > maxIterations) {
      if (!exhausted)
        error(loop.iterable->range, "loops are unrolled, and this function's have more than " +
                                        std::to_string(maxIterations) + " iterations")
            .help("use operations on whole tensors");
      exhausted = true;
      return Flow::Return;
    }
    assign(loop.target, item, loop.iterable->range);
    Flow flow = run(loop.body);
    // After an error, more iterations are slow and add little.
    exhausted |= iterations > 1000 && diagnostics.hasErrors();
    if (exhausted || flow == Flow::Return)
      return Flow::Return;
    if (flow == Flow::Break)
      return Flow::Break;
    return std::nullopt;
  };

  std::optional<Flow> ended;
  if (iterable.is(Value::Range)) {
    const std::vector<Value> &parts = *iterable.elements;
    int64_t start = parts[0].number.constantValue(), stop = parts[1].number.constantValue();
    int64_t stride = parts[2].number.constantValue();
    for (int64_t i = start; !ended && (stride > 0 ? i < stop : i > stop);) {
      ended = step(Value::ofInt(SymExpr(i)));
      if (__builtin_add_overflow(i, stride, &i))
        break;
    }
  } else {
    if (!iterable.isSequence() && !iterable.is(Value::Str)) {
      ErrorBuilder report = error(loop.iterable->range, "expected a range, a tuple or a list to "
                                                        "loop over, found " +
                                                            describe(iterable));
      std::string text = textOf(loop.iterable);
      if (iterable.is(Value::Int) && !text.empty())
        report.help("did you mean 'range(" + text + ")'?")
            .fix(loop.iterable->range, "range(" + text + ")");
      return Flow::Next;
    }
    std::optional<std::vector<Value>> items =
        toSequence(iterable, loop.iterable->range, "the loop's values");
    if (!items)
      return Flow::Next;
    for (const Value &item : *items)
      if (!ended)
        ended = step(item);
  }
  if (ended == Flow::Return)
    return Flow::Return;
  return ended ? Flow::Next : run(loop.orElse);
}

Interpreter::Flow Interpreter::runIf(const IfStmt &stmt) {
  for (const IfBranch &branch : stmt.branches) {
    Value condition = eval(branch.condition);
    std::optional<bool> taken = truth(condition, branch.condition->range);
    if (!taken) {
      // The taken branch is not known; names bound in one of them must not cause further errors.
      for (const IfBranch &other : stmt.branches)
        for (const Stmt *inner : other.body)
          if (const auto *assigned = inner->as<AssignStmt>())
            for (const Expr *target : assigned->targets)
              if (const auto *name = target->as<NameExpr>())
                frame->locals[name->name] = Value::error();
      return Flow::Next;
    }
    if (*taken)
      return run(branch.body);
  }
  return run(stmt.orElse);
}

void Interpreter::runAssert(const AssertStmt &stmt) {
  Value condition = eval(stmt.condition);
  if (condition.isError())
    return;
  if (condition.is(Value::Tuple)) {
    ErrorBuilder report = error(stmt.condition->range, "an assertion on a tuple is always true");
    report.help("leave out the parentheses");
    std::string_view text = diagnostics.sources.text(stmt.condition->range);
    if (stmt.condition->is<TupleExpr>() && text.starts_with("(") && text.ends_with(")"))
      report.fix(stmt.condition->range, std::string(text.substr(1, text.size() - 2)));
    return;
  }
  std::optional<bool> holds = truth(condition, stmt.condition->range, "an assertion");
  if (!holds || *holds)
    return;
  std::string message = "assertion failed";
  if (stmt.message) {
    const auto *text = stmt.message->as<StringExpr>();
    message +=
        ": " + std::string(text ? text->value : diagnostics.sources.text(stmt.message->range));
  }
  ErrorBuilder report = error(stmt.condition->range, message);
  // The compared values, as far as the text does not show them.
  const auto *compared = stmt.condition->as<CompareExpr>();
  for (const Expr *operand : compared ? compared->operands : ExprList()) {
    if (operand->is<IntegerExpr>() || operand->is<FloatExpr>() || operand->is<StringExpr>())
      continue;
    Value value = eval(operand);
    if (value.isStaticNumber())
      report.note(operand->range, "this is " + (value.is(Value::Float) ? floatText(value.real)
                                                                       : value.number.str()));
  }
}

void Interpreter::assign(const Expr *target, const Value &value, SourceRange valueRange) {
  switch (target->kind) {
  case ExprKind::Name: {
    std::string_view name = target->as<NameExpr>()->name;
    auto region = frame->regions.find(name);
    if (region != frame->regions.end() && region->second.privileges != Region::Read) {
      error(target->range, "'" + std::string(name) + "' is a region: its name cannot be bound anew")
          .help("write " + std::string(name) + "[...] = value")
          .fix(target->range, std::string(name) + "[...]")
          .note(region->second.range, "the privileges are given here");
      return;
    }
    if (region != frame->regions.end())
      frame->regions.erase(region);
    frame->locals[name] = value;
    return;
  }
  case ExprKind::Tuple:
  case ExprKind::List: {
    ExprList targets = target->is<TupleExpr>() ? target->as<TupleExpr>()->elements
                                               : target->as<ListExpr>()->elements;
    std::vector<Value> items(targets.size());
    if (!value.isError()) {
      std::optional<std::vector<Value>> unpacked =
          toSequence(value, valueRange, "the values to unpack");
      if (unpacked && unpacked->size() != targets.size())
        error(target->range, "expected " + counted(targets.size(), "value") + " to unpack, found " +
                                 std::to_string(unpacked->size()))
            .note(valueRange, unpacked->size() == 1 ? "the value is here" : "the values are here");
      else if (unpacked)
        items = std::move(*unpacked);
    }
    for (size_t i = 0; i < targets.size(); ++i)
      assign(targets[i], items[i], valueRange);
    return;
  }
  case ExprKind::Subscript:
    error(target->range, "tensors and tuples cannot be changed in place")
        .help("build a new one with tsr.where, tsr.concat or slices");
    return;
  case ExprKind::Attribute:
    error(target->range, "attributes cannot be assigned in a @tsr.function")
        .help("return the new value");
    return;
  default:
    return;
  }
}
