"""Jets against Cauchy's integral: derivatives of any order of analytic functions, to round-off."""

import math

import numpy as np
import pytest

import quirk
from quirk.autodiff.jet import Jet
from quirk.autodiff.numerical import by_interpolation

ORDER = 6


def functions():
    return {
        "product": lambda x, y: x * y * x,
        "quotient": lambda x, y: (1 + x) / (2 + y),
        "power": lambda x, y: x**3 - y**-2 + (2 + x) ** 0.7 + (x - 1) ** 2.0 + (x - 2) ** np.int64(3),
        "roots": lambda x, y: np.sqrt(2 + x * y),
        "exponential": lambda x, y: np.exp(x) * np.log(3 + y),
        "waves": lambda x, y: np.sin(x) * np.cos(2 * y) + np.tan(0.3 * x),
        "arcs": lambda x, y: np.arctan(x * y) + np.arcsin(0.3 * x) - np.arccos(0.2 * y),
        "hyperbolic": lambda x, y: np.sinh(x) * np.cosh(y) + np.tanh(x * y),
        "length": lambda x, y: np.hypot(1 + x, y),
        "mixed": lambda x, y: 1 - x + 2 * y - (3 - x) / 5,
    }


# Two motions, analytic, and their Taylor coefficients at t = 0.
X = np.array([0.4, -0.7, 0.3, 0.1, -0.2, 0.05, 0.02])
Y = np.array([0.9, 0.5, -0.1, 0.2, 0.15, -0.1, 0.03])


def taylor(f, radius=0.25, n=64):
    """Taylor coefficients of f(t), from its values on a circle around zero."""
    t = radius * np.exp(2j * np.pi * np.arange(n) / n)
    c = np.fft.fft(f(t)) / n
    return c[: ORDER + 1].real / radius ** np.arange(ORDER + 1)


@pytest.mark.parametrize("name", functions())
def test_derivatives_in_time(name):
    f = functions()[name]
    if name == "length":
        pytest.skip("hypot takes no complex numbers; the square root is tested")
    want = taylor(lambda t: f(np.polyval(X[::-1], t), np.polyval(Y[::-1], t)))
    got = f(Jet(X, []), Jet(Y, [])).taylor
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", functions())
def test_gradients_and_their_derivatives_in_time(name):
    """By a complex step in each argument, along the motion."""
    f = functions()[name]
    e = np.eye(8)
    x = Jet(X, [[e[0], *[0] * ORDER], None])
    y = Jet(Y, [[e[1], *[0] * ORDER], [e[2], *[0] * ORDER]])
    gradient = f(x, y).gradient
    h = 1e-30
    if name == "length":  # hypot takes no complex numbers
        f = lambda x, y: np.sqrt((1 + x) ** 2 + y**2)  # noqa: E731
    # Real times, since the imaginary axis is taken: the slopes as polynomials through Chebyshev points.
    t = 0.1 * np.cos(np.pi * (np.arange(24) + 0.5) / 24)
    at = np.polyval(X[::-1], t), np.polyval(Y[::-1], t)
    slopes = f(at[0] + 1j * h, at[1]).imag / h, f(at[0], at[1] + 1j * h).imag / h
    zero = np.zeros(len(t))
    series = [np.polynomial.Chebyshev.fit(t, zero + s, 20, domain=[-0.1, 0.1]) for s in slopes]
    factorial = 1.0
    for k in range(ORDER - 1):  # the highest would need more digits than differences leave
        factorial *= max(k, 1)
        f_x, f_y = ((s.deriv(k) if k else s)(0.0) / factorial for s in series)
        scale = 1e-13 * 200**k * (1 + abs(f_x) + abs(f_y))
        np.testing.assert_allclose(gradient[0][k], f_x * e[0] + f_y * e[1], atol=scale)
        if gradient[1] is not None:
            np.testing.assert_allclose(gradient[1][k], f_y * e[2], atol=scale)


def test_angles_of_all_quadrants():
    for angle in (0.3, 2.0, -2.5, -0.4):
        t = taylor(lambda t, a=angle: np.sin(a + t)), taylor(lambda t, a=angle: np.cos(a + t))
        got = np.arctan2(Jet(t[0], []), Jet(t[1], [])).taylor
        np.testing.assert_allclose(got, [angle, 1.0, 0, 0, 0, 0, 0], atol=1e-10)


