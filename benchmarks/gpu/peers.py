"""The peers of the GPU benchmark: PyTorch's forms of each function, and Triton's.

cublas: torch.matmul. cudnn: scaled_dot_product_attention with that backend. flex: FlexAttention
through torch.compile, with its block mask created beforehand. eager and compile: the plain form,
the latter through torch.compile. joined: both weights of a gated unit in one product, then
compiled. cublaslt: bias and GELU (its tanh form) in the product's epilogue. triton: handwritten
(triton_peers.py). copy and copy_kernel: as many bytes moved by the driver's copy and by a kernel
that negates every element.
"""

from __future__ import annotations

from typing import Callable

Calls = dict[str, Callable[[], object]]
COPIES = ("copy", "copy_kernel")
MODELS = ("mlp", "gated_mlp", "transformer_block", "vocabulary_loss")


def contenders(function: str, arguments: list, result) -> Calls:
    """Calls by name; they write into existing memory if they can, as ours do."""
    import torch

    torch._dynamo.reset()
    if function.startswith("matmul") or function == "batched_matmul":
        a, b = _operands(function, *arguments)
        out = torch.empty_like(result)
        return {"cublas": lambda: torch.matmul(a, b, out=out)}
    if function in ("attention", "causal_attention"):
        return {"cudnn": _cudnn(*arguments, function == "causal_attention")}
    if function.endswith("attention"):
        return {"flex": _flex(function, *arguments)}
    if function == "linear_gelu":
        x, w, b = arguments
        calls = _both(plain(function), arguments)
        calls["cublaslt"] = lambda: torch._addmm_activation(b, x, w, use_gelu=True)
        return calls
    if function == "swiglu":
        calls = _both(plain(function), arguments)
        calls["joined"] = _joined(*arguments)
        return calls
    if function in MODELS:
        return _both(plain(function), arguments)
    calls = {**_both(plain(function), arguments), **_copies(moved(function, arguments, result))}
    return {**calls, **_triton(function, arguments, result)}


def moved(function: str, arguments: list, result) -> list:
    """The bytes that a memory-bound function reads and writes; of a table, only the rows that are
    gathered."""
    return [arguments[0], result, result] if function == "embedding" else [*arguments, result]


def plain(function: str) -> Callable:
    """A function in plain PyTorch, in the type of its arguments."""
    import torch
    import torch.nn.functional as nn

    def rope(x, cos, sin):
        low, high = x.chunk(2, dim=-1)
        return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1)

    def transformer_block(x, n1, wq, wk, wv, wo, n2, wg, wu, wd, cos, sin):
        b, s, d = x.shape

        def heads(t):
            return t.view(b, s, -1, 2 * cos.shape[1]).transpose(1, 2)

        h = nn.rms_norm(x, (d,), n1, 1e-6)
        q, k, v = rope(heads(h @ wq), cos, sin), rope(heads(h @ wk), cos, sin), heads(h @ wv)
        seen = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + seen.transpose(1, 2).reshape(b, s, d) @ wo
        h = nn.rms_norm(x, (d,), n2, 1e-6)
        return x + (nn.silu(h @ wg) * (h @ wu)) @ wd

    return {
        "mlp": lambda x, w1, b1, w2, b2: torch.addmm(b2, nn.gelu(torch.addmm(b1, x, w1)), w2),
        "gated_mlp": lambda x, wg, wu, wd: (nn.silu(x @ wg) * (x @ wu)) @ wd,
        "transformer_block": transformer_block,
        "vocabulary_loss": lambda h, w, y: nn.cross_entropy(h @ w.T, y, reduction="none"),
        "linear_gelu": lambda x, w, b: nn.gelu(torch.addmm(b, x, w)),
        "swiglu": lambda x, g, u: nn.silu(x @ g) * (x @ u),
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x, w, b: nn.layer_norm(x, x.shape[-1:], w, b),
        "rms_norm": lambda x, w: nn.rms_norm(x, x.shape[-1:], w, 1e-6),
        "gelu_chain": lambda x, y: nn.gelu(x) * y + x,
        "column_sum": lambda x: x.sum(0),
        "transpose": lambda x: x.T.contiguous(),
        "rope": rope,
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "residual_rms_silu": lambda x, r, w: nn.silu(nn.rms_norm(x + r, x.shape[-1:], w, 1e-6)),
        "cross_entropy": lambda x, t: nn.cross_entropy(x, t.long(), reduction="none"),
        "chain": lambda x, y: (
            torch.maximum(torch.sqrt(torch.abs(torch.tanh(x * 0.5 + y) * x - y) + 1.0), x) * 0.25
        ),
        "row_sum": lambda x: x.sum(-1),
        "row_mean": lambda x: x.mean(-1),
        "column_mean": lambda x: x.mean(0),
        "argmax": lambda x: x.argmax(-1),
        "swap_heads": lambda x: x.permute(0, 2, 1, 3).contiguous(),
        "bias_gelu_dropout": lambda x, b: nn.dropout(nn.gelu(x + b), 0.1),
        "to_bf16": lambda x: x.to(torch.bfloat16),
        "to_fp32": lambda x: x.to(torch.float32),
        "embedding": lambda ids, table: nn.embedding(ids.long(), table),
        "cumsum": lambda x: x.cumsum(-1),
    }[function]


