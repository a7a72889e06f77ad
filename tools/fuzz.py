"""Throw mutated model and schema files at the readers: each must be refused clearly or work.

    python -m tools.fuzz                       # 10,000 files of each kind, a few minutes
    python -m tools.fuzz --models 1000 --schemas 1000 --seed 7

Seed files are made first (one small model per estimator). A child process then reads the mutants under a
limit on its address space, with numba's bounds checks switched on, so that a walk that leaves an array is an
error instead of luck, and with an audit hook that sees every import, exec, process and file that a load would
cause. A mutant passes if it is refused with `ModelFileError` (`SchemaError`) or gives a model (schema) that
predicts (encodes) strange rows. Model mutants are mostly *resealed*: their checksum is right, as a forger's
would be.
"""

from __future__ import annotations

import argparse
import base64
import copy
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

ADDRESS_SPACE = 6 * 2**30
SLOW_SECONDS = 5.0
ODD_VALUES = [
    None, True, False, -1, 0, 1, 2, 15, 16, 255, 2**15, 2**30, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1,
    2**63, -(2**63), 10**30, 10**400, 0.1, 1e308, -1e-320,
    "", "0", "-1", "1/0", "0/1", "1/3", "9" * 900, "1e999999999", "1/" + "7" * 990, "nan", "inf", "os.system",
    "__import__('os').system('touch hacked')", "builtins.eval", "../../etc/passwd", "\x00", "\ud800",
    "\u202e", "A" * 10_000, [], [[]], {}, [0], [2**40, 2**40], [1, -1], {"hex": "inf"}, {"hex": "nan"},
    {"hex": 1}, {"hex": "0x1.fffffffffffffp+1023"}, {"hex": "0x1.0p+9999"},
    {"hex": "0x0.0000000000001p-1022"}, {"hex": "0x1.0p+0", "b": 1}, {"__reduce__": "os.system"},
    {"type": "numeric", "min": 0, "max": 1}, {"type": "sum", "of": ["age", "pain"]},
    {"type": "categorical", "categories": ["a"] * 2}, {"type": "ordinal", "levels": list(range(3000))},
    {"type": "numeric", "min": 0, "max": 1, "bins": 65536},
]  # fmt: skip
ODD_NUMBERS = [
    -(2**63),
    -(2**31),
    -(2**30),
    -300,
    -7,
    -2,
    -1,
    0,
    1,
    2,
    3,
    255,
    257,
    65537,
    2**30,
    2**31 - 1,
    2**62,
]
ROWS = [
    [value] * 64
    for value in (
        0,
        1,
        -1,
        0.5,
        1e308,
        -1e308,
        None,
        float("nan"),
        float("inf"),
        "a",
        "b",
        "",
        "1",
        True,
        10**400,
    )
]


# --- mutations --------------------------------------------------------------------------------------------


