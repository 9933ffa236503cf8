"""Attention with masks whose live keys are no interval, beside FlexAttention with a block mask that
is made before and not timed. Two heads of each result are compared with float32."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[1]))

from masks.programs import MASKS, SCALE, masked, of_documents  # noqa: E402

DOCUMENTS = "documents"
ROUNDS, CALLS = 5, 10
ERROR = 2e-2  # of bf16 probabilities and results near 1


class Positions:
    abs, where = staticmethod(torch.abs), staticmethod(torch.where)


def documents(size: int, device: str) -> torch.Tensor:
    """Parts of 256 positions belong to one of twelve documents each, in no order."""
    generator = torch.Generator().manual_seed(5)
    parts = torch.randint(0, 12, (math.ceil(size / 256),), generator=generator)
    return parts.repeat_interleave(256)[:size].to(torch.int32).to(device)


def microseconds(call, device: str) -> float:
    if device == "cpu":
        return math.nan
    best = math.inf
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / CALLS * 1e3)
    return best


def expected(q, k, v, live) -> list[torch.Tensor]:
    """Of the first and the last head."""
    scores = [(q[h].float() @ k[h].float().T) * SCALE for h in (0, -1)]
    weights = [torch.softmax(one.masked_fill(~live, -math.inf), -1) for one in scores]
    return [one @ v[h].float() for one, h in zip(weights, (0, -1))]


def flex_of(q, k, v, condition, size: int):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    blocks = create_block_mask(lambda b, h, i, j: condition(i, j), 1, 1, size, size, device="cuda")
    flex = torch.compile(flex_attention)
    return lambda: flex(q[None], k[None], v[None], block_mask=blocks, scale=SCALE)[0]


def measure(name: str, heads: int, size: int, depth: int, device: str) -> float:
    """Prints a row; returns the ratio of FlexAttention's time to ours."""
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(heads, size, depth, device=device, dtype=torch.bfloat16) for _ in range(3)
    )
    i, j = torch.arange(size, device=device)[:, None], torch.arange(size, device=device)[None]
    if name == DOCUMENTS:
        ids = documents(size, device)
        function, arguments = of_documents(), (q, k, v, ids)

        def condition(i, j):
            return ids[i] == ids[j]
    else:
        function, arguments = masked(MASKS[name]), (q, k, v)

        def condition(i, j):
            return MASKS[name](i, j, Positions)

    live = condition(i, j).expand(size, size)
    wanted = expected(q, k, v, live)
    calls = {"Tessera": lambda: function(*arguments)}
    if device != "cpu":
        calls["FlexAttention"] = flex_of(q, k, v, condition, size)
    times, errors = {}, {}
    for contender, call in calls.items():
        got = call()
        errors[contender] = max(
            (got[h].float() - one).abs().max().item() for h, one in zip((0, -1), wanted)
        )
        assert errors[contender] < ERROR, (name, contender, errors)
        times[contender] = microseconds(call, device)
    ratio = times.get("FlexAttention", math.nan) / times["Tessera"]
    cells = [f"{times.get(one, math.nan):.1f}" for one in ("Tessera", "FlexAttention")]
    share = f"{live.float().mean().item():.3f}"
    print(f"| {name} | {share} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[*MASKS, DOCUMENTS], metavar="NAME")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--size", type=int, default=8192, help="queries, and keys")
    parser.add_argument("--depth", type=int, default=128)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    args = parser.parse_args()
    torch._dynamo.config.recompile_limit = 64
    print(
        "| mask | live | Tessera, us | FlexAttention, us | ratio |\n| --- | --- | --- | --- | --- |"
    )
    ratios = [measure(one, args.heads, args.size, args.depth, args.device) for one in args.only]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
