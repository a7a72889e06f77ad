"""A small Spark on this machine. It needs Java, so these are not default tests: make test-spark."""

import os
import sys

import pytest

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])  # for the workers
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for a minute on two cores
SMALL = {
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",  # not 200: two threads and a few hundred rows
    "spark.sql.codegen.wholeStage": "false",  # compiling a query takes longer than running it on so few
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config(map=SMALL)
    events = tmp_path_factory.mktemp("events")
    builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", events.as_uri())
    session = builder.config("spark.eventLog.compress", "false").getOrCreate()
    session.events = events
    yield session
    session.stop()
