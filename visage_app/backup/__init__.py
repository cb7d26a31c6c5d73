"""Everything an installation holds in one file, and back again, on either database (docs/backup.md)."""

from visage_app.backup.archive import ArchiveDamaged
from visage_app.backup.manifest import Manifest
from visage_app.backup.services.restoring import RestoreRefused, check, restore
from visage_app.backup.services.tables import BackupRefused
from visage_app.backup.services.writing import backup

__all__ = [
    "ArchiveDamaged",
    "BackupRefused",
    "Manifest",
    "RestoreRefused",
    "backup",
    "check",
    "restore",
]
