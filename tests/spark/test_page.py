"""What larger-than-memory.md says about Spark."""

import re
from pathlib import Path

import pytest

import dpforest
from dpforest.schema import Classes, Numeric, Schema

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "larger-than-memory.md"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_code_of_the_page_runs(spark, tmp_path):
    (code,) = re.findall(r"<!-- run by tests/spark -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    rows = [(age, "died" if age > 60 else "home") for age in range(18, 100)] * 20
    spark.createDataFrame(rows, ["age", "outcome"]).write.parquet(f"{tmp_path}/visits")
    schema = Schema({"age": Numeric(18, 100)}, Classes(["home", "died"]))
    names = {"spark": spark, "model": dpforest.PrivateForestClassifier(epsilon=5.0, schema=schema)}
    exec(code.replace('"visits/"', f'"{tmp_path}/visits"'), names)
    assert list(names["model"].predict([[20], [90]])) == ["home", "died"]
