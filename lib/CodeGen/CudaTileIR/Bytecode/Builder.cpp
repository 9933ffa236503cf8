//===- Builder.cpp - Tables, entries and regions of a module --------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Builder.h"
#include <cassert>

using namespace tessera::cudatile;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

StringId Builder::string(std::string_view text) {
  auto found = strings.find(text);
  if (found != strings.end())
    return found->second;
  result.strings.emplace_back(text);
  StringId id{uint32_t(result.strings.size() - 1)};
  strings.emplace(text, id);
  return id;
}

Type Builder::type(const TypeData &data) {
  auto [entry, isNew] = types.try_emplace(data, Type{uint32_t(result.types.size())});
  if (isNew)
    result.types.push_back(data);
  return entry->second;
}

ConstantId Builder::constantData(std::vector<uint8_t> bytes) {
  auto [entry, isNew] =
      constants.try_emplace(std::move(bytes), ConstantId{uint32_t(result.constants.size())});
  if (isNew)
    result.constants.push_back(entry->first);
  return entry->second;
}

Type Builder::pointer(Type pointee) { return type({.kind = TypeKind::Pointer, .inner = pointee}); }

Type Builder::tile(Type elementType, Shape shape) {
  return type({.kind = TypeKind::Tile, .inner = elementType, .shape = std::move(shape)});
}

Type Builder::tensorViewType(Type elementType, Shape shape, Shape strides) {
  assert(shape.size() == strides.size() && "a stride for each size");
  return type({.kind = TypeKind::TensorView,
               .inner = elementType,
               .shape = std::move(shape),
               .strides = std::move(strides)});
}

Type Builder::partitionViewType(Type tensorView, Shape tileShape, Shape dimMap,
                                std::optional<Padding> padding) {
  if (dimMap.empty())
    for (size_t i = 0; i < tileShape.size(); ++i)
      dimMap.push_back(i);
  return type({.kind = TypeKind::PartitionView,
               .inner = tensorView,
               .shape = std::move(tileShape),
               .dimMap = std::move(dimMap),
               .padding = padding});
}

