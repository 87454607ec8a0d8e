"""Which files a problem may read: those of its own folder, and those of folders that the caller allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_file, outside_folder
from optdsl.syntax.source import Span


@dataclass(frozen=True)
class Access:
    """`folder` is that of the file whose paths are resolved; it may be below `root`, the solved file's own folder."""

    folder: Path
    allow_paths: tuple[Path, ...] = ()
    allow_python: bool = False
    root: Path | None = None

    def resolve(self, name: str, span: Span | None) -> Path:
        """The real path of a named file. Raises E303 outside the allowed folders, E304 where there is none."""
        try:
            path = (self.folder / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, a name too long, a NUL in it
            raise OptError(no_such_file(span, name, ())) from None
        allowed = [(self.root or self.folder).resolve(), *(p.resolve() for p in self.allow_paths)]
        if not any(path == a or a in path.parents for a in allowed):
            raise OptError(outside_folder(span, name, str(self.root or self.folder)))
        try:
            present = path.is_file()
        except OSError:
            present = False
        if not present:
            raise OptError(no_such_file(span, name, self._nearby(path, name)))
        return path

    def _nearby(self, path: Path, name: str) -> list[str]:
        """Files beside the missing one, as the problem would name them."""
        lead = name[: len(name) - len(Path(name).name)]
        try:
            return [lead + p.name for p in sorted(path.parent.iterdir())[:1000] if p.is_file()]
        except OSError:
            return []

    def text(self, path: Path, span: Span | None) -> str:
        try:
            return path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise OptError(damaged_file(span, path.name, "text", "it is not UTF-8")) from None
        except OSError as error:
            raise OptError(damaged_file(span, path.name, "text", error.strerror or str(error))) from None
