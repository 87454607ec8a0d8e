"""Writes `report.schema.json`, the JSON Schema of report files, from the model.

After a change of the model run `python -m optdsl.report.schema_file`.
"""

from __future__ import annotations

import json
from pathlib import Path

from optdsl.report.model import json_schema

PATH = Path(__file__).with_name("report.schema.json")


def text() -> str:
    """The content of the file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
