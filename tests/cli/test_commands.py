"""What each command does, answers and refuses, and that nothing is charged or read too early."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpforest
from dpforest._structure import FlatTrees
from dpforest.cli import main, tables
from dpforest.cli.answers import clean
from dpforest.cli.tables import read_values
from dpforest.inspection.rules import draw
from dpforest.privacy import BudgetAccountant
from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Schema
from dpforest.schema.delimited import TextFile
from dpforest.schema.files import open_file
from tests.cli.conftest import SCHEMA

FIT = "fit visits.csv --schema schema.json --epsilon 1 --budget budget.db --out model.json"


def charges(folder):
    return len(BudgetAccountant.open(folder / "budget.db", dataset="patients"))


# --- the whole way ------------------------------------------------------------------------------------------


def test_every_command_answers_in_json(cli, visits):
    lines = [
        "schema init visits.csv --target outcome",
        "schema check schema.json --data visits.csv",
        "plan --schema schema.json --epsilon 1 --rows 100",
        FIT,
        "predict model.json visits.csv --proba --keep outcome",
        "inspect model.json --tree 0",
        "budget create other.db --dataset d --epsilon 1",
        "budget show budget.db",
        "budget verify budget.db",
        "budget history budget.db",
    ]
    answers = {line.split(" --")[0]: json.loads(cli(f"{line} --json").stdout) for line in lines}
    assert answers["fit visits.csv"]["guarantee"]["status"] == "proven"
    assert answers["fit visits.csv"]["remaining"] == {"epsilon": 1.0, "delta": 0.0}
    assert answers["plan"]["guarantee"]["epsilon"] == 1.0
    assert len(answers["predict model.json visits.csv"]["columns"]["prediction"]) == 400
    (charge,) = answers["budget history budget.db"]["datasets"]["patients"]
    assert (charge["state"], charge["epsilon"]) == ("spent", "1")
    end = answers["budget verify budget.db"]["checkpoints"]["patients"]
    cli(f"budget verify budget.db --checkpoint patients={end}")


def test_the_model_of_a_csv_predicts_as_in_python(cli, visits):
    cli(FIT)
    cli("predict model.json visits.csv --out predictions.csv")
    written = (visits / "predictions.csv").read_text().split()[1:]
    frame = open_file(visits / "visits.csv").select(["age", "ward"])
    assert written == dpforest.PrivateForestClassifier.load(visits / "model.json").predict(frame).tolist()


def test_public_rows_are_read_like_the_others(cli, visits):
    (visits / "open.csv").write_text((visits / "visits.csv").read_text())
    cli(FIT.replace("epsilon 1", "epsilon 2") + " --public open.csv")
    assert "public rows" in dpforest.load(visits / "model.json").explain_plan()


def test_the_private_file_is_not_taken_as_public_under_any_name(cli, visits):
    os.link(visits / "visits.csv", visits / "copy.csv")
    for name in ("visits.csv", f"../{visits.name}/visits.csv", "copy.csv", "*.csv"):
        assert "X itself" in cli(f"{FIT} --public {name}", code=2).stderr
    assert charges(visits) == 0


@pytest.mark.parametrize("kind", ["parquet", "feather", "tsv"])
def test_every_format_is_read_and_written(cli, visits, kind):
    file = open_file(visits / "visits.csv")
    columns = read_values(file, list(SCHEMA))
    columns["age"] = [int(age) for age in columns["age"]]
    tables.write_columns(visits / f"visits.{kind}", [columns])
    schema = Schema.from_dict(SCHEMA, "outcome")
    again = open_file(visits / f"visits.{kind}")
    cells = [schema.encode_features(source.select(schema.names)) for source in (file, again)]
    assert (cells[0] == cells[1]).all()
    assert len(cells[0]) == 400
    cli(FIT.replace("visits.csv", f"visits.{kind}"))
    cli(f"predict model.json visits.{kind} --out predictions.{kind}")
    predictions = open_file(visits / f"predictions.{kind}")
    assert len(read_values(predictions, ["prediction"])["prediction"]) == 400


@pytest.mark.parametrize("kind", ["parquet", "feather", "tsv"])
@pytest.mark.parametrize("options", ["", " --memory-limit 0", " --no-cache"])
def test_folders_and_patterns_are_tables(cli, visits, kind, options):
    whole = read_values(open_file(visits / "visits.csv"), list(SCHEMA))
    (visits / "parts").mkdir()
    for number, begin in enumerate((0, 0, 150)):  # the first part has no rows
        end = (0, 150, 400)[number]
        part = {name: values[begin:end] for name, values in whole.items()}
        part["doctor"] = [None if number == 1 else "Jo"] * (end - begin)
        tables.write_columns(visits / "parts" / f"{number}.{kind}", [part])
    cli(FIT.replace("visits.csv", "parts") + options)
    cli(["predict", "model.json", f"parts/*.{kind}", "--out", f"out.{kind}", "--proba", "--keep", "ward"])
    cli("predict model.json visits.csv --out expected.csv --proba --keep ward")
    found = open_file(visits / f"out.{kind}")
    expected = open_file(visits / "expected.csv")
    assert list(found.names) == list(expected.names)
    found, expected = (read_values(file, file.names) for file in (found, expected))
    for name, values in expected.items():
        assert [str(value) for value in found[name]] == values
    told = json.loads(cli(["predict", "model.json", "parts", "--json"]).stdout)
    assert told["rows"] == 400
    assert told["columns"]["prediction"] == expected["prediction"]


def test_a_part_that_does_not_fit_is_named_before_the_charge(cli, visits):
    (visits / "parts").mkdir()
    text = (visits / "visits.csv").read_text()
    (visits / "parts" / "a.csv").write_text(text)
    (visits / "parts" / "b.csv").write_text(text.replace("ward", "unit"))
    refused = cli(FIT.replace("visits.csv", "parts"), code=4)
    assert "b.csv" in refused.stderr
    assert "'ward'" in refused.stderr
    assert charges(visits) == 0
    cli(FIT.replace("visits.csv", "nowhere/*.csv"), code=2)


def test_regression_takes_its_own_estimator(cli, visits):
    (visits / "numbers.json").write_text(
        json.dumps({"ward": SCHEMA["ward"], "age": {**SCHEMA["age"], "type": "numeric"}})
    )
    answer = json.loads(
        cli("fit visits.csv --schema numbers.json --target age --epsilon 1 --out model.json --json").stdout
    )
    assert answer["estimator"] == "PrivateForestRegressor"
    cli("predict model.json visits.csv --proba", code=2)


def test_options_reach_the_estimator(cli, visits):
    cli(
        "fit visits.csv --schema schema.json --epsilon 0.5 --delta 1e-6 --out model.json --trees 4 --depth 2 "
        "--estimator DiPriMeForestClassifier --set variant=exponential --set max_features=1 "
        "--rows-per-person 2"
    )
    model = dpforest.load(visits / "model.json")
    assert (model.n_estimators, model.max_depth, model.variant, model.max_features) == (
        4,
        2,
        "exponential",
        1,
    )
    assert (model.epsilon, model.delta, model.max_rows_per_person) == (0.5, 1e-6, 2)


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("fit visits.csv --schema schema.json --epsilon 1", 2, "Missing option '--out'"),
        ("fit nowhere.csv --schema schema.json --epsilon 1 --out model.json", 2, "does not exist"),
        (FIT.replace("epsilon 1", "epsilon -1"), 2, "epsilon=-1.0 is not valid"),
        (FIT.replace("epsilon 1", "epsilon inf"), 2, "not private"),
        (FIT + " --set random_state=0", 2, "NAME one of"),
        (FIT + " --estimator DiPriMeForestClassifier --public visits.csv", 2, "takes no --public"),
        (FIT + " --set on_leak=warn", 2, "NAME one of"),
        (FIT + " --set as_published=true", 2, "NAME one of"),
        (FIT + " --estimator DiPriMeForestRegressor", 2, "needs a schema whose target is Range"),
        (FIT.replace("model.json", "schema.json"), 2, "--overwrite"),
        (FIT.replace("model.json", "nowhere/model.json"), 2, "no folder"),
        (FIT.replace("epsilon 1", "epsilon 3"), 3, "remaining epsilon = 2"),
        (FIT + " --dataset nobody", 3, "no budget for 'nobody'"),
        (FIT.replace("budget.db", "nowhere.db"), 3, "budget refused"),
        (FIT + " --neighboring replace_one", 3, "use the same setting"),
        (FIT + " --rows-per-person 2", 3, "use the same setting"),
        (FIT + " --delta 1e-6", 3, "delta"),
        ("budget create budget.db --dataset patients --epsilon 9", 3, "cannot be replaced"),
        (FIT + " --target nothing", 4, "nothing"),
        ("fit schema.json --schema schema.json --epsilon 1 --out model.json", 2, ".parquet"),
        ("schema check visits.csv", 4, "schema mismatch"),
        ("predict schema.json visits.csv", 1, "not a model"),
        ("inspect visits.csv", 1, "not a model"),
    ],
)
def test_refusals_have_their_exit_codes_and_cost_nothing(cli, visits, line, code, message):
    done = cli(line, code=code)
    assert message in done.output
    assert "Traceback" not in done.output
    assert charges(visits) == 0
    assert not (visits / "model.json").exists()


def test_refusals_in_json(cli, visits):
    refusal = json.loads(cli(FIT.replace("epsilon 1", "epsilon 3") + " --json", code=3).stderr)
    assert (refusal["error"], refusal["exit_code"]) == ("budget refused", 3)


def test_another_schema_than_the_budgets_is_refused(cli, visits):
    wider = {**SCHEMA, "age": {"type": "integer", "min": 0, "max": 100}}
    (visits / "schema.json").write_text(json.dumps(wider))
    assert "made for another schema" in cli(FIT, code=4).stderr
    assert charges(visits) == 0


def test_tables_without_a_declared_column_are_refused(cli, visits):
    (visits / "visits.csv").write_text("age,outcome\n1,home\n")
    assert "lacks the columns 'ward'" in cli(FIT, code=4).stderr
    cli("schema check schema.json --data visits.csv", code=4)
    (visits / "visits.csv").write_text("age,ward,ward,outcome\n1,A,B,home\n")
    cli(FIT, code=4)
    assert charges(visits) == 0


def test_rows_are_read_only_when_the_budget_allows_it(cli, visits, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("rows were read")

    monkeypatch.setattr(TextFile, "read", refuse)
    cli(FIT.replace("epsilon 1", "epsilon 3"), code=3)


def test_an_edited_budget_is_found(cli, visits):
    import sqlite3

    cli(FIT)
    with sqlite3.connect(visits / "budget.db") as connection:
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("UPDATE dpforest_charges SET epsilon = '1/10' WHERE number = 1")
    connection.close()
    cli("budget verify budget.db", code=3)
    cli(FIT.replace("model.json", "more.json"), code=3)


# --- what a value means -------------------------------------------------------------------------------------


def test_a_record_is_read_the_same_whatever_the_others_hold(tmp_path):
    """Guessing types would turn 007 into 7 or true into True, unless one record holds a word."""
    schema = Schema(
        {"code": Nominal(["007", "1e3", "true"]), "crp": Numeric(0, 10), "x": Ordinal(["1", "NA"])}
    )
    honest = '007,"1",1\n1e3,2.50,NA\ntrue,nan,\n,,1\n'
    for extra in ("", "word,word,word\n", "1,2\n", "1,2,3,4\n", '"1\n2",3,1\n'):
        path = tmp_path / "rows.csv"
        path.write_text("code,crp,x\n" + honest + extra)
        cells = schema.encode_features(open_file(path))
        assert cells[:4].tolist() == [[0, 25, 0], [1, 64, 1], [2, 256, 2], [3, 256, 0]], extra


def test_delimiters_marks_and_missing_texts(cli, visits):
    text = (visits / "visits.csv").read_text().replace(",", ";").replace("B", "NA")
    (visits / "visits.csv").write_text("\ufeff" + text)
    cli(FIT, code=4)
    cli([*FIT.split(), "--delimiter", ";", "--missing", "NA"])


def test_columns_that_nobody_declared_are_left_out_and_named(cli, visits):
    text = (visits / "visits.csv").read_text().splitlines()
    (visits / "visits.csv").write_text(
        "\n".join(["name,age,ward,outcome", *(f"Jo,{row}" for row in text[1:])])
    )
    assert "left out: name" in cli(FIT).stderr
    assert "Jo" not in (visits / "model.json").read_text()


def test_csv_needs_no_other_library_and_the_others_say_which(cli, visits, monkeypatch):
    columns = read_values(open_file(visits / "visits.csv"), list(SCHEMA))
    tables.write_columns(visits / "visits.parquet", [columns])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "dpforest[frames]" in cli(FIT.replace("visits.csv", "visits.parquet"), code=1).stderr
    assert charges(visits) == 0
    cli(FIT)
    cli("predict model.json visits.csv --out predictions.csv")


@pytest.mark.parametrize(
    "line", ['34,"A,home', '"', "34,A", "34,A,home,x", '34,"A"x,home', "\xff,\xfe,\x00", ",,"]
)
@pytest.mark.parametrize("place", [1, 200, 401])
def test_one_line_is_one_record_whatever_it_holds(cli, visits, line, place):
    """A stray quote used to swallow the lines behind it."""
    lines = (visits / "visits.csv").read_bytes().splitlines()
    lines.insert(place, line.encode("latin-1"))
    (visits / "visits.csv").write_bytes(b"\n".join(lines))
    done = cli(FIT + " --quiet")
    assert done.stderr == ""
    file, schema = open_file(visits / "visits.csv"), Schema.from_dict(SCHEMA, "outcome")
    cells = schema.encode_features(file.select(schema.names))
    assert len(cells) == 401
    (visits / "visits.csv").write_bytes(b"\n".join(lines[:place] + lines[place + 1 :]))
    alone = schema.encode_features(file.select(schema.names))
    assert (np.delete(cells, place - 1, axis=0) == alone).all()


# --- schemas ------------------------------------------------------------------------------------------------


def test_a_header_gives_a_draft_without_any_value(cli, visits, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("values were read")

    monkeypatch.setattr("pyarrow.csv.read_csv", refuse)
    done = cli("schema init visits.csv --target outcome --out draft.json")
    assert json.loads((visits / "draft.json").read_text()) == {
        name: {"type": "numeric", "min": None, "max": None} for name in SCHEMA
    }
    assert "'age'" in done.stderr
    assert "feature 'ward'" in cli("schema check draft.json --target outcome", code=4).stderr


RECORDS = [
    "4711,Smith,home\n4712,Jones,died\n",
    "Smith,,home\n",
    "Smith,Smith,home\n",
    "Smith,2020-01-31,home\n",
    "Smith,true,home\n",
    '"Smith,4711\nJones,4712\n',
    'Smith,"4711\nJones,4712"\n',
    "Sm\rith,A\rJones,B\r",
    "Smith,\xff\n",
]


@pytest.mark.parametrize("text", RECORDS)
@pytest.mark.parametrize(
    "line",
    ["schema init rows.csv", "schema init rows.csv --dictionary dictionary.csv",
     "schema init rows.csv --json", "schema check schema.json --data rows.csv",
     FIT.replace("visits.csv", "rows.csv")],
)  # fmt: skip
def test_a_record_in_the_place_of_the_header_is_never_shown(cli, visits, text, line):
    (visits / "rows.csv").write_bytes(text.encode("latin-1"))
    (visits / "dictionary.csv").write_text("column,type,min,max,values\nage,integer,18,100,\n")
    done = cli(line, code=2 if "\xff" in text else 4)
    for secret in ("Smith", "Jones", "4711", "2020-01-31", "home"):
        assert secret not in done.output
    assert charges(visits) == 0


def test_columns_that_look_like_values_can_be_named_in_a_dictionary(cli, visits):
    (visits / "wide.csv").write_text("2019,2020\n1,2\n")
    (visits / "dictionary.csv").write_text(
        "column,type,min,max,values\n2019,integer,0,9,\n2020,integer,0,9,\n"
    )
    document = json.loads(cli("schema init wide.csv --dictionary dictionary.csv --json").stdout)["schema"]
    assert list(document) == ["2019", "2020"]


def test_declared_types_fill_a_draft(cli, visits):
    columns = {"age": [1, 2], "crp": [0.5, 1.5], "ward": ["A", "B"], "outcome": ["home", "died"]}
    tables.write_columns(visits / "typed.parquet", [columns])
    draft = json.loads(cli("schema init typed.parquet --target outcome --json").stdout)["schema"]
    assert {name: entry["type"] for name, entry in draft.items()} == {
        "age": "integer", "crp": "numeric", "ward": "categorical", "outcome": "class",
    }  # fmt: skip
    assert draft["ward"]["categories"] == []


def test_only_public_tables_give_their_values(cli, visits):
    document = json.loads(cli("schema init visits.csv --target outcome --public --json").stdout)["schema"]
    assert document["outcome"] == {"type": "class", "categories": ["died", "home"]}
    assert set(document["ward"]["categories"]) == set("ABCz")
    assert document["age"]["type"] == "integer"
    cli("schema init --public", code=2)
    cli("schema init", code=2)


def test_a_dictionary_gives_a_schema(cli, visits):
    (visits / "dictionary.csv").write_text(
        "column,type,min,max,values\nage,integer,18,100,\nward,categorical,,,A|B|C\npain,ordinal,,,no|yes\n"
        "outcome,class,,,home|died\n"
    )
    cli("schema init --dictionary dictionary.csv --out all.json")
    cli("schema init visits.csv --dictionary dictionary.csv --out these.json")
    assert json.loads((visits / "these.json").read_text()) == SCHEMA
    assert list(json.loads((visits / "all.json").read_text())) == ["age", "ward", "pain", "outcome"]
    cli("schema init visits.csv --dictionary schema.json", code=4)


# --- plan and inspect ---------------------------------------------------------------------------------------


def test_the_plan_is_that_of_the_fit(cli, visits):
    planned = json.loads(cli("plan --schema schema.json --epsilon 1 --rows 400 --json").stdout)
    cli(FIT)
    model = dpforest.load(visits / "model.json")
    assert planned["plan"] == model.ledger_.plan.to_dict()
    rehearsed = {look["purpose"]: look["parameters"] for look in planned["rehearsal"]["queries"]}
    # how much leaves get depends on whether their classes came with the cuts, which a noisy count decides
    assert rehearsed["rows of each class"] == dict(model.noise_scales_["rows of each class"])
    assert charges(visits) == 1


def test_classes_can_be_weighed(cli, tmp_path):
    rows = [f"{n % 100},{int(n % 100 > 90)}" for n in range(2000)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    schema = {"x": {"type": "numeric", "min": 0, "max": 100}, "y": {"type": "class", "categories": [0, 1]}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    fit = "fit t.csv --schema s.json --target y --epsilon 50 --overwrite --out m.json --set"
    cli([*fit.split(), 'class_weight={"1": 1e6}'])
    model = dpforest.load(tmp_path / "m.json")
    assert model.class_weight == {1: 1e6}
    assert model.decision_weights_.tolist() == [1e-6, 1]
    cli([*fit.split(), 'class_weight={"2": 5}'], code=2)
    cli(f"{fit} threshold=0.2")
    assert dpforest.load(tmp_path / "m.json").threshold == 0.2


def test_a_plan_can_be_simulated(cli, visits):
    told = json.loads(cli("plan --schema schema.json --epsilon 1 --rows 300 --simulate --json").stdout)
    assert [line["epsilon"] for line in told["simulation"]["lines"]] == [0.1, 0.3, 1.0, 3.0, 10.0, None]
    shown = cli("plan --schema schema.json --epsilon 1 --rows 300 --simulate --best 0.9").stdout
    assert "says nothing about any private table" in " ".join(shown.split())
    cli("plan --schema schema.json --epsilon 1 --simulate", code=2)


def test_every_estimator_can_be_planned_without_rows(cli, visits):
    for name in dpforest.__all__:
        if name.endswith("Classifier"):
            answer = json.loads(
                cli(f"plan --schema schema.json --epsilon 1 --estimator {name} --json").stdout
            )
            assert answer["rehearsal"]["queries"]


def test_a_drawn_tree_says_where_rows_go():
    features = {"age": Numeric(0, 100, bins=4), "ward": Nominal(["A", "B"]), "pain": Ordinal(["no", "yes"])}
    model = dpforest.DiPriMeForestClassifier(schema=Schema(features, Classes(["died", "home"])), max_depth=2)
    model.fit([[1, "A", "no"]], ["home"])
    left_sets = np.array([[0, 0, 0, 0], [0, 1, 0, 1]], np.uint8)
    feature, threshold = np.array([[1, 0, 2]], np.int32), np.array([[-2, 1, 1]], np.int32)
    model.trees_ = FlatTrees(2, feature, threshold, left_sets)
    model.leaf_statistics_ = np.array([[[5, -1], [0, 7], [1, 1], [2, 2]]])
    assert list(draw(model, 0, 3)) == [
        "ward in {B, undeclared}",
        "|   age < 50",
        "|   |   -> noisy counts died: 5, home: -1",
        "|   age >= 50, missing or undeclared",
        "|   |   -> noisy counts died: 0, home: 7",
        "ward in {A, missing}",
        "|   pain is not missing or undeclared",
        "|   |   -> noisy counts died: 1, home: 1",
        "|   pain is missing or undeclared",
        "|   |   -> noisy counts died: 2, home: 2",
    ]


def test_a_boosted_model_is_drawn_with_its_pairs_and_what_leaves_add(cli, visits):
    X = np.random.default_rng(0).random((400, 2))
    for kind, target, said in (
        (dpforest.PrivateForestClassifier, {"classes": [0, 1]}, "-> adds 0: 0, 1: "),
        (dpforest.PrivateForestRegressor, {"target_bounds": (0, 1)}, "-> adds "),
    ):
        model = kind(2, delta=1e-6, bounds=(0, 1), max_depth=2, **target).fit(X, (X[:, 0] > 0.5).astype(int))
        model.trees_.feature[0, 0], model.trees_.threshold[0, 0] = 2, 7
        model.save(visits / "boosted.json")
        shown = cli("inspect boosted.json --tree 0").stdout
        assert said in shown
        assert re.search(r"\[x0 . ([0-9.]+ )?x1\] <= ", shown)
        assert "each by its normal score" in shown
        assert re.search(r"x0 -1 at 0\.[0-9]+, 0 at 0\.[0-9]+, 1 at 0\.[0-9]+; x1 -1 at", shown)
        assert (
            json.loads(cli("inspect boosted.json --json").stdout)["columns"][2]["declared"] == "normal scores"
        )


def test_a_hostile_name_cannot_steer_the_terminal(cli, visits):
    evil = {"\x1b[2J\ud800[red]age": SCHEMA["age"], **SCHEMA}
    (visits / "evil.json").write_text(json.dumps(evil))
    shown = cli("schema check evil.json").stdout
    assert "\x1b" not in shown
    assert clean("\x1b[2J") in shown
    assert "[red]age" in shown


# --- the command itself -------------------------------------------------------------------------------------


def test_help_is_light_and_complete():
    heavy = ["numba", "pandas", "sklearn", "pyarrow", "scipy"]
    code = f"""
