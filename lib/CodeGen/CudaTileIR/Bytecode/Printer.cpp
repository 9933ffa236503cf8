//===- Printer.cpp - A module as text -------------------------------------===//
//
// Prints every operation in one form, from its table entry:
//
//   %9, %10 = load_view_tko view %4 index [%5, %6] token %3 {weak} : tile<64xf32>, token
//
// Operand names are omitted where there is only one kind; attributes with their default value are
// omitted. The text is for people and cannot be parsed.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"
#include <cstdio>

using namespace tessera::cudatile;
using Kind = Attribute::Kind;

//===----------------------------------------------------------------------===//
// Types and numbers
//===----------------------------------------------------------------------===//

static std::string dimension(int64_t size) { return size == kDynamic ? "?" : std::to_string(size); }

template <typename Range, typename Text>
static std::string join(const Range &range, const char *separator, const Text &text) {
  std::string result;
  for (const auto &element : range)
    result += (result.empty() ? "" : separator) + text(element);
  return result;
}

static std::string list(const std::vector<int64_t> &values) {
  return "[" + join(values, ", ", dimension) + "]";
}

std::string tessera::cudatile::str(const Module &module, Type type) {
  if (type.index >= module.types.size())
    return "<no type>";
  const TypeData &data = module[type];
  std::string name(typeSpec(data.kind).name);
  auto shaped = [&](const std::vector<int64_t> &shape) {
    return join(shape, "x", dimension) + (shape.empty() ? "" : "x");
  };
  auto types = [&](const std::vector<Type> &list) {
    return "(" + join(list, ", ", [&](Type each) { return str(module, each); }) + ")";
  };
  switch (data.kind) {
  case TypeKind::Pointer:
    return name + "<" + str(module, data.inner) + ">";
  case TypeKind::Tile:
    return name + "<" + shaped(data.shape) + str(module, data.inner) + ">";
  case TypeKind::TensorView:
    return name + "<" + shaped(data.shape) + str(module, data.inner) +
           (data.strides.empty() ? "" : ", strides=" + list(data.strides)) + ">";
  case TypeKind::PartitionView:
  case TypeKind::StridedView:
  case TypeKind::GatherScatterView: {
    std::string text = name + "<tile=(" + join(data.shape, "x", dimension) + ")";
    if (data.kind == TypeKind::StridedView)
      text += ", steps=" + list(data.strides);
    if (data.kind == TypeKind::GatherScatterView)
      text += ", sparse_dim=" + std::to_string(data.sparseDim);
    else
      text += ", dim_map=" + list(data.dimMap);
    if (data.padding)
      text += ", padding=" + std::string(enumSpec("Padding")->cases[size_t(*data.padding)]);
    return text + ", " + str(module, data.inner) + ">";
  }
  case TypeKind::Function:
    return types(data.parameters) + " -> " + types(data.results);
  default:
    return name;
  }
}

static std::string number(const TypeSpec &spec, uint64_t bits) {
  if (spec.isFloat()) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", decodeFloat(spec.kind, bits));
    return text;
  }
  if (spec.bits == 1)
    return bits ? "true" : "false";
  unsigned unused = 64 - (spec.bits ? spec.bits : 64);
  return std::to_string(int64_t(bits << unused) >> unused);
}

/// The elements of a constant; only the first few of a large one.
static std::string constant(const Module &module, ConstantId id, Type type) {
  const std::vector<uint8_t> &data = module.constants[id.index];
  const TypeSpec *spec = type ? &module.specOf(type) : nullptr;
  if (spec && module[type].inner)
    spec = &module.specOf(module[type].inner);
  size_t width = spec ? (spec->bits + 7) / 8 : 0;
  if (!width || data.size() % width)
    return std::to_string(data.size()) + " bytes";
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < data.size() / width && i < kShown; ++i) {
    uint64_t bits = 0;
    for (size_t byte = 0; byte < width; ++byte)
      bits |= uint64_t(data[i * width + byte]) << (8 * byte);
    text += (i ? ", " : "") + number(*spec, bits);
  }
  if (data.size() == width)
    return text;
  return "[" + text + (data.size() / width > kShown ? ", ...]" : "]");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static std::string quote(const std::string &text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      (result += '\\') += char(c);
    else if (c < 0x20 || c == 0x7f)
      ((result += "\\x") += digits[c >> 4]) += digits[c & 15];
    else
      result += char(c);
  }
  return result + "\"";
}

static std::string print(const Module &module, const Attribute &attribute) {
  auto element = [&](const Attribute &each) { return print(module, each); };
  auto optional = [](const char *name, std::optional<int64_t> value) {
    return value ? std::string(name) + std::to_string(*value) : std::string();
  };
  switch (attribute.kind) {
  case Kind::None:
    return "none";
  case Kind::Integer:
    return attribute.type ? number(module.specOf(attribute.type), attribute.bits) + " : " +
                                str(module, attribute.type)
                          : std::to_string(attribute.bits);
  case Kind::Float:
    return number(module.specOf(attribute.type), attribute.bits) + " : " +
           str(module, attribute.type);
  case Kind::Bool:
    return attribute.bits ? "true" : "false";
  case Kind::Type:
    return str(module, attribute.type);
  case Kind::String:
    return quote(module.strings[attribute.bits]);
  case Kind::Array:
    return "[" + join(attribute.elements, ", ", element) + "]";
  case Kind::Dense:
    return constant(module, {uint32_t(attribute.bits)}, attribute.type);
  case Kind::DivBy:
    return "div_by<" + std::to_string(attribute.bits) + optional(", every ", attribute.first) +
           optional(", along ", attribute.second) + ">";
  case Kind::Bounded:
    return "bounded<" + (attribute.first ? std::to_string(*attribute.first) : "?") + ", " +
           (attribute.second ? std::to_string(*attribute.second) : "?") + ">";
  case Kind::SameElements:
    return "same_elements<" + list(attribute.integers) + ">";
  case Kind::Integers:
    return list(attribute.integers);
  case Kind::Dictionary:
  case Kind::Hints: {
    std::string text;
    for (size_t i = 0; i < attribute.keys.size(); ++i)
      text += (i ? ", " : "") + module[attribute.keys[i]] + " = " + element(attribute.elements[i]);
    return "{" + text + "}";
  }
  }
  return {};
}

