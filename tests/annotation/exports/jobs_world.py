"""Exports in the background, as their tests ask for them and look at what came of it."""

import io
import zipfile

from annotation import export_files
from annotation.exports.selection import Filters
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob
from tests import factories


def asked(study, by, fmt="csv", **filters) -> ExportJob:
    return export_jobs.request(study=study, fmt=fmt, filters=Filters(**filters), by=by)


def made(job) -> ExportJob:
    job = export_jobs.make(job_id=job.pk)
    assert job is not None
    return job


def members(job) -> dict[str, bytes]:
    with (
        export_files.storage().open(job.file) as file,
        zipfile.ZipFile(io.BytesIO(file.read())) as archive,
    ):
        return {name: archive.read(name) for name in archive.namelist()}


def words():
    """Another study, with one answer."""
    study = factories.study("other")
    factories.response(factories.attribute_unit(factories.task(study)))
    return study


def lying_about() -> list[str]:
    """Every file of exports, finished or not."""
    kept = export_files.storage()
    finished = kept.listdir("")[1] if kept.exists("") else []
    return sorted([*finished, *(path.name for path in export_files.work_folder().iterdir())])


def enrolled(study):
    """Somebody who answered one more page."""
    unit = study.tasks.get().units.get(position=1)
    enrolment = factories.enrolment(study)
    factories.response(unit, who=enrolment.annotator)
    return enrolment.annotator
