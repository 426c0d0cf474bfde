"""Random user functions from the grammar of Python's expressions, and their machine code beside what Python gives."""

import ctypes
import math

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.functions.user_function import of_floats
from quirk.jit.llvm_functions import native
from quirk.jit.simd import at, put

NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    -0.3,
    1e-300,
    1e300,
    1e-8,
    123.456,
    math.pi,
    math.inf,
    -math.inf,
    math.nan,
]
INTEGERS = [0, 1, -1, 2, 3, 5, -2, 7]
UNARY_MATH = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "sqrt",
    "log",
    "fabs",
    "radians",
    "degrees",
]
# Functions of numpy that `math` has too, by their names there. With AVX-512 numpy computes most of them by instructions
# of its own, to the last digits but not to the bit.
IN_MATH = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "exp": "exp", "sqrt": "sqrt", "log": "log", "arctan2": "atan2", "power": "pow",
}  # fmt: skip


def _gives_the_bits_of_math(name):
    """Whether a function of numpy gives what that of `math` does, at many numbers between 0 and 1."""
    function, original = getattr(np, name), getattr(math, IN_MATH[name])
    numbers = np.random.default_rng(0).uniform(0, 1, (function.nin, 5000))
    return function(*numbers).tolist() == [original(*x) for x in numbers.T.tolist()]


NEARLY_AS_MATH = [name for name in IN_MATH if not _gives_the_bits_of_math(name)]
UNARY_NUMPY = [
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "exp", "sqrt", "log", "abs", "sign", "square",
    "deg2rad", "rad2deg", "negative", "reciprocal",
]  # fmt: skip
BINARY_NUMPY = ["add", "subtract", "multiply", "divide", "minimum", "maximum", "arctan2"]
UNARY_NUMPY, BINARY_NUMPY = (
    [name for name in names if name not in NEARLY_AS_MATH] for names in (UNARY_NUMPY, BINARY_NUMPY)
)
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


class Gains:
    """An object with attributes, a method and a property."""

    factor = 0.75

    def __init__(self):
        self.gain, self.table, self.names = -1.5, np.array([0.25, -2.0, 3.0]), {"a": 2.0, "b": (1, -0.0)}

    def scaled(self, x):
        return self.gain * x + self.factor

    @property
    def twice(self):
        return 2 * self.gain


def helper(x, y=0.5, *, sign=-1):
    return sign * x + y


def doubled(x):
    """In-place operators and views, which share elements."""
    a = np.array(x)
    b, c = a[1:], a
    b *= 2
    c[:2] -= b
    a[0] += 1
    return c


OUTSIDE = {"doubled": doubled, "math": math, "np": np, "gains": Gains(), "TABLE": np.array([0.5, -1.0, 2.0]), "LIST": [1.5, -0.0, 2],
           "DICT": {"k": 0.3, 1: -4}, "helper": helper, "FLAG": True, "MODE": "slow"}  # fmt: skip


