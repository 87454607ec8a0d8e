"""I: faults of optdsl itself."""

from optdsl.syntax.diagnostics.record import Diagnostic, mistake


@mistake("I001", "internal error")
def internal_error(kind: str, detail: str, version: str) -> Diagnostic:
    """optdsl met a state that it should never meet. The problem file is not at fault; please report it
    with the file and the version."""
    return Diagnostic(
        "I001",
        f"optdsl itself failed ({kind}: {detail})",
        severity="internal",
        notes=[f"this is a fault of optdsl {version}, not of your file"],
        help="please report it with the problem file, its data and this message",
    )
