"""What the papers say about their figures, by paper; `dpforest.papers.experiments.claims` judges it."""

from __future__ import annotations

from dpforest.papers.experiments.claims import Claim, Side
from dpforest.papers.experiments.methods import AS_PUBLISHED
from dpforest.papers.experiments.tables._ensembles import DATASETS
from dpforest.papers.experiments.tables._random_forests import REAL, SYNTHETIC

__all__ = ["CLAIMS"]


def _as_published(*names: str) -> tuple[Side, ...]:
    return tuple(Side(name + AS_PUBLISHED) for name in names)


def _plain(*names: str) -> tuple[Side, ...]:
    return tuple(Side(name) for name in names)


def _set(name: str, **setting: object) -> tuple[Side, ...]:
    return (Side(name + AS_PUBLISHED, setting),)


def _at(epsilon: float, *names: str) -> tuple[Side, ...]:
    return tuple(Side(name + AS_PUBLISHED, None, epsilon) for name in names)


def _middle(name: str) -> tuple[Side, ...]:
    """Return the middle bins of a histogram of splits; both must be fuller than both of the other."""
    return tuple(Side(name, {"bin_end": end}) for end in (0.5, 0.6))


def _sparse(*names: str) -> tuple[Side, ...]:
    """Return the first bin of a histogram of leaves."""
    return tuple(Side(name, {"bin_end": 0.01}) for name in names)


def _searched(*names: str) -> tuple[Side, ...]:
    """Return sides of the figures whose number of trees is chosen on validation rows."""
    return tuple(Side(f"{name} searched", {"max_depth": 10, "max_trees": 101}) for name in names)


def _hyperparameters(figure: str, place: str, name: str) -> tuple[Claim, ...]:
    """Return what both papers say of the panels with shares and budgets, and with numbers of trees."""
    number = figure.split("-figure")[1]
    return (
        Claim(
            place, f"a share of 0.8 for the splits is worse than 0.4, at epsilon 3 (Figure {number}a)",
            f"{figure}a", _set(name, split_share=0.4), _set(name, split_share=0.8), epsilons=(3.0,),
        ),
        Claim(
            place, f"larger budgets are better, 100 than 3 (Figure {number}a, share 0.4)", f"{figure}a",
            (Side(name + AS_PUBLISHED, {"split_share": 0.4}, 100.0),),
            (Side(name + AS_PUBLISHED, {"split_share": 0.4}, 3.0),), epsilons=(3.0,),
        ),
        Claim(
            place, f"more trees help up to a limit, 10 are better than 1 (Figure {number}b, 10 features)",
            f"{figure}b", _set(name, n_estimators=10, max_features=10),
            _set(name, n_estimators=1, max_features=10),
        ),
        Claim(
            place, f"beyond the limit they hurt, 30 are worse than 10 (Figure {number}b, 10 features)",
            f"{figure}b", _set(name, n_estimators=10, max_features=10),
            _set(name, n_estimators=30, max_features=10),
        ),
    )  # fmt: skip


