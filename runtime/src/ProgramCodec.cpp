//===- ProgramCodec.cpp - The binary form of host programs ----------------===//
//
// Fields in the order of the structs; vectors and strings with a u32 count; an expression is a
// count and, per instruction, a byte and (for Const and Slot) an i64. Version 2 adds a list of
// checks for each step, version 3 printed tensors, version 4 tensor maps of steps; a program is
// encoded in the earliest version that supports it.
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "tessera_rt/program.h"

#include <algorithm>

namespace tessera::rt {

static constexpr uint32_t programVersion = 5;

static bool hasOperand(ExprOp op) { return op == ExprOp::Const || op == ExprOp::Slot; }

namespace {

struct ProgramWriter : Writer {
  template <typename T> void list(const std::vector<T> &values) {
    u32(static_cast<uint32_t>(values.size()));
    for (const T &value : values)
      put(value);
  }

  void put(const std::string &text) { string(text); }
  void put(DType dtype) { u8(static_cast<uint8_t>(dtype)); }

  void put(const Expr &expr) {
    u32(static_cast<uint32_t>(expr.code.size()));
    for (const ExprInstr &instr : expr.code) {
      u8(static_cast<uint8_t>(instr.op));
      if (hasOperand(instr.op))
        i64(instr.operand);
    }
  }

  void put(const Argument &arg) {
    u8(arg.kind);
    put(arg.name);
    put(arg.dtype);
    u32(arg.rank);
  }

  void put(const Slot &slot) {
    u8(slot.source);
    u32(slot.arg);
    u32(slot.dim);
    put(slot.expr);
  }

  void put(const Guard &guard) {
    u8(guard.kind);
    put(guard.condition);
    put(guard.message);
    list(guard.operands);
  }

  void put(const Result &result) {
    put(result.dtype);
    list(result.sizes);
  }

  void put(const Temporary &temp) {
    put(temp.bytes);
    u32(temp.firstStep);
    u32(temp.lastStep);
  }

  void put(const Word &word) {
    u8(word.kind);
    u32(word.index);
    put(word.dtype);
    put(word.expr);
  }

  void put(const Check &check) {
    u8(check.kind);
    put(check.message);
    list(check.operands);
    put(check.excerpt);
  }

  void put(const Print &print) {
    put(print.label);
    u8(print.isTemporary);
    u32(print.index);
    put(print.dtype);
    list(print.sizes);
  }

  void put(const Step &step) {
    u32(step.kernel);
    list(step.grid);
    list(step.words);
    u32(step.grain);
    put(step.work);
    if (hasChecks)
      list(step.checks);
    if (hasMaps)
      list(step.maps);
  }

  void put(uint32_t number) { u32(number); }
  void put(const TensorMap &map) {
    u32(map.word);
    u32(map.elementBytes);
    u32(map.span);
    u32(map.spans);
    list(map.dims);
    list(map.sizes);
    if (hasRounding)
      u32(map.rounded);
  }

  bool hasChecks = false, hasMaps = false, hasRounding = false;
};

struct ProgramReader : Reader {
  using Reader::Reader;

  /// Every element takes at least four bytes, except for those of expressions.
  template <typename T> void list(std::vector<T> &values) {
    uint32_t length = count(4);
    for (uint32_t i = 0; i < length && ok(); ++i)
      get(values.emplace_back());
  }

  /// Enumerations are decoded unchecked; the validator rejects unknown values.
  template <typename Enum> void enumeration(Enum &value) { value = static_cast<Enum>(u8()); }

  void get(std::string &text) { text = string(); }

  void get(Expr &expr) {
    uint32_t length = count(1);
    if (length > maxExprLength)
      return refuse();
    expr.code.reserve(length);
    for (uint32_t i = 0; i < length && ok(); ++i) {
      ExprInstr instr{};
      enumeration(instr.op);
      if (hasOperand(instr.op))
        instr.operand = i64();
      expr.code.push_back(instr);
    }
  }

