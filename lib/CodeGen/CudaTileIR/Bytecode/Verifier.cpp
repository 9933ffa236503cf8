//===- Verifier.cpp - Checks a module against the tables ------------------===//
//
// Catches errors that the assembler would report without a location: fields that an operation does
// not have, values used out of scope, operand types that the operation's rule forbids, tile sizes
// that are not powers of two. It does not repeat all of the assembler's own checks.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"
#include <algorithm>

using namespace tessera::cudatile;

static bool isTerminator(Opcode opcode) {
  return opcode == Opcode::Return || opcode == Opcode::Yield || opcode == Opcode::Continue ||
         opcode == Opcode::Break;
}

bool tessera::cudatile::endsInTerminator(const Block &block) {
  return !block.operations.empty() && isTerminator(block.operations.back().opcode);
}

namespace {
class Verifier {
public:
  explicit Verifier(const Module &module) : module(module) {}

  std::optional<std::string> run() {
    for (const TypeData &type : module.types)
      check(type);
    for (const Function &each : module.functions)
      check(each);
    return error;
  }

private:
  void fail(const std::string &message) {
    if (!error)
      error = message;
  }
  void fail(const Operation &op, const std::string &message) {
    fail("'" + std::string(op.spec().name) + "' in '" + module[function->name] + "': " + message);
  }

  void check(const TypeData &type) {
    bool hasTile = type.kind == TypeKind::Tile || type.kind == TypeKind::PartitionView ||
                   type.kind == TypeKind::StridedView || type.kind == TypeKind::GatherScatterView;
    if (hasTile)
      for (int64_t size : type.shape)
        if (size <= 0 || (size & (size - 1)))
          return fail("expected tile sizes that are powers of two, got " + std::to_string(size));
    bool maps = type.kind == TypeKind::PartitionView || type.kind == TypeKind::StridedView;
    if (!maps)
      return;
    size_t rank = module[type.inner].shape.size();
    if (type.dimMap.size() != type.shape.size() || type.shape.size() != rank)
      return fail("expected a view with tiles of rank " + std::to_string(rank) + ", got rank " +
                  std::to_string(type.shape.size()));
    std::vector<int64_t> sorted = type.dimMap;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < rank; ++i)
      if (sorted[i] != int64_t(i))
        return fail("expected a permutation as a view's dim_map");
  }

  void check(const Function &each) {
    function = &each;
    defined.assign(each.values.size(), false);
    if (each.isEntry && !module[each.signature].results.empty())
      fail("an entry has results");
    checkBlock(each.body, true);
  }

  void checkBlock(const Block &block, bool isBody = false) {
    std::vector<Value> introduced;
    auto define = [&](Value value) {
      if (value.index >= defined.size() || defined[value.index])
        fail("value " + std::to_string(value.index) + " is defined twice or has no type");
      else
        defined[value.index] = true;
      introduced.push_back(value);
    };
    for (Value argument : block.arguments)
      define(argument);
    for (const Operation &op : block.operations) {
      if (error)
        return;
      if (!checkFields(op))
        return;
      if (&op != &block.operations.back() && isTerminator(op.opcode))
        return fail(op, "is a terminator in the middle of a block");
      checkTypes(op);
      for (const Region &region : op.regions)
        for (const Block &inner : region.blocks)
          checkBlock(inner);
      for (Value result : op.results)
        define(result);
    }
    if (!endsInTerminator(block) || (isBody && block.operations.back().opcode != Opcode::Return))
      fail("a block of '" + module[function->name] + "' does not end in a terminator");
    for (Value value : introduced)
      if (value.index < defined.size())
        defined[value.index] = false;
  }

  bool checkFields(const Operation &op) {
    const OpSpec &spec = op.spec();
    if (op.attributes.size() != spec.attributes.size() ||
        op.operands.size() != spec.operands.size() || op.regions.size() != spec.regions) {
      fail(op, "does not have the fields of its table entry");
      return false;
    }
    for (size_t i = 0; i < spec.operands.size(); ++i) {
      Multiplicity multiplicity = spec.operands[i].multiplicity;
      size_t size = op.operands[i].size();
      if (multiplicity != Multiplicity::Any && size != 1 &&
          !(multiplicity == Multiplicity::Optional && size == 0))
        fail(op,
             "expected one operand '" + spec.operands[i].name + "', got " + std::to_string(size));
      for (Value value : op.operands[i])
        if (value.index >= defined.size() || !defined[value.index])
          fail(op, "operand '" + spec.operands[i].name + "' is not defined here");
    }
    return !error;
  }

  Type operandType(const Operation &op, size_t index) const {
    return function->typeOf(op.operands[index].front());
  }

  bool sameShape(Type a, Type b) const {
    return module[a].kind == TypeKind::Tile && module[b].kind == TypeKind::Tile &&
           module[a].shape == module[b].shape;
  }

  bool isBoolTile(Type type) const {
    return module[type].kind == TypeKind::Tile && module[module[type].inner].kind == TypeKind::I1;
  }

  void expectSame(const Operation &op, Type expected, Type got) {
    if (expected != got && module[expected] != module[got])
      fail(op, "expected '" + str(module, expected) + "', got '" + str(module, got) + "'");
  }

  void checkTypes(const Operation &op) {
    const OpSpec &spec = op.spec();
    if (spec.rule == TypeRule::Free)
      return;
    Type result = function->typeOf(op.results.front());
    switch (spec.rule) {
    case TypeRule::Same:
      for (size_t i = 0; i < op.operands.size(); ++i)
        expectSame(op, result, operandType(op, i));
      break;
    case TypeRule::Compare:
      expectSame(op, operandType(op, 0), operandType(op, 1));
      if (!isBoolTile(result) || !sameShape(result, operandType(op, 0)))
        fail(op, "expected an i1 tile of the operands' shape, got '" + str(module, result) + "'");
      break;
    case TypeRule::Select:
      if (!isBoolTile(operandType(op, 0)) || !sameShape(result, operandType(op, 0)))
        fail(op, "expected an i1 tile of the result's shape, got '" +
                     str(module, operandType(op, 0)) + "'");
      expectSame(op, result, operandType(op, 1));
      expectSame(op, result, operandType(op, 2));
      break;
    case TypeRule::Convert:
      if (!sameShape(result, operandType(op, 0)))
        fail(op, "expected a tile of the shape of '" + str(module, result) + "', got '" +
                     str(module, operandType(op, 0)) + "'");
      break;
    case TypeRule::Free:
      break;
    }
  }

  const Module &module;
  const Function *function = nullptr;
  std::vector<bool> defined;
  std::optional<std::string> error;
};
} // namespace

std::optional<std::string> tessera::cudatile::verifyModule(const Module &module) {
  return Verifier(module).run();
}