SRT = _as_published("SRT")
VARIANTS = ("DiPriMe", "DiPriMeExp", "DiPriMeFlip")

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "bojarski2014": (
        Claim(
            "Section 6", "probabilistic averaging is significantly worse than the other two rules",
            "bojarski2014-figure2a", _searched("dpRFMV", "dpRFTA"), _searched("dpRFPA"), "mostly",
        ),
        Claim(
            "Section 6", "threshold averaging is in most cases the best (Figure 2a, height 10)",
            "bojarski2014-figure2a", _searched("dpRFTA"), _searched("dpRFMV"), "mostly",
        ),
        Claim(
            "Section 5.2", "too many trees hurt: 11 are better than 101 at a budget of 0.1 (Figure 2b)",
            "bojarski2014-figure2b", _set("dpRFMV", max_depth=10, n_estimators=11)
            + _set("dpRFTA", max_depth=10, n_estimators=11), _set("dpRFMV", max_depth=10, n_estimators=101)
            + _set("dpRFTA", max_depth=10, n_estimators=101), "mostly", epsilons=(0.1,),
        ),
        *(
            Claim(
                "Section 6",
                f"similar results for the other datasets: probabilistic averaging is worse (Figure {number})",
                f"bojarski2014-figure{number}", _searched("dpRFMV", "dpRFTA"), _searched("dpRFPA"), "mostly",
            )
            for number in ("4a", "6a", "8a")
        ),
        *(
            Claim(
                "Section 6", f"probabilistic averaging is worse (Figure {number}, 21 trees, height 9)",
                f"bojarski2014-figure{number}", _set("dpRFMV", max_depth=9, n_estimators=21)
                + _set("dpRFTA", max_depth=9, n_estimators=21),
                _set("dpRFPA", max_depth=9, n_estimators=21), "mostly",
            )
            for number in (1, 3, 5, 7)
        ),
    ),
    "consul2020": (
        Claim(
            "Section 5", "DiPriMe has smaller errors than DP-ERT (Table 1)", "consul2020-table1",
            _as_published("DiPriMe 2020"), _as_published("DP-ERT"), "mostly",
        ),
        Claim(
            "Section 5", "DiPriMe has smaller errors than DP-DF and DP-ERT (Table 2)", "consul2020-table2",
            _as_published("DiPriMe 2020"), _as_published("DP-DF", "DP-ERT"), "mostly",
        ),
        Claim(
            "Figure 1", "median splits are more balanced: more have 40 to 60 % of the rows on the left",
            "consul2020-figure1", _middle("DiPriMe 2020"), _middle("DP-ERT"),
        ),
        Claim(
            "Theorem 2", "the bound lies above the tail (Figure 2, a deviation of 10)", "consul2020-figure2",
            (Side("Theorem 2 as printed", {"deviation": 10}),), (Side("Laplace model", {"deviation": 10}),),
        ),
        Claim(
            "Section 4.1", "deeper trees hurt, 10 levels are worse than 4 (Figure 3a)", "consul2020-figure3a",
            _set("DiPriMe 2020", max_depth=4), _set("DiPriMe 2020", max_depth=10),
        ),
        Claim(
            "Section 4.1", "too many trees hurt, 50 are worse than 10 (Figure 3b)", "consul2020-figure3b",
            _set("DiPriMe 2020", n_estimators=10), _set("DiPriMe 2020", n_estimators=50),
        ),
        Claim(
            "Section 4.1", "DiPriMe has smaller errors than DP-ERT (Figure 3c)", "consul2020-figure3c",
            _as_published("DiPriMe 2020"), _as_published("DP-ERT"), "mostly",
        ),
        Claim(
            "Section 4.2", "DP-ERT and DP-DF stay behind even at large budgets (Figure 4, 8 and 16)",
            "consul2020-figure4", _as_published("DiPriMe 2020"), _as_published("DP-ERT", "DP-DF"),
            epsilons=(8.0, 16.0),
        ),
        Claim(
            "Appendix A.3", "DiPriMe on all rows has smaller errors than DP-ERT, too (Figure 5c)",
            "consul2020-figure5c", _as_published("DiPriMe 2020"), _as_published("DP-ERT"), "mostly",
        ),
        *_hyperparameters("consul2020-figure6", "Appendix A.3", "DiPriMe 2020"),
        Claim(
            "Appendix A.3", "DP-ERT and DP-DF stay behind on all rows, too (Figure 7, 8 and 16)",
            "consul2020-figure7", _as_published("DiPriMe 2020"), _as_published("DP-ERT", "DP-DF"),
            epsilons=(8.0, 16.0),
        ),
    ),
    "consul2021": (
        Claim(
            "Section 4.1", "DiPriMeExp and DiPriMeFlip clearly outperform DP-ERT and DP-RF (Table 1)",
            "consul2021-table1", _as_published(*VARIANTS[1:]), _as_published("DP-ERT", "DP-RF"),
        ),
        Claim(
            "Section 4.2", "all variants far exceed DP-ERT, DP-RF and DP-DF (Table 2)", "consul2021-table2",
            _as_published(*VARIANTS), _as_published("DP-ERT", "DP-RF", "DP-DF"),
        ),
        Claim(
            "Section 4.2", "DP-ERT and DP-DF stay behind even at large budgets (Figure 2, 8 and 16)",
            "consul2021-figure2", _as_published(*VARIANTS), _as_published("DP-ERT", "DP-DF"),
            epsilons=(8.0, 16.0),
        ),
        Claim(
            "Corollary 3.1", "median splits are more balanced: more have 40 to 60 % on the left (Figure 4)",
            "consul2021-figure4", _middle("DiPriMe"), _middle("DP-ERT"),
        ),
        Claim(
            "Section 4.1", "DiPriMe performs poorly on Traffic, where attributes matter (Table 1)",
            "consul2021-table1", _as_published(*VARIANTS[1:]), _as_published("DiPriMe"),
            datasets=("metro_traffic@consul2021",),
        ),
        Claim(
            "Section 4.1", "DP-RF is very poor, behind DP-ERT (Table 1)", "consul2021-table1",
            _as_published("DP-ERT"), _as_published("DP-RF"), "mostly",
        ),
        Claim(
            "Section 4.2", "median forests are worse than random forests without privacy (Table 2)",
            "consul2021-table2", _plain("RF"), _plain("Median"), "mostly",
        ),
        *(
            Claim(
                "Section 4.1", f"deeper trees hurt DiPriMe, 10 levels are worse than 4 (Figure 1a, {name})",
                "consul2021-figure1a", _set(name, max_depth=4), _set(name, max_depth=10),
            )
            for name in VARIANTS
        ),
        Claim(
            "Section 4.1", "deeper trees help without privacy, 10 levels are better than 2 (Figure 1a)",
            "consul2021-figure1a", (Side("RF", {"max_depth": 10}),), (Side("RF", {"max_depth": 2}),),
        ),
        Claim(
            "Section 4.1", "too many trees hurt, 50 are worse than 10 (Figure 1b)", "consul2021-figure1b",
            _set("DiPriMeExp", n_estimators=10), _set("DiPriMeExp", n_estimators=50),
        ),
        Claim(
            "Section 4.1", "all variants outperform DP-ERT for most settings (Figure 1c)",
            "consul2021-figure1c", _as_published(*VARIANTS), _as_published("DP-ERT"), "mostly",
        ),
        Claim(
            "Section 4.1", "at low budgets DiPriMeFlip is worse than DiPriMe and DiPriMeExp (Figure 1c, 1)",
            "consul2021-figure1c", _as_published(*VARIANTS[:2]), _as_published("DiPriMeFlip"),
            epsilons=(1.0,),
        ),
        Claim(
            "Section 4.3", "fewer leaves of DiPriMe have under 1 % of the rows than of all others (Figure 3)",
            "consul2021-figure3", _sparse("DP-ERT", "DP-RF", "DP-DF"), _sparse(*VARIANTS),
        ),
        Claim(
            "Appendix C", "with all rows in a tree the best depth is higher, 6 is better than 2 (Figure 5a)",
            "consul2021-figure5a", _set("DiPriMeExp", max_depth=6), _set("DiPriMeExp", max_depth=2),
        ),
        Claim(
            "Appendix C", "trends are those of Figure 1: too many trees hurt, 50 more than 10 (Figure 5b)",
            "consul2021-figure5b", _set("DiPriMeExp", n_estimators=10), _set("DiPriMeExp", n_estimators=50),
        ),
        Claim(
            "Appendix C", "trends are those of Figure 1: all variants outperform DP-ERT (Figure 5c)",
            "consul2021-figure5c", _as_published(*VARIANTS), _as_published("DP-ERT"), "mostly",
        ),
        Claim(
            "Appendix C", "the trend is that of Figure 2: DP-ERT and DP-DF stay behind (Figure 6, 8 and 16)",
            "consul2021-figure6", _as_published(*VARIANTS), _as_published("DP-ERT", "DP-DF"),
            epsilons=(8.0, 16.0),
        ),
        *_hyperparameters("consul2021-figure7", "Appendix C", "DiPriMeExp"),
        *_hyperparameters("consul2021-figure8", "Appendix C", "DiPriMeFlip"),
    ),
    "fletcher2017": (
        Claim(
            "Section 4.1", "smooth sensitivity gains up to 26 points and never loses (Figure 4)",
            "fletcher2017-figure4", SRT, _plain("SRT global"), largest=0.26,
        ),
        Claim(
            "Section 4.2", "disjoint rows gain up to 18 points and lose next to nothing (Figure 5a)",
            "fletcher2017-figure5a", _set("SRT", disjoint=True), _set("SRT", disjoint=False), "mostly",
            largest=0.18,
        ),
        Claim(
            "Section 4.2", "disjoint rows have a substantially lower smooth sensitivity (Figure 5b)",
            "fletcher2017-figure5b", (Side("SRT", {"disjoint": False}),), (Side("SRT", {"disjoint": True}),),
        ),
        Claim(
            "Section 4.3", "the depth of Theorem 2 gains 2 to 30 points over m/2 everywhere (Figure 6)",
            "fletcher2017-figure6", _set("SRT", max_depth=None), _set("SRT", max_depth="0.5d"), largest=0.30,
        ),
        Claim(
            "Section 4.3", "depth m is worse than that of Theorem 2 for all datasets but one (Figure 6)",
            "fletcher2017-figure6", _set("SRT", max_depth=None), _set("SRT", max_depth="d"), "mostly",
        ),
        Claim(
            "Section 4.4", "at epsilon 0.2, 30 trees are better than 300 (Figure 7)", "fletcher2017-figure7",
            _set("SRT", n_estimators=30), _set("SRT", n_estimators=300), "mostly", epsilons=(0.2,),
        ),
        Claim(
            "Section 5.2", "JPW is worse on all datasets but Claves (Figure 11)", "fletcher2017-figure11",
            SRT, _as_published("JPW"),
            datasets=tuple(name for name in (*SYNTHETIC, *REAL) if not name.startswith("claves")),
        ),
        Claim(
            "Section 5.2", "FS is worse on all datasets (Figure 11)", "fletcher2017-figure11", SRT,
            _as_published("FS"),
        ),
        Claim(
            "Section 5.2", "the random forest without privacy is always better (Figure 11)",
            "fletcher2017-figure11", _plain("RF"), SRT,
        ),
        Claim(
            "Section 5.2", "more than 35 points ahead of JPW and FS on SynthA (Figure 11)",
            "fletcher2017-figure11", SRT, _as_published("JPW", "FS"), datasets=("SynthA",),
            largest=0.35,
        ),
        Claim(
            "Section 5.2", "JPW is better on Claves (Figure 11)", "fletcher2017-figure11",
            _as_published("JPW"), SRT, datasets=("claves",),
        ),
        Claim(
            "Section 5.1", "larger budgets come closer to no noise, 8 than 0.1 (Figure 10)",
            "fletcher2017-figure10", _at(8.0, "SRT"), _at(0.1, "SRT"), epsilons=(8.0,),
        ),
        Claim(
            "Section 5.1", "the random forest stays ahead (Figure 10)", "fletcher2017-figure10", _plain("RF"),
            SRT,
        ),
        Claim(
            "Section 5.1", "smaller budgets do with more rows, 1 is better than 0.1 with few (Figure 9)",
            "fletcher2017-figure9", _at(1.0, "SRT"), _at(0.1, "SRT"), epsilons=(1.0,),
            datasets=("SynthF@30000",),
        ),
        Claim(
            "Section 4.4", "more trees change more labels, 300 than 1 (Figure 8)", "fletcher2017-figure8",
            (Side("SRT", {"n_estimators": 300}),), (Side("SRT", {"n_estimators": 1}),),
        ),
        Claim(
            "Section 5.2", "JPW is no better in F1 score but once (Figure 13)", "fletcher2017-figure13",
            SRT, _as_published("JPW"), "mostly", no_worse=True,
        ),
        Claim(
            "Section 5.2", "JPW is no better in area under the curve but once (Figure 12)",
            "fletcher2017-figure12", SRT, _as_published("JPW"), "mostly", no_worse=True,
        ),
        Claim(
            "Section 5.2", "RGV, with its weaker promise, loses on five datasets of ten (Figure 14)",
            "fletcher2017-figure14", SRT, _as_published("RGV"), "mostly",
        ),
    ),
    "huang2022": (
        Claim(
            "Section 4.1", "true medians are better than private ones (Figure 1)", "huang2022-figure1",
            _plain("true medians"), _as_published("SPE"), "mostly",
        ),
        Claim(
            "Section 4.1", "private medians are better than random splits (Figure 1)", "huang2022-figure1",
            _as_published("SPE"), _plain("random splits"), "mostly",
        ),
        Claim(
            "Section 4.2", "geometric budgets come closer to the medians in all experiments (Figure 2)",
            "huang2022-figure2", (Side("uniform", {"max_depth": 10}),),
            (Side("geometric", {"max_depth": 10}),),
        ),
        Claim(
            "Section 6.1", "accuracy falls beyond ten trees (Figure 3, depth d, 10 against 50)",
            "huang2022-figure3", _set("SPE", max_depth="d", n_estimators=10),
            _set("SPE", max_depth="d", n_estimators=50), "mostly",
        ),
        Claim(
            "Section 4.1", "accuracy grows with the budget, 8 against 0.5 (Figure 1)", "huang2022-figure1",
            _at(8.0, "SPE"), _at(0.5, "SPE"), epsilons=(8.0,),
        ),
        Claim(
            "Section 6.1", "depth d is a reasonable default, better than d/2 (Figure 3, ten trees)",
            "huang2022-figure3", _set("SPE", max_depth="d", n_estimators=10),
            _set("SPE", max_depth="0.5d", n_estimators=10), "mostly",
        ),
        Claim(
            "Section 6.2", "the largest gain is more than 25 points, on Robot (Table 1)", "huang2022-table1",
            _as_published("SPE"), _as_published("SRT", "JPW", "MaxTree"), datasets=("wall_robot_4",),
            largest=0.25,
        ),
        Claim(
            "Section 6.3", "SSPE-1 is no worse than SSRDT and TOP although it promises more (Table 2)",
            "huang2022-table2", _as_published("SSPE-1"), _as_published("SSRDT", "TOP"), "mostly",
            no_worse=True,
        ),
        Claim(
            "Section 6.2", "SPE is better than SRT, RDT and MaxTree on most datasets (Table 1)",
            "huang2022-table1", _as_published("SPE"), _as_published("SRT", "JPW", "MaxTree"), "mostly",
        ),
        Claim(
            "Section 6.2", "but for Nursery SPE is nowhere significantly worse (Table 1)", "huang2022-table1",
            _as_published("SPE"), _as_published("SRT", "JPW", "MaxTree"),
            datasets=tuple(name for name in DATASETS if name != "nursery"), no_worse=True,
        ),
        Claim(
            "Section 6.3", "SSPE-2 is better than SSRDT and TOP on most datasets (Table 2)",
            "huang2022-table2",
            _as_published("SSPE-2"), _as_published("SSRDT", "TOP"), "mostly",
        ),
        Claim(
            "Section 6.3", "PTE is better than SSRDT and TOP on most datasets (Table 2)",
            "huang2022-table2",
            _as_published("PTE"), _as_published("SSRDT", "TOP"), "mostly",
        ),
    ),
}  # fmt: skip
"""Claims by the number of the paper."""
