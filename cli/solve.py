"""`optdsl solve`: solves a problem, certifies the answer, shows and saves the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AllowPath, AllowPython, Config, Data, File, Format, FormatOption, Set, load


def command(
    file: File,
    with_: Annotated[
        str | None, typer.Option("--with", metavar="NAME[(OPTIONS)]", help="The method, such as 'aradmm(tol=1e-6)'.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Option of the method. May be repeated.")
    ] = None,
    set_: Set = None,
    data: Data = None,
    config: Config = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of everything random.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Ends the run with its best point.")
    ] = None,
    tol: Annotated[float | None, typer.Option(metavar="TOL", help="What the answer is held to.")] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="Processors to use.")] = None,
    device: Annotated[str | None, typer.Option(metavar="DEVICE", help="cpu, cuda or cuda:N.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the report as a page.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the run's state there now and then, and go on from it.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; the exit status tells.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Let the backend print its own log.")] = False,
    format: FormatOption = Format.text,
    allow_python: AllowPython = False,
    allow_path: AllowPath = None,
) -> int:
    """Solve a problem and check the answer."""
    from optdsl.report.outcome import exit_status
    from optdsl.report.page import write
    from optdsl.report.store import require_writable, to_json
    from optdsl.run.interrupt import ctrl_c_interrupts
    from optdsl.run.progress import Progress
    from optdsl.run.settings import command_line, run_file

    earlier = None if config is None else run_file(config)
    s = command_line(
        with_=with_, options=option or (), set_=set_ or (), data=data or (), seed=seed, time_limit=time_limit, tol=tol,
        threads=threads, device=device, checkpoint=checkpoint, report=report, html=html, quiet=quiet or None,
    )  # fmt: skip
    s = s if earlier is None else s.over(earlier)
    for path in (s.report, s.html, s.checkpoint):
        if path is not None:
            require_writable(path, [Path(file)])
    problem = load(file, allow_python, allow_path)
    progress = Progress("solving", s.time_limit)
    with ctrl_c_interrupts() as watch, progress.shown(not s.quiet):
        found = problem.solve(
            s.with_, options=s.options, data=s.data, params=s.set, seed=s.seed or 0, time_limit=s.time_limit, tol=s.tol,
            threads=s.threads, device=s.device or "cpu", verbose=verbose, on_event=progress, on_run=watch,
            checkpoint=s.checkpoint,
        )  # fmt: skip
    if s.report is not None:
        found.save(s.report)
    if s.html is not None:
        write(found, s.html)
    if format is Format.json:
        print(to_json(found), end="")
    elif not s.quiet:
        from optdsl.report.terminal import show

        show(found)
    return exit_status(found)
