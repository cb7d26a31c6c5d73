from django.apps import AppConfig
from django.db.backends.signals import connection_created


class AnnotationConfig(AppConfig):
    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from annotation.core.prepared import plan_once

        connection_created.connect(plan_once)