/// Whether an attribute has its default value.
static bool isDefault(const AttrSpec &spec, const Attribute &attribute) {
  if (!attribute)
    return true;
  if (spec.form == AttrForm::Flag)
    return !attribute.bits;
  if (spec.form == AttrForm::Bools) {
    for (int64_t value : attribute.integers)
      if (value)
        return false;
    return true;
  }
  return spec.form == AttrForm::Enum && attribute.bits == spec.fallback &&
         (spec.name == "rounding_mode" || spec.name == "overflow");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
class Printer {
public:
  explicit Printer(const Module &module) : module(module) {}

  std::string run() {
    out = "cuda_tile.module " + module.version.str() + (module.tag & 1 ? " preview" : "") + " {\n";
    if (module.producer)
      out += "  producer " + quote(module[*module.producer]) + "\n";
    for (const Global &global : module.globals)
      print(global);
    for (const Function &each : module.functions)
      print(each);
    return out + "}\n";
  }

private:
  void print(const Global &global) {
    out += std::string("  ") + (global.visibility == Visibility::Private ? "private " : "") +
           (global.isConstant ? "constant " : "") + "global @" + module[global.name] + " = " +
           constant(module, global.value, global.type) + " align " +
           std::to_string(global.alignment) + " : " + str(module, global.type) + "\n";
  }

  void print(const Function &each) {
    function = &each;
    out += std::string("  ") + (each.isPrivate ? "private " : "") +
           (each.isEntry ? "entry" : "func") + " @" + module[each.name] + "(" +
           parameters(each.body.arguments) + ")";
    const std::vector<Type> &results = module[each.signature].results;
    if (!results.empty())
      out += " -> " + join(results, ", ", [&](Type type) { return str(module, type); });
    if (each.hints)
      out += " hints " + ::print(module, each.hints);
    out += " {\n";
    print(each.body.operations, 4);
    out += "  }\n";
  }

  std::string name(Value value) const { return "%" + std::to_string(value.index); }

  std::string names(const std::vector<Value> &values) const {
    return join(values, ", ", [&](Value value) { return name(value); });
  }

  std::string parameters(const std::vector<Value> &values) const {
    return join(values, ", ", [&](Value value) {
      return name(value) + ": " + str(module, function->typeOf(value));
    });
  }

  void print(const std::vector<Operation> &operations, unsigned indent) {
    for (const Operation &op : operations) {
      out += std::string(indent, ' ');
      print(op, indent);
      out += "\n";
    }
  }

  void print(const Operation &op, unsigned indent) {
    const OpSpec &spec = op.spec();
    if (!op.results.empty())
      out += names(op.results) + " = ";
    out += std::string(spec.name);
    // Operands are named where several kinds are possible.
    bool named = false;
    for (const FieldSpec &operand : spec.operands)
      named |= operand.multiplicity != Multiplicity::One && spec.operands.size() > 1;
    for (size_t i = 0; i < spec.operands.size(); ++i) {
      const std::vector<Value> &values = op.operands[i];
      if (values.empty())
        continue;
      bool any = spec.operands[i].multiplicity == Multiplicity::Any;
      out += i && !named ? ", " : " ";
      out += named ? spec.operands[i].name + " " : "";
      out += any && named ? "[" + names(values) + "]" : names(values);
    }
    printAttributes(op, spec);
    if (!op.results.empty())
      out += " : " + join(op.results, ", ",
                          [&](Value value) { return str(module, function->typeOf(value)); });
    for (const Region &region : op.regions)
      for (const Block &block : region.blocks) {
        out += " {";
        if (!block.arguments.empty())
          out += " (" + parameters(block.arguments) + "):";
        out += "\n";
        print(block.operations, indent + 2);
        out += std::string(indent, ' ') + "}";
      }
  }

  void printAttributes(const Operation &op, const OpSpec &spec) {
    std::string text;
    for (size_t i = 0; i < spec.attributes.size(); ++i) {
      const AttrSpec &attribute = spec.attributes[i];
      if (attribute.form == AttrForm::Dense) {
        out += " " + ::print(module, op.attributes[i]);
        continue;
      }
      if (isDefault(attribute, op.attributes[i]))
        continue;
      text += text.empty() ? "" : ", ";
      if (attribute.form == AttrForm::Flag)
        text += attribute.name;
      else if (attribute.form == AttrForm::Enum)
        text += std::string(attribute.enumeration->cases[op.attributes[i].bits]);
      else if (spec.attributes.size() == 1)
        text += ::print(module, op.attributes[i]);
      else
        text += attribute.name + " = " + ::print(module, op.attributes[i]);
    }
    if (!text.empty())
      out += " {" + text + "}";
  }

  const Module &module;
  const Function *function = nullptr;
  std::string out;
};
} // namespace

std::string tessera::cudatile::printModule(const Module &module) { return Printer(module).run(); }
