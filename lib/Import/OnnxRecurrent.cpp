//===- OnnxRecurrent.cpp - Recurrent networks of ONNX ---------------------------------===//
//
// A sequence whose length is known is unrolled: each step is a few statements, and the steps are
// stacked at the end.
//
//===----------------------------------------------------------------------===//
#include "OnnxTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera::onnx;

namespace {
/// One direction of a recurrent network over its steps.
class Direction {
public:
  Direction(const Node &node, const std::string &x, size_t number, size_t hidden, size_t gates)
      : node(node), x(x), number(number), hidden(hidden), gates(gates) {}

  std::string let(const std::string &suffix, const std::string &text) const {
    return node.let(suffix + "_" + std::to_string(number), text);
  }
  /// The part of the weights that belongs to this direction.
  std::string part(const char *argument) const {
    return node[argument] + "[" + std::to_string(number) + "]";
  }
  std::string columns(const std::string &of, size_t gate) const {
    return of + "[:, " + std::to_string(gate * hidden) + ":" + std::to_string((gate + 1) * hidden) +
           "]";
  }
  /// The products of all steps with the input's weights, with the biases of the input.
  void prepare(bool hasBias) {
    std::string size = std::to_string(gates * hidden);
    std::string product = x + " @ " + part("W") + ".T";
    if (hasBias)
      product += " + " + part("B") + "[:" + size + "]";
    inputs = let("inputs", product);
    weights = let("weights", part("R") + ".T");
    if (hasBias)
      bias = let("bias", part("B") + "[" + size + ":]");
  }

  const Node &node;
  std::string x;
  size_t number, hidden, gates;
  std::string inputs, weights, bias;
};
} // namespace

/// h' = tanh(x W + h R + b).
static std::string stepRnn(const Direction &d, size_t t, const std::string &h) {
  std::string sum = d.inputs + "[" + std::to_string(t) + "] + " + h + " @ " + d.weights;
  if (!d.bias.empty())
    sum += " + " + d.bias;
  return d.let("h" + std::to_string(t), "tsr.tanh(" + sum + ")");
}

/// Update and reset gates z and r, then the new state.
static std::string stepGru(const Direction &d, size_t t, const std::string &h, bool resetsProduct) {
  std::string at = std::to_string(t);
  std::string in = d.let("x" + at, d.inputs + "[" + at + "]");
  auto row = [&](size_t gate) {
    return d.bias.empty() ? std::string()
                          : " + " + d.bias + "[" + std::to_string(gate * d.hidden) + ":" +
                                std::to_string((gate + 1) * d.hidden) + "]";
  };
  auto gate = [&](size_t i) {
    return "tsr.sigmoid(" + d.columns(in, i) + " + " + h + " @ " + d.columns(d.weights, i) +
           row(i) + ")";
  };
  std::string z = d.let("z" + at, gate(0)), r = d.let("r" + at, gate(1));
  std::string past = resetsProduct
                         ? r + " * (" + h + " @ " + d.columns(d.weights, 2) + row(2) + ")"
                         : "(" + r + " * " + h + ") @ " + d.columns(d.weights, 2) + row(2);
  std::string n = d.let("n" + at, "tsr.tanh(" + d.columns(in, 2) + " + " + past + ")");
  return d.let("h" + at, "(1 - " + z + ") * " + n + " + " + z + " * " + h);
}

/// Input, output and forget gates and the cell, in this order.
static std::pair<std::string, std::string> stepLstm(const Direction &d, size_t t,
                                                    const std::string &h, const std::string &c,
                                                    const std::string &peephole) {
  std::string at = std::to_string(t);
  std::string sum = d.inputs + "[" + at + "] + " + h + " @ " + d.weights;
  if (!d.bias.empty())
    sum += " + " + d.bias;
  std::string gates = d.let("gates" + at, sum);
  auto weighted = [&](size_t i, const std::string &cell) {
    return peephole.empty() ? std::string()
                            : " + " + peephole + "[" + std::to_string(i * d.hidden) + ":" +
                                  std::to_string((i + 1) * d.hidden) + "] * " + cell;
  };
  auto gate = [&](size_t i, size_t p, const std::string &cell) {
    return "tsr.sigmoid(" + d.columns(gates, i) + weighted(p, cell) + ")";
  };
  std::string cell = d.let("c" + at, gate(2, 2, c) + " * " + c + " + " + gate(0, 0, c) +
                                         " * tsr.tanh(" + d.columns(gates, 3) + ")");
  return {d.let("h" + at, gate(1, 1, cell) + " * tsr.tanh(" + cell + ")"), cell};
}

