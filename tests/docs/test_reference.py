"""Nothing that a user can write or meet is missing from the pages, and no link is dead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.plugin import hookspecs
from pytest_dialeval.plugin.closing import UNMEASURED
from pytest_dialeval.plugin.options import OPTIONS, Option
from pytest_dialeval.suites.agent_form import (
    AgentScriptForm,
    CommandForm,
    HookForm,
    HttpForm,
    ModelAgentForm,
    PythonForm,
    ReplayForm,
    ReplyForm,
    ScriptedForm,
    ToolForm,
)
from pytest_dialeval.suites.form import Form
from pytest_dialeval.suites.persona_form import (
    NoiseForm,
    PersonaForm,
    ProbeForm,
    ScriptForm,
    StateForm,
    TransitionForm,
    UserTurnForm,
)
from pytest_dialeval.suites.rounds_form import (
    AnchorForm,
    BehaviourForm,
    ProfileForm,
    RoundsForm,
    RoundsPersonaForm,
)
from pytest_dialeval.suites.rubric_form import JudgeForm, LevelForm, RubricForm, TriggerForm
from pytest_dialeval.suites.suite_form import (
    BaselineForm,
    CompareForm,
    GatesForm,
    LimitsForm,
    PartForm,
    PassHatKForm,
    ScoringForm,
    SuiteForm,
    TranscriptForm,
    UxForm,
    VotesForm,
    WeightsForm,
)
from pytest_dialeval.suites.task_form import FlowForm, FlowNodeForm, TaskForm
from pytest_dialeval.suites.work_form import VerifierForm, WorkspaceForm

from .pages import PAGES, ROOT, prose

REFERENCE = ROOT / "docs" / "reference"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FORMS: tuple[tuple[str, tuple[type[Form], ...]], ...] = (
    (
        "suite.md",
        (
            *(SuiteForm, PartForm, TaskForm, FlowForm, FlowNodeForm, RubricForm, TriggerForm),
            *(WorkspaceForm, VerifierForm),
            *(JudgeForm, LevelForm, TranscriptForm, LimitsForm, ScoringForm, WeightsForm, UxForm),
            *(GatesForm, PassHatKForm, BaselineForm, CompareForm, VotesForm),
            *(PersonaForm, ScriptForm, StateForm, TransitionForm, ProbeForm, NoiseForm),
            *(RoundsForm, ProfileForm, BehaviourForm, AnchorForm, RoundsPersonaForm),
        ),
    ),
    ("simulated-user.md", (StateForm, TransitionForm, UserTurnForm, ProbeForm, NoiseForm)),
    (
        "agents.md",
        (
            *(ScriptedForm, PythonForm, HookForm, CommandForm, ReplayForm),
            *(ModelAgentForm, HttpForm),
            *(AgentScriptForm, ReplyForm, ToolForm),
        ),
    ),
)


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def links(path: Path) -> Iterator[str]:
    """Targets within the repository."""
    for target in LINK.findall(prose(path)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(path: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.M)
    plain = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]
    return set(plain)


@pytest.mark.parametrize("path", PAGES, ids=lambda each: each.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_in_the_contents() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / each.partition("#")[0]).resolve() for each in links(index)}
    assert set(PAGES) - linked == {index}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda each: each.name)
def test_every_option_is_described(option: Option) -> None:
    assert f"| `{option.flag}` |" in page("options.md")


def test_no_option_is_described_that_is_not_there() -> None:
    known = {each.flag for each in OPTIONS}
    for path in PAGES:
        named = set(re.findall(r"--dialeval-[a-z-]+", path.read_text(encoding="utf-8")))
        assert named <= known, path


def test_every_hook_is_described() -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("pytest_")]
    assert len(hooks) >= 4
    for name in hooks:
        assert f"\n## {name}(config)\n" in page("hooks.md")
        assert f"def {name}(config)" in page("hooks.md"), "an example"


@pytest.mark.parametrize("name", builtin_matchers())
def test_every_matcher_is_described_with_its_parameters(name: str) -> None:
    text = page("matchers.md")
    assert re.search(rf"^#+ .*`?\b{name}\b`?", text, re.M), "a heading"
    given = builtin_matchers()[name].params.model_fields
    missing = {field.alias or key for key, field in given.items()} - words(text) - {"of"}
    assert not missing


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name, forms in FORMS for form in forms],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_every_key_of_a_suite_is_described(name: str, form: type[Form]) -> None:
    assert set(form.keys()) - words(page(name)) == set()


def test_every_exit_status_is_described() -> None:
    for status in {*map(int, pytest.ExitCode), UNMEASURED, 0, 1}:
        assert f"\n| {status} | " in page("exit-status.md")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in ("| 0 |", "| 1 |", "| 2 to 6 |", f"| {UNMEASURED} |"):
        assert row in readme


def test_every_dependency_is_explained() -> None:
    text = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(each for given in extras.values() for each in given),
    ]
    for each in wanted:
        name = re.split(r"[<>=\[ ]", each)[0]
        assert re.search(rf"\b{re.escape(name)}\b", text), name
    for name in extras:
        assert f"`[{name}]`" in text


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (
            "first",
            "python3 -m venv .venv && .venv/bin/pip install -e . "
            "&& .venv/bin/pytest example_suites",
        ),
        (
            "second",
            "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest",
        ),
    ],
)
def test_the_commands_that_ci_runs_are_in_the_readme(name: str, command: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(f"<!-- {name} command -->\n```bash\n{command}\n```\n<!-- end -->\n") == 1
    assert f"<!-- {name} command -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
