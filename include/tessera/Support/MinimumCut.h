//===- MinimumCut.h - Minimum cuts of directed graphs -----------*- C++ -*-===//
//
// The cheapest set of edges without which no path leads from the source to the sink. Its capacity
// is the maximum flow, which Dinic's algorithm finds: flow along shortest paths, a level at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_MINIMUMCUT_H
#define TESSERA_SUPPORT_MINIMUMCUT_H

#include <cstddef>
#include <limits>
#include <vector>

namespace tessera {

class MinimumCut {
public:
  /// Nodes that exist from the start.
  static constexpr unsigned kSource = 0, kSink = 1;
  static constexpr double kUncuttable = std::numeric_limits<double>::infinity();

  unsigned addNode();
  /// Adds an edge. The other direction has no capacity.
  void addEdge(unsigned from, unsigned to, double capacity);

  /// Whether each node is on the source's side of the cut that is closest to the source; nothing if
  /// edges that cannot be cut lead from the source to the sink.
  std::vector<bool> solve();
  /// The capacity of the cut.
  double capacity() const { return flow; }

private:
  struct Edge {
    unsigned to;
    double rest; ///< the capacity that is left
  };
  bool findLevels();
  double push(unsigned node, double most);

  std::vector<Edge> edges; ///< edge `i ^ 1` is the other direction of edge `i`
  std::vector<std::vector<unsigned>> outgoing{2};
  std::vector<int> level;
  std::vector<size_t> next; ///< the first edge of a node that may lead on
  double flow = 0;
};

} // namespace tessera

#endif