import sys
from dpforest.cli import main
main(["fit", "--help"], standalone_mode=False)
print([m for m in {heavy} if m in sys.modules])"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"
    for name, command in main.commands.items():
        assert command.help, name
        for option in command.params:
            assert option.param_type_name == "argument" or option.help, f"{name} {option.name}"


def test_shells_can_complete():
    for shell in ("bash", "zsh", "fish"):
        environment = {**os.environ, "_DPFOREST_COMPLETE": f"{shell}_source"}
        program = Path(sys.executable).with_name("dpforest")
        script = subprocess.run(
            [program], env=environment, capture_output=True, text=True, check=False
        ).stdout
        if shell == "bash" and not script:
            continue  # click wants bash 4.4
        assert "_dpforest_completion" in script


def test_the_help_page_is_up_to_date():
    import runpy

    writer = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "how-to" / "write_command_help.py"))
    text = writer["PAGE"].read_text(encoding="utf-8")
    assert text == writer["page"](text), "run: python docs/how-to/write_command_help.py"


# --- estimating bounds --------------------------------------------------------------------------------------

ESTIMATE = "schema estimate visits.csv --target outcome --declared draft.json --epsilon 1"


@pytest.fixture
def draft(visits):
    """A schema whose bounds of ages are left open."""
    (visits / "draft.json").write_text(
        json.dumps(SCHEMA | {"age": {"type": "integer", "min": None, "max": None}})
    )
    return visits


