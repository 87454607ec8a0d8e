"""`optdsl schema`: the JSON Schema of a report."""

from __future__ import annotations

import json


def command() -> int:
    """Print the JSON Schema of report files."""
    from optdsl.report.model import json_schema

    print(json.dumps(json_schema(), indent=1))
    return 0
