"""Which files a problem may read: nothing outside its own folder unless the caller says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import optdsl
from optdsl.data.access import Access
from optdsl.syntax.diagnostics import Diagnostic, OptError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """home/ is the problem's folder; secret/ and homely/ lie beside it."""
    for folder in ("home/sub", "secret", "homely"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("home/a.csv", "home/sub/b.csv", "secret/s.csv", "homely/h.csv"):
        (tmp_path / name).write_text("1,2\n")
    return tmp_path


def refusal(access: Access, name: str) -> Diagnostic:
    with pytest.raises(OptError) as caught:
        access.resolve(name, None)
    return caught.value.diagnostics[0]


def test_files_of_the_folder_and_below(tree: Path) -> None:
    access = Access(tree / "home")
    for name in ("a.csv", "sub/b.csv", "./a.csv", "sub/../a.csv", str(tree / "home" / "a.csv")):
        assert access.resolve(name, None).is_file()


def test_nothing_outside(tree: Path) -> None:
    home = tree / "home"
    (home / "link.csv").symlink_to(tree / "secret" / "s.csv")
    (home / "door").symlink_to(tree / "secret")
    (home / "chain.csv").symlink_to(home / "link.csv")
    names = [
        "../secret/s.csv", "sub/../../secret/s.csv", str(tree / "secret" / "s.csv"), "/etc/passwd", "link.csv", "door/s.csv",
        "chain.csv", "../homely/h.csv", "../secret/no-such-file", "door/no-such-file",
    ]  # fmt: skip
    for name in names:
        found = refusal(Access(home), name)
        assert found.code == "E303", name
        assert "--allow-path" in (found.help or "")


def test_what_is_refused_tells_nothing_about_what_is_there(tree: Path) -> None:
    """A file outside gives the same answer whether it exists or not."""
    there, absent = (refusal(Access(tree / "home"), f"../secret/{n}.csv") for n in ("s", "t"))
    assert there.message.replace("s.csv", "t.csv") == absent.message and there.help == absent.help


def test_the_caller_may_allow_a_folder(tree: Path) -> None:
    access = Access(tree / "home", (tree / "secret",))
    assert access.resolve("../secret/s.csv", None) == (tree / "secret" / "s.csv").resolve()
    assert refusal(access, "../homely/h.csv").code == "E303"
    assert refusal(access, "../secret/t.csv").code == "E304"


def test_a_link_inside_the_folder_is_followed(tree: Path) -> None:
    (tree / "home" / "same.csv").symlink_to(tree / "home" / "a.csv")
    assert Access(tree / "home").resolve("same.csv", None) == (tree / "home" / "a.csv").resolve()


def test_a_home_that_is_a_link_itself(tree: Path) -> None:
    (tree / "alias").symlink_to(tree / "home")
    assert Access(tree / "alias").resolve("a.csv", None).is_file()


def test_an_imported_file_reads_beside_itself_and_no_further_than_the_root(tree: Path) -> None:
    inner = Access(tree / "home" / "sub", root=tree / "home")
    assert inner.resolve("b.csv", None).is_file()
    assert inner.resolve("../a.csv", None) == (tree / "home" / "a.csv").resolve()
    assert refusal(inner, "../../secret/s.csv").code == "E303"


def test_imports_in_subfolders(tree: Path) -> None:
    (tree / "home" / "sub" / "shared.opt").write_text('let B = csv("b.csv")\nlet A = csv("../a.csv")\n')
    (tree / "home" / "main.opt").write_text(
        'import "sub/shared.opt"\nvar x : real\nminimize x ** 2 + B[0, 0] + A[0, 0]\n'
    )
    instance = optdsl.load(tree / "home" / "main.opt").instance()
    assert instance.data["B"].values.tolist() == [[1, 2]]
    (tree / "home" / "sub" / "shared.opt").write_text('let A = csv("../a.csv")\nlet B = csv("../../secret/s.csv")\n')
    with pytest.raises(OptError) as caught:
        optdsl.load(tree / "home" / "main.opt").instance()
    assert caught.value.diagnostics[0].code == "E303"
    allowed = optdsl.load(tree / "home" / "main.opt", allow_paths=[tree / "secret"]).instance()
    assert allowed.data["B"].values.tolist() == [[1, 2]]


def test_the_nearest_file_is_offered(tree: Path) -> None:
    found = refusal(Access(tree / "home"), "sub/bb.csv")
    assert (found.code, found.help) == ("E304", "did you mean 'sub/b.csv'?")


@pytest.mark.parametrize("name", ["", ".", "sub", "a\0b", "x" * 5000, "loop", "a.csv/b.csv", "no/such/folder/a.csv"])
def test_names_that_are_no_file(tree: Path, name: str) -> None:
    (tree / "home" / "loop").symlink_to(tree / "home" / "loop")
    assert refusal(Access(tree / "home"), name).code == "E304"


def test_pipes_and_devices_are_no_files(tree: Path) -> None:
    import os

    os.mkfifo(tree / "home" / "pipe.csv")
    assert refusal(Access(tree / "home"), "pipe.csv").code == "E304"
    assert refusal(Access(tree / "home", (Path("/dev"),)), "/dev/zero").code == "E304"
