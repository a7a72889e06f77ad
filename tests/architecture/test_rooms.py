"""The import rules between rooms, and the order of charge and look inside every query."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpforest"

# room -> rooms of ours that it may import
MAY_IMPORT = {
    "schema": set(),
    "privacy": set(),
    "theory": set(),
    "structure": set(),
    "published": {"schema"},
    "modelfile": {"privacy", "schema", "structure"},
    "mechanisms": {"privacy"},
    "backends": {"schema", "structure"},
    "curator": {"backends", "mechanisms", "privacy", "schema", "structure"},
    "datasets": {"schema"},
    "inspection": {"trees"},
    "linear": {"curator", "privacy", "schema"},
    "trees": {"curator", "privacy", "schema", "structure"},
    "boosting": {"curator", "mechanisms", "privacy", "schema", "structure"},
    "audit": {
        "baselines",
        "curator",
        "forests",
        "mechanisms",
        "privacy",
        "published",
        "schema",
        "structure",
        "trees",
    },
    "benchmarks": {"baselines", "datasets", "forests", "inspection", "published", "schema", "theory"},
    "cli": {"audit", "benchmarks", "forests", "modelfile", "privacy", "schema", "structure"},
    "baselines": {
        "curator",
        "forests",
        "mechanisms",
        "privacy",
        "published",
        "schema",
        "structure",
        "trees",
    },
    "forests": {
        "boosting",
        "curator",
        "linear",
        "mechanisms",
        "modelfile",
        "privacy",
        "published",
        "schema",
        "structure",
        "theory",
        "trees",
    },
}


def imports(path):
    """Modules that a file imports, with the names taken from each."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module, [alias.name for alias in node.names]


def rooms_imported(path):
    for module, names in imports(path):
        parts = module.split(".")
        if parts[0] == "dpforest":
            yield from ([parts[1]] if len(parts) > 1 else names)


def test_every_room_has_a_rule():
    rooms = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_they_may(room):
    for path in (SOURCE / room).rglob("*.py"):
        for other in rooms_imported(path):
            assert other == room or other in MAY_IMPORT[room], f"{path.name} imports dpforest.{other}"


def test_nothing_private_is_taken_from_scikit_learn():
    for path in SOURCE.rglob("*.py"):
        for module, names in imports(path):
            if module.split(".")[0] == "sklearn":
                words = [*module.split("."), *names]
                assert not [w for w in words if w.startswith("_")], f"{path}: {module} {names}"


def test_every_query_charges_before_it_looks():
    """In each public method of the curator, the payment comes before the first use of the rows."""
    files = {"Curator": "queries.py", "SumQueries": "sums.py", "GradientQueries": "gradients.py"}
    methods = []
    for name, file in files.items():
        tree = ast.parse((SOURCE / "curator" / file).read_text())
        curator = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
        methods += [n for n in curator.body if isinstance(n, ast.FunctionDef)]
    # release nothing, or (public_...) refuse unless features are public
    free = {"__init__", "__enter__", "__exit__", "scatter_rows", "subtract", "public_medians", "public_cells"}
    # helpers that look; `_public_rows` is not one of them, because it refuses unless features are public
    looking = {"_rows", "_n_rows", "_leaf_counts", "_in_chunks", "_balanced"}
    looked = []
    for method in methods:
        attributes = [n for n in ast.walk(method) if isinstance(n, ast.Attribute)]
        looks = [n.lineno for n in attributes if n.attr in looking]
        charges = [n.lineno for n in attributes if n.attr == "_pay"]
        if method.name in free | looking | {"_public_rows"} or not looks:
            continue
        looked.append(method.name)
        assert charges, f"{method.name} looks at rows and never charges"
        assert min(charges) < min(looks), f"{method.name} looks before it charges"
    assert {
        "row_count",
        "class_counts",
        "medians",
        "splits",
        "leaf_histograms",
        "lookup_sums",
        "best_mixture",
        "best_cuts",
        "node_sums",
    } <= set(looked)


def test_import_is_light():
    """`import dpforest` must not pay for compilers, data frames or plots."""
    heavy = ["numba", "pandas", "polars", "matplotlib", "opendp"]
    code = f"import sys, dpforest; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_no_repeatable_or_floating_noise_near_private_rows():
    for room in ("mechanisms", "curator", "backends"):
        for path in (SOURCE / room).rglob("*.py"):
            text = path.read_text()
            for word in ("np.random", "numpy.random", "default_rng", "import random"):
                assert word not in text, f"{path}: {word}"
