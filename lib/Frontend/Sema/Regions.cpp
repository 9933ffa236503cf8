//===- Regions.cpp - Privileges on arguments ------------------------------===//
//
// `Region[read]` is read and never changed. `Region[write]` is written as a whole, `y[...] =
// value`, and not read before that. `Region[reduce_sum]` is added to, `y[...] += value`, and never
// read. `Region[read | write]` is both read and written. Written regions become the function's
// first results, before the returned values; callers pass the argument's own memory for them.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

static std::string privilegesText(unsigned privileges) {
  std::string text;
  for (unsigned i = 0; i < std::size(privilegeNames); ++i)
    if (privileges >> i & 1)
      text += (text.empty() ? "" : " | ") + std::string(privilegeNames[i]);
  return text;
}

/// "read", read, "read|write", read | write. 0 after an error.
static unsigned readPrivileges(Interpreter &in, const Expr *expr) {
  if (const auto *both = expr->as<BinaryExpr>(); both && both->op == BinaryOp::Or) {
    unsigned left = readPrivileges(in, both->left), right = readPrivileges(in, both->right);
    return left && right ? left | right : 0;
  }
  Value value = in.eval(expr);
  if (value.isError())
    return 0;
  auto wrong = [&](const std::string &found, llvm::StringRef near) {
    ErrorBuilder report = in.error(
        expr->range, "expected read, write or reduce_sum in 'Region[...]', found " + found);
    std::string_view meant = closestName(near, privilegeNames);
    report.didYouMean(expr->is<StringExpr>() ? "" : meant);
    if (expr->is<StringExpr>() && !meant.empty())
      report.help("did you mean '" + std::string(meant) + "'?")
          .fix(expr->range, '"' + std::string(meant) + '"');
    return 0u;
  };
  if (!value.is(Value::Str))
    return wrong(describe(value), "");
  unsigned privileges = 0;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(*value.text).split(words, '|');
  for (llvm::StringRef word : words) {
    const auto *known = llvm::find(privilegeNames, std::string_view(word.trim()));
    if (known == std::end(privilegeNames))
      return wrong(describe(value), word.trim());
    privileges |= 1u << (known - privilegeNames);
  }
  return privileges;
}

Interpreter::AnnotationKind Interpreter::readRegion(const SubscriptExpr &annotation,
                                                    TensorAnnotation &tensor) {
  const Expr *first = annotation.indices[0];
  unsigned privileges = readPrivileges(*this, first);
  if (!privileges)
    return AnnotationKind::Error;
  if (privileges & Region::ReduceSum && privileges != Region::ReduceSum) {
    error(first->range, "reduce_sum cannot be combined with other privileges: the region is "
                        "neither read nor written")
        .help("use read | write to do both");
    return AnnotationKind::Error;
  }
  ExprList rest = annotation.indices.subspan(1);
  // `Region[read, Tensor["M", "N"]]`
  const auto *inner = rest.size() == 1 ? rest[0]->as<SubscriptExpr>() : nullptr;
  AnnotationKind kind = inner ? readAnnotation(inner, tensor) : readDims(rest, tensor);
  if (kind == AnnotationKind::Other) {
    error(rest[0]->range, "expected 'Tensor[...]', or names, sizes and a type in 'Region[...]'");
    return AnnotationKind::Error;
  }
  tensor.range = annotation.range;
  tensor.privileges = privileges;
  tensor.privilegeRange = first->range;
  return kind;
}

void Interpreter::declareRegion(std::string_view name, const TensorAnnotation &annotation) {
  if (!annotation.privileges)
    return;
  Region &region = frame->regions[name];
  region.privileges = annotation.privileges;
  region.range = annotation.privilegeRange;
  region.value = frame->locals[name];
}

Value Interpreter::readRegionValue(const std::string &name, Region &region, SourceRange range) {
  bool isOwn = region.isWritten && region.privileges & Region::Write;
  if (isOwn || region.privileges & Region::Read)
    return region.value;
  ErrorBuilder report = error(range, "'" + name + "' cannot be read: its privilege is " +
                                         privilegesText(region.privileges));
  if (region.privileges == Region::Write)
    report.help("write it first, or make it read | write")
        .fix(region.range, std::string(diagnostics.sources.text(region.range).starts_with("\"")
                                           ? "\"read|write\""
                                           : "read | write"));
  report.note(region.range, "the privilege is given here");
  return report;
}

