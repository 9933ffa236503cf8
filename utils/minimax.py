#!/usr/bin/env python3
"""Derives the coefficients of lib/Dialect/Tile/Transforms/MathTables.h.

Each entry of `TABLE` is a function on an interval, the form in which it is approximated, and the
weight that converts the form's error to the relative error of the final result. The Remez algorithm
(polynomials, and quotients of polynomials) finds the best real coefficients. They are rounded all
at once, and also one by one, from the lowest power, with the rest fitted again each time; the
better result is used. Prints C++ arrays, lowest power first, and the remaining relative error in
bits.

Needs mpmath. Usage: minimax.py [name…]
"""

import re
import struct
import sys
import textwrap

from mpmath import mp, mpf

mp.dps = 50


def to_f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_f64(x):
    return mpf(float(x))


def chebyshev(lo, hi, count):
    """Points dense at both ends, the ends included."""
    half, mid = (hi - lo) / 2, (hi + lo) / 2
    return [mid - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def pick_extrema(errors, count):
    """Indices of `count` alternating extrema of the error, the largest ones."""
    peaks = []
    for i, e in enumerate(errors):
        if e == 0:
            continue
        if peaks and (errors[peaks[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        if len(peaks) - count >= 2 or abs(errors[peaks[0]]) >= abs(errors[peaks[-1]]):
            worst = min(range(len(peaks)), key=lambda k: abs(errors[peaks[k]]))
            if 0 < worst < len(peaks) - 1 and len(peaks) - count >= 2:
                # Dropping an inner peak joins two of one sign; keep the larger.
                left, right = peaks[worst - 1], peaks[worst + 1]
                drop = left if abs(errors[left]) < abs(errors[right]) else right
                peaks.remove(peaks[worst])
                peaks.remove(drop)
            else:
                peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        else:
            peaks.pop(0)
    return peaks


def remez_polynomial(f, weight, var, degrees, lo, hi, samples=1500, rounds=30):
    """Best c with sum c_k var(x)^degrees[k] ~ f(x); returns coefficients and the error."""
    grid = chebyshev(lo, hi, samples)
    values = [(x, f(x), weight(x), var(x)) for x in grid]
    values = [v for v in values if v[2] != 0]
    n = len(degrees)
    step = (len(values) - 1) / mpf(n)
    picked = [int(step * i) for i in range(n + 1)]
    best = None
    for _ in range(rounds):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for row, index in enumerate(picked):
            _, y, w, v = values[index]
            for col, degree in enumerate(degrees):
                a[row, col] = v**degree
            a[row, n] = (-1) ** row / w
            b[row] = y
        solution = mp.lu_solve(a, b)
        coefficients = [solution[i] for i in range(n)]
        errors = [
            w * (sum(c * v**d for c, d in zip(coefficients, degrees)) - y) for _, y, w, v in values
        ]
        top = max(abs(e) for e in errors)
        if best is None or top < best[1]:
            best = (coefficients, top)
        if top <= abs(solution[n]) * mpf("1.001"):
            break
        fresh = pick_extrema(errors, n + 1)
        if len(fresh) < n + 1 or fresh == picked:
            break
        picked = fresh
    return best


def fit_polynomial(f, weight, var, degrees, lo, hi, rounding):
    """Remez with coefficients of the target type: the better of two ways to round them."""
    points = [(f(x), weight(x), var(x)) for x in chebyshev(lo, hi, 3000)]

    def error(fixed):
        return max(abs(w * (sum(c * v**d for d, c in fixed.items()) - y)) for y, w, v in points)

    coefficients, _ = remez_polynomial(f, weight, var, degrees, lo, hi)
    candidates = [{d: rounding(c) for d, c in zip(degrees, coefficients)}]
    # Rounded one by one, the rest fitted again by least squares at Chebyshev points.
    few = [(f(x), weight(x), var(x)) for x in chebyshev(lo, hi, 8 * len(degrees))]
    fixed = {}
    while len(fixed) < len(degrees):
        free = [d for d in degrees if d not in fixed]
        a = mp.matrix(len(few), len(free))
        b = mp.matrix(len(few), 1)
        for row, (y, w, v) in enumerate(few):
            b[row] = w * (y - sum(c * v**d for d, c in fixed.items()))
            for col, d in enumerate(free):
                a[row, col] = w * v**d
        fixed[free[0]] = rounding(mp.lu_solve(a, b)[0])
    candidates.append(fixed)
    best = min(candidates, key=error)
    return [best[d] for d in degrees], error(best)


def remez_rational(f, weight, var, top_degree, low_degree, lo, hi, samples=1500, rounds=60):
    """Best p, q with p(var)/q(var) ~ f and q(0) = 1."""
    grid = chebyshev(lo, hi, samples)
    values = [(x, f(x), weight(x), var(x)) for x in grid]
    values = [v for v in values if v[2] != 0]
    n = top_degree + 1 + low_degree
    step = (len(values) - 1) / mpf(n)
    picked = [int(step * i) for i in range(n + 1)]
    level = mpf(0)
    best = None
    for _ in range(rounds):
        for _ in range(12):
            a = mp.matrix(n + 1, n + 1)
            b = mp.matrix(n + 1, 1)
            for row, index in enumerate(picked):
                _, y, w, v = values[index]
                sign = (-1) ** row
                for k in range(top_degree + 1):
                    a[row, k] = v**k
                for k in range(1, low_degree + 1):
                    a[row, top_degree + k] = -(y + sign * level / w) * v**k
                a[row, n] = -sign / w
                b[row] = y
            solution = mp.lu_solve(a, b)
            if abs(solution[n] - level) <= abs(level) * mpf("1e-6"):
                break
            level = solution[n]
        p = [solution[k] for k in range(top_degree + 1)]
        q = [mpf(1)] + [solution[top_degree + k] for k in range(1, low_degree + 1)]
        errors = [
            w * (mp.polyval(p[::-1], v) / mp.polyval(q[::-1], v) - y) for _, y, w, v in values
        ]
        top = max(abs(e) for e in errors)
        if best is None or top < best[2]:
            best = (p, q, top)
        if top <= abs(level) * mpf("1.001"):
            break
        fresh = pick_extrema(errors, n + 1)
        if len(fresh) < n + 1 or fresh == picked:
            break
        picked = fresh
    return best


def fit_rational(f, weight, var, top_degree, low_degree, lo, hi, rounding):
    """Denominator from the rational fit, rounded; numerator fitted to it in the target type.

    The quotient may be scaled freely: the scale whose leading coefficients round best is taken.
    """
    p, q, error = remez_rational(f, weight, var, top_degree, low_degree, lo, hi)
    loss = lambda s: abs(rounding(s * p[0]) / (s * p[0]) - 1)
    scale = min((1 + mpf(k) / 64 for k in range(64)), key=loss)
    q = [rounding(scale * c) for c in q]
    denominator = lambda x: mp.polyval(q[::-1], var(x))
    p, error = fit_polynomial(
        lambda x: f(x) * denominator(x),
        lambda x: weight(x) / denominator(x),
        var,
        list(range(top_degree + 1)),
        lo,
        hi,
        rounding,
    )
    return p, q, error


def series(start, term, x):
    """Sum of term(k) x^k from k = start, for forms that cancel near 0."""
    total, k = mpf(0), start
    while True:
        t = term(k) * x ** (k - start)
        total += t
        if abs(t) < mpf(10) ** -45 * max(abs(total), mpf("1e-300")) and k > start + 3:
            return total
        k += 1


LN2_HALF = mp.log(2) / 2 * mpf("1.0001")
ROOT = (mp.sqrt(mpf("0.5")) - 1, mp.sqrt(2) - 1)
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0001")


def square(x):
    return x * x


def plain(x):
    return x


def expm1_tail(x):  # (exp(x) - 1 - x) / x^2
    return series(2, lambda k: 1 / mp.factorial(k), x)


def log_tail(x):  # (log(1 + x) - x + x^2 / 2) / x^3
    if abs(x) < mpf("0.01"):
        return series(3, lambda k: mpf(-1) ** (k + 1) / k, x)
    return (mp.log(1 + x) - x + x * x / 2) / x**3


def atanh_tail(s):  # (log((1 + s) / (1 - s)) - 2 s) / s^3
    return series(0, lambda k: mpf(2) / (2 * k + 3), s * s)


def sin_tail(x):  # (sin x - x) / x^3
    return series(0, lambda k: mpf(-1) ** (k + 1) / mp.factorial(2 * k + 3), x * x)


def cos_tail(x):  # (cos x - 1 + x^2 / 2) / x^4
    return series(0, lambda k: mpf(-1) ** k / mp.factorial(2 * k + 4), x * x)


def odd_tail(f):  # (f(x) - x) / x^3
    return lambda x: (f(x) - x) / x**3 if x else mpf(0)


def per_x(f, at0):  # f(x) / x
    return lambda x: f(x) / x if x else at0


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def normal_tail(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def tail_weight(f, power):  # relative to f when the tail is scaled by x^power
    return lambda x: abs(x**power / f(x)) if x else mpf(0)


# What each entry approximates, and where.
FORMS = {
    "Exp2": "2^x, |x| <= 1/2",
    "Exp2Unit": "(2^x - 1) / x, x in [0, 1]",
    "Weight": "(2^(1 + x) - 2) / x, |x| <= 1/2",
    "WeightShort": "as Weight, for 16 bits",
    "Exp": "(exp(x) - 1 - x) / x^2, |x| <= ln(2) / 2",
    "Log": "(log(1 + x) - x + x^2 / 2) / x^3, 1 + x in [sqrt(1/2), sqrt(2)]",
    "Atanh": "(2 atanh(s) - 2 s) / s^3 in s^2, s = x / (2 + x) for the same x",
    "AtanhLong": "(2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2",
    "AtanhShort": "as Atanh, for f32 powers",
    "Sin": "(sin(x) - x) / x^3 in x^2, |x| <= pi/4",
    "Cos": "(cos(x) - 1 + x^2 / 2) / x^4 in x^2, |x| <= pi/4",
    "Atan": "(atan(x) - x) / x^3 in x^2, on [0, 1] (f32), [0, tan(pi/8)] (f64)",
    "Asin": "(asin(x) - x) / x^3 in x^2, |x| <= 1/2",
    "ErfSmall": "erf(x) / x - 1 in x^2, |x| <= 1",
    "ErfTail": "-log2(erfc(x)), x in [1, 4]",
    "NormalTail": "log2 of the normal distribution at -x, x in [0, 5.5], relative to the distribution or 2^-13",
    "Erfcx": "(1 + 2 x) exp(x^2) erfc(x) in (x - 4) / (x + 4), up to where erfc is 0",
    "Erf": "erf(x) / x in x^2, up to where erf is 1, relative to 1",
    "ErfShort": "erf(x) / x in x^2, up to where erf is 1 - 2^-14",
    "Tanh": "tanh(x) / x in x^2, up to where tanh is 1 - 2^-14",
}

EPS = mpf("1e-8")
TABLE = {
    # name: (f, weight, variable, degrees or (numerator, denominator), lo, hi)
    "Exp2": (
        lambda x: mp.mpf(2) ** x,
        lambda x: mpf(2) ** -x,
        plain,
        (7, 13),
        -mpf("0.5"),
        mpf("0.5"),
    ),
    "Exp2Unit": (
        lambda x: (mpf(2) ** x - 1) / x,
        lambda x: x * mpf(2) ** -x,
        plain,
        (4, None),
        EPS,
        mpf(1),
    ),
    "Weight": (
        per_x(lambda x: 2 * (mpf(2) ** x - 1), 2 * mp.log(2)),
        lambda x: abs(x) * mpf(2) ** -(1 + x),
        plain,
        (5, None),
        -mpf("0.5"),
        mpf("0.5"),
    ),
    "WeightShort": (
        per_x(lambda x: 2 * (mpf(2) ** x - 1), 2 * mp.log(2)),
        lambda x: abs(x) * mpf(2) ** -(1 + x),
        plain,
        (4, None),
        -mpf("0.5"),
        mpf("0.5"),
    ),
    "Exp": (expm1_tail, tail_weight(mp.expm1, 2), plain, (5, 11), -LN2_HALF, LN2_HALF),
    "Log": (log_tail, tail_weight(mp.log1p, 3), plain, (8, None), *ROOT),
    "Atanh": (atanh_tail, tail_weight(lambda s: 2 * mp.atanh(s), 3), square, (None, 7), EPS, S_MAX),
    "AtanhLong": (
        lambda s: series(0, lambda k: mpf(2) / (2 * k + 5), s * s),
        tail_weight(lambda s: 2 * mp.atanh(s), 5),
        square,
        (None, 7),
        EPS,
        S_MAX,
    ),
    "AtanhShort": (
        atanh_tail,
        tail_weight(lambda s: 2 * mp.atanh(s), 3),
        square,
        (None, 4),
        EPS,
        S_MAX,
    ),
    "Sin": (sin_tail, tail_weight(mp.sin, 3), square, (3, 6), EPS, mp.pi / 4 * mpf("1.0001")),
    "Cos": (cos_tail, tail_weight(mp.cos, 4), square, (3, 6), EPS, mp.pi / 4 * mpf("1.0001")),
    "Atan": (
        odd_tail(mp.atan),
        tail_weight(mp.atan, 3),
        square,
        (8, 12),
        EPS,
        (mpf(1), mp.tan(mp.pi / 8)),
    ),
    "Asin": (odd_tail(mp.asin), tail_weight(mp.asin, 3), square, (5, 12), EPS, mpf("0.5")),
    "ErfSmall": (
        lambda x: mp.erf(x) / x - 1,
        tail_weight(mp.erf, 1),
        square,
        (7, 14),
        EPS,
        mpf(1),
    ),
    "ErfTail": (
        lambda x: -mp.log(mp.erfc(x), 2),
        lambda x: mp.erfc(x) * mp.log(2) / mp.erf(x),
        plain,
        (6, None),
        mpf(1),
        mpf("4"),
    ),
    "NormalTail": (
        lambda x: mp.log(normal_tail(x), 2),
        lambda x: mp.log(2) * min(1, normal_tail(x) * 2**13),
        plain,
        (6, None),
        mpf(0),
        mpf("5.5"),
    ),
    "Erfcx": (
        lambda x: (1 + 2 * x) * erfcx(x),
        lambda x: 1 / ((1 + 2 * x) * erfcx(x)),
        lambda x: (x - 4) / (x + 4),
        (12, 24),
        mpf(0),
        (mpf("10.1"), mpf("27.3")),
    ),
    "Erf": (
        per_x(mp.erf, 2 / mp.sqrt(mp.pi)),
        tail_weight(mp.erf, 1),
        square,
        ((6, 5), None),
        EPS,
        mpf("3.93"),
    ),
    "ErfShort": (
        per_x(mp.erf, 2 / mp.sqrt(mp.pi)),
        tail_weight(mp.erf, 1),
        square,
        ((3, 3), None),
        EPS,
        mpf("2.9"),
    ),
    "Tanh": (
        per_x(mp.tanh, mpf(1)),
        tail_weight(mp.tanh, 1),
        square,
        ((2, 3), None),
        EPS,
        mpf("5.2"),
    ),
}


def emit(name, suffix, values):
    ctype, mark = ("float", "f") if suffix == "F32" else ("double", "")
    texts = [re.sub(r"\.?0+p", "p", float(c).hex()) + mark for c in values]
    head = f"inline constexpr {ctype} k{name}{suffix}[] = {{"
    print(textwrap.fill(head + ", ".join(texts) + "};", 100, subsequent_indent="    "))


def main(names):
    for name, (f, weight, var, sizes, lo, hi) in TABLE.items():
        if names and name not in names:
            continue
        print(f"\n// {FORMS[name]}")
        for i, (suffix, rounding) in enumerate((("F32", to_f32), ("F64", to_f64))):
            size, end = sizes[i], hi[i] if isinstance(hi, tuple) else hi
            if size is None:
                continue
            if isinstance(size, tuple):
                p, q, error = fit_rational(f, weight, var, *size, lo, end, rounding)
                print(f"// {suffix}: 2^{float(mp.log(error, 2)):.1f}")
                emit(name + "Numerator", suffix, p)
                emit(name + "Denominator", suffix, q)
            else:
                p, error = fit_polynomial(f, weight, var, list(range(size)), lo, end, rounding)
                print(f"// {suffix}: 2^{float(mp.log(error, 2)):.1f}")
                emit(name, suffix, p)
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
