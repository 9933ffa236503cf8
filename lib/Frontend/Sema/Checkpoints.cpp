//===- Checkpoints.cpp - Functions with a checkpoint policy ---------------===//
//
// `tsr.checkpoint(f, policy=...)` is `f`. A call that is differentiated marks its arguments and
// results with `gir.checkpoint`; gradients save what the policy says, and recompute the rest.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"
#include "Gradients.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

bool sema::readPolicy(const Value &policy, GradientRequest &request) {
  static constexpr std::string_view policies[] = {"auto", "nothing", "everything", "contractions"};
  if (policy.is(Value::Str)) {
    request.policy = *policy.text;
    return llvm::is_contained(policies, std::string_view(*policy.text));
  }
  if (!policy.isSequence())
    return false;
  request.policy = policy.elements->empty() ? "nothing" : "names";
  for (const Value &name : *policy.elements) {
    if (!name.is(Value::Str) || name.text->empty())
      return false;
    request.wrt.push_back(*name.text);
  }
  return true;
}

/// Replaces the tensors in a value, also in tuples and lists.
static Value mapTensors(const Value &value, llvm::function_ref<mlir::Value(mlir::Value)> map) {
  if (value.isTensor())
    return Value::ofTensor(map(value.tensor), value.weak);
  if (!value.isSequence())
    return value;
  std::vector<Value> elements;
  for (const Value &element : *value.elements)
    elements.push_back(mapTensors(element, map));
  return Value::ofList(value.kind, std::move(elements));
}

Value sema::runCheckpoint(Interpreter &in, const Gradient &gradient) {
  const GradientRequest &request = gradient.request;
  Emitter &emit = *in.emitter;
  SourceRange range = request.range.isValid() ? request.range : gradient.def.nameRange;
  Emitter::At at(&emit, range);
  bool isMarked = in.differentiations > 0 && request.policy != "auto";
  std::vector<mlir::Value> inputs, values;
  std::vector<Value> arguments;
  std::vector<SourceRange> ranges;
  for (const Param &param : gradient.params) {
    Value argument = in.frame->locals[param.name];
    if (isMarked)
      argument = mapTensors(argument, [&](mlir::Value tensor) {
        auto type = mlir::cast<gir::TensorType>(tensor.getType());
        inputs.push_back(gir::ReshapeOp::create(emit.builder, emit.loc(), tensor, type.getShape()));
        return inputs.back();
      });
    arguments.push_back(argument);
    ranges.push_back(param.nameRange);
  }
  const Expr *returned = nullptr;
  Value result = in.invoke(*gradient.of, arguments, ranges, returned);
  if (!isMarked || result.isError())
    return result;
  llvm::SmallVector<mlir::Type> types;
  mapTensors(result, [&](mlir::Value tensor) {
    values.push_back(tensor);
    types.push_back(tensor.getType());
    return tensor;
  });
  if (values.empty())
    return result;
  mlir::ArrayAttr names;
  if (request.policy == "names")
    names = emit.builder.getStrArrayAttr(
        llvm::SmallVector<llvm::StringRef>(request.wrt.begin(), request.wrt.end()));
  auto op =
      gir::CheckpointOp::create(emit.builder, emit.loc(), types,
                                emit.builder.getStringAttr(request.policy), names, values, inputs);
  auto made = op.getResults().begin();
  return mapTensors(result, [&](mlir::Value) -> mlir::Value { return *made++; });
}