/// Whether the indices select the whole tensor: `...`, `:`, and several of them.
static bool isWhole(const SubscriptExpr &target) {
  return llvm::all_of(target.indices, [](const Expr *index) {
    const auto *slice = index->as<SliceExpr>();
    return index->is<EllipsisExpr>() || (slice && !slice->lower && !slice->upper && !slice->step);
  });
}

void Interpreter::writeRegion(const SubscriptExpr &target, const Value &value, const Expr *written,
                              const AugAssignStmt *update) {
  const auto *base = target.base->as<NameExpr>();
  auto found = base ? frame->regions.find(base->name) : frame->regions.end();
  if (found == frame->regions.end()) {
    ErrorBuilder report = error(target.range, "tensors and tuples cannot be changed in place");
    report.help("build a new one with tsr.where, tsr.concat or slices");
    for (const Param &param : frame->function->def->params)
      if (base && param.name == base->name && isWhole(target))
        report.note(param.nameRange, "an argument that is written is annotated as Region[write]");
    return;
  }
  std::string name(base->name);
  Region &region = found->second;
  if (value.isError() || region.value.isError())
    return;
  auto refused = [&](const std::string &what) {
    error(target.range, "'" + name + "' cannot be " + what + ": its privilege is " +
                            privilegesText(region.privileges))
        .note(region.range, "the privilege is given here");
  };
  if (frame->caller) {
    error(target.range, "only the function that is called from outside can write its arguments")
        .help("return the value");
    return;
  }
  bool isSum = update && (update->op == BinaryOp::Add || update->op == BinaryOp::Sub);
  bool mayWrite = region.privileges & Region::Write;
  if (!(mayWrite || (isSum && region.privileges == Region::ReduceSum)))
    return refused(update ? "changed so" : "written");
  if (!isWhole(target)) {
    error(target.range, "a region is written as a whole")
        .help("write " + name + "[...] = value, with tsr.where for parts of it");
    return;
  }
  Value next = value;
  if (update) {
    Value before = region.privileges == Region::ReduceSum
                       ? region.value
                       : readRegionValue(name, region, target.range);
    if (before.isError())
      return;
    Emitter::At at(emitter, update->range, update->opRange);
    next = binary(update->op, before, value, target.base, written, update->range, update->opRange);
    if (next.isError())
      return;
  }
  SourceRange range = written->range;
  if (!next.isTensor() && !next.isNumber()) {
    error(range,
          "expected a tensor or a number for region '" + name + "', found " + describe(next));
    return;
  }
  DType wanted = Emitter::dtype(region.value);
  bool isWeak = !next.isTensor() || next.weak;
  if (!isWeak && Emitter::dtype(next) != wanted) {
    std::string type(dtypeName(wanted));
    error(range, "expected element type " + type + " for region '" + name + "', found " +
                     std::string(dtypeName(Emitter::dtype(next))))
        .help("nothing is converted by itself: use .to(" + type + ")");
    return;
  }
  Emitter::At at(emitter, range);
  std::optional<Shape> shape = emitter->broadcastShape({region.value, next}, {target.range, range});
  if (!shape)
    return;
  for (auto [dim, size] : llvm::enumerate(*shape))
    if (shape->size() != region.value.rank() ||
        !sizes.equal(region.value.shape()[dim], size, range)) {
      error(range, "expected a value of shape " + shapeText(region.value.shape()) +
                       " for region '" + name + "', found " + describe(next));
      return;
    }
  region.value = Value::ofTensor(emitter->materialise(next, wanted, region.value.shape()));
  region.isWritten = true;
}

void Interpreter::checkRegionsWritten() {
  for (const Param &param : frame->function->def->params) {
    auto found = frame->regions.find(param.name);
    if (found == frame->regions.end())
      continue;
    const Region &region = found->second;
    if (region.privileges == Region::Read || region.isWritten || frame->caller)
      continue;
    std::string name(param.name);
    error(param.nameRange, "'" + name + "' is never written")
        .help("write " + name + "[...] " +
              (region.privileges == Region::ReduceSum ? "+= value" : "= value") +
              ", or make it Region[read]")
        .note(region.range, "the privilege is given here");
  }
}
