"""Streaming fusion of plain programs: kernels, streams and gauges, and correct numbers.

The table's programs become one kernel with one stream each. This does not change with renaming,
permuting dimensions, writing a composite by hand or inserting a new modification of the scores.
"""

from __future__ import annotations

import re

import fusion_table
import numpy as np
import pytest
from harness import check, define, random

HEADS = ((2, 100, 64), (2, 130, 64), (2, 130, 64))
ROWS = ((50, 300),)

#: program, shapes of the arguments, gauges
ONE_STREAM = [
    ("plain", HEADS, 1),
    ("window", HEADS, 1),
    ("prefix", HEADS, 1),
    ("alibi", (*HEADS, (2,)), 1),
    ("softcap", HEADS, 0),
    ("bias", (*HEADS, (100, 130)), 1),
    ("grouped", ((2, 3, 100, 64), (2, 130, 64), (2, 130, 64)), 1),
    ("latent", ((2, 100, 128), (2, 100, 32), (130, 128), (130, 32)), 1),
    ("extra_logit", (*HEADS, (2,)), 1),
    ("extra_columns", (*HEADS, (2, 1)), 1),
    ("extra_columns", (*HEADS, (2, 5)), 1),
    ("differential", (HEADS[0], HEADS[1], *HEADS), 2),
    ("norm_matmul", ((50, 300), (300,), (300,), (300, 128)), 0),
    ("rms_matmul", ((50, 300), (300,), (300, 128)), 0),
    ("moments", ROWS, 0),
    ("entropy", ROWS, 1),
    ("divergence", ROWS * 2, 2),
    ("weighted_moments", ROWS * 2, 1),
    ("sigmoid_weights", HEADS, 0),
]


def shape_of(function, *arguments) -> tuple[int, int, int]:
    """Kernels, streams and gauges of the schedule."""
    text = function.inspect_ir("sched", *arguments)
    return tuple(
        len(re.findall(rf"\bsched\.{word}\b", text)) for word in ("kernel", "stream", "gauge")
    )


@pytest.mark.parametrize("name, shapes, gauges", ONE_STREAM)
def test_table(name, shapes, gauges):
    function = getattr(fusion_table, name)
    arguments = [random(shape, seed=i) for i, shape in enumerate(shapes)]
    assert shape_of(function, *arguments) == (1, 1, gauges)
    check(function, *arguments)


def test_cross_entropy():
    arguments = (
        random((50, 64)),
        random((300, 64), seed=1),
        random((50,), "int64", low=0, high=300),
    )
    assert shape_of(fusion_table.cross_entropy, *arguments) == (1, 1, 1)
    check(fusion_table.cross_entropy, *arguments)


COLUMNS = """def f(q, k, v, sink):
    s = q @ k.mT * 0.125
    c = sink[:, None, :].expand(s.shape[0], s.shape[1], sink.shape[1])
    BODY
"""

