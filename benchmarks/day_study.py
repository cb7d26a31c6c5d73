"""The study of benchmarks/day.py: made with its people, and compared with what the browsers saw.

python -m benchmarks.day_study make UNITS ACCOUNTS     prints how people come in
python -m benchmarks.day_study compare JOURNAL.json    prints what is missing, doubled or too much
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import secrets
import sys
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.hashers import make_password  # noqa: E402
from django.core.files.base import ContentFile  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Count, F  # noqa: E402
from django.utils import timezone  # noqa: E402
from PIL import Image as Picture  # noqa: E402

from annotation import models  # noqa: E402

OVERLAP, IMAGES, OPTIONS, LEADS = 3, 40, 6, 3


def make(units: int, accounts: int) -> dict[str, Any]:
    """An open study of `units` pages of attributes over a few images, an invitation, and accounts that have a
    password: annotators, leads and an admin."""
    now = timezone.now()
    study = models.Study.objects.create(
        name="day", title="A day", status="open", opened_at=now, contact="studies@example.org"
    )
    models.ConsentText.objects.create(study=study, text="What taking part means.")
    source = models.Source.objects.create(name="votes", title="Votes")
    study.stereotype_source = source
    study.save()
    group = models.IdentityGroup.objects.create(name="Mexican", demonym="Mexican")
    image_set = models.ImageSet.objects.create(name="day", title="Day")
    images = [_image(image_set, group, index) for index in range(1, IMAGES + 1)]
    task = models.Task.objects.create(
        study=study,
        kind="depiction",
        image_set=image_set,
        wording="What is here?",
        overlap=OVERLAP,
        strata=["any"] * OVERLAP,
        slot_strata=["any"],
        frozen_at=now,
    )
    words = models.Attribute.objects.bulk_create(
        models.Attribute(text=f"word {number}") for number in range(OPTIONS)
    )
    models.Association.objects.bulk_create(
        models.Association(
            source=source,
            group=group,
            attribute=word,
            out_stereotypical=3,
            out_nonstereotypical=0,
            out_unsure=0,
            **dict.fromkeys(("in_stereotypical", "in_nonstereotypical", "in_unsure"), 0),
        )
        for word in words[:3]
    )
    made = models.Unit.objects.bulk_create(
        models.Unit(task=task, position=n + 1, image=images[n % IMAGES], page=n // IMAGES + 1)
        for n in range(units)
    )
    models.Option.objects.bulk_create(
        models.Option(
            unit=unit,
            attribute=words[n] if n < OPTIONS else None,
            role="unassigned" if n < OPTIONS else "none_of_above",
            position=n + 1,
        )
        for unit in made
        for n in range(OPTIONS + 1)
    )
    models.Slot.objects.bulk_create(
        models.Slot(study=study, unit=unit, index=index, stratum="any", queue=OVERLAP * n + index + 1)
        for n, unit in enumerate(made)
        for index in range(OVERLAP)
    )
    models.Invitation.objects.create(study=study, code="day")
    password = secrets.token_urlsafe()
    hashed = make_password(password)  # one for all: checking it takes as long as if each had their own
    of_people = [f"person{number}" for number in range(accounts)]
    of_leads = [f"lead{number}" for number in range(LEADS)]
    users = get_user_model().objects.bulk_create(
        get_user_model()(username=name, password=hashed, is_superuser=name == "admin")
        for name in [*of_people, *of_leads, "admin"]
    )
    study.leads.set([user for user in users if user.username in of_leads])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"accounts": of_people, "leads": of_leads, "admin": "admin", "password": password}


def _image(image_set: models.ImageSet, group: models.IdentityGroup, index: int) -> models.Image:
    """A picture of noise of about 100 kB, as a JPEG of 512 pixels is."""
    noise = random.Random(index).randbytes(256 * 256 * 3)
    written = io.BytesIO()
    Picture.frombytes("RGB", (256, 256), noise).resize((512, 512)).save(written, "JPEG", quality=80)
    data = written.getvalue()
    image = models.Image(image_set=image_set, group=group, index=index, width=512, height=512)
    image.sha256 = hashlib.sha256(data).hexdigest()
    image.file.save(f"{index}.jpg", ContentFile(data))
    return image


def _bytes() -> int:
    """What answers take in the database, indexes included."""
    of = [model._meta.db_table for model in (models.Response, models.Judgement, models.Box)]
    with connection.cursor() as cursor:
        asked = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) name"
        cursor.execute(asked, [of])
        return int(cursor.fetchone()[0])


def compare(journal: str) -> dict[str, Any]:
    """What the database has against what was sent and acknowledged: key -> values in the order shown."""
    told = json.loads(Path(journal).read_text())
    acknowledged, sent = told["acknowledged"], set(told["sent"])
    kept: dict[str, dict[int, int]] = {}
    rows = models.Judgement.objects.values_list("response__client_key", "option_id", "value")
    for key, option, value in rows.iterator(chunk_size=10_000):
        kept.setdefault(str(key), {})[option] = value
    said = models.Response.objects.filter(current=True, withdrawn_at__isnull=True)
    filled = models.Slot.objects.filter(state="filled")
    per_unit = said.filter(slot__isnull=False).values("unit").annotate(n=Count("pk"))
    met = said.values("unit", "annotator").annotate(n=Count("pk"))
    differs = [
        key
        for key, values in acknowledged.items()
        if key in kept and {str(option): value for option, value in kept[key].items()} != values
    ]
    return {
        "acknowledged": len(acknowledged),
        "in_database": len(kept),
        "lost": sum(key not in kept for key in acknowledged),
        "differs": len(differs),
        "never_sent": sum(key not in sent for key in kept),
        "over_assigned": per_unit.filter(n__gt=OVERLAP).count(),
        "met_twice": met.filter(n__gt=1).count(),
        "surplus": said.filter(slot__isnull=True).count(),
        "filled_without_answer": filled.exclude(responses__annotator=F("annotator")).count(),
        "annotators": models.Enrolment.objects.count(),
        "withdrawn": models.Enrolment.objects.filter(status="withdrawn").count(),
        "bytes_an_answer": _bytes() // max(1, len(kept)),
        "leased": models.Slot.objects.filter(state="leased").count(),
    }


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    done = make(*map(int, arguments)) if what == "make" else compare(*arguments)
    print(json.dumps(done))
