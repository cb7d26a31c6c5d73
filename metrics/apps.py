from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # These import models, which are loaded only now.
        from metrics import measures
        from metrics.score_runs import registry

        registry.register(*measures.METRICS)
