"""Unrolled loops over tuples do what plain loops do."""

CODE = """
from ravine.engine.cuda.over_tuples import carried, folded, mapped
from ravine.engine.cuda.source import device_function

@device_function
def one(a, b, at, common):
    return a * b + at * common

@device_function
def below(so_far, a, b, at, common):
    return so_far & (a < b)

@device_function
def digits(so_far, a, b, at, common):
    return so_far * common + a * at

@device_function
def running(so_far, a, b, at, common):
    return so_far + a, so_far * b + at * common

each, every, carry = mapped(3, one), folded(3, below), folded(3, digits)
both = carried(3, running)

@cuda.jit
def kernel(out):
    out[:3] = each((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 7, 10.0)
    out[3] = every(True, (1, 2, 3), (2, 3, 4), 0, 0)
    out[4] = every(True, (1, 2, 3), (2, 3, 3), 0, 0)
    out[5] = carry(1.0, (2.0, 3.0, 4.0), (0, 0, 0), 1, 10.0)
    out[6], entries = both(1.0, (2.0, 3.0, 4.0), (1.0, 1.0, 2.0), 0, 10.0)
    out[7:] = entries

out = np.zeros(10)
kernel[1, 1](out)
result = out.tolist()
"""


def test_loops_over_tuples(in_simulator):
    found = in_simulator(CODE)
    assert found[:3] == [1 * 4 + 70, 2 * 5 + 80, 3 * 6 + 90]
    assert found[3:5] == [1, 0]
    assert found[5] == ((1 * 10 + 2 * 1) * 10 + 3 * 2) * 10 + 4 * 3
    assert found[6:] == [1 + 2 + 3 + 4, 1, 3 + 10, 6 * 2 + 20]
