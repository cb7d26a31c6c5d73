from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "visage_app"
    default_auto_field = "django.db.models.BigAutoField"
