"""Which gates hold for a suite, and whether they or its items decide."""

from __future__ import annotations

from typing import Literal

from pytest_dialeval.plugin.options import Setting, Settings
from pytest_dialeval.records.suite import Gates, PassHatK
from pytest_dialeval.runs.gates import Bound, Bounds

# Any of these, in the suite or by option, makes the gates decide.
DECIDING = ("min-pass-hat-k", "min-score", "max-unmeasured", "baseline")


def decides(settings: Settings, gates: Gates) -> Literal["items", "gates"]:
    """`items` or `gates`, for one suite."""
    stated = settings.get("decide", suite=gates.decide).value
    if stated is not None:
        return "gates" if stated == "gates" else "items"
    by_suite = (gates.pass_hat_k, gates.mean_score, gates.unmeasured, gates.baseline)
    by_option = (settings.get(each).value for each in DECIDING)
    given = any(each is not None for each in (*by_suite, *by_option))
    return "gates" if given else "items"


def breaches_gated(settings: Settings, gates: Gates) -> bool:
    """Whether a gate counts safety breaches, so that their items need not fail by themselves."""
    return settings.get("max-safety-breaches", suite=gates.safety_breaches).value is not None


def bounds(settings: Settings, gates: Gates, source: str, decide: str) -> Bounds:
    """The gates of one suite; an option's bound stands above the suite's."""
    unmeasured = _bound(settings, "max-unmeasured", gates.unmeasured, source)
    if unmeasured is None and decide == "gates":
        unmeasured = Bound(0, "default")
    return Bounds(
        pass_hat_k=_bound(settings, "min-pass-hat-k", gates.pass_hat_k, source),
        mean_score=_bound(settings, "min-score", gates.mean_score, source),
        safety_breaches=_bound(settings, "max-safety-breaches", gates.safety_breaches, source),
        unmeasured=unmeasured,
        distinct_models=_bound(settings, "distinct-models", gates.distinct_models, source),
    )


def _bound(
    settings: Settings, name: str, by_suite: PassHatK | float | bool | None, source: str
) -> Bound | None:
    setting: Setting = settings.get(name, suite=by_suite)
    if setting.value is None:
        return None
    value = setting.value
    if isinstance(value, str):  # K:P
        k, _, least = value.partition(":")
        value = PassHatK(int(k), float(least))
    by_option = setting.source != "suite"
    return Bound(value, setting.source if by_option else source, by_option)