# : Columns beside the scores, first or last, dropped or multiplied by zeros; masks before and after
# the concatenation.
CONCATENATIONS = {
    "first": "return tsr.softmax(tsr.concat([c, s], dim=-1), dim=-1)[..., c.shape[-1]:] @ v",
    "last": "return tsr.softmax(tsr.concat([s, c], dim=-1), dim=-1)[..., :-c.shape[-1]] @ v",
    "causal": """s = tsr.where(tsr.iota(s.shape, dim=-1) < tsr.iota(s.shape, dim=-2), s, -tsr.inf)
    return tsr.softmax(tsr.concat([c, s], dim=-1), dim=-1)[..., c.shape[-1]:] @ v""",
    "masked_whole": """s = tsr.concat([c, s], dim=-1)
    live = tsr.iota(s.shape, dim=-1) < tsr.iota(s.shape, dim=-2) + c.shape[-1]
    return tsr.softmax(tsr.where(live, s, -tsr.inf), dim=-1)[..., c.shape[-1]:] @ v""",
    "zeros": """p = tsr.softmax(tsr.concat([c, s], dim=-1), dim=-1)
    return p @ tsr.concat([tsr.zeros((v.shape[0], c.shape[-1], v.shape[2]), dtype=v.dtype), v], dim=1)""",
    "safe": """s = tsr.where(tsr.iota(s.shape, dim=-1) < tsr.iota(s.shape, dim=-2), s, -tsr.inf)
    return tsr.softmax(tsr.concat([c, s], dim=-1), dim=-1, safe=True)[..., c.shape[-1]:] @ v""",
    "by_hand": """e = tsr.exp(tsr.concat([c, s], dim=-1))
    return (e / e.sum(dim=-1, keepdim=True))[..., c.shape[-1]:] @ v""",
}


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("name", CONCATENATIONS)
def test_columns_beside_the_stream(name, columns):
    function = define(COLUMNS.replace("BODY", CONCATENATIONS[name]))
    arguments = [random((2, 90, 64), seed=i) for i in range(3)]
    sink = random((2, columns), seed=3)
    assert shape_of(function, *arguments, sink) == (1, 1, 1)
    check(function, *arguments, sink)
    for value in (-np.inf, -1e5, 1e5, np.inf, np.nan):
        other = sink.copy()
        other[0, 0] = value
        if name == "by_hand" and value == 1e5:
            # Its exponential is infinite in fp32, for which the reference has no bound: all weights
            # are 0.
            assert not np.any(function(*arguments, other)[0])
            continue
        check(function, *arguments, other, nan=True)
        other[:] = value
        check(function, *arguments, other, nan=True)


@pytest.mark.parametrize("dtype", ["fp64", "fp16"])
def test_columns_in_other_types(dtype):
    function = define(COLUMNS.replace("BODY", CONCATENATIONS["causal"]))
    arguments = [
        random(shape, dtype, seed=i) for i, shape in enumerate([(2, 90, 64)] * 3 + [(2, 3)])
    ]
    assert shape_of(function, *arguments) == (1, 1, 1)
    check(function, *arguments)


def test_a_split_stream_with_elements_beside_it():
    function = define("""def f(x, y, c):
    s = tsr.concat([c, x])
    return (tsr.softmax(s, dim=-1)[c.shape[0]:] * y).sum(), tsr.logsumexp(s, dim=-1)
""")
    arguments = [random((300000,)), random((300000,), seed=1), random((5,), seed=2)]
    assert "_merge" in function.inspect_ir("sched", *arguments)
    check(function, *arguments)


def test_a_concatenation_that_is_stored_stays():
    function = define("""def f(x, c):
    s = tsr.concat([c, x], dim=-1)
    return s, tsr.softmax(s, dim=-1)[..., 1:]
""")
    check(function, random((50, 300)), random((50, 1), seed=1))


