"""The import rules between rooms, and the order of charge and look inside every query."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpforest"

# The product: room -> rooms of ours that it may import. What has an underscore is not for users.
MAY_IMPORT = {
    "schema": set(),
    "privacy": set(),
    "_structure": set(),
    "modelfile": {"privacy", "schema", "_structure"},
    "mechanisms": {"privacy"},
    "_rows": {"schema", "_structure"},
    "_curator": {"_rows", "mechanisms", "privacy", "schema", "_structure"},
    "inspection": {"_structure", "_trees", "schema"},
    "_linear": {"_curator", "privacy", "schema"},
    "_trees": {"_curator", "privacy", "schema", "_structure"},
    "_boosting": {"_curator", "_linear", "_rows", "_trees", "mechanisms", "privacy", "schema", "_structure"},
    "forests": {
        "_boosting",
        "_curator",
        "_linear",
        "_structure",
        "_trees",
        "mechanisms",
        "modelfile",
        "privacy",
        "report",  # reached when a card is asked for
        "schema",
    },
    "export": {"_structure", "_trees", "inspection", "schema"},
    "estimates": {"_curator", "forests", "mechanisms", "privacy", "schema"},
    "adapters": {"forests", "privacy"},
    "search": {"_curator", "_rows", "estimates", "forests", "mechanisms", "privacy", "schema"},
    "audit": {"_curator", "_rows", "_structure", "_trees", "forests", "mechanisms", "privacy", "schema"},
    "report": {"_structure", "_trees", "inspection", "privacy", "schema"},
    "cli": {
        "_structure",
        "audit",
        "estimates",
        "export",
        "forests",
        "inspection",
        "modelfile",
        "privacy",
        "report",
        "schema",
        "search",
    },
}
# How kernels are compiled, types of arrays, shrinkage of noisy values, threads: files that import no room.
FOR_ALL = {"_arrays", "_jit", "_shrinkage", "_threads"}
# The research may use all of the product. These rooms reach it, when somebody asks for it and not before.
REACH_THE_PAPERS = {"forests", "audit", "cli"}


def imports(tree, path):
    """Modules that a file imports, with the names taken from each; a dotted name in a string counts too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and re.fullmatch(r"dpforest(\.\w+)+", str(node.value)):
            yield from [(node.value, [])] if (SOURCE / node.value.split(".")[1]).is_dir() else []


def rooms_imported(tree, path):
    for module, names in imports(tree, path):
        parts = module.split(".")
        if parts[0] == "dpforest":
            yield from ([parts[1]] if len(parts) > 1 else names)


def at_import(path):
    """Return what runs when a file is imported: no bodies of functions, nothing for type checkers only."""

    class Outside(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            node.body = [ast.Pass()]
            return node

        def visit_If(self, node):
            return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    return Outside().visit(ast.parse(path.read_text()))


def test_every_room_has_a_rule():
    rooms = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms - {"papers"} <= set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_they_may(room):
    allowed = {room, *MAY_IMPORT[room], *FOR_ALL} | ({"papers"} if room in REACH_THE_PAPERS else set())
    for path in (SOURCE / room).rglob("*.py"):
        for other in rooms_imported(ast.parse(path.read_text()), path):
            assert other in allowed, f"{path.name} imports dpforest.{other}"


@pytest.mark.parametrize("file", sorted(FOR_ALL))
def test_what_all_rooms_may_import_imports_no_room(file):
    path = SOURCE / f"{file}.py"
    assert set(rooms_imported(ast.parse(path.read_text()), path)) <= FOR_ALL


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_room_of_the_product_loads_the_papers_when_imported(room):
    for path in (SOURCE / room).rglob("*.py"):
        assert "papers" not in set(rooms_imported(at_import(path), path)), f"{path} loads dpforest.papers"


def test_the_default_forest_trains_and_predicts_without_the_papers():
    code = """
import sys, numpy, dpforest
model = dpforest.PrivateForestClassifier(bounds=(0, 1), classes=[0, 1])
X = numpy.random.default_rng(0).random((200, 2))
model.fit(X, X[:, 0] > 0.5).predict(X)
print(sorted(m for m in sys.modules if m.startswith("dpforest.papers")))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_nothing_private_is_taken_from_scikit_learn():
    for path in SOURCE.rglob("*.py"):
        for module, names in imports(ast.parse(path.read_text()), path):
            if module.split(".")[0] == "sklearn":
                words = [*module.split("."), *names]
                assert not [w for w in words if w.startswith("_")], f"{path}: {module} {names}"


def test_every_query_charges_before_it_looks():
    """In each public method of the curator, the payment comes before the first use of the rows."""
    files = {"Curator": "queries.py", "SumQueries": "sums.py", "GradientQueries": "gradients.py"}
    files["EstimateQueries"] = "estimates.py"
    methods = []
    for name, file in files.items():
        tree = ast.parse((SOURCE / "_curator" / file).read_text())
        curator = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
        methods += [n for n in curator.body if isinstance(n, ast.FunctionDef)]
    # release nothing, or (public_...) refuse unless features are public
    free = {
        "__init__",
        "__enter__",
        "__exit__",
        "scatter_rows",
        "_scatter",
        "subtract",
        "public_medians",
        "public_cells",
    }
    # helpers that look; `_public_rows` is not one of them, because it refuses unless features are public
    looking = {"_rows", "_n_rows", "_leaf_counts", "_in_chunks", "_balanced", "_cells_of", "_values"}
    looking |= {"_pair_tables"}
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
        "group_counts",
        "common_values",
        "scored_counts",
        "scored_sums",
    } <= set(looked)


def test_import_is_light():
    """`import dpforest` must not pay for compilers, data frames or plots."""
    heavy = ["numba", "pandas", "polars", "matplotlib", "opendp"]
    code = f"import sys, dpforest; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_no_repeatable_or_floating_noise_near_private_rows():
    for room in ("mechanisms", "_curator", "_rows"):
        for path in (SOURCE / room).rglob("*.py"):
            text = path.read_text()
            for word in ("np.random", "numpy.random", "default_rng", "import random"):
                assert word not in text, f"{path}: {word}"
