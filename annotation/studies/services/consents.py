"""A new version of what people agree to, while a study runs (docs/operations.md, docs/care.md)."""

from __future__ import annotations

import logging

from django.db import transaction

from annotation.models import AuditEvent, ConsentText, Study, StudyStatus
from annotation.studies.errors import StudyRefused
from annotation.studies.services.study_plan import consent_differences, consent_fields, current_consent
from annotation.studies.study_file.reading import StudyFile

CONSENT_PUBLISHED = "consent text published"
"""What the audit log calls it."""
logger = logging.getLogger(__name__)


def publish(*, file: StudyFile, by: str) -> ConsentText | None:
    """Make the consent that `file` says the study's next version: from then on nobody gets an item without
    having agreed to it. None if it is what people agree to now. Nothing else of the file counts.

    What was agreed to before stays as it was. Raises StudyRefused naming the cure.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).filter(name=file.name).first()
        if study is None:
            raise StudyRefused(f"there is no study '{file.name}'. Make it with open_study.")
        if study.status not in (StudyStatus.OPEN, StudyStatus.PAUSED):
            fix = {
                StudyStatus.DRAFT: "open_study --draft makes it anew from the changed file",
                StudyStatus.CLOSED: "nobody is asked any more",
            }
            raise StudyRefused(f"the study '{study.name}' is {study.status}: {fix[study.status]}.")  # type: ignore[index]
        current, new = current_consent(study), consent_fields(file)
        if not consent_differences(current, new):
            return None
        version = max((text.version for text in current.values()), default=0) + 1
        made = [
            ConsentText.objects.create(study=study, version=version, language=language, **texts)
            for language, texts in new.items()
        ]
        AuditEvent.objects.create(what=CONSENT_PUBLISHED, study=study, details={"by": by, "version": version})
    logger.info("version %s of the consent text of study %s published by %s", version, study.name, by)
    return made[0]
