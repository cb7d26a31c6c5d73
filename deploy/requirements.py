"""What a program needs, a line each, from its pyproject.toml: requirements.py pyproject.toml [EXTRA]"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
wanted = project["optional-dependencies"][sys.argv[2]] if sys.argv[2:] else project["dependencies"]
sys.stdout.write("".join(f"{each}\n" for each in wanted))
