"""Real or complex numbers and lanes: tuples of one or two parts, stored in tuples of one or two arrays.

A kernel written with these functions is compiled once for real linear systems and once for complex ones.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.simd import at, load, put, store, total
from quirk.jit.tracing import traced


@traced
def lanes(parts: Any, o: int) -> Any:
    """Load eight consecutive elements of each part, from element o."""
    return tuple(load(part, o) for part in parts)


@traced
def keep(parts: Any, o: int, x: Any) -> None:
    """Store lanes x in eight consecutive elements of each part, from element o."""
    for part, of_part in zip(parts, x, strict=True):
        store(part, o, of_part)


@traced
def erase(parts: Any, o: int) -> None:
    """Set eight consecutive elements of each part to zero, from element o."""
    for part in parts:
        store(part, o, 0.0)


@traced
def number(parts: Any, o: int) -> Any:
    """Load element o of each part."""
    return tuple(at(part, o) for part in parts)


@traced
def write(parts: Any, o: int, x: Any) -> None:
    """Store x in element o of each part."""
    for part, of_part in zip(parts, x, strict=True):
        put(part, o, of_part)


@traced
def write_real(parts: Any, o: int, x: float) -> None:
    """Store a real number in element o; its imaginary part must be zero already."""
    put(parts[0], o, x)


@traced
def numbers(parts: Any, o: int) -> Any:
    """Load the three components of a vector of one body, from arrays in blocks of eight bodies."""
    return number(parts, o), number(parts, o + 8), number(parts, o + 16)


@traced
def neighbours(parts: Any, o: int) -> Any:
    """Load three consecutive elements of each part, from element o."""
    return number(parts, o), number(parts, o + 1), number(parts, o + 2)


@traced
def summed(a: Any, b: Any) -> Any:
    """Return the sum a + b of two numbers."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


@traced
def less(a: Any, b: Any) -> Any:
    """Return the difference a - b of two numbers."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


@traced
def multiple(a: Any, c: Any) -> Any:
    """Return the product of a number `a` and a real c."""
    return tuple(x * c for x in a)


@traced
def product(a: Any, b: Any) -> Any:
    """Return the product of two numbers."""
    if len(a) == 1:
        return (a[0] * b[0],)
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@traced
def square(a: Any) -> Any:
    """Return the squared magnitude of a number."""
    return a[0] * a[0] if len(a) == 1 else a[0] * a[0] + a[1] * a[1]


@traced
def reciprocal(a: Any) -> Any:
    """Return the reciprocal of a number."""
    if len(a) == 1:
        return (1.0 / a[0],)
    scale = 1.0 / (a[0] * a[0] + a[1] * a[1])
    return a[0] * scale, -(a[1] * scale)


@traced
def plus_one(a: Any) -> Any:
    """Return a number plus one."""
    return (1.0 + a[0], *a[1:])


@traced
def totals(a: Any) -> Any:
    """Return the sum over the lanes of each part."""
    return tuple(total(part) for part in a)


@traced
def along(a: Any, w: Any) -> Any:
    """Return the scalar product a . w of three numbers and a real vector."""
    return summed(summed(multiple(a[0], w[0]), multiple(a[1], w[1])), multiple(a[2], w[2]))


@traced
def across(a: Any, w: Any) -> Any:
    """Return the vector product a x w of three numbers and a real vector."""
    return (
        less(multiple(a[1], w[2]), multiple(a[2], w[1])),
        less(multiple(a[2], w[0]), multiple(a[0], w[2])),
        less(multiple(a[0], w[1]), multiple(a[1], w[0])),
    )


@traced
def gone_on(a: Any, e: Any, b: Any) -> Any:
    """Return a + e b for vectors a and b."""
    return tuple(summed(x, product(e, y)) for x, y in zip(a, b, strict=True))


@traced
def unturned(a: Any, e: Any, w: Any) -> Any:
    """Return the vector x with x + e w x x = a, for a real vector w."""
    e_squared = product(e, e)
    scale = reciprocal(plus_one(multiple(e_squared, w[0] * w[0] + w[1] * w[1] + w[2] * w[2])))
    part, aside = product(e_squared, along(a, w)), across(a, w)
    return tuple(product(scale, summed(a[c], summed(multiple(part, w[c]), product(e, aside[c])))) for c in range(3))


@traced
def spun(scalar: Any, vector: Any, omega: Any, e: Any, w: Any, follows: float) -> Any:
    """Return the quaternion x with x + (e / 2) (follows w x - x w) = (scalar, vector + (e / 2) omega), for a real w.

    x is the variation of a quaternion, in axes that rotate with w for follows = 1, in axes at rest for follows = 0.
    """
    half = multiple(e, 0.5)
    s = tuple(summed(v, product(half, o)) for v, o in zip(vector, omega, strict=True))
    a, square_of_w = multiple(half, 1.0 - follows), w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    scale = reciprocal(plus_one(multiple(product(a, a), square_of_w)))
    part = product(scale, summed(along(s, w), product(a, multiple(scalar, square_of_w))))
    first = less(scalar, product(a, part))
    rest = tuple(summed(s[c], product(a, multiple(first, w[c]))) for c in range(3))
    return (first, *unturned(rest, multiple(half, 1.0 + follows), w))


@traced
def seen_from(w: Any, x: Any, scalar: Any, vector: Any) -> Any:
    """Return the product of the conjugate of a real quaternion (w, x) and another quaternion."""
    aside = across(vector, x)
    turned = (summed(less(multiple(vector[c], w), multiple(scalar, x[c])), aside[c]) for c in range(3))
    return (summed(multiple(scalar, w), along(vector, x)), *turned)


@traced
def placed(w: Any, x: Any, scalar: Any, vector: Any) -> Any:
    """Return the product of a real quaternion (w, x) and another quaternion."""
    aside = across(vector, x)
    turned = (less(summed(multiple(vector[c], w), multiple(scalar, x[c])), aside[c]) for c in range(3))
    return (less(multiple(scalar, w), along(vector, x)), *turned)