LARGEST = {
    "payload": ("m = x.amax(-1, keepdim=True)\n    return tsr.where(x == m, w, 0.0).sum(-1)", 1),
    "payload_and_share": (
        "m = x.amax(-1, keepdim=True)\n"
        "    return tsr.where(x == m, w, 0.0).sum(-1), 1.0 / tsr.exp(x - m).sum(-1)",
        2,
    ),
    "share_of_a_softmax": (
        "p = tsr.softmax(x, dim=-1)\n    return tsr.where(x >= x.amax(-1, keepdim=True), p * w, 0.0).sum(-1)",
        2,
    ),
    "count": ("return (x == x.amax(-1, keepdim=True)).sum(-1)", 1),
    "first_and_last": (
        "j = tsr.iota(x.shape, dim=-1)\n    hot = x == x.amax(-1, keepdim=True)\n"
        "    return tsr.where(hot, j, x.shape[-1]).amin(-1), tsr.where(hot, j, -1).amax(-1)",
        1,
    ),
    "extremes_of_the_payload": (
        "hot = x == x.amax(-1, keepdim=True)\n"
        "    return tsr.where(hot, w, -tsr.inf).amax(-1), tsr.where(hot, w, 0.25).amin(-1)",
        1,
    ),
    "smallest": ("m = x.amin(-1, keepdim=True)\n    return tsr.where(m >= x, w, 0.0).sum(-1)", 1),
    "masked": (
        "j = tsr.iota(x.shape, dim=-1)\n    x = tsr.where(j < tsr.iota(x.shape, dim=-2), x, -tsr.inf)\n"
        "    hot = x == x.amax(-1, keepdim=True)\n"
        "    return tsr.where(hot, w, 0.0).sum(-1), tsr.where(hot & (j % 2 == 0), w, 0.0).sum(-1)",
        1,
    ),
}


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize("name", LARGEST)
def test_what_belongs_to_the_largest(name, dtype):
    body, gauges = LARGEST[name]
    function = define(f"def f(x, w):\n    {body}\n")
    assert shape_of(function, random((50, 5000), dtype), random((50, 5000), dtype)) == (
        1,
        1,
        gauges,
    )
    # As many equal numbers as fp16 can count.
    for shape in ((50, 5000), (3, 5), (1, 60000 if dtype == "fp16" else 70000)):
        x, w = random(shape, dtype), random(shape, dtype, seed=1)
        cases = [(x, w), (np.round(x), w), (np.full_like(x, 2), w), (np.full_like(x, -np.inf), w)]
        # Elements that are not selected may be anything; a NaN is never the largest.
        cases += [(x.copy(), w.copy()), (x.copy(), w.copy())]
        cases[4][0][0, 1], cases[4][1][:, 2] = np.nan, np.inf
        cases[5][0][:, -1], cases[5][1][:, 2] = np.inf, np.nan
        for case in cases:
            check(function, *case)


def test_rows_of_a_table_by_the_largest():
    """The indicator is a factor of a contraction; scores are integers, so that equality is
    exact."""
    function = define("""def f(x, g, table):
    s = x @ g.mT
    m = s.amax(-1, keepdim=True)
    return (s == m).to(fp32) @ table, 1.0 / tsr.exp(s - m).sum(-1)
""")
    x, g, table = (
        np.round(2 * random(shape, seed=i))
        for i, shape in enumerate([(100, 64), (700, 64), (700, 32)])
    )
    assert shape_of(function, x, g, table) == (1, 1, 2)
    rows, share = function(x, g, table)
    scores = (x @ g.T).astype(np.float64)
    top = scores.max(-1, keepdims=True)
    np.testing.assert_array_equal(rows, (scores == top) @ table)
    np.testing.assert_allclose(share, 1 / np.exp(scores - top).sum(-1), rtol=1e-6)


BY_HAND = """def f(a, b, c):
    x = (a * 0.125) @ b.transpose(-2, -1)
    y = MODIFICATION
    top = tsr.amax(y, dim=-1, keepdim=True)
    w = tsr.exp2((y - top) * 1.4426950408889634)
    return (w @ c) / w.sum(dim=-1, keepdim=True)
"""

MODIFICATIONS = [
    "x",
    "x + tsr.sin(x) * 0.5",
    "tsr.where(tsr.iota(x.shape, dim=-1) <= tsr.iota(x.shape, dim=-2) + 7, x, -tsr.inf)",
    "x * tsr.sigmoid(x) - tsr.abs(x) * 0.1",
    "tsr.where(tsr.iota(x.shape, dim=-1) % 3 == 0, x - 1.0, x)",
]


@pytest.mark.parametrize("modification", MODIFICATIONS)
def test_by_hand_with_unseen_modifications(modification):
    function = define(BY_HAND.replace("MODIFICATION", modification))
    arguments = [random(shape, seed=i) for i, shape in enumerate(HEADS)]
    assert shape_of(function, *arguments) == (1, 1, 1)
    check(function, *arguments)


