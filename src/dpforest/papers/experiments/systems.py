"""The methods that come with the library; importing this module registers them.

Names are those of the papers: a table names "SPE", and `methods` finds here both the rigorous form and, as
"SPE (as published)", the paper's own. `references` holds what stands beside them without privacy, `peers`
libraries of others, `readings` variants that papers may have meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dpforest.forests.parameters import MAX_DEPTH
from dpforest.papers.experiments import peers, readings, references
from dpforest.papers.experiments.methods import AS_PUBLISHED, Factory, MethodNotAvailableError, register
from dpforest.schema import Schema

FORESTS, BASELINES = "dpforest.forests", "dpforest.papers.baselines"


def depth_in_features(depth: Any, n_features: int, deepest: int) -> Any:
    """Read a depth: a number, None for the method's own rule, or a multiple of the features as in "0.5d".

    A multiple goes no deeper than the method's trees can.

    Examples
    --------
    >>> [depth_in_features(depth, 9, deepest=15) for depth in ("0.5d", "d", "2d", 3)]
    [4, 9, 15, 3]
    """
    if not isinstance(depth, str):
        return depth
    return min(max(1, int(float(depth.removesuffix("d") or 1) * n_features)), deepest)


def estimator(room: str, classifier: str | None, regressor: str | None = None, **fixed: Any) -> Factory:
    """Return a factory for estimators of this library.

    Parameters
    ----------
    room : str
        Module that has the classes.
    classifier, regressor : str or None
        Names of the classes for the two tasks.
    **fixed
        Parameters that make the method what it is. ``epsilon_factor`` multiplies the budget; ``epsilon``
        overrides it.

    Returns
    -------
    Factory
    """
    factor, budget = fixed.pop("epsilon_factor", 1.0), fixed.pop("epsilon", None)

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        name = classifier if task == "classification" else regressor
        if name is None:
            raise MethodNotAvailableError(f"there is no form for {task}.")
        cls = getattr(import_module(room), name)
        known = cls().get_params()
        taken = {key: value for key, value in {**parameters, **fixed}.items() if key in known}
        if "max_depth" in taken:
            deepest = cls._published_depth if taken.get("as_published") else MAX_DEPTH
            taken["max_depth"] = depth_in_features(taken["max_depth"], schema.n_features, deepest)
        spent = budget if budget is not None else factor * epsilon
        return cls(**{**taken, "epsilon": spent, "schema": schema, "random_state": seed})

    return make


def system(
    name: str,
    about: str,
    room: str,
    classifier: str | None,
    regressor: str | None = None,
    *,
    broken: str = "",
    when: tuple[str, ...] = (),
    semi_supervised: bool = False,
    published_form: bool = True,
    **fixed: Any,
) -> None:
    """Register a method of a paper, rigorous and as published."""
    facts = {"semi_supervised": semi_supervised, "broken": broken, "broken_when": when}
    register(name, estimator(room, classifier, regressor, **fixed), about=about, **facts)
    if published_form:
        form = estimator(room, classifier, regressor, as_published=True, **fixed)
        register(name + AS_PUBLISHED, form, about=f"{about}; the paper's own form", **facts)


DIPRIME = ("DiPriMeForestClassifier", "DiPriMeForestRegressor")
RANDOM = ("RandomDecisionTreesClassifier", "RandomDecisionTreesRegressor")
MEDIAN = ("disjoint=True", "max_depth=None")  # the papers derive their depths from the number of rows
NOT_UNIFORM = (*MEDIAN, "variants other than uniform")

register(
    "dpforest",
    estimator(FORESTS, "PrivateForestClassifier", "PrivateForestRegressor"),
    about="the default forest of this library",
)
system(
    "DiPriMe", "private medians of random features, Consul and Williamson 2021", FORESTS, *DIPRIME,
    broken="dipri_me", when=MEDIAN, variant="uniform",
)  # fmt: skip
system(
    "DiPriMeExp", "private medians, the best of K features by the exponential mechanism", FORESTS, *DIPRIME,
    broken="dipri_me", when=NOT_UNIFORM, variant="exponential",
)  # fmt: skip
system(
    "DiPriMeFlip", "private medians, the best of K features by permute-and-flip", FORESTS, *DIPRIME,
    broken="dipri_me", when=(*NOT_UNIFORM, "variant permute_and_flip"), variant="permute_and_flip",
)  # fmt: skip
system(
    "DiPriMe 2020", "the first version, Consul and Williamson 2020", FORESTS, *DIPRIME,
    broken="dipri_me", when=(*NOT_UNIFORM, "version 2020"), variant="exponential", version="2020",
)  # fmt: skip
register(
    "DiPriMe 2020 text",
    estimator(FORESTS, *DIPRIME, variant="exponential", version="2020 text", as_published=True),
    about="the first version with the budgets and scores of its text",
    broken="dipri_me",
    broken_when=(*NOT_UNIFORM, "version 2020", "version 2020 text"),
)
register(
    "Median",  # the paper's own form, with a budget at which its noise has no effect
    estimator(FORESTS, *DIPRIME, variant="exponential", disjoint=False, epsilon=1e9, as_published=True),
    about="medians of the best of K features, all rows, no noise",
    private=False,
)
system(
    "SRT", "random trees with private leaf labels, Fletcher and Islam 2017", FORESTS,
    "RandomDecisionForestClassifier", broken="smooth_sensitivity_forest", when=("disjoint=True",),
)  # fmt: skip
register(
    "SRT global",  # the paper's exponential mechanism halves the exponent, ours does not
    estimator(FORESTS, "RandomDecisionForestClassifier", label_mechanism="exponential", epsilon_factor=0.5),
    about="the same with global sensitivity in place of smooth sensitivity",
)
register(
    "SRT addendum",
    estimator(FORESTS, "RandomDecisionForestClassifier", label_mechanism="exponential"),
    about="the same with the addendum's exponential mechanism, Fletcher and Islam 2021",
)
for letters, voting in (("MV", "majority"), ("TA", "threshold"), ("PA", "probabilistic")):
    system(
        f"dpRF{letters}", f"random trees, {voting} voting, Bojarski et al. 2014", FORESTS, RANDOM[0],
        broken="random_decision_trees", when=("epsilon=None",), voting=voting,
    )  # fmt: skip
    register(
        f"n-dpRF{letters}",
        estimator(FORESTS, RANDOM[0], voting=voting, epsilon=float("inf"), as_published=True),
        about=f"random trees, {voting} voting, no noise; a leaf without rows has random shares",
        private=False,
    )
system(  # the published form is no estimator's: `readings` has it
    "DP-ERT", "random trees on all rows as Consul and Williamson use them, after Bojarski et al. 2014",
    FORESTS, *RANDOM, broken="private_extra_trees", published_form=False,
)  # fmt: skip
system(
    "SPE", "supervised ensemble of median trees, Huang, Lei and Kaban 2022", FORESTS,
    "PartitioningEnsembleClassifier", "PartitioningEnsembleRegressor",
    broken="partitioning_ensemble", when=("label_only=False",),
)  # fmt: skip
SEMI = "SemiSupervisedPartitioningEnsembleClassifier"
system(
    "SSPE-1", "unlabelled rows shape the trees, rows are private", FORESTS, SEMI,
    broken="partitioning_ensemble", when=("label_only=False",), semi_supervised=True, feature_privacy=True,
)  # fmt: skip
system(
    "SSPE-2", "unlabelled rows shape the trees, labels are private", FORESTS, SEMI,
    broken="partitioning_ensemble", when=("label_only=True",), semi_supervised=True, feature_privacy=False,
)  # fmt: skip
system(
    "PTE", "a second ensemble learns from predicted labels, labels are private", FORESTS,
    "TransductivePartitioningEnsembleClassifier", broken="transductive_ensemble", when=("label_only=True",),
    semi_supervised=True,
)  # fmt: skip

system(
    "JPW", "random trees with noisy counts, Jagannathan, Pillaipakkamnatt and Wright 2012", BASELINES,
    "JPWForestClassifier", broken="noisy_count_forest", when=("max_depth=None",),
)  # fmt: skip
system(
    "FS", "one greedy tree, Friedman and Schuster 2010", BASELINES, "FriedmanSchusterTreeClassifier",
    broken="greedy_tree",
)  # fmt: skip
system(
    "DP-RF", "greedy trees on five bins, Patil and Singh 2014", BASELINES,
    "PatilSinghForestClassifier", "PatilSinghForestRegressor", broken="private_random_forest",
    when=("max_depth=None",),
)  # fmt: skip
system(
    "DP-DF", "greedy trees with local sensitivity, Fletcher and Islam 2015", BASELINES,
    "FletcherIslamForestClassifier", broken="local_sensitivity_forest",
)  # fmt: skip
system(
    "RGV", "bootstrap trees under a relaxed definition, Rana, Gupta and Venkatesh 2015", BASELINES,
    "RanaForestClassifier", broken="relaxed_forest",
)  # fmt: skip
system(
    "MaxTree", "greedy ensemble with the max-operator, Liu et al. 2018", BASELINES, "MaxTreeClassifier",
    broken="maximal_vote_forest",
)  # fmt: skip
system(
    "Xin", "greedy trees on disjoint rows with smooth sensitivity, Xin et al. 2019", BASELINES,
    "XinForestClassifier", broken="greedy_smooth_forest",
)  # fmt: skip
system(
    "SSRDT", "random trees shaped by unlabelled rows, Jagannathan, Monteleoni and Pillaipakkamnatt 2013",
    BASELINES, "SemiSupervisedRDTClassifier", broken="semi_supervised_random_trees", semi_supervised=True,
)  # fmt: skip
system(  # the papers that compare with it ask for private labels only, and these it keeps
    "TOP", "neighbours' labels and a linear predictor, Long and Sakuma 2017", BASELINES,
    "TransductiveOutputPerturbationClassifier", broken="output_perturbation", semi_supervised=True,
)  # fmt: skip

references.register_all()
peers.register_all()
readings.register_all()
