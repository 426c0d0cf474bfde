"""Arithmetic of real or complex numbers in compiled code.

A number is a tuple of one part (real), or of two parts (real and imaginary). `parts` are the arrays in which the parts
are stored, one or two. A part may be a vector of eight elements, which are adjacent in the arrays. A kernel that uses
these functions is compiled once for real and once for complex linear systems.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.simd import at, load, put, store, total
from quirk.jit.tracing import traced


@traced
def load_lanes(parts: Any, o: int) -> Any:
    """Load eight numbers, real or complex, from adjacent elements of `parts`, beginning at element o."""
    return tuple(load(part, o) for part in parts)


@traced
def store_lanes(parts: Any, o: int, x: Any) -> None:
    """Store eight numbers x, real or complex, in adjacent elements of `parts`, beginning at element o."""
    for part, of_part in zip(parts, x, strict=True):
        store(part, o, of_part)


@traced
def clear_lanes(parts: Any, o: int) -> None:
    """Set eight adjacent elements of `parts` to zero, beginning at element o."""
    for part in parts:
        store(part, o, 0.0)


@traced
def number(parts: Any, o: int) -> Any:
    """Load the number, real or complex, at element o of `parts`."""
    return tuple(at(part, o) for part in parts)


@traced
def write(parts: Any, o: int, x: Any) -> None:
    """Store the number x, real or complex, at element o of `parts`."""
    for part, of_part in zip(parts, x, strict=True):
        put(part, o, of_part)


@traced
def write_real(parts: Any, o: int, x: float) -> None:
    """Store a real number x at element o of `parts`; the imaginary part must be zero already."""
    put(parts[0], o, x)


@traced
def numbers(parts: Any, o: int) -> Any:
    """Load a real or complex vector of one body, with its components at elements o, o + 8 and o + 16 of `parts`."""
    return number(parts, o), number(parts, o + 8), number(parts, o + 16)


@traced
def adjacent(parts: Any, o: int) -> Any:
    """Load three numbers, real or complex, from adjacent elements of `parts`, beginning at element o."""
    return number(parts, o), number(parts, o + 1), number(parts, o + 2)


@traced
def summed(a: Any, b: Any) -> Any:
    """Return the sum a + b of two real or complex numbers."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


@traced
def difference(a: Any, b: Any) -> Any:
    """Return the difference a - b of two real or complex numbers."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


@traced
def multiple(a: Any, c: Any) -> Any:
    """Return the product of a real or complex number a and a real factor c."""
    return tuple(x * c for x in a)


@traced
def product(a: Any, b: Any) -> Any:
    """Return the product of two real or complex numbers a and b."""
    if len(a) == 1:
        return (a[0] * b[0],)
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@traced
def square(a: Any) -> Any:
    """Return the squared magnitude of a real or complex number."""
    return a[0] * a[0] if len(a) == 1 else a[0] * a[0] + a[1] * a[1]


@traced
def reciprocal(a: Any) -> Any:
    """Return the reciprocal of a real or complex number."""
    if len(a) == 1:
        return (1.0 / a[0],)
    scale = 1.0 / (a[0] * a[0] + a[1] * a[1])
    return a[0] * scale, -(a[1] * scale)


@traced
def plus_one(a: Any) -> Any:
    """Return 1 + a for a real or complex number a."""
    return (1.0 + a[0], *a[1:])


@traced
def totals(a: Any) -> Any:
    """Return the sum of the eight elements of a real or complex vector."""
    return tuple(total(part) for part in a)


@traced
def along(a: Any, w: Any) -> Any:
    """Return the scalar product a . w of a real or complex vector a (3 components) and a real vector w."""
    return summed(summed(multiple(a[0], w[0]), multiple(a[1], w[1])), multiple(a[2], w[2]))


@traced
def across(a: Any, w: Any) -> Any:
    """Return the cross product a x w of a real or complex vector a (3 components) and a real vector w."""
    return (
        difference(multiple(a[1], w[2]), multiple(a[2], w[1])),
        difference(multiple(a[2], w[0]), multiple(a[0], w[2])),
        difference(multiple(a[0], w[1]), multiple(a[1], w[0])),
    )


@traced
def plus_multiple(a: Any, e: Any, b: Any) -> Any:
    """Return the sum a + e b for two real or complex vectors a and b and a number e."""
    return tuple(summed(x, product(e, y)) for x, y in zip(a, b, strict=True))


@traced
def solve_rotating_vector(a: Any, e: Any, w: Any) -> Any:
    """Return the vector z that solves z + e (w x z) = a, for a real vector w and a real or complex number e.

    In an implicit step, w is the angular velocity of rotating axes.
    """
    e_squared = product(e, e)
    scale = reciprocal(plus_one(multiple(e_squared, w[0] * w[0] + w[1] * w[1] + w[2] * w[2])))
    part, aside = product(e_squared, along(a, w)), across(a, w)
    return tuple(product(scale, summed(a[c], summed(multiple(part, w[c]), product(e, aside[c])))) for c in range(3))


@traced
def solve_rotating_quaternion(scalar: Any, vector: Any, omega: Any, e: Any, w: Any, follows: float) -> Any:
    """Return the quaternion x that solves x + (e / 2) (f w x - x w) = (scalar, vector + (e / 2) omega), f = `follows`.

    x is the variation of a quaternion in an implicit step. The real vector w is the angular velocity of the body; the
    axes rotate with w for f = 1, and do not rotate for f = 0.
    """
    half = multiple(e, 0.5)
    s = tuple(summed(v, product(half, o)) for v, o in zip(vector, omega, strict=True))
    a, square_of_w = multiple(half, 1.0 - follows), w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    scale = reciprocal(plus_one(multiple(product(a, a), square_of_w)))
    part = product(scale, summed(along(s, w), product(a, multiple(scalar, square_of_w))))
    first = difference(scalar, product(a, part))
    rest = tuple(summed(s[c], product(a, multiple(first, w[c]))) for c in range(3))
    return (first, *solve_rotating_vector(rest, multiple(half, 1.0 + follows), w))


@traced
def conjugate_times(w: Any, x: Any, scalar: Any, vector: Any) -> Any:
    """Return the product of the conjugate of a real unit quaternion and the quaternion (scalar, vector).

    The unit quaternion has the scalar part w and the vector part x.
    """
    aside = across(vector, x)
    turned = (summed(difference(multiple(vector[c], w), multiple(scalar, x[c])), aside[c]) for c in range(3))
    return (summed(multiple(scalar, w), along(vector, x)), *turned)


@traced
def quaternion_times(w: Any, x: Any, scalar: Any, vector: Any) -> Any:
    """Return the product of a real unit quaternion and the quaternion (scalar, vector).

    The unit quaternion has the scalar part w and the vector part x.
    """
    aside = across(vector, x)
    turned = (difference(summed(multiple(vector[c], w), multiple(scalar, x[c])), aside[c]) for c in range(3))
    return (difference(multiple(scalar, w), along(vector, x)), *turned)
