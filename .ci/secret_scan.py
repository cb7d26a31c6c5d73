"""Looks for what may be a password, key or token (detect-secrets) in the files named on standard input.

Their names are parted by null characters.
What looks like one and is none stands in secrets_known.toml: the file, the SHA-1 of the very text, and why.
The same text in another file, or another text in the same, is a finding. No finding is ever printed itself.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings

HERE = Path(__file__).parent
SKIPPED = (".po", ".mo", ".png", ".csv", ".ci/secrets_known.toml")
"""Translations, pictures and tables hold no settings; the last one holds digests."""


def main() -> int:
    files = [name for name in sys.stdin.read().split("\0") if name and not name.endswith(SKIPPED)]
    found = SecretsCollection()
    with default_settings():
        for name in files:
            if Path(name).is_file():
                found.scan_file(name)
    entries = tomllib.loads((HERE / "secrets_known.toml").read_text(encoding="utf-8"))["known"]
    known = {(entry["file"], sha1) for entry in entries for sha1 in entry["sha1"]}
    seen = {(name, secret.secret_hash) for name, secret in found}
    new = sorted((name, each.line_number, each.type, each.secret_hash) for name, each in found)
    new = [row for row in new if (row[0], row[3]) not in known]
    for name, line, kind, sha1 in new:
        sys.stdout.write(f"{name}:{line}: {kind} (sha1 {sha1})\n")
    for name, sha1 in sorted(known - seen):
        sys.stdout.write(f"{name}: {sha1} is not there any more; take it out of secrets_known.toml\n")
    if new:
        sys.stdout.write(
            "Take it out and change it; or, if it opens nothing, note it in .ci/secrets_known.toml.\n"
        )
    sys.stdout.write(f"{len(files)} files, {len(new)} new findings, {len(known)} known.\n")
    return bool(new or known - seen)


if __name__ == "__main__":
    sys.exit(main())
