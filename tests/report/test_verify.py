"""Verification: a report that nobody touched holds, on a fresh process's terms; whatever is altered is found.

The forger of these tests also renews the seal, so that only the proof can tell.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optdsl
from optdsl.report.model import Report
from optdsl.report.store import seal
from optdsl.report.verify import Finding, verify
from optdsl.run.settings import DataFile
from optdsl.syntax.diagnostics import OptError

PROBLEM = """problem "Transport"
set Plants = ["Seattle", "San Diego"]
set Markets = ["New York", "Chicago", "Topeka"]
data capacity : real[Plants] = csv("capacity.csv", index=["plant"], value="cases")
data demand : real[Markets] = [325, 300, 275]
data distance : real[Plants, Markets] = [[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]]
param freight : real >= 0 = 90
var ship : real[Plants, Markets] >= 0
minimize sum(freight * distance[i, j] / 1000 * ship[i, j] for i in Plants, j in Markets)
subject to
  supply: for i in Plants: sum(ship[i, j] for j in Markets) <= capacity[i]
  needs: for j in Markets: sum(ship[i, j] for i in Plants) >= demand[j]
"""
CAPACITY = "plant,cases\nSeattle,350\nSan Diego,600\n"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("solved")
    (folder / "transport.opt").write_text(PROBLEM)
    (folder / "capacity.csv").write_text(CAPACITY)
    optdsl.load(folder / "transport.opt").solve().save(folder / "out.json")
    return folder


@pytest.fixture
def folder(solved: Path, tmp_path: Path) -> Path:
    """A copy elsewhere: a report moves with its problem."""
    shutil.copytree(solved, tmp_path, dirs_exist_ok=True)
    return tmp_path


def failed(found: list[Finding]) -> set[str]:
    return {f.name for f in found if not f.holds}


def forge(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    document["seal"] = seal(json.dumps(document))
    path.write_text(json.dumps(document))


def test_an_untouched_report_holds(folder: Path) -> None:
    report = Report.load(folder / "out.json")
    assert report.objective == pytest.approx(153.675, abs=1e-9)  # Dantzig 1963, section 3.3
    found = verify(folder / "out.json")
    assert not failed(found)
    assert {"problem", "data capacity", "solution ship", "dual supply", "constraints", "verdict", "objective"} <= {
        f.name for f in found
    }


def test_spacing_and_order_of_keys_are_no_alteration(folder: Path) -> None:
    document = json.loads((folder / "out.json").read_text())
    (folder / "out.json").write_text(json.dumps(dict(sorted(document.items())), indent=4))
    assert not failed(verify(folder / "out.json"))


def set_ship(document: dict[str, Any]) -> None:
    document["solution"]["ship"]["values"][0][0] += 1.0


def set_point(document: dict[str, Any]) -> None:
    document["answer"]["point"]["values"][0] += 1.0


def set_both(document: dict[str, Any]) -> None:
    """A dearer plan that is feasible: all from San Diego to New York and Topeka, and more of it to Chicago."""
    document["solution"]["ship"]["values"] = [[50.0, 299.0, 0.0], [275.0, 1.0, 275.0]]
    document["answer"]["point"]["values"] = [50.0, 299.0, 0.0, 275.0, 1.0, 275.0]


def set_claim(document: dict[str, Any]) -> None:
    document["verdict"] |= {"kind": "infeasible", "reason": "it cannot be"}


def set_dual(document: dict[str, Any]) -> None:
    document["duals"]["needs"]["values"][0] = 7.0


def set_objective(document: dict[str, Any]) -> None:
    document["objective"] += 1e-4


def set_bound(document: dict[str, Any]) -> None:
    document["bound"] += 1e-4


def set_check(document: dict[str, Any]) -> None:
    document["checks"][0]["value"] = 0.5


def drop_checks(document: dict[str, Any]) -> None:
    document["checks"] = []


def set_slack(document: dict[str, Any]) -> None:
    document["constraints"][1]["slack"] = 0.0


def set_freight(document: dict[str, Any]) -> None:
    document["request"]["set"]["freight"] = 91


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (set_ship, "solution ship"),
        (set_point, "solution ship"),
        (set_both, "objective"),
        (set_claim, "verdict"),
        (set_dual, "dual needs"),
        (set_objective, "objective"),
        (set_bound, "bound"),
        (set_check, "check feasibility"),
        (drop_checks, "check feasibility"),
        (set_slack, "constraints"),
        (set_freight, "data freight"),
    ],
)
def test_a_forged_report_is_found_out(folder: Path, change: Callable[[dict[str, Any]], None], finding: str) -> None:
    forge(folder / "out.json", change)
    found = failed(verify(folder / "out.json"))
    assert finding in found
    assert "report" not in found


def test_any_edit_breaks_the_seal(folder: Path) -> None:
    text = (folder / "out.json").read_text()
    (folder / "out.json").write_text(text.replace('"title": "Transport"', '"title": "Transports"'))
    assert failed(verify(folder / "out.json")) == {"report"}


def test_an_altered_problem(folder: Path) -> None:
    (folder / "transport.opt").write_text(PROBLEM.replace("325, 300, 275", "325, 300, 274"))
    found = failed(verify(folder / "out.json"))
    assert {"problem", "data demand", "verdict"} <= found


def test_a_comment_is_an_alteration_of_the_problem_only(folder: Path) -> None:
    (folder / "transport.opt").write_text(PROBLEM + "# seen\n")
    assert failed(verify(folder / "out.json")) == {"problem"}


def test_altered_data(folder: Path) -> None:
    (folder / "capacity.csv").write_text(CAPACITY.replace("600", "601"))
    assert {"data capacity", "constraints"} <= failed(verify(folder / "out.json"))


def test_a_missing_problem(folder: Path) -> None:
    (folder / "transport.opt").unlink()
    with pytest.raises(OptError, match="E604"):
        verify(folder / "out.json")


def test_params_and_files_of_the_run_are_used_again(folder: Path) -> None:
    problem = optdsl.load(folder / "transport.opt")
    (folder / "more.csv").write_text(CAPACITY.replace("600", "700"))
    problem.solve(freight=100, data={"capacity": DataFile(folder / "more.csv")}).save(folder / "b.json")
    assert Report.load(folder / "b.json").request.data["capacity"].file == "more.csv"
    assert not failed(verify(folder / "b.json"))
    (folder / "more.csv").write_text(CAPACITY)
    assert "data capacity" in failed(verify(folder / "b.json"))


def test_arrays_given_in_memory_are_needed_again(folder: Path) -> None:
    capacity = np.array([350.0, 650.0])
    optdsl.load(folder / "transport.opt").solve(data={"capacity": capacity}).save(folder / "b.json")
    with pytest.raises(OptError, match="E613"):
        verify(folder / "b.json")
    assert not failed(verify(folder / "b.json", {"capacity": capacity}))
    assert "data capacity" in failed(verify(folder / "b.json", {"capacity": capacity + 1}))


def test_a_problem_without_a_file(folder: Path) -> None:
    optdsl.parse(PROBLEM, folder=folder).solve().save(folder / "b.json")
    assert not failed(verify(folder / "b.json"))


def test_a_proof_of_infeasibility_is_proven_again(folder: Path) -> None:
    (folder / "transport.opt").write_text(PROBLEM.replace("325", "9325"))
    report = optdsl.load(folder / "transport.opt").solve()
    assert report.verdict.kind == "infeasible"
    report.save(folder / "b.json")
    assert not failed(verify(folder / "b.json"))


def test_items_of_foreach(folder: Path) -> None:
    text = "foreach k in range(3)\n" + PROBLEM
    (folder / "each.opt").write_text(text.replace("<= capacity[i]", "<= capacity[i] + k"))
    report = optdsl.load(folder / "each.opt").solve()
    assert [p.problem.item for p in report.parts] == ["0", "1", "2"]
    report.save(folder / "each.json")
    assert not failed(verify(folder / "each.json"))

    def swap(document: dict[str, Any]) -> None:
        document["parts"][1]["objective"] = document["parts"][0]["objective"] - 1.0

    forge(folder / "each.json", swap)
    assert failed(verify(folder / "each.json")) == {"1: objective"}
