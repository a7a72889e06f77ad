import numpy as np
import pytest

import dpforest
from dpforest.papers import baselines
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

FEATURES = {"age": Numeric(0, 100), "ward": Nominal(["a", "b", "c"]), "crp": Numeric(0, 1)}
CLASSIFY, REGRESS = Schema(FEATURES, Classes(["home", "died"])), Schema(FEATURES, Range(0, 1))

# Every estimator and every option that changes what is asked of private rows.
MODELS = {
    "guided": dpforest.PrivateForestClassifier(schema=CLASSIFY),
    "guided, several trees": dpforest.PrivateForestClassifier(3, schema=CLASSIFY),
    "guided regression": dpforest.PrivateForestRegressor(schema=REGRESS),
    "boosted": dpforest.PrivateForestClassifier(schema=CLASSIFY, delta=1e-6),
    "boosted regression": dpforest.PrivateForestRegressor(schema=REGRESS, delta=1e-6),
    "DiPriMe": dpforest.DiPriMeForestClassifier(schema=CLASSIFY),
    "DiPriMeExp": dpforest.DiPriMeForestClassifier(schema=CLASSIFY, variant="exponential"),
    "DiPriMeFlip": dpforest.DiPriMeForestClassifier(schema=CLASSIFY, variant="permute_and_flip"),
    "DiPriMe, all rows in all trees": dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, disjoint=False),
    "DiPriMe regression": dpforest.DiPriMeForestRegressor(schema=REGRESS),
    "DiPriMeExp regression": dpforest.DiPriMeForestRegressor(schema=REGRESS, variant="exponential"),
    "DiPriMeFlip regression": dpforest.DiPriMeForestRegressor(schema=REGRESS, variant="permute_and_flip"),
    "random forest": dpforest.RandomDecisionForestClassifier(20, schema=CLASSIFY),
    "random forest, exponential": dpforest.RandomDecisionForestClassifier(
        20, schema=CLASSIFY, label_mechanism="exponential"
    ),
    "random forest, all rows": dpforest.RandomDecisionForestClassifier(15, schema=CLASSIFY, disjoint=False),
    "random trees": dpforest.RandomDecisionTreesClassifier(schema=CLASSIFY),
    "random trees, majority": dpforest.RandomDecisionTreesClassifier(schema=CLASSIFY, voting="majority"),
    "random trees regression": dpforest.RandomDecisionTreesRegressor(schema=REGRESS),
    "SPE": dpforest.PartitioningEnsembleClassifier(schema=CLASSIFY),
    "SPE regression": dpforest.PartitioningEnsembleRegressor(schema=REGRESS),
    "SSPE-1": dpforest.SemiSupervisedPartitioningEnsembleClassifier(schema=CLASSIFY),
    "SSPE-1, persons in both": dpforest.SemiSupervisedPartitioningEnsembleClassifier(
        schema=CLASSIFY, persons_in_both=True
    ),
    "SSPE-2": dpforest.SemiSupervisedPartitioningEnsembleClassifier(schema=CLASSIFY, feature_privacy=False),
    "PTE": dpforest.TransductivePartitioningEnsembleClassifier(schema=CLASSIFY),
}
# The systems that the papers compare with; every test that takes a model runs over them too.
BASELINES = {
    "FS": baselines.FriedmanSchusterTreeClassifier(schema=CLASSIFY),
    "Patil and Singh": baselines.PatilSinghForestClassifier(schema=CLASSIFY),
    "Patil and Singh regression": baselines.PatilSinghForestRegressor(schema=REGRESS),
    "Fletcher and Islam 2015": baselines.FletcherIslamForestClassifier(schema=CLASSIFY),
    "RGV": baselines.RanaForestClassifier(5, schema=CLASSIFY),
    "MaxTree": baselines.MaxTreeClassifier(schema=CLASSIFY),
    "Xin": baselines.XinForestClassifier(schema=CLASSIFY),
    "JPW": baselines.JPWForestClassifier(schema=CLASSIFY),
    "SSRDT": baselines.SemiSupervisedRDTClassifier(schema=CLASSIFY, max_depth=8),
    "TOP": baselines.TransductiveOutputPerturbationClassifier(schema=CLASSIFY),
}
MODELS |= BASELINES


def patients_table(n_rows=3000):
    """A mixed table with missing and undeclared values, two classes and a number to predict."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n_rows),
            "ward": rng.choice(list("abcz"), n_rows),
            "crp": rng.random(n_rows),
        }
    )
    y = np.where(X["age"] + 30 * (X["ward"] == "a") > 60, "died", "home")
    target = X["age"].to_numpy() / 100
    X.loc[::10, "crp"] = np.nan
    X.loc[::17, "ward"] = None
    return X, y, target


@pytest.fixture
def patients():
    return patients_table()


@pytest.fixture(params=MODELS, ids=str)
def model(request):
    """A fresh copy of every estimator, with a declared schema."""
    from sklearn.base import clone

    return clone(MODELS[request.param])


def is_classifier(model):
    return hasattr(model, "classes")


def training_target(model, label, target):
    """Labels or numbers; semi-supervised models lose the labels of every other row."""
    if not is_classifier(model):
        return target
    if "SemiSupervised" in type(model).__name__ or "Transductive" in type(model).__name__:
        return np.where(np.arange(len(label)) % 2 == 0, label, None)
    return label


def fit(model, patients, **changes):
    X, label, target = patients
    return model.set_params(**changes).fit(X, training_target(model, label, target))