Type Builder::withElement(Value value, TypeKind kind) {
  return tile(element(kind), shapeOf(value));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Builder::Values Builder::beginEntry(std::string_view name, const std::vector<Type> &parameters,
                                    const std::map<std::string, EntryHints> &hints) {
  assert(!function && "the last entry was not ended");
  function.emplace();
  function->name = string(name);
  function->signature = type({.kind = TypeKind::Function, .parameters = parameters});
  function->isEntry = true;
  if (!hints.empty())
    function->hints.kind = Attribute::Kind::Hints;
  Type i32Type = element(TypeKind::I32);
  for (const auto &[architecture, values] : hints) {
    Attribute entries;
    entries.kind = Attribute::Kind::Dictionary;
    auto add = [&](const char *key, std::optional<unsigned> value) {
      if (!value)
        return;
      entries.keys.push_back(string(key));
      entries.elements.push_back(Attribute::integer(*value, i32Type));
    };
    add("num_cta_in_cga", values.clusterSize);
    add("occupancy", values.occupancy);
    if (result.version.minor >= 3)
      add("num_worker_warps_per_cta", values.workerWarps);
    function->hints.keys.push_back(string(architecture));
    function->hints.elements.push_back(std::move(entries));
  }
  for (Type parameter : parameters)
    function->body.arguments.push_back(function->newValue(parameter));
  blocks = {&function->body};
  location = 0;
  return function->body.arguments;
}

void Builder::endEntry() {
  assert(function && blocks.size() == 1 && "no entry, or inside a region");
  append(Opcode::Return, {}, {{}});
  result.functions.push_back(std::move(*function));
  function.reset();
  blocks.clear();
}

uint32_t Builder::debugEntry(DebugEntry entry) {
  auto [found, isNew] =
      debugEntries.try_emplace({entry.kind, entry.fields}, uint32_t(result.debug.size() + 1));
  if (isNew)
    result.debug.push_back(std::move(entry));
  return found->second;
}

uint32_t Builder::debugFile(std::string_view name, std::string_view folder) {
  return debugEntry({DebugEntry::Kind::File, {string(name).index, string(folder).index}});
}

uint32_t Builder::debugSubprogram(uint32_t file, unsigned line, std::string_view name) {
  uint32_t unit = debugEntry({DebugEntry::Kind::CompileUnit, {file}});
  uint64_t nameIndex = string(name).index;
  return debugEntry({DebugEntry::Kind::Subprogram, {file, line, nameIndex, nameIndex, unit, line}});
}

uint32_t Builder::debugLocation(uint32_t scope, std::string_view file, unsigned line,
                                unsigned column) {
  return debugEntry({DebugEntry::Kind::Location, {scope, string(file).index, line, column}});
}

void Builder::setEntryLocation(uint32_t entry) {
  function->hasLocations = true;
  function->location = entry;
}

//===----------------------------------------------------------------------===//
// Any operation
//===----------------------------------------------------------------------===//

/// The default value of an attribute.
static Attribute defaultOf(const AttrSpec &spec) {
  if (spec.multiplicity == Multiplicity::Optional)
    return {};
  switch (spec.form) {
  case AttrForm::Flag:
  case AttrForm::Bool:
    return Attribute::boolean(false);
  case AttrForm::Int:
  case AttrForm::Enum:
    return Attribute::integer(spec.fallback);
  case AttrForm::Array:
    return Attribute::array({});
  case AttrForm::I32s:
  case AttrForm::Bools:
    return Attribute::list(Attribute::Kind::Integers, {});
  case AttrForm::Str:
  case AttrForm::Dense:
  case AttrForm::Tagged:
  case AttrForm::Hints:
    break;
  }
  return {};
}

Builder::Values Builder::append(Opcode opcode, const std::vector<Type> &resultTypes,
                                const std::vector<Values> &operands,
                                const std::vector<NamedAttribute> &attributes,
                                std::vector<Region> regions) {
  assert(function && "operations belong to an entry");
  const OpSpec &spec = opSpec(opcode);
  assert(operands.size() <= spec.operands.size() && "too many operands");
  Operation op;
  op.opcode = opcode;
  op.operands = operands;
  op.operands.resize(spec.operands.size());
  for (const AttrSpec &attribute : spec.attributes)
    op.attributes.push_back(defaultOf(attribute));
  for (const auto &[name, value] : attributes)
    op.attributes[spec.attribute(name)] = value;
  op.regions = std::move(regions);
  op.location = location;
  for (Type type : resultTypes)
    op.results.push_back(function->newValue(type));
  Values results = op.results;
  blocks.back()->operations.push_back(std::move(op));
  return results;
}

Value Builder::elementwise(Opcode opcode, const Values &operands,
                           const std::vector<NamedAttribute> &attributes) {
  std::vector<Values> groups;
  for (Value operand : operands)
    groups.push_back({operand});
  return append(opcode, {typeOf(operands.front())}, groups, attributes).front();
}

std::array<Value, 3> Builder::three(Opcode opcode) {
  Type index = tile(TypeKind::I32, {});
  Values values = append(opcode, {index, index, index}, {});
  return {values[0], values[1], values[2]};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Region Builder::region(const std::vector<Type> &arguments, const RegionBody &body,
                       std::optional<Opcode> terminator) {
  Region region;
  Block block;
  for (Type type : arguments)
    block.arguments.push_back(function->newValue(type));
  blocks.push_back(&block);
  Values values = body(block.arguments);
  // The body may already end in a terminator.
  if (terminator && !endsInTerminator(block))
    append(*terminator, {}, {values});
  blocks.pop_back();
  region.blocks.push_back(std::move(block));
  return region;
}

Builder::Values Builder::forLoop(Value lower, Value upper, Value step, const Values &initial,
                                 const RegionBody &body) {
  std::vector<Type> carried, arguments = {typeOf(lower)};
  for (Value value : initial)
    carried.push_back(typeOf(value));
  arguments.insert(arguments.end(), carried.begin(), carried.end());
  std::vector<Region> regions;
  regions.push_back(region(arguments, body, Opcode::Continue));
  return append(Opcode::For, carried, {{lower}, {upper}, {step}, initial}, {}, std::move(regions));
}

Builder::Values Builder::ifElse(Value condition, const std::vector<Type> &resultTypes,
                                const std::function<Values()> &then,
                                const std::function<Values()> &otherwise) {
  std::vector<Region> regions;
  for (const std::function<Values()> *branch : {&then, &otherwise})
    regions.push_back(region({}, [&](const Values &) { return (*branch)(); }, Opcode::Yield));
  return append(Opcode::If, resultTypes, {{condition}}, {}, std::move(regions));
}

Builder::Values Builder::loop(const Values &initial, const std::vector<Type> &resultTypes,
                              const std::function<void(const Values &)> &body) {
  std::vector<Type> carried;
  for (Value value : initial)
    carried.push_back(typeOf(value));
  std::vector<Region> regions;
  regions.push_back(region(
      carried,
      [&](const Values &arguments) {
        body(arguments);
        return Values();
      },
      std::nullopt));
  return append(Opcode::Loop, resultTypes, {initial}, {}, std::move(regions));
}

Attribute Builder::identity(Type elementType, double value) {
  const TypeSpec &spec = result.specOf(elementType);
  if (spec.isFloat())
    return Attribute::floating(encodeFloat(spec.kind, value), elementType);
  uint64_t mask = spec.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << spec.bits) - 1;
  // The ends of the range represent the infinities.
  uint64_t largest = mask >> (spec.bits == 1 ? 0 : 1);
  double limit = double(largest);
  uint64_t bits = value >= limit    ? largest
                  : value <= -limit ? (spec.bits == 1 ? 0 : largest + 1)
                                    : uint64_t(int64_t(value)) & mask;
  return Attribute::integer(bits, elementType);
}

Builder::Values Builder::reduction(Opcode opcode, const Values &operands, unsigned dim,
                                   const std::vector<double> &identities, const RegionBody &body,
                                   std::optional<bool> reverse) {
  assert(operands.size() == identities.size() && "an identity for each operand");
  std::vector<Type> arguments, resultTypes;
  std::vector<Attribute> identityAttributes;
  for (size_t i = 0; i < operands.size(); ++i) {
    Shape shape = shapeOf(operands[i]);
    assert(dim < shape.size() && "no such dimension");
    if (!reverse)
      shape.erase(shape.begin() + dim);
    Type elementType = elementOf(operands[i]);
    resultTypes.push_back(tile(elementType, shape));
    arguments.insert(arguments.end(), 2, tile(elementType, {}));
    identityAttributes.push_back(identity(elementType, identities[i]));
  }
  std::vector<NamedAttribute> attributes = {
      {"dim", Attribute::integer(dim)},
      {"identities", Attribute::array(std::move(identityAttributes))}};
  if (reverse)
    attributes.push_back({"reverse", Attribute::boolean(*reverse)});
  std::vector<Region> regions;
  regions.push_back(region(arguments, body, Opcode::Yield));
  return append(opcode, resultTypes, {operands}, attributes, std::move(regions));
}

Builder::Values Builder::reduce(const Values &operands, unsigned dim,
                                const std::vector<double> &identities, const RegionBody &body) {
  return reduction(Opcode::Reduce, operands, dim, identities, body, std::nullopt);
}

Builder::Values Builder::scan(const Values &operands, unsigned dim, bool reverse,
                              const std::vector<double> &identities, const RegionBody &body) {
  return reduction(Opcode::Scan, operands, dim, identities, body, reverse);
}