def test_whole_turns_are_taken_off():
    jet = Jet([7.0, 2.0], [[np.ones(8)]]).wrapped(2 * np.pi)
    assert jet.value == pytest.approx(7.0 - 2 * np.pi)
    assert jet.taylor[1] == 2.0
    assert Jet([-3.3, 1.0], []).wrapped(1.0).value == pytest.approx(-0.3)


def test_arrays_of_jets():
    a, b = (np.array([Jet([x, 1.0], []) for x in row], dtype=object) for row in ([1, 2, 3], [4, 5, 6]))
    assert (a @ b).taylor == [32.0, 21.0]
    assert [c.value for c in np.cross(a, b)] == [-3.0, 6.0, -3.0]
    assert [c.value for c in a[0] * b] == [4.0, 5.0, 6.0]
    assert abs(-a[1]).value == 2.0


def test_what_is_not_defined_is_not_a_number():
    assert np.isnan(np.sqrt(Jet([-1.0, 1.0], [])).value)
    assert np.isnan((1 / Jet([0.0, 1.0], [])).value)
    assert np.isnan(np.log(Jet([-1.0, 1.0], [])).value)


def test_math_is_refused_with_a_hint():
    import math

    with pytest.raises(TypeError, match="numpy's sin"):
        math.sin(Jet([1.0, 0.0], []))


def test_powers_at_zero_have_as_many_derivatives_as_they_are_high():
    x = Jet([0.0, 0.3, 0.1], [[1.0, 0.0]])
    power = x**2.5
    assert power.taylor == [0.0, 0.0, 0.0]
    assert power.gradient == [[0.0, 0.0]]
    assert np.isnan((x**1.5).taylor[2])
    y = Jet([0.7, 0.3, -0.2, 0.1], [[1.0, 0.2, 0.1]])
    for exponent in (2.5, 0.5, -1.3):
        other = (y.log() * exponent).exp()
        np.testing.assert_allclose((y**exponent).taylor, other.taylor, rtol=1e-13)
        np.testing.assert_allclose((y**exponent).gradient[0], other.gradient[0], rtol=1e-13)


class TestInterpolationInTime:
    """Derivatives of functions of floats alone, by interpolation in time."""

    @staticmethod
    def derivatives(function, t):
        found = by_interpolation(function, Jet([t, 1.0, 0.0], []), (Jet([t**2, 2 * t, 1.0], []),))
        return found[()].taylor

    @pytest.mark.parametrize("side", [-1.0, 1.0])
    @pytest.mark.parametrize("ulps", [64, 1e6, 1e12])
    def test_beside_a_jump_they_are_those_of_the_same_side(self, side, ulps):
        """Up to round-off, and whatever the distance from the jump at t = 1."""
        t = 1.0 + side * ulps * np.spacing(1.0)
        value, rate, half = self.derivatives(lambda t, x: math.sin(3.0 * t) + x + (5.0 if t > 1.0 else 0.0), t)
        assert value == pytest.approx(math.sin(3.0 * t) + t**2 + (5.0 if side > 0 else 0.0))
        assert rate == pytest.approx(3.0 * math.cos(3.0 * t) + 2.0 * t, rel=1e-8)
        assert half == pytest.approx(-4.5 * math.sin(3.0 * t) + 1.0, rel=1e-6)

    def test_where_the_function_is_defined_on_one_side_alone(self):
        def root(t, x):
            if t < 1.0:
                raise quirk.InputError("undefined before t = 1 s")
            return t**1.5 * x

        value, rate, half = self.derivatives(root, 1.0)
        assert (value, rate, half) == pytest.approx((1.0, 3.5, 4.375), rel=1e-6)

    def test_smooth_functions_are_interpolated_on_both_sides(self):
        value, rate, half = self.derivatives(lambda t, x: math.exp(8.0 * t) * x, 0.5)
        e = math.exp(4.0)
        assert (value, rate, half) == pytest.approx((0.25 * e, 3.0 * e, 17.0 * e), rel=1e-9)