def test_estimated_bounds_are_charged_and_make_a_schema_to_fit_with(cli, draft):
    told = json.loads(cli(f"{ESTIMATE} --budget budget.db --out found.json --json").stdout)
    assert charges(draft) == 1
    assert set(told["estimated"]) == {"age"}
    assert (told["guarantee"]["epsilon"], told["charge"]["dataset"]) == (1.0, "patients")
    found = json.loads((draft / "found.json").read_text())
    assert found == told["schema"]
    assert list(found) == list(SCHEMA)
    assert found["ward"] == SCHEMA["ward"]
    assert found["age"]["min"] < 60 < found["age"]["max"] <= 2**43
    cli("fit visits.csv --schema found.json --epsilon 1 --out model.json --quiet")


def test_categories_and_classes_are_found_and_charged_with_their_delta(cli, tmp_path):
    lines = [f"{'north' if n % 3 else 'south'},{n % 50},{'ill' if n % 2 else 'well'}" for n in range(600)]
    (tmp_path / "t.csv").write_text("\n".join(["side,age,state", *lines, "nowhere,1,odd"]) + "\n")
    cli("budget create b.db --dataset d --epsilon 90 --delta 1e-5 --loose-delta 1e-5")
    find = "schema estimate t.csv --target state --classes --categories side --epsilon 30 --budget b.db"
    cli(f"{find} --out s.json", code=2)  # no delta
    told = json.loads(cli(f"{find} --delta 1e-6 --out s.json --json").stdout)
    assert told["estimated"]["side"]["categories"] == ["north", "south"]
    assert told["estimated"]["state"]["categories"] == ["ill", "well"]
    assert told["guarantee"]["delta"] == 1e-6
    assert "delta 1e-06" in cli("budget history b.db").stdout
    cli("fit t.csv --schema s.json --target state --epsilon 1 --out m.json")