class Grammar:
    """Makes the text of functions; `certain` leaves out what is seldom compiled."""

    def __init__(self, seed, certain=False):
        self.random, self.certain = np.random.default_rng(seed), certain

    def of(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def number(self):
        return repr(self.of(NUMBERS)).replace("inf", "math.inf").replace("nan", "math.nan")

    def leaf(self):
        return self.of([
            "t", "r[0]", "r[1]", "r[-1]", "v[2]", "v[0]", "x", "k", "c", self.number(), str(self.of(INTEGERS)),
            "gains.gain", "gains.table[1]", "gains.twice", "TABLE[0]", "LIST[1]", "DICT['k']", "gains.names['b'][1]",
        ])  # fmt: skip

    def vector(self, depth):
        if depth <= 0:
            return self.of(["r", "v", "TABLE", "gains.table", "np.zeros(3)", "np.array([t, 1, -0.0])"])
        d = depth - 1
        return self.of([
            lambda: f"({self.vector(d)} {self.of('+-*/')} {self.vector(d)})",
            lambda: f"({self.vector(d)} {self.of('+-*/')} {self.scalar(d)})",
            lambda: f"({self.scalar(d)} {self.of('+-*')} {self.vector(d)})",
            lambda: f"-{self.vector(d)}",
            lambda: f"np.cross({self.vector(d)}, {self.vector(d)})",
            lambda: f"np.{self.of(UNARY_NUMPY)}({self.vector(d)})",
            lambda: f"np.{self.of(BINARY_NUMPY)}({self.vector(d)}, {self.scalar(d)})",
            lambda: f"np.where({self.vector(d)} {self.of(COMPARISONS)} {self.scalar(d)}, {self.vector(d)}, {self.scalar(d)})",
            lambda: f"np.clip({self.vector(d)}, -0.5, {self.of(['1', '0.0', '-0.0'])})",
            lambda: f"np.array([{self.scalar(d)}, {self.scalar(d)}, {self.scalar(d)}])",
            lambda: f"doubled({self.vector(d)})",
            lambda: f"np.append({self.vector(d)}[:2], {self.scalar(d)})",
            lambda: f"{self.vector(d)} ** 2",
        ])()  # fmt: skip

    def truth(self, depth):
        d = depth - 1
        if depth <= 0:
            return f"({self.leaf()} {self.of(COMPARISONS)} {self.leaf()})"
        return self.of([
            lambda: f"({self.scalar(d)} {self.of(COMPARISONS)} {self.scalar(d)})",
            lambda: f"({self.scalar(d)} {self.of(COMPARISONS)} {self.leaf()} {self.of(COMPARISONS)} {self.leaf()})",
            lambda: f"({self.truth(d)} {self.of('&|')} {self.truth(d)})",
            lambda: f"(~{self.truth(d)})",
            lambda: f"(not {self.truth(d)})",
            lambda: f"({self.truth(d)} {self.of(['and', 'or'])} {self.truth(d)})",
            lambda: f"np.logical_{self.of(['and', 'or'])}({self.truth(d)}, {self.truth(d)})",
            lambda: f"np.logical_not({self.truth(d)})",
        ])()  # fmt: skip

    def base(self, depth):
        """A base or an exponent: a float where powers of numpy's arrays, also of one number, are not those of `math`."""
        return f"float({self.scalar(depth)})" if "power" in NEARLY_AS_MATH else self.scalar(depth)

    def scalar(self, depth):
        if depth <= 0:
            return self.leaf()
        d = depth - 1
        usual = [
            lambda: f"({self.scalar(d)} {self.of('+-*/')} {self.scalar(d)})",
            lambda: f"({self.scalar(d)} {self.of('+-*')} {self.leaf()})",
            lambda: f"({self.base(d)}) ** {self.of(['2', '3', '-1', '0.5', '1.7', '4', '0', '2.0', '-2'])}",
            lambda: f"-{self.scalar(d)}",
            lambda: f"+{self.scalar(d)}",
            lambda: f"math.{self.of(UNARY_MATH)}({self.scalar(d)})",
            lambda: f"np.{self.of(UNARY_NUMPY)}({self.scalar(d)})",
            lambda: f"np.{self.of(BINARY_NUMPY)}({self.scalar(d)}, {self.scalar(d)})",
            lambda: f"math.{self.of(['atan2', 'pow'])}({self.scalar(d)}, {self.scalar(d)})",
            lambda: f"{self.of(['min', 'max'])}({self.scalar(d)}, {self.scalar(d)}, {self.leaf()})",
            lambda: f"abs({self.scalar(d)})",
            lambda: f"np.where({self.truth(d)}, {self.scalar(d)}, {self.scalar(d)})",
            lambda: f"np.clip({self.scalar(d)}, -1, {self.of(['0', '0.0', '2.5'])})",
            lambda: f"np.heaviside({self.scalar(d)}, {self.leaf()})",
            lambda: f"{self.vector(d)}[{self.of(['0', '1', '-1'])}]",
            lambda: f"float({self.scalar(d)})",
            lambda: f"(lambda y, z={self.scalar(d)}: {self.of(['y * z', 'y - z', 'z'])})({self.scalar(d)})",
            lambda: f"helper({self.scalar(d)}, {self.leaf()})",
            lambda: f"helper({self.scalar(d)}, sign={self.leaf()})",
            lambda: f"gains.scaled({self.scalar(d)})",
            lambda: f"({self.scalar(d)}, {self.scalar(d)})[{self.of(['0', '1'])}]",
            lambda: f"[{self.scalar(d)}, {self.leaf()}][{self.of(['0', '-1'])}]",
            lambda: f"({self.scalar(d)} if {self.of(['FLAG', 'k > 0', 'c < 1', chr(39) + 'slow' + chr(39) + ' == MODE', 'not FLAG'])}"
                    f" else {self.scalar(d)})",
            lambda: f"sum([{self.scalar(d)}, {self.leaf()}, {self.leaf()}])",
            lambda: f"sum({self.leaf()} * y for y in ({self.scalar(d)}, {self.leaf()}))",
            lambda: f"{self.of(['2', '0.5', '3.0'])} ** {self.base(d)}",
        ]  # fmt: skip
        seldom = [
            lambda: f"({self.scalar(d)} if {self.truth(d)} else {self.scalar(d)})",
            lambda: f"({self.scalar(d)} {self.of(['//', '%'])} {self.leaf()})",
            lambda: f"round({self.scalar(d)}, {self.of(['0', '2'])})",
            lambda: f"int({self.scalar(d)})",
            lambda: f"({self.truth(d)} * {self.scalar(d)})",
            lambda: f"math.{self.of(['floor', 'ceil', 'copysign'])}({self.scalar(d)}{self.of(['', ', -0.0'])})",
            lambda: f"len(f'{{{self.of(['t', 'x', 'r', 'k'])}}}')",
            lambda: f"(3 {self.of(['&', '|', '^', '<<', '>>', '//', '%', '**'])} {self.of(INTEGERS)}) * {self.scalar(d)}",
            lambda: f"({self.scalar(d)} in (0, 1.0))",
            lambda: f"({self.scalar(d)} and {self.scalar(d)})",
            lambda: f"DICT.get({self.scalar(d)}, {self.leaf()})",
            lambda: f"({self.scalar(d)}).real",
            lambda: f"(t.__class__ is float) + {self.leaf()}",
            lambda: f"LIST[k > 0] * {self.leaf()}",
            lambda: f"math.hypot({self.scalar(d)})",
            lambda: f"max([{self.scalar(d)}], default=1.0)",
            lambda: f"r.{self.of(['min', 'max', 'mean', 'std'])}()",
            lambda: f"isinstance({self.leaf()}, float) + 0.5",
            lambda: f"divmod({self.scalar(d)}, 2)[0]",
            lambda: f"[y for y in {self.vector(d)} if y > 0][0]",
            lambda: f"str({self.leaf()}).count('0')",
            lambda: f"sorted({self.vector(d)})[0]",
        ]  # fmt: skip
        return self.of(usual if self.certain or self.random.random() < 0.93 else seldom)()

    def function(self):
        """Return a function of (t, r, v, x), with its text; k and c come from outside, as cells or defaults."""
        text = f"[{', '.join(self.scalar(int(self.random.integers(1, 4))) for _ in range(3))}]"
        k, c = self.of([*INTEGERS, *NUMBERS]), self.of(NUMBERS)
        if self.random.random() < 0.5:
            source = f"lambda k, c: lambda t, r, v, x: {text}"
            return eval(source, dict(OUTSIDE))(k, c), f"k, c = {k}, {c}: {text}"
        function = eval(f"lambda t, r, v, x, k=None, c=None: {text}", dict(OUTSIDE))
        function.__defaults__ = k, c
        return function, f"k, c = {k}, {c}: {text}"


SIZE = 8  # t, r, v and x


def compiled(functions):
    """Return machine code that fills 4 numbers of each function: its value, and whether Python is to be asked.

    And which functions it has: others run in Python.
    """
    written = []

    def fill(t, inputs, outputs):
        numbers = [Jet([at(inputs, k)], []) for k in range(SIZE)]
        arrays = [np.array(numbers[first : first + 3], dtype=object) for first in (1, 4)]
        for number, function in enumerate(functions):
            try:
                values, checks = of_floats(function, numbers[0], *arrays, numbers[7])
                listed = [1.0 * (x.value if isinstance(x, Jet) else x) for x in values]
                assert len(listed) == 3
            except Exception:
                continue
            total = 0.0
            for x in (*listed, *checks):
                total = total + x * 0.0
            for k, x in enumerate((*listed, total)):
                put(outputs, 4 * len(written) + k, x)
            written.append(number)

    return native(fill, keep=False), written


def run(code, count, numbers):
    """Return what machine code gives for numbers t, r, v and x, (count, 4)."""
    inputs, outputs = np.array(numbers, dtype=float), np.zeros(4 * count)
    pointers = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (inputs, outputs)]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_double, *(type(p) for p in pointers))
    kind(code.address)(float(numbers[0]), *pointers)
    return outputs.reshape(count, 4)


def in_python(function, numbers):
    """Return what Python gives, three floats, or None where it raises an error or gives no finite numbers."""
    t, r, v, x = float(numbers[0]), np.array(numbers[1:4]), np.array(numbers[4:7]), float(numbers[7])
    try:
        given = np.asarray(function(t, r, v, x))
        found = np.array(given, dtype=float) if given.dtype.kind in "iuf" else None
    except Exception:
        return None
    return found if found is not None and found.shape == (3,) and np.isfinite(found).all() else None
