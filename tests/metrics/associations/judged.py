"""A run whose associations were found, as rows, and runs that judge them, without asking any model."""

from __future__ import annotations

import hashlib

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, TaskKind
from generation.models import Answer, Job, Run, RunKind, RunState
from metrics.associations.judgements import PURPOSE, pair_key
from metrics.models import AssociationList, ModelAssociation
from tests import factories


def a_run(name: str, *, kind=RunKind.COMPLETIONS, design=None, model="tiny", backend="imported") -> Run:
    now = timezone.now()
    return Run.objects.create(
        kind=kind,
        name=name,
        backend=backend,
        recipe={"kind": kind, "version": 1, "model": model, "design": design or {}},
        recipe_hash=hashlib.sha256(name.encode()).hexdigest(),
        state=RunState.DONE,
        started_at=now,
        finished_at=now,
    )


def a_list(name: str = "asked") -> AssociationList:
    """A finished list without pairs."""
    return AssociationList.objects.create(
        run=a_run(name, design={"purpose": "associations"}), digest="0" * 64, state=JobState.DONE
    )


def group(name: str, axis: str = "age", **forms) -> IdentityGroup:
    return IdentityGroup.objects.get_or_create(name=name, axis=axis, defaults={"demonym": name, **forms})[0]


def pair(
    found: AssociationList, name: str, word: str, *, setting="t2t-singular", axis="age", **said
) -> ModelAssociation:
    """A pair that is significant as corrected, unless `said` says otherwise."""
    fields = {"tf": 1, "corrected_tf": 1, "significant_corrected": True, **said}
    return ModelAssociation.objects.create(
        association_list=found, setting=setting, group=group(name, axis), word=word, **fields
    )


def judging(found: AssociationList, what: str, answers, *, labels=(), name="", pairs="significant") -> Run:
    """A run that judged: (pair, text of the answer), several of a pair are its samples."""
    kind = RunKind.COMPLETIONS if what == "level" else RunKind.CLASSIFICATIONS
    design = {"purpose": PURPOSE, "what": what, "run": found.run.name, "pairs": pairs}
    run = a_run(name or f"{found.run.name}-{what}", kind=kind, design=design, model="a judge")
    for row, text in answers:
        key = pair_key(row.setting, row.group_id, row.word)
        job = Job.objects.create(
            run=run,
            key=key,
            number=run.jobs.filter(key=key).count() + 1,
            prompt="...",
            group=row.group,
            state=JobState.DONE,
            finished_at=timezone.now(),
        )
        probabilities = {label: float(label == text) for label in labels} or None
        Answer.objects.create(job=job, run=run, text=text, probabilities=probabilities)
    return run


def asked_people(found: AssociationList, name: str, word: str, values, *, lead=None) -> None:
    """Counted judgements of a pair by as many people."""
    study = found.studies.first()
    if study is None:
        study = factories.study(leads=[lead] if lead else ())
        factories.task(study, kind=TaskKind.ASSOCIATION, strata=("any",) * 3)
        found.studies.add(study)
    task = study.tasks.get()
    association = factories.association(text=word)
    association.group = IdentityGroup.objects.get(name=name, axis="age")
    association.save()
    unit = task.units.create(position=task.units.count() + 1, association=association)
    unit.options.create(attribute=association.attribute, role="stimulus", position=1)
    factories.open_slots(unit)
    for value in values:
        factories.response(unit, values=[value], who=factories.annotator())