def test_an_estimate_that_cannot_be_made_costs_nothing(cli, draft):
    cli(f"{ESTIMATE} --budget budget.db --out schema.json", code=2)  # is there
    cli("schema estimate visits.csv --target lost --epsilon 1 --budget budget.db --out a.json", code=4)
    cli(f"{ESTIMATE} --declared visits.csv --budget budget.db --out a.json", code=4)
    cli(f"{ESTIMATE} --epsilon 3 --budget budget.db --out a.json", code=3)
    cli(f"{ESTIMATE} --epsilon 1e-30 --budget budget.db --out a.json", code=2)
    assert charges(draft) == 0
    assert not (draft / "a.json").exists()


def test_a_table_of_numbers_needs_no_draft(cli, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(f"{i % 7},{i % 100 + 900}" for i in range(500)))
    told = json.loads(cli("schema estimate t.csv --target b --epsilon 9 --out s.json --json").stdout)
    assert set(told["estimated"]) == {"a", "b"}
    assert told["charge"] is None


def test_dates_and_truth_values_of_a_csv_are_fitted_and_shown(cli, tmp_path):
    rows = [f"20{15 + i % 10}-03-0{1 + i % 9},{['yes', 'no'][i % 2]},{int(i % 10 > 4)}" for i in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["since,smoker,y", *rows]))
    (tmp_path / "d.csv").write_text(
        "column,type,min,max,values\nsince,date,2015-01-01,2025-12-31,\nsmoker,boolean,,,\ny,class,,,0|1\n"
    )
    cli("schema init t.csv --dictionary d.csv --target y --out s.json")
    cli("fit t.csv --schema s.json --epsilon 50 --out m.json --quiet")
    assert re.search(r"since < 20\d\d-\d\d-\d\d", cli("inspect m.json --tree 0").stdout)


def test_a_dictionary_beside_a_file_of_one_column_names_the_delimiter(cli, visits):
    (visits / "german.csv").write_text("age;ward;outcome\n1;A;home\n")
    (visits / "dictionary.csv").write_text("column,type,min,max,values\nage,integer,0,100,\n")
    line = "schema init german.csv --dictionary dictionary.csv --out drafted.json"
    assert "give its --delimiter" in cli(line, code=4).stderr