  void get(Argument &arg) {
    enumeration(arg.kind);
    get(arg.name);
    enumeration(arg.dtype);
    arg.rank = u32();
  }

  void get(Slot &slot) {
    enumeration(slot.source);
    slot.arg = u32();
    slot.dim = u32();
    get(slot.expr);
  }

  void get(Guard &guard) {
    enumeration(guard.kind);
    get(guard.condition);
    get(guard.message);
    list(guard.operands);
  }

  void get(Result &result) {
    enumeration(result.dtype);
    list(result.sizes);
  }

  void get(Temporary &temp) {
    get(temp.bytes);
    temp.firstStep = u32();
    temp.lastStep = u32();
  }

  void get(Word &word) {
    enumeration(word.kind);
    word.index = u32();
    enumeration(word.dtype);
    get(word.expr);
  }

  void get(Check &check) {
    enumeration(check.kind);
    get(check.message);
    list(check.operands);
    get(check.excerpt);
  }

  void get(Print &print) {
    get(print.label);
    print.isTemporary = u8() != 0;
    print.index = u32();
    enumeration(print.dtype);
    list(print.sizes);
  }

  void get(Step &step) {
    step.kernel = u32();
    list(step.grid);
    list(step.words);
    step.grain = u32();
    get(step.work);
    if (hasChecks)
      list(step.checks);
    if (hasMaps)
      list(step.maps);
  }

  void get(uint32_t &number) { number = u32(); }
  void get(TensorMap &map) {
    map.word = u32();
    map.elementBytes = u32();
    map.span = u32();
    map.spans = u32();
    list(map.dims);
    list(map.sizes);
    if (hasRounding)
      map.rounded = u32();
  }

  bool hasChecks = false, hasMaps = false, hasRounding = false;
};

} // namespace

std::vector<uint8_t> encode(const Program &program) {
  ProgramWriter writer;
  writer.hasChecks = std::any_of(program.steps.begin(), program.steps.end(),
                                 [](const Step &step) { return !step.checks.empty(); });
  writer.hasMaps = std::any_of(program.steps.begin(), program.steps.end(),
                               [](const Step &step) { return !step.maps.empty(); });
  auto isRounded = [](const TensorMap &map) { return map.rounded != 0; };
  writer.hasRounding =
      std::any_of(program.steps.begin(), program.steps.end(), [&](const Step &step) {
        return std::any_of(step.maps.begin(), step.maps.end(), isRounded);
      });
  bool hasPrints = !program.prints.empty() || writer.hasMaps;
  writer.u32(writer.hasRounding ? 5
             : writer.hasMaps   ? 4
             : hasPrints        ? 3
             : writer.hasChecks ? 2
                                : 1);
  writer.hasChecks |= hasPrints;
  writer.list(program.arguments);
  writer.list(program.slots);
  writer.list(program.guards);
  writer.list(program.results);
  writer.list(program.temporaries);
  writer.list(program.kernels);
  writer.list(program.steps);
  if (hasPrints)
    writer.list(program.prints);
  return std::move(writer.bytes);
}

bool decode(std::span<const uint8_t> bytes, Program &program, std::string &error) {
  ProgramReader reader(bytes);
  program = Program();
  uint32_t version = reader.u32();
  if (reader.ok() && (version < 1 || version > programVersion)) {
    error = "invalid host program: expected version 1 to " + std::to_string(programVersion) +
            ", found " + std::to_string(version);
    return false;
  }
  reader.hasChecks = version > 1;
  reader.hasMaps = version > 3;
  reader.hasRounding = version > 4;
  reader.list(program.arguments);
  reader.list(program.slots);
  reader.list(program.guards);
  reader.list(program.results);
  reader.list(program.temporaries);
  reader.list(program.kernels);
  reader.list(program.steps);
  if (version > 2)
    reader.list(program.prints);
  if (!reader.atEnd()) {
    error = reader.ok() ? "invalid host program: there are bytes after its end"
                        : "invalid host program: it is truncated";
    return false;
  }
  return validate(program, error);
}

} // namespace tessera::rt
