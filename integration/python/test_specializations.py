"""When code is compiled again, and when it is not."""

import numpy as np
import pytest
import tessera as tsr


def ones(*shape):
    return np.ones(shape, np.float32)


def make():
    @tsr.function
    def rows(x):
        return tsr.softmax(x * 0.5, dim=-1)

    return rows


def test_a_new_length_does_not_recompile():
    rows = make()
    for length in (2100, 2101, 2507, 3003, 4001):
        rows(ones(3, length))
    assert len(rows.specializations()) == 1


@pytest.mark.parametrize(
    "first, second, reason",
    [
        ((4, 100), (4, 1), "dimension 1 is of another size class"),
        ((4, 100), (4, 0), "dimension 1 is of another size class"),
        ((4, 100), (4, 112), "dimension 1 is of another size class"),
        ((4, 1025), (4, 1088), "dimension 1 is of another size class"),
        ((4, 15), (4, 17), "dimension 1 is of another size class"),
        ((4, 100), (4, 4, 100), "argument 'x' has another type"),
    ],
)
def test_what_is_another_class(first, second, reason):
    rows = make()
    rows(ones(*first))
    rows(ones(*second))
    found = rows.specializations()
    assert len(found) == 2
    assert found[0].reason == "first call" and reason in found[1].reason
    assert found[0].arguments[0].startswith("x: fp32[")
    assert "ms" in repr(found[0])


def test_layouts_are_classes():
    rows = make()
    rows(ones(20, 30))
    rows(ones(30, 20).T)
    assert [one.reason for one in rows.specializations()] == [
        "first call",
        "argument 'x' has another layout",
    ]
    rows(ones(40, 30)[::2])
    rows(ones(60, 30)[::3])
    assert len(rows.specializations()) == 3


def test_sizes_that_the_program_needs_to_know():
    @tsr.function
    def repeated(x):
        total = x[0] * 0.0
        for i in range(x.shape[0]):
            total = total + x[i]
        return total

    for n in (5, 6, 7, 5, 6, 7):
        np.testing.assert_array_equal(repeated(ones(n, 4)), np.full(4, n, np.float32))
    found = repeated.specializations()
    assert len(found) == 3
    assert found[1].reason == "a size or number that the program needs to know has another value"


def test_numbers_that_the_program_needs_to_know():
    @tsr.function
    def power(x, n: int, flip: bool):
        y = x
        for _ in range(n):
            y = y * 2.0
        return -y if flip else y

    for n, flip in [(2, False), (3, False), (2, True), (2, False)]:
        np.testing.assert_array_equal(
            power(ones(3), n, flip), np.full(3, (-1.0 if flip else 1.0) * 2**n, np.float32)
        )
    assert len(power.specializations()) == 3


def test_types_are_classes():
    rows = make()
    rows(ones(4, 4))
    rows(ones(4, 4).astype(np.float64))
    assert [one.reason for one in rows.specializations()] == [
        "first call",
        "argument 'x' has another type",
    ]


def test_reports_are_at_the_sizes_at_hand():
    """Code is for a shape class; figures are for the given sizes, also if the code comes from the
    cache."""
    rows = make()
    for length in (2100, 2507, 4001):
        report = rows.compile(ones(3, length)).report()
        (kernel,) = report["kernels"]
        assert kernel["bytes"] == 2 * 4 * 3 * length
        assert length in [one["size"] for one in report["class"].values()]
    rows(ones(3, 3003))
    (found,) = rows.specializations()
    assert found.report()["kernels"][0]["bytes"] == 2 * 4 * 3 * 3003
