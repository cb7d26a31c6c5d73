"""Copies of the ViSAGe release within its own study, made by the database itself: images, pages, answers.

Identity groups, attributes and stereotypes stay the same, so that n copies are one study with n times the
images, pages and responses of the release.
"""

from __future__ import annotations

from django.db import connection

# Every table that hangs on the depiction task, with what a copy changes: {c} is the number of the copy,
# {name} the highest key of that table before, so that keys of copies never meet.
_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "image": (
        "id IN (SELECT image_id FROM annotation_unit)",
        {"index": '"index" + 1000 * {c}', "reference": "reference || '#' || {c}"},
    ),
    "unit": (
        "image_id IS NOT NULL",
        {"image_id": "image_id + {c} * {image}", "position": '"position" + {c} * {unit}'},
    ),
    "option": (
        "unit_id IN (SELECT id FROM annotation_unit WHERE image_id IS NOT NULL)",
        {"unit_id": "unit_id + {c} * {unit}"},
    ),
    "slot": (
        "unit_id IN (SELECT id FROM annotation_unit WHERE image_id IS NOT NULL)",
        {"unit_id": "unit_id + {c} * {unit}", "queue": "queue + {c} * {slot}"},
    ),
    "response": (
        "unit_id IN (SELECT id FROM annotation_unit WHERE image_id IS NOT NULL)",
        {
            "unit_id": "unit_id + {c} * {unit}",
            "slot_id": "slot_id + {c} * {slot}",
            "client_key": "{key}",
        },
    ),
    "judgement": (
        "option_id IN (SELECT o.id FROM annotation_option o JOIN annotation_unit u ON u.id = o.unit_id "
        "WHERE u.image_id IS NOT NULL)",
        {"response_id": "response_id + {c} * {response}", "option_id": "option_id + {c} * {option}"},
    ),
    "box": ("id > 0", {"judgement_id": "judgement_id + {c} * {judgement}"}),
}
_KEY = {
    "sqlite": "printf('%032x', id + {c} * {response})",
    "postgresql": "lpad(to_hex(id + {c} * {response}), 32, '0')::uuid",
}


def multiply(copies: int) -> None:
    """Make the one release in the database `copies` of it, each copy of a table in its own transaction."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for setting in ("foreign_keys = OFF", "synchronous = OFF", "cache_size = -400000"):
                cursor.execute(f"PRAGMA {setting}")
        highest: dict[str, int] = {}
        kept: dict[str, str] = {}
        for table, (condition, _) in _TABLES.items():
            cursor.execute(f"SELECT MAX(id) FROM annotation_{table}")
            highest[table] = cursor.fetchone()[0]
            kept[table] = f"({condition}) AND id <= {highest[table]}"
        for table, (_, changes) in _TABLES.items():
            cursor.execute(f"SELECT * FROM annotation_{table} LIMIT 0")
            columns = [column[0] for column in cursor.description]
            changed = changes | {"id": f"id + {{c}} * {{{table}}}"}
            values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
            values = values.replace("{key}", _KEY[connection.vendor])
            names = ", ".join(f'"{name}"' for name in columns)
            for copy in range(1, copies):
                cursor.execute(
                    f"INSERT INTO annotation_{table} ({names}) SELECT {values.format(c=copy, **highest)} "
                    f"FROM annotation_{table} WHERE {kept[table]}"
                )
        cursor.execute("ANALYZE")
