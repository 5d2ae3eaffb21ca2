"""Attacks on ravine from outside: seeded, counted by outcome, reproducible case by case.

    python -m attack                        everything that is here, at length
    python -m attack calls                  one of them
    python -m attack calls --count 300      fewer cases
    python -m attack calls --case 1234      one case, with its traceback

Each module has a ``main`` that prints counts by outcome and returns the number of failures.
"""
