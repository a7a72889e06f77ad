"""What the papers say about their figures, by paper; `dpforest.papers.experiments.claims` judges it."""

from __future__ import annotations

from dpforest.papers.experiments.claims import Claim, Side
from dpforest.papers.experiments.methods import AS_PUBLISHED

__all__ = ["CLAIMS"]


def _as_published(*names: str) -> tuple[Side, ...]:
    return tuple(Side(name + AS_PUBLISHED) for name in names)


def _plain(*names: str) -> tuple[Side, ...]:
    return tuple(Side(name) for name in names)


def _set(name: str, **setting: object) -> tuple[Side, ...]:
    return (Side(name + AS_PUBLISHED, setting),)


SRT = _as_published("SRT")
VARIANTS = ("DiPriMe", "DiPriMeExp", "DiPriMeFlip")

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "bojarski2014": (
        Claim(
            "Section 6", "probabilistic averaging is significantly worse than the other two rules",
            "bojarski2014-figure2a", _set("dpRFMV", max_depth=10, n_estimators=11)
            + _set("dpRFTA", max_depth=10, n_estimators=11), _set("dpRFPA", max_depth=10, n_estimators=11),
            "mostly",
        ),
        Claim(
            "Section 6", "threshold averaging is in most cases the best (Figure 2a, height 10)",
            "bojarski2014-figure2a", _set("dpRFTA", max_depth=10, n_estimators=11),
            _set("dpRFMV", max_depth=10, n_estimators=11), "mostly",
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
            "Corollary 3.1", "median splits are more balanced than random ones (Figure 4)",
            "consul2021-figure4", _plain("DiPriMe"), _plain("DP-ERT"),
        ),
    ),
    "fletcher2017": (
        Claim(
            "Section 4.1", "smooth sensitivity gains up to 26 points and never loses (Figure 4)",
            "fletcher2017-figure4", SRT, _plain("SRT global"),
        ),
        Claim(
            "Section 4.2", "disjoint rows gain up to 18 points and lose next to nothing (Figure 5a)",
            "fletcher2017-figure5a", _set("SRT", disjoint=True), _set("SRT", disjoint=False), "mostly",
        ),
        Claim(
            "Section 4.2", "disjoint rows have a substantially lower smooth sensitivity (Figure 5b)",
            "fletcher2017-figure5b", (Side("SRT", {"disjoint": False}),), (Side("SRT", {"disjoint": True}),),
        ),
        Claim(
            "Section 4.3", "the depth of Theorem 2 gains 2 to 30 points over m/2 everywhere (Figure 6)",
            "fletcher2017-figure6", _set("SRT", max_depth=None), _set("SRT", max_depth="0.5d"),
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
            SRT, _as_published("JPW"), "mostly",
        ),
        Claim(
            "Section 5.2", "FS is worse on all datasets (Figure 11)", "fletcher2017-figure11", SRT,
            _plain("FS"),
        ),
        Claim(
            "Section 5.2", "the random forest without privacy is always better (Figure 11)",
            "fletcher2017-figure11", _plain("RF"), SRT,
        ),
        Claim(
            "Section 5.2", "JPW is no better in area under the curve but once (Figure 12)",
            "fletcher2017-figure12", SRT, _as_published("JPW"), "mostly",
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
            "Section 6.2", "SPE is better than SRT, RDT and MaxTree on most datasets (Table 1)",
            "huang2022-table1", _as_published("SPE"), _as_published("SRT", "JPW", "MaxTree"), "mostly",
        ),
        Claim(
            "Section 6.2", "only on Nursery is SPE significantly worse, there than MaxTree (Table 1)",
            "huang2022-table1", _as_published("MaxTree"), _as_published("SPE"), datasets=("nursery",),
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
