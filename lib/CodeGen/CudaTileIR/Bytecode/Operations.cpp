//===- Operations.cpp - The tables of CUDA Tile IR ------------------------===//
//
// Parses the entries of Operations.def on first use.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

using namespace tessera::cudatile;

//===----------------------------------------------------------------------===//
// Types and enumerations
//===----------------------------------------------------------------------===//

static constexpr TypeSpec kTypes[] = {
#define CUDATILE_ELEMENT(enumerator, spelling, tag, since, bits, exponent)                         \
  {TypeKind::enumerator, #spelling, since, bits, exponent},
#define CUDATILE_TYPE(enumerator, spelling, tag, since)                                            \
  {TypeKind::enumerator, #spelling, since, 0, 0},
#include "tessera/CodeGen/CudaTileIR/Bytecode/Types.def"
};

const TypeSpec *tessera::cudatile::typeSpec(uint64_t tag) {
  for (const TypeSpec &spec : kTypes)
    if (uint64_t(spec.kind) == tag)
      return &spec;
  return nullptr;
}

const TypeSpec &tessera::cudatile::typeSpec(TypeKind kind) { return *typeSpec(uint64_t(kind)); }

const EnumSpec *tessera::cudatile::enumSpec(std::string_view name) {
  static const std::vector<EnumSpec> all = {
#define CUDATILE_ENUM(name) {#name, {
#define CUDATILE_CASE(enumerator, spelling, value) #spelling,
#define CUDATILE_ENUM_END(name)                                                                    \
  }                                                                                                \
  }                                                                                                \
  ,
#include "tessera/CodeGen/CudaTileIR/Bytecode/Enumerations.def"
  };
  auto found = std::find_if(all.begin(), all.end(), [&](auto &spec) { return spec.name == name; });
  return found == all.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
/// An unparsed entry of Operations.def.
struct Entry {
  Opcode opcode;
  std::string_view name;
  uint8_t since;
  TypeRule rule;
  std::string_view results, operands, attributes;
  unsigned regions;
  std::string_view meaning;
};
} // namespace

static constexpr Entry kEntries[] = {
#define CUDATILE_OP(enumerator, mnemonic, opcode, since, rule, results, operands, attributes,      \
                    regions, meaning)                                                              \
  {Opcode::enumerator, #mnemonic,  since,   TypeRule::rule, results,                               \
   operands,           attributes, regions, meaning},
#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.def"
};

static std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (end)
      result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

static unsigned number(std::string_view text) {
  unsigned value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  assert(failure == std::errc() && end == text.data() + text.size() && "expected a number");
  return value;
}

/// Removes `mark` and the text after it from the end of `text`; returns that text.
static std::optional<std::string_view> cut(std::string_view &text, char mark) {
  size_t at = text.rfind(mark);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

/// `name`, `name?` or `name*`.
static void parseName(std::string_view word, FieldSpec &field) {
  if (word.ends_with('?'))
    field.multiplicity = Multiplicity::Optional;
  if (word.ends_with('*'))
    field.multiplicity = Multiplicity::Any;
  if (field.multiplicity != Multiplicity::One)
    word.remove_suffix(1);
  field.name = word;
}

static std::vector<FieldSpec> parseFields(std::string_view text, bool &counted, uint8_t opSince) {
  counted = text.starts_with('#');
  std::vector<FieldSpec> fields;
  for (std::string_view word : words(text.substr(counted))) {
    FieldSpec field;
    auto since = cut(word, '@');
    field.since = since ? number(*since) : opSince;
    parseName(word, field);
    fields.push_back(field);
  }
  return fields;
}

static AttrForm parseForm(std::string_view kind) {
  static constexpr std::pair<std::string_view, AttrForm> forms[] = {
      {"flag", AttrForm::Flag},   {"bool", AttrForm::Bool},   {"int", AttrForm::Int},
      {"str", AttrForm::Str},     {"dense", AttrForm::Dense}, {"tagged", AttrForm::Tagged},
      {"array", AttrForm::Array}, {"hints", AttrForm::Hints}, {"i32s", AttrForm::I32s},
      {"bools", AttrForm::Bools}};
  for (auto [name, form] : forms)
    if (name == kind)
      return form;
  return AttrForm::Enum;
}

static AttrSpec parseAttribute(std::string_view word, uint8_t opSince) {
  AttrSpec attribute;
  if (auto fallback = cut(word, '='))
    attribute.fallback = number(*fallback);
  auto since = cut(word, '@');
  attribute.since = since ? number(*since) : opSince;
  auto kind = cut(word, ':');
  assert(kind && "an attribute is 'name:Kind'");
  attribute.form = parseForm(*kind);
  if (attribute.form == AttrForm::Enum) {
    attribute.enumeration = enumSpec(*kind);
    assert(attribute.enumeration && "unknown kind of attribute");
  }
  parseName(word, attribute);
  return attribute;
}

/// Flag bits are assigned in the order of formats, attributes before operands.
static void assignFlags(OpSpec &op) {
  int bit = 0;
  for (uint8_t minor = op.since; minor <= kNewestMinor; ++minor) {
    auto assign = [&](FieldSpec &field, bool isOptional) {
      if (!isOptional || field.since != minor)
        return;
      op.flagsSince = bit ? op.flagsSince : minor;
      field.flagBit = bit++;
    };
    for (AttrSpec &attribute : op.attributes)
      assign(attribute,
             attribute.form == AttrForm::Flag || attribute.multiplicity == Multiplicity::Optional);
    for (FieldSpec &operand : op.operands)
      assign(operand, !op.countsOperands && operand.multiplicity == Multiplicity::Optional);
  }
}

static OpSpec parseEntry(const Entry &entry) {
  OpSpec op;
  op.opcode = entry.opcode;
  op.name = entry.name;
  op.since = entry.since;
  op.rule = entry.rule;
  op.results = parseFields(entry.results, op.countsResults, entry.since);
  op.operands = parseFields(entry.operands, op.countsOperands, entry.since);
  for (std::string_view word : words(entry.attributes))
    op.attributes.push_back(parseAttribute(word, entry.since));
  op.regions = entry.regions;
  op.meaning = entry.meaning;
  assignFlags(op);
  return op;
}

std::span<const OpSpec> tessera::cudatile::allOperations() {
  static const std::vector<OpSpec> all = [] {
    std::vector<OpSpec> ops;
    for (const Entry &entry : kEntries)
      ops.push_back(parseEntry(entry));
    std::sort(ops.begin(), ops.end(),
              [](const OpSpec &a, const OpSpec &b) { return a.opcode < b.opcode; });
    return ops;
  }();
  return all;
}

const OpSpec *tessera::cudatile::opSpec(uint64_t opcode) {
  std::span<const OpSpec> all = allOperations();
  auto found =
      std::lower_bound(all.begin(), all.end(), opcode,
                       [](const OpSpec &op, uint64_t code) { return uint64_t(op.opcode) < code; });
  return found != all.end() && uint64_t(found->opcode) == opcode ? &*found : nullptr;
}

const OpSpec &tessera::cudatile::opSpec(Opcode opcode) { return *opSpec(uint64_t(opcode)); }

template <typename Fields> static size_t indexOf(const Fields &fields, std::string_view name) {
  auto found =
      std::find_if(fields.begin(), fields.end(), [&](auto &field) { return field.name == name; });
  assert(found != fields.end() && "no such field in Operations.def");
  return found - fields.begin();
}

size_t OpSpec::attribute(std::string_view name) const { return indexOf(attributes, name); }
size_t OpSpec::operand(std::string_view name) const { return indexOf(operands, name); }
