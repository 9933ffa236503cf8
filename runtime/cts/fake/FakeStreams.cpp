//===- FakeStreams.cpp - Streams, events, graphs of the fake libcuda ------===//

#include "FakeState.h"

#include <chrono>

namespace fake_cuda {

bool stream(CUstream handle, FakeStream *&result) {
  result = reinterpret_cast<FakeStream *>(handle);
  if (!result || state().streams.count(result))
    return true;
  misuse();
  return false;
}

CUresult submit(CUstream handle, std::function<void()> work) {
  FakeStream *on;
  if (!stream(handle, on))
    return CUDA_ERROR_INVALID_VALUE;
  if (on && on->capture)
    on->capture->nodes.push_back(std::move(work));
  else
    work();
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *result, unsigned, int) {
  ENTER_WITH_CONTEXT(cuStreamCreateWithPriority);
  auto *made = new FakeStream;
  state().streams.insert(made);
  *result = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto *mine = reinterpret_cast<FakeStream *>(handle);
  if (!state().streams.erase(mine))
    return misuse();
  delete mine;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  ENTER_WITH_CONTEXT(cuStreamSynchronize);
  FakeStream *on;
  return stream(handle, on) && !(on && on->capture) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamQuery(CUstream handle) {
  ENTER_WITH_CONTEXT(cuStreamQuery);
  FakeStream *on;
  return stream(handle, on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  ENTER_WITH_CONTEXT(cuStreamWaitEvent);
  FakeStream *on;
  bool known = state().events.count(reinterpret_cast<FakeEvent *>(event));
  return stream(handle, on) && known ? CUDA_SUCCESS : misuse();
}

CUresult cuStreamIsCapturing(CUstream handle, int *capturing) {
  ENTER(cuStreamIsCapturing);
  FakeStream *on;
  if (!stream(handle, on))
    return CUDA_ERROR_INVALID_VALUE;
  *capturing = on && on->capture;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream handle, int) {
  ENTER_WITH_CONTEXT(cuStreamBeginCapture);
  FakeStream *on;
  if (!stream(handle, on) || !on || on->capture)
    return CUDA_ERROR_INVALID_VALUE;
  on->capture = std::make_shared<FakeGraph>();
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  FakeStream *on;
  *graph = nullptr;
  if (!stream(handle, on) || !on || !on->capture)
    return CUDA_ERROR_INVALID_VALUE;
  auto captured = std::move(on->capture);
  on->capture = nullptr;
  if (CUresult failure = begin("cuStreamEndCapture"))
    return failure;
  auto *made = new FakeGraphHandle{captured};
  state().graphs.insert(made);
  *graph = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long) {
  ENTER_WITH_CONTEXT(cuGraphInstantiateWithFlags);
  auto *from = reinterpret_cast<FakeGraphHandle *>(graph);
  if (!state().graphs.count(from))
    return misuse();
  auto *made = new FakeGraphHandle{from->graph};
  state().graphExecs.insert(made);
  *exec = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  ENTER_WITH_CONTEXT(cuGraphLaunch);
  auto *mine = reinterpret_cast<FakeGraphHandle *>(exec);
  if (!state().graphExecs.count(mine))
    return misuse();
  auto graph = mine->graph;
  for (FakeLibrary *code : graph->code)
    if (!state().libraries.count(code))
      return misuse();
  return submit(handle, [graph] {
    for (auto &node : graph->nodes)
      node();
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto *mine = reinterpret_cast<FakeGraphHandle *>(graph);
  if (!state().graphs.erase(mine))
    return misuse();
  delete mine;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto *mine = reinterpret_cast<FakeGraphHandle *>(exec);
  if (!state().graphExecs.erase(mine))
    return misuse();
  delete mine;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  ENTER_WITH_CONTEXT(cuEventCreate);
  auto *made = new FakeEvent;
  state().events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto *mine = reinterpret_cast<FakeEvent *>(event);
  if (!state().events.erase(mine))
    return misuse();
  delete mine;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  ENTER_WITH_CONTEXT(cuEventRecord);
  auto *mine = reinterpret_cast<FakeEvent *>(event);
  if (!state().events.count(mine))
    return misuse();
  return submit(handle, [mine] {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    mine->recorded = true;
    mine->milliseconds = std::chrono::duration<double, std::milli>(now).count();
  });
}

CUresult cuEventQuery(CUevent) {
  ENTER_WITH_CONTEXT(cuEventQuery);
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent) {
  ENTER_WITH_CONTEXT(cuEventSynchronize);
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  ENTER(cuEventElapsedTime);
  auto *from = reinterpret_cast<FakeEvent *>(start), *to = reinterpret_cast<FakeEvent *>(end);
  if (!from->recorded || !to->recorded)
    return CUDA_ERROR_INVALID_VALUE;
  *milliseconds = static_cast<float>(to->milliseconds - from->milliseconds);
  return CUDA_SUCCESS;
}

} // namespace fake_cuda
