from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # They import models, which are there only now.
        from metrics import measures
        from metrics.score_runs import (
            registry,
            tasks,  # noqa: F401 - Celery finds those of rooms only where they were imported
        )

        registry.register(*measures.METRICS)
