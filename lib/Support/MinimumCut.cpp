//===- MinimumCut.cpp - Minimum cuts of directed graphs -------------------===//
#include "tessera/Support/MinimumCut.h"

#include <algorithm>
#include <queue>

using namespace tessera;

unsigned MinimumCut::addNode() {
  outgoing.emplace_back();
  return unsigned(outgoing.size()) - 1;
}

void MinimumCut::addEdge(unsigned from, unsigned to, double capacity) {
  outgoing[from].push_back(unsigned(edges.size()));
  edges.push_back({to, capacity});
  outgoing[to].push_back(unsigned(edges.size()));
  edges.push_back({from, 0});
}

/// Numbers the nodes by their distance from the source. Returns false if the sink is not reached.
bool MinimumCut::findLevels() {
  level.assign(outgoing.size(), -1);
  level[kSource] = 0;
  std::queue<unsigned> open;
  open.push(kSource);
  while (!open.empty()) {
    unsigned node = open.front();
    open.pop();
    for (unsigned edge : outgoing[node])
      if (edges[edge].rest > 0 && level[edges[edge].to] < 0) {
        level[edges[edge].to] = level[node] + 1;
        open.push(edges[edge].to);
      }
  }
  return level[kSink] >= 0;
}

/// Pushes at most this much from a node to the sink, and returns how much arrived. The path is kept
/// on a stack of edges, since it may be as long as a program.
double MinimumCut::push(unsigned start, double most) {
  std::vector<unsigned> path;
  unsigned node = start;
  while (node != kSink) {
    bool isDeadEnd = true;
    for (size_t &i = next[node]; i < outgoing[node].size(); ++i) {
      const Edge &edge = edges[outgoing[node][i]];
      if (edge.rest > 0 && level[edge.to] == level[node] + 1) {
        path.push_back(outgoing[node][i]);
        node = edge.to;
        isDeadEnd = false;
        break;
      }
    }
    if (!isDeadEnd)
      continue;
    if (path.empty())
      return 0;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[node];
  }
  for (unsigned edge : path)
    most = std::min(most, edges[edge].rest);
  if (most == kUncuttable)
    return most;
  for (unsigned edge : path) {
    edges[edge].rest -= most;
    edges[edge ^ 1].rest += most;
  }
  return most;
}

std::vector<bool> MinimumCut::solve() {
  while (findLevels()) {
    next.assign(outgoing.size(), 0);
    while (double pushed = push(kSource, kUncuttable)) {
      flow += pushed;
      if (pushed == kUncuttable)
        return {};
    }
  }
  std::vector<bool> isOnSourceSide;
  for (int one : level)
    isOnSourceSide.push_back(one >= 0);
  return isOnSourceSide;
}