static Text recurrent(const Node &node, size_t gates) {
  const TensorInfo *x = node.tensor("X"), *r = node.tensor("R");
  std::string way = node.string("direction");
  if (!x || !r || x->rank() != 3 || r->rank() != 3)
    return node.refuse("the number of dimensions is not known");
  bool isBatchFirst = node.is("layout", 1);
  std::optional<int64_t> steps = staticSize(x->shape[isBatchFirst ? 1 : 0]);
  std::optional<int64_t> hidden = staticSize(r->shape[2]);
  if (!steps || !hidden || *steps < 1 || *steps > 256)
    return node.refuse("the length of the sequence must be known, and at most 256");
  if (node.has("sequence_lens") || node.has("clip") || node.is("input_forget", 1))
    return node.refuse("lengths of sequences, clipping and input_forget are not supported");
  if (std::vector<std::string> given = node.list("activations"); !given.empty()) {
    std::vector<std::string> usual =
        gates == 1   ? std::vector<std::string>{"'Tanh'"}
        : gates == 3 ? std::vector<std::string>{"'Sigmoid'", "'Tanh'"}
                     : std::vector<std::string>{"'Sigmoid'", "'Tanh'", "'Tanh'"};
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] != usual[i % usual.size()])
        return node.refuse("only the usual activations are supported");
  }
  std::string input = isBatchFirst ? node.let("steps", node["X"] + ".transpose(0, 1)") : node["X"];
  std::string batch = sizeOf(node["X"], *x, isBatchFirst ? 0 : 1);
  size_t directions = way == "bidirectional" ? 2 : 1;
  std::vector<std::string> sequences, states, cells;
  for (size_t number = 0; number < directions; ++number) {
    Direction d(node, input, number, size_t(*hidden), gates);
    d.prepare(node.has("B"));
    auto initial = [&](const char *argument) {
      std::string first = node[argument];
      if (!node.has(argument))
        return "tsr.zeros((" + batch + ", " + std::to_string(*hidden) + "), dtype=tsr." + x->dtype +
               ")";
      return first + (isBatchFirst ? "[:, " : "[") + std::to_string(number) + "]";
    };
    std::string h = d.let("first", initial("initial_h")), c;
    std::string peephole = node.has("P") ? d.let("peephole", d.part("P")) : "";
    if (gates == 4)
      c = d.let("cell", initial("initial_c"));
    bool isBackward = way == "reverse" || number == 1;
    std::vector<std::string> results(static_cast<size_t>(*steps));
    for (size_t i = 0; i < results.size(); ++i) {
      size_t t = isBackward ? results.size() - 1 - i : i;
      if (gates == 1)
        h = stepRnn(d, t, h);
      else if (gates == 3)
        h = stepGru(d, t, h, node.is("linear_before_reset", 1));
      else
        std::tie(h, c) = stepLstm(d, t, h, c, peephole);
      results[t] = h;
    }
    sequences.push_back("tsr.stack(" + tupleOf(results) + ", dim=" + (isBatchFirst ? "1" : "0") +
                        ")");
    states.push_back(h);
    cells.push_back(c);
  }
  // Directions follow the sequence, or come first among states; batches come first if they did.
  std::string along = isBatchFirst ? "2" : "1", of = isBatchFirst ? "1" : "0";
  std::string text = "(tsr.stack(" + tupleOf(sequences) + ", dim=" + along + ")";
  if (node.targets.size() > 1)
    text += ", tsr.stack(" + tupleOf(states) + ", dim=" + of + ")";
  if (node.targets.size() > 2)
    text += ", tsr.stack(" + tupleOf(cells) + ", dim=" + of + ")";
  return text + ")";
}

void tessera::onnx::addRecurrentOperators(Table &table) {
  table["RNN"] = [](const Node &n) { return recurrent(n, 1); };
  table["GRU"] = [](const Node &n) { return recurrent(n, 3); };
  table["LSTM"] = [](const Node &n) { return recurrent(n, 4); };
}