def places(node, path=()):
    """Every path into a JSON value."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield from places(child, (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


def pick(rng, options):
    return options[rng.integers(len(options))]


def mutate_tree(rng, root, donors):
    """Change one place of a JSON value."""
    paths = [path for path in places(root) if path]
    if not paths:
        return
    path = pick(rng, paths)
    parent, key = at(root, path[:-1]), path[-1]
    kind = rng.integers(8)
    old = parent[key]
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[pick(rng, ["hex", "target", "shape", "x", "min", "", str(key) + "_"])] = parent.pop(key)
    elif kind == 2:
        parent[key] = copy.deepcopy(at(root, pick(rng, paths)))
    elif kind == 3 and donors:
        donor = pick(rng, donors)
        try:
            parent[key] = copy.deepcopy(at(donor, path))
        except (LookupError, TypeError):
            parent[key] = copy.deepcopy(donor)
    elif kind == 4 and isinstance(old, int):
        parent[key] = int(old) + int(pick(rng, [-2, -1, 1, 2, 7])) if rng.random() < 0.7 else old * 1000
    elif kind == 5 and isinstance(old, str) and old:
        cut = rng.integers(len(old) + 1)
        parent[key] = old[:cut] + pick(rng, ["", "0", "/", "é", "=", "A" * 30]) + old[cut + rng.integers(2) :]
    elif kind == 6 and isinstance(old, list):
        old.insert(rng.integers(len(old) + 1), copy.deepcopy(pick(rng, [*old, *ODD_VALUES])))
    else:
        parent[key] = copy.deepcopy(pick(rng, ODD_VALUES))


def mutate_array(rng, document):
    """Change numbers or the shape of an encoded array so that its length still fits."""
    if document["dtype"] == "bits":
        return
    values = np.frombuffer(base64.b64decode(document["data"]), document["dtype"]).astype(np.int64)
    shape = list(document["shape"])
    if values.size and rng.random() < 0.8:
        for _ in range(1 + rng.integers(3)):
            values[rng.integers(values.size)] = pick(rng, ODD_NUMBERS)
    else:
        axis = rng.integers(len(shape))
        shape[axis] = max(0, shape[axis] + int(pick(rng, [-1, 1, 2])))
        values = (
            np.resize(values, int(np.prod(shape))) if values.size else np.zeros(int(np.prod(shape)), np.int64)
        )
    document.update(shape=shape, dtype="<i8", data=base64.b64encode(values.astype("<i8").tobytes()).decode())


def mutate_bytes(rng, data):
    data = bytearray(data)
    for _ in range(1 + rng.integers(4)):
        place, length = rng.integers(len(data) + 1), rng.integers(1, 30)
        kind = rng.integers(5)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << rng.integers(8)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = rng.bytes(length)
        elif kind == 3:
            data[place:place] = data[place : place + length]
        else:
            data[place:place] = pick(
                rng, [b"[" * 3000, b'{"a":' * 3000, b"NaN", b"1e9", b"\xff\xfe", b",", b'"', b"\0"]
            )
    return bytes(data)


def reseal(envelope):
    try:
        text = json.dumps(envelope.get("body"), ensure_ascii=False, separators=(",", ":"))
        envelope["sha256"] = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    except (TypeError, AttributeError):
        pass


def model_mutant(rng, seeds):
    data, envelope = pick(rng, seeds)
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    envelope = copy.deepcopy(envelope)
    donors = [other["body"] for _, other in seeds]
    trees = envelope["body"]["trees"]
    arrays = [trees["feature"], trees["threshold"], trees["left_sets"], envelope["body"]["leaf_statistics"]]
    n_arrays, n_places = pick(rng, [(0, 1), (0, 2), (1, 0), (2, 0), (1, 1)])
    for _ in range(n_arrays):
        mutate_array(rng, pick(rng, arrays))
    for _ in range(n_places):
        mutate_tree(rng, envelope["body"], donors)
    if rng.random() < 0.03:
        mutate_tree(rng, envelope, [])
    reseal(envelope)
    return json.dumps(envelope).encode()


def schema_mutant(rng, seeds):
    data, document = pick(rng, seeds)
    if rng.random() < 0.3:
        return mutate_bytes(rng, data)
    document = copy.deepcopy(document)
    for _ in range(1 + rng.integers(3)):
        mutate_tree(rng, document, [other for _, other in seeds])
    return json.dumps(document).encode()


# --- what a mutant is put through -------------------------------------------------------------------------


def use_model(path, watch):
    import dpforest

    with watch:
        model = dpforest.load(path)
    n_features = model.schema_.n_features
    if n_features <= 64:
        rows = [row[:n_features] for row in ROWS]
        numbers = np.random.default_rng(0).normal(0, 100, (70, n_features))
        for X in (rows, numbers):
            out = model.predict(X)
            assert out.shape == (len(X),)
            if hasattr(model, "predict_proba"):
                shares = model.predict_proba(X)
                assert np.isfinite(shares).all()
                assert shares.shape == (len(X), len(model.classes_))
            else:
                assert np.isfinite(out).all()
    str(model.guarantee_), str(model.ledger_), str(model.ledger_.plan), repr(model)
    model.save(f"{path}.again")
    assert (dpforest.load(f"{path}.again").leaf_votes_ == model.leaf_votes_).all()


def use_schema(path, watch):
    from dpforest.schema import Schema

    with watch:
        schema = Schema.from_json(path)
    if schema.n_features <= 64:
        schema.encode_features([row[: schema.n_features] for row in ROWS])
    if schema.target is not None:
        schema.encode_target([row[0] for row in ROWS])
    assert Schema.from_json(schema.to_json(), target=None if schema.target is None else "target") == schema
    repr(schema)


class Watch:
    """Audit hook: while on, notes everything that a file reader has no business doing."""

    FORBIDDEN = (
        "exec",
        "compile",
        "import",
        "os.",
        "subprocess",
        "pickle",
        "marshal",
        "ctypes",
        "socket",
        "shutil",
    )

    def __init__(self, directory):
        self.on, self.seen, self.directory = False, Counter(), str(directory)
        sys.addaudithook(self)

    def __enter__(self):
        self.on = True

    def __exit__(self, *error):
        self.on = False

    def __call__(self, event, arguments):
        if not self.on:
            return
        outside = event == "open" and not str(arguments[0]).startswith(self.directory)
        if outside or event.startswith(self.FORBIDDEN):
            self.seen[f"{event} {str(arguments[:1])[:60]}"] += 1


def run(kind, count, seed, directory):
    """Put `count` mutants through; return counts and the first failures."""
    from dpforest.modelfile import ModelFileError
    from dpforest.schema import SchemaError

    make, use, refusal = {
        "model": (model_mutant, use_model, ModelFileError),
        "schema": (schema_mutant, use_schema, SchemaError),
    }[kind]
    files = sorted(Path(directory).glob(f"{kind}-*.json"))
    seeds = [(path.read_bytes(), json.loads(path.read_bytes())) for path in files]
    mutant = Path(directory) / "mutant.json"
    watch, found, failures, slowest = Watch(directory), Counter(), [], 0.0
    for path in files:
        use(path, watch)  # imports and compiles what is needed, and shows that the seeds work
    watch.seen.clear()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        mutant.write_bytes(make(rng, seeds))
        started = time.perf_counter()
        try:
            use(mutant, watch)
            found["works"] += 1
        except refusal as error:
            found["refused" if str(error) else "refused without a word"] += 1
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(
                f"{number}: {type(error).__name__}: {str(error)[:200]} ({where.name}:{where.lineno})"
            )
        took = time.perf_counter() - started
        slowest = max(slowest, took)
        if took > SLOW_SECONDS:
            failures.append(f"{number}: took {took:.1f} s")
    failures += [f"forbidden: {what} ({times} times)" for what, times in watch.seen.items()]
    # not getrusage: its peak outlives exec, and would be that of whoever started this process
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    return {
        "kind": kind, "mutants": count, **found, "failures": len(failures), "first_failures": failures[:20],
        "slowest_ms": round(1e3 * slowest, 1), "peak_mb": peak,
    }  # fmt: skip


# --- seeds and child ----------------------------------------------------------------------------------------


def write_seeds(directory):
    """One small model per estimator, and some schemas."""
    from dpforest.forests.saved import ESTIMATORS
    from dpforest.schema import Classes, Combination, Nominal, Numeric, Ordinal, Range, Schema

    rng = np.random.default_rng(0)
    features = {"age": Numeric(0, 100, bins=16), "ward": Nominal(["a", "b", "c"]), "pain": Ordinal([1, 2, 3])}
    X = [[age, ward, 1 + age % 3] for age, ward in zip(range(90), "abz" * 30, strict=True)]
    for number, (name, estimator) in enumerate(ESTIMATORS.items()):
        is_class = estimator._task == "classification"
        schema = Schema(features, Classes(["died", "home"]) if is_class else Range(0, 1, levels=64))
        y = rng.choice(["died", "home", None], 90) if is_class else rng.random(90)
        options = {} if estimator().n_estimators in (None, 1) else {"n_estimators": 3}
        delta = (
            1e-6 if number % 3 == 0 or estimator().n_estimators is None else 0.0
        )  # the default forests boost then
        model = estimator(schema=schema, max_depth=2, delta=delta, **options).fit(X, y)
        model.save(Path(directory) / f"model-{name}.json")
    text = {"id": Nominal(["A", "?", "Ü", "1", "01"]), "crp": Numeric(-0.5, 500, bins=1024)}
    oblique = (Combination("age", "pain", 1), Combination("pain", "age", -1))
    schemas = (
        Schema({**features, **text}, Classes([False, True])),
        Schema(features, Range(-1, 1), oblique),
        Schema(text),
    )
    for number, schema in enumerate(schemas):
        schema.to_json(Path(directory) / f"schema-{number}.json")


def run_in_child(models, schemas, seed, directory, before=""):
    """Fuzz in a process with limits, after running the code `before`; return one result per kind."""
    code = (
        f"{before}\nimport json, sys\nfrom tools import fuzz\n"
        f"fuzz.child({models}, {schemas}, {seed}, {str(directory)!r})"
    )
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(
            Path(directory) / "numba"
        ),  # kernels compiled without checks lie in the other one
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"the fuzzed process died with code {done.returncode}; last output: {done.stdout[-500:]}"
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def child(models, schemas, seed, directory):
    warnings.simplefilter("ignore")
    for codec in ("utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le"):
        "".encode(codec)  # JSON may be in any of these; Python imports them when they are first met
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for kind, count in (("schema", schemas), ("model", models)):
        if count:
            print(json.dumps(run(kind, count, seed, directory)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--schemas", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        write_seeds(directory)
        results = run_in_child(options.models, options.schemas, options.seed, directory)
    for result in results:
        print(json.dumps(result, indent=1))
    sys.exit(any(result["failures"] for result in results))


if __name__ == "__main__":
    main()
