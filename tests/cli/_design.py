"""What the tests of designs share: test functions as scenes, and the tables of a database."""
import json
import os
import sqlite3

from _study import good, perp, table, write

# A point mass that stays where the parameters put it, for one step: measures are functions of its position.
NAMES = "abcde"
POINT = {
    "dimension": 2, "gravity": [0, 0], "step": 0.01, "duration": 0.01,
    "parameters": {"a": -1.2, "b": 1, "c": 0, "d": 0, "e1": 0},
    "bodies": [{"name": "p", "mass": 1, "position": ["a", "b"], "shapes": [{"type": "particle"}]}],
    "measures": {
        "sphere": "p.position.x^2 + p.position.y^2",
        "booth": "(p.position.x + 2*p.position.y - 7)^2 + (2*p.position.x + p.position.y - 5)^2",
        "rosenbrock": "(1 - p.position.x)^2 + 100*(p.position.y - p.position.x^2)^2",
        "rosenbrock5": "(1-a)^2 + 100*(b-a^2)^2 + (1-b)^2 + 100*(c-b^2)^2 + (1-c)^2 + 100*(d-c^2)^2 + (1-d)^2 + "
                       "100*(e1-d^2)^2",
        "rastrigin": "20 + a^2 - 10*cos(2*pi*a) + b^2 - 10*cos(2*pi*b)",
        "late": {"first_time": "p.position.x > 1.5"},
    },
}
METHODS = ("nelder-mead", "bobyqa", "sbplx", "cma-es")


def unknowns(**start):
    """Each with bounds -5 to 5."""
    return {name: {"start": value, "bounds": [-5, 5]} for name, value in start.items()}


DESIGN = {"scene": "point.json", "unknown": unknowns(a=-1.2, b=1), "minimise": "rosenbrock"}


def design(name="design", scene=POINT, /, **change):
    write("point.json", scene)
    return write(f"{name}.json", {**DESIGN, **change})


def solve(name, *words, database=None):
    """The report of a design that must end well. A database of the same name is replaced."""
    database = database or name.replace(".json", ".db")
    if "--resume" not in words and os.path.exists(database):
        os.remove(database)
    done = json.loads(good("design", name, "--out", database, "--json", *words).stdout)
    assert done["database"] == database
    return done


def refused(name, *words):
    """The message of a design that ends with status 2 before anything is written."""
    done = perp("design", name, "--out", "refused.db", "--json", *words)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert not os.path.exists("refused.db") and not os.path.exists("refused.best.json")
    return json.loads(done.stdout)["message"]


def evaluations(database):
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(r) for r in connection.execute("SELECT * FROM evaluations ORDER BY id")]


def tables(database):
    """Both tables with all bits, but without the seconds."""
    found = evaluations(database)
    for row in found:
        del row["seconds"]
    return table(database), [{k: v.hex() if isinstance(v, float) else v for k, v in row.items()} for row in found]