def test_permuted_dimensions():
    program = define(
        """def f(q, k, v):
    s = tsr.matmul(k.permute(1, 0, 2), q.permute(1, 0, 2))
    p = tsr.softmax(s, dim=-2)
    return (p.transpose(-2, -1) @ v.permute(1, 0, 2)).permute(1, 0, 2)
"""
    )
    arguments = [random((64, 2, 100)), random((130, 2, 64), seed=1), random((130, 2, 64), seed=2)]
    assert shape_of(program, *arguments) == (1, 1, 1)
    check(program, *arguments)


def test_renamed_sizes_and_values():
    """The same text with other names gives the same schedule up to names."""
    text = """def f(ARG0: Tensor["SIZE0", "SIZE1", 64], ARG1: Tensor["SIZE0", "SIZE2", 64]):
    NAME = tsr.softmax(ARG0 @ ARG1.mT, dim=-1)
    return NAME @ ARG1
"""
    arguments = [random((2, 100, 64)), random((2, 130, 64), seed=1)]

    def schedule(**names) -> str:
        program = text
        for old, new in names.items():
            program = program.replace(old, new)
        ir = define(program).inspect_ir("sched", *arguments)
        for old, new in names.items():
            ir = re.sub(rf"\b{new}\b|\b{new.lower()}\b", old.lower(), ir)
        return re.sub(r'gir\.name = "\w+"|%\w+|symbols = \{.*?\}\}', "", ir)

    first = schedule(ARG0="q", ARG1="k", SIZE0="A", SIZE1="M", SIZE2="N", NAME="p")
    second = schedule(ARG0="left", ARG1="right", SIZE0="R", SIZE1="X", SIZE2="Y", NAME="other")
    assert first.count("sched.") == second.count("sched.")
    assert re.findall(r"sched\.\w+", first) == re.findall(r"sched\.\w+", second)


@pytest.mark.parametrize(
    "body, passes",
    [
        ("tsr.relu(x - tsr.mean(x, dim=-1, keepdim=True)).sum(dim=-1)", 2),
        ("tsr.tanh(x - tsr.amax(x, dim=-1, keepdim=True)).sum(dim=-1)", 2),
        ("tsr.abs(x - tsr.mean(x, dim=-1, keepdim=True)).mean(dim=-1)", 2),
        ("tsr.round(x / tsr.amax(tsr.abs(x), dim=-1, keepdim=True)).sum(dim=-1)", 2),
        ("tsr.where(x > tsr.mean(x, dim=-1, keepdim=True), x, 0.0).sum(dim=-1)", 2),
    ],
)
def test_what_cannot_stream_takes_another_pass(body, passes):
    function = define(f"def f(x):\n    return {body}\n")
    kernels, streams, _ = shape_of(function, random((50, 300)))
    assert (kernels, streams) == (1, passes)
    check(function, random((50, 300)))


DOCUMENTS = """def f(q, k, v, ids):
    s = q @ k.mT
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    live = CONDITION
    return tsr.softmax(tsr.where(live, s, -tsr.inf), dim=-1) @ v
"""


@pytest.mark.parametrize(
    "condition",
    [
        "ids[:, None] == ids[None, :]",
        "(ids[:, None] == ids[None, :]) & (j <= i)",
        "(ids[None, :] <= ids[:, None]) & (j > i - 100)",
        "~(ids[:, None] != ids[None, :]) | (j == 0)",
    ],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_blocks_that_data_empties(condition, ordered):
    function = define(DOCUMENTS.replace("CONDITION", condition))
    ids = random((300,), "int64", low=0, high=7)
    if ordered:
        ids.sort()
    arguments = [random((2, 300, 64), seed=i) for i in range(3)]
    assert shape_of(function, *arguments, ids) == (1, 1, 1)
    assert "sched.visit" in function.inspect_ir("sched", *arguments, ids)
    check(function, *arguments, ids)
