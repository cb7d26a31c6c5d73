"""New versions of the consent text while a study runs (docs/operations.md, docs/care.md)."""

import logging

from django.db import transaction

from annotation.core.translation import LANGUAGE
from annotation.models import AuditEvent, ConsentText, Study, StudyStatus
from annotation.studies.errors import StudyRefused
from annotation.studies.services.adapted import refuse_marks
from annotation.studies.services.study_plan import consent_differences, consent_fields, current_consent
from annotation.studies.study_file.marks import find_marks
from annotation.studies.study_file.reading import StudyFile

CONSENT_PUBLISHED = "consent text published"
"""Name of the event in the audit log."""
logger = logging.getLogger(__name__)


def publish(*, file: StudyFile) -> ConsentText | None:
    """Publish the consent text of `file` as the study's next version; None if it is the current one already.

    From then on nobody gets an item without agreeing to it. Earlier versions are kept, and the rest of the
    file is ignored. Raises StudyRefused.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).filter(name=file.name).first()
        if study is None:
            raise StudyRefused(f"there is no study '{file.name}'. Create it with open_study.")
        if study.status not in (StudyStatus.OPEN, StudyStatus.PAUSED):
            fix = {
                StudyStatus.DRAFT: "open_study --draft updates it from the changed file",
                StudyStatus.CLOSED: "nobody can take part any more",
            }
            raise StudyRefused(f"the study '{study.name}' is {study.status}: {fix[study.status]}.")  # type: ignore[index]
        current, new = current_consent(study), consent_fields(file)
        own, others = new[LANGUAGE], {code: texts for code, texts in new.items() if code != LANGUAGE}
        refuse_marks(find_marks({"consent": {**own, **others}}))
        if not consent_differences(current, new):
            return None
        version = max((text.version for text in current.values()), default=0) + 1
        made = [
            ConsentText.objects.create(study=study, version=version, language=language, **texts)
            for language, texts in new.items()
        ]
        AuditEvent.objects.create(what=CONSENT_PUBLISHED, study=study, details={"version": version})
    logger.info("version %s of the consent text of study %s published", version, study.name)
    return made[0]
