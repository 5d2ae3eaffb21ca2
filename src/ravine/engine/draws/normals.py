"""Standard normals in single precision, from pairs of 32-bit words, without branches.

Box and Muller's transform: with u uniform in (0, 1] and theta uniform on the circle, sqrt(-2 ln u)
cos(theta) and sqrt(-2 ln u) sin(theta) are independent standard normals. The logarithm, sine and
cosine are minimax polynomials, so that a loop over lanes becomes vector code. The radius is at most
sqrt(64 ln 2) = 6.66, which truncates 2.7e-11 of the mass.

The stream of one coordinate gives words w0, w1, w2, ...; words 2j and 2j+1 give the normals of
steps 2j and 2j+1. ``radius`` and the two functions of the angle are separate because kernels run
them in separate lane loops: together their constants do not fit into the registers.
"""

from __future__ import annotations

import numpy as np

from ravine.engine.kernels.compiled import inner

_f = np.float32
_HALF = _f(0.5)  # uniform numbers are the centres of their cells, so that none is 0
_UNIT = _f(
    2.0**-31
)  # width of a cell: 31 bits fit into an int32, which processors convert in vectors
_ANGLE = _f(np.pi / 2.0**32)  # radians per unit of a word: all words together are half a turn
_MINUS_TWO_LN2 = _f(
    -2.0 * np.log(2.0)
)  # -2 ln 2, the contribution of each binary exponent to -2 ln u
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2)
_ONE = _f(1.0)
_MANTISSA = np.int32(23)  # bits of a float32's mantissa, below its exponent
_1 = np.uint32(1)
_31 = np.uint32(31)  # the highest bit of a word

# -2 ln(1+t) / t on sqrt(1/2) <= 1+t <= sqrt(2), relative error 1.7e-7.
_L0, _L1, _L2, _L3 = (
    _f(-1.9999998807907104),
    _f(1.0000072717666626),
    _f(-0.6667011976242065),
    _f(0.4993981719017029),
)
_L4, _L5, _L6, _L7 = (
    _f(-0.39800330996513367),
    _f(0.34501659870147705),
    _f(-0.32445162534713745),
    _f(0.20213791728019714),
)
# sin(a) / a and cos(a) in powers of a² on |a| <= pi/2, errors 5e-9 and 5e-8.
_S0, _S1, _S2 = _f(1.0), _f(-0.16666656732559204), _f(0.008333025500178337)
_S3, _S4 = _f(-0.00019807419448625296), _f(2.6019031338364584e-06)
_C0, _C1, _C2 = _f(0.9999999403953552), _f(-0.4999990463256836), _f(0.04166358336806297)
_C3, _C4 = _f(-0.0013853703858330846), _f(2.315393248863984e-05)


@inner
def radius(bits: np.uint32) -> np.float32:
    """Return sqrt(-2 ln u) for u = (floor(bits/2) + 1/2) / 2³¹."""
    u = np.float32((_f(np.int32(bits >> _1)) + _HALF) * _UNIT)
    word = u.view(np.int32)
    exponent = np.int32(np.int32(word - _ROOT_HALF) >> _MANTISSA)
    mantissa = np.int32(word - np.int32(exponent << _MANTISSA))
    t = mantissa.view(np.float32) - _ONE
    p = _L4 + t * (_L5 + t * (_L6 + t * _L7))
    p = _L0 + t * (_L1 + t * (_L2 + t * (_L3 + t * p)))
    return np.float32(np.sqrt(t * p + _f(exponent) * _MINUS_TWO_LN2))


@inner
def sine(bits: np.uint32) -> np.float32:
    """Return sin(a), where a in [-pi/2, pi/2) is proportional to the bits as an integer."""
    a = _f(np.uint32(bits).view(np.int32)) * _ANGLE
    s = a * a
    return a * (_S0 + s * (_S1 + s * (_S2 + s * (_S3 + s * _S4))))


@inner
def cosine(bits: np.uint32) -> np.float32:
    """Return ±cos(a), with the sign from the lowest bit: the angle is uniform on the circle."""
    a = _f(np.uint32(bits).view(np.int32)) * _ANGLE
    s = a * a
    size = np.float32(_C0 + s * (_C1 + s * (_C2 + s * (_C3 + s * _C4))))
    return np.uint32(size.view(np.uint32) ^ np.uint32((bits & _1) << _31)).view(np.float32)


@inner
def normal_pair(first: np.uint32, second: np.uint32) -> tuple[np.float32, np.float32]:
    """Return two independent standard normals from two words."""
    r = radius(first)
    return r * cosine(second), r * sine(second)
