"""Celery's tasks are found in all packages, under the names that broker messages contain."""

from visage_app.celery import app

NAMES = {
    "annotation.tasks.import_catalogue",
    "annotation.tasks.make_export",
    "generation.tasks.work_slice",
    "metrics.tasks.compute_score_run",
    "metrics.tasks.find_candidates",
    "metrics.tasks.find_associations",
}


def test_a_worker_knows_every_task_under_the_name_that_brokers_know():
    app.loader.import_default_modules()
    assert {name for name in app.tasks if not name.startswith("celery.")} == NAMES
