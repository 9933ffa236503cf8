#!/usr/bin/env python3
"""Calls of functions with GPU tensors: results, streams, graphs, errors, threads, processes, time.

    check.py [NAME…]

Runs on a machine with PyTorch and a GPU, from the output of build.py; without a GPU it prints
"unsupported". Every part runs in a separate process. The last lines are the times of a call, in
microseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ["TESSERA_CACHE"] = str(HERE / "cache")
sys.path.insert(0, str(HERE))


def expect(kind, text: str, call) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), f"expected {text!r} in {error!s}"
        print(f"  {type(error).__name__}: {str(error).splitlines()[0][:150]}")
    else:
        raise AssertionError(f"no {kind.__name__} that says {text!r}")


def check_results() -> None:
    import torch
    from functions import five, halved

    x = torch.randn(1000, 1000, device="cuda")
    start = time.perf_counter()
    y = halved(x)
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    assert type(y) is torch.Tensor and y.device == x.device and torch.equal(y, x * 0.5)
    (made,) = halved.specializations()
    assert made.cached, "the code was not found in the cache"
    print(f"  first call {first * 1e3:.1f} ms, the cubin was found in {made.seconds * 1e3:.2f} ms")
    out = torch.empty_like(x)
    assert halved(x, out=out) is out and torch.equal(out, y)
    assert halved(x, out=x) is x and torch.equal(x, y)
    args = [torch.randn(1000, 1000, device="cuda") for _ in range(5)]
    exact = args[0] * args[1] + args[2] * args[3] + args[4]
    assert (five(*args) - exact).abs().max() < 1e-5
    assert torch.equal(halved(torch.nn.Parameter(args[0])), args[0] * 0.5)


def check_unaligned_and_strided() -> None:
    import torch
    from functions import halved

    memory = torch.randn(1000 * 1000, device="cuda")
    shifted = memory[1 : 1 + 999 * 1000].view(999, 1000)
    assert shifted.data_ptr() % 16
    assert torch.equal(halved(shifted), shifted * 0.5)
    assert (halved(torch.ones(1000, 1000, device="cuda")[:]) == 0.5).all()
    odd = torch.randn(1000, 1001, device="cuda")
    assert torch.equal(halved(odd), odd * 0.5)
    # A result that is not 16-byte aligned is written through other memory.
    out = torch.zeros(1000 * 1000 + 1, device="cuda")[1:].view(1000, 1000)
    x = torch.randn(1000, 1000, device="cuda")
    assert halved(x, out=out) is out and torch.equal(out, x * 0.5)


def check_large() -> None:
    import torch
    from functions import BIG, negated

    x = torch.randint(-100, 100, (BIG // 4096, 4096), dtype=torch.int8, device="cuda")
    y = negated(x)
    for part in (slice(0, 1024), slice(-1024, None)):
        assert torch.equal(y[part], -x[part])
    assert bool((y.view(-1)[::1048577] == -x.view(-1)[::1048577]).all())


def check_streams_and_graphs() -> None:
    import torch
    from functions import halved

    x = torch.randn(1000, 1000, device="cuda")
    halved(x * 4)  # loads the code, ours and PyTorch's, for which the driver may wait
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        late = x * 4
        y = halved(late)
    assert not side.query(), "the call waited for the GPU"
    side.synchronize()
    assert torch.equal(y, x * 2)
    out = torch.empty_like(x)
    halved(x, out=out, stream=side)
    halved(x, out=out, stream=side.cuda_stream)
    z = halved(x, stream=side)
    side.synchronize()
    assert torch.equal(out, x * 0.5) and torch.equal(z, out)

    graph, result = torch.cuda.CUDAGraph(), torch.empty_like(x)
    with torch.cuda.graph(graph):
        halved(x, out=result)
        made = halved(result)
    for factor in (1.0, 3.0):
        x.fill_(factor)
        graph.replay()
        torch.cuda.synchronize()
        assert (result == factor / 2).all() and (made == factor / 4).all()


def check_errors() -> None:
    import numpy as np
    import torch
    from functions import WIDE, five, weights

    import tessera as tsr

    x = torch.randn(64, 64, device="cuda")
    expect(tsr.ArgumentError, "expected an array on cuda:0", lambda: five(x, x, x, x, x.cpu()))
    expect(tsr.ArgumentError, "expected an array on the cpu", lambda: five(x.cpu(), x, x, x, x))
    expect(
        tsr.ArgumentError, "on the device of", lambda: five(x, x, x, x, x, out=np.ones((64, 64)))
    )
    # No memory for temporaries: the pool is trimmed, the call fails, the next one works.
    a, b = torch.randn(WIDE, 64, device="cuda").half(), torch.randn(64, WIDE, device="cuda").half()
    small = [torch.randn(256, 64, device="cuda").half(), torch.randn(64, 256, device="cuda").half()]

    def right(result, a, b) -> bool:
        exact = torch.softmax(a[:, :256].float() @ b[:, :256].float(), 0)
        return bool((result[:, :256].float() - exact).abs().max() < 2e-3)

    out = torch.empty(WIDE, WIDE, dtype=torch.half, device="cuda")
    assert right(weights(*small), *small)
    torch.cuda.synchronize()
    free, _ = torch.cuda.mem_get_info()
    ballast = torch.empty(free - (300 << 20), dtype=torch.uint8, device="cuda")
    expect(tsr.OutOfMemoryError, "out of memory", lambda: weights(a, b, out=out))
    assert right(weights(*small), *small)
    del ballast
    torch.cuda.empty_cache()
    assert right(weights(a, b, out=out), a, b)
    print(f"  metrics {json.dumps({k: v for k, v in tsr.metrics().items() if v})}")


def check_threads() -> None:
    import torch
    from functions import halved

    wrong = []

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.full((1000, 1000), float(seed), device="cuda")
            for _ in range(300):
                y = halved(x)
            if not (y == seed / 2).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert not wrong, wrong


def check_fork() -> None:
    import torch
    from functions import halved

    import tessera as tsr

    x = torch.ones(1000, 1000, device="cuda")
    halved(x)
    out = torch.empty_like(x)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            expect(tsr.DeviceError, "forked", lambda: halved(x, out=out, stream=0))
            sys.stdout.flush()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert (halved(x) == 0.5).all()


def check_exit_in_flight() -> None:
    import torch
    from functions import halved

    x = torch.ones(1000, 1000, device="cuda")
    out = halved(x)
    torch.cuda._sleep(2_000_000_000)
    threading.Thread(target=lambda: [halved(x, out=out) for _ in range(1000)], daemon=True).start()
    for _ in range(100):
        halved(x, out=out)


def check_times() -> None:
    import call_times
    import torch
    from functions import five

    import tessera as tsr

    a, b, c, d, e = args = [torch.randn(64, 64, device="cuda") for _ in range(5)]
    out, other = torch.empty_like(a), torch.empty_like(a)
    bundled = tsr.load(HERE / "five.tsb").five
    compiled = five.compile(*args)
    calls = {
        "a function, out given": lambda: five(a, b, c, d, e, out=out),
        "a function of a bundle, out given": lambda: bundled(a, b, c, d, e, out=out),
        "a compiled function, out given": lambda: compiled(a, b, c, d, e, out=out),
        "a function, new result": lambda: five(a, b, c, d, e),
        "torch.add, out given": lambda: torch.add(a, b, out=other),
        "torch.addcmul, out given": lambda: torch.addcmul(a, b, c, out=other),
        "torch.add, new result": lambda: torch.add(a, b),
        "torch.empty": lambda: torch.empty((64, 64), dtype=torch.float32, device="cuda"),
        "an empty lambda": lambda: None,
    }
    for call in calls.values():
        call()
    assert torch.allclose(out, a * b + c * d + e, atol=1e-5)
    from_cpp = call_times.bursts_from_cpp(HERE / "liblaunch_time.so", HERE / "five.tsb", "five", 5)
    best = call_times.measure(calls, from_cpp)
    over = best["a function, out given"] - best[call_times.DRIVER]
    assert over < call_times.GOAL, f"{over:.2f} microseconds over the driver's own launch"


PARTS = {name[6:]: part for name, part in list(globals().items()) if name.startswith("check_")}


def missing() -> str | None:
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else "there is no GPU that PyTorch can use"


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--part":
        PARTS[sys.argv[2]]()
        return 0
    if reason := missing():
        print(f"unsupported: {reason}")
        return 0
    import torch

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", flush=True)
    chosen = sys.argv[1:] or list(PARTS)
    failed = []
    for name in chosen:
        start = time.perf_counter()
        print(f"{name}:", flush=True)
        command = [sys.executable, __file__, "--part", name]
        status = subprocess.run(command, timeout=120).returncode
        how = "right" if status == 0 else f"FAILED ({status})"
        print(f"  {how}, {time.perf_counter() - start:.1f} s", flush=True)
        failed += [name] * (status != 0)
    rest = f"; not {', '.join(failed)}" if failed else ""
    print(f"{len(chosen) - len(failed)} of {len(chosen)} parts right{rest}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