def _operands(function: str, a, b):
    form = function.rpartition("_")[2] if function.startswith("matmul_") else "nn"
    return a if form[0] == "n" else a.T, b if form[1] == "n" else b.T


def _both(form: Callable, arguments: list) -> Calls:
    import torch

    compiled = torch.compile(form, dynamic=False)
    return {"eager": lambda: form(*arguments), "compile": lambda: compiled(*arguments)}


def _joined(x, g, u) -> Callable[[], object]:
    import torch
    import torch.nn.functional as nn

    weights = torch.cat([g, u], dim=1)

    @torch.compile(dynamic=False)
    def run(x, weights):
        gate, up = (x @ weights).chunk(2, dim=1)
        return nn.silu(gate) * up

    return lambda: run(x, weights)


def _copies(arrays: list) -> Calls:
    import torch

    count = sum(one.numel() * one.element_size() for one in arrays) // 8
    source = torch.empty(count, dtype=torch.float32, device=arrays[0].device).normal_()
    target = torch.empty_like(source)
    # The driver's copy sometimes reaches only two thirds of a kernel's speed.
    return {
        "copy": lambda: target.copy_(source),
        "copy_kernel": lambda: torch.neg(source, out=target),
    }


def _triton(function: str, arguments: list, result) -> Calls:
    try:
        import triton_peers
    except ImportError:
        return {}
    call = triton_peers.contender(function, arguments, result)
    return {"triton": call} if call else {}


def _cudnn(q, k, v, causal: bool) -> Callable[[], object]:
    import torch.nn.functional as nn
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def call():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return nn.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call


def mask_and_score(function: str, extra: list) -> tuple[Callable, Callable | None]:
    """The mask and the modification of scores, in FlexAttention's signatures."""
    import torch

    def causal(b, h, i, j):
        return i >= j

    def window(b, h, i, j):
        return (i >= j) & (i - j < 1024)

    def documents(b, h, i, j):
        return (i >= j) & (extra[0][i] == extra[0][j])

    def softcap(score, b, h, i, j):
        return 20.0 * torch.tanh(score / 20.0)

    def alibi(score, b, h, i, j):
        return score - extra[0][h] * (i - j)

    masks = {"window_attention": window, "document_attention": documents}
    scores = {"softcap_attention": softcap, "alibi_attention": alibi}
    return masks.get(function, causal), scores.get(function)


def _flex(function: str, q, k, v, *extra) -> Callable[[], object]:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask, score = mask_and_score(function, list(extra))
    length = q.shape[-2]
    blocks = create_block_mask(mask, None, None, length, length, device=q.device)
    run = torch.compile(flex_attention, dynamic=False)
    grouped = q.shape[1] != k.shape[1]
    return lambda: run(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=grouped)
