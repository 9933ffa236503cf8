//===- HighProducts.cpp - Differences of high products ---------------------===//
#include "HighProducts.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

/// The operands of an instruction, if a line is one: `\tname \t%a, %b, %c;`.
static SmallVector<StringRef> operandsOf(StringRef line, StringRef name) {
  SmallVector<StringRef> operands;
  line = line.trim();
  if (!line.consume_front(name) || !line.consume_back(";") ||
      !isSpace(line.empty() ? 'x' : line[0]))
    return operands;
  line.split(operands, ',');
  for (StringRef &operand : operands)
    operand = operand.trim();
  return operands;
}

std::string tessera::ptx::rewriteHighProducts(std::string ptx) {
  if (!StringRef(ptx).contains("mul.hi.u32"))
    return ptx;
  std::string result;
  StringSet<> high, extended; // registers of 32 and of 64 bits
  StringRef rest = ptx;
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    rest = next;
    if (line.contains(".reqntid") || line.contains(".func")) {
      high.clear();
      extended.clear();
    }
    if (auto product = operandsOf(line, "mul.hi.u32"); product.size() == 3)
      high.insert(product[0]);
    if (auto cast = operandsOf(line, "cvt.u64.u32"); cast.size() == 2 && high.contains(cast[1]))
      extended.insert(cast[0]);
    auto difference = operandsOf(line, "sub.s64");
    if (difference.size() != 3 || !extended.contains(difference[1]) ||
        difference[0] == difference[1]) {
      result += (line + "\n").str();
      continue;
    }
    StringRef d = difference[0], x = difference[1], y = difference[2];
    result += ("\tnot.b64 \t" + d + ", " + y + ";\n\tadd.s64 \t" + d + ", " + x + ", " + d +
               ";\n\tadd.s64 \t" + d + ", " + d + ", 1;\n")
                  .str();
  }
  return result;
}
