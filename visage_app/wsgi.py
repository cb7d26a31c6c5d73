"""The program as a WSGI application: `gunicorn visage_app.wsgi:application`."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")

# Loaded modules are never garbage. Collecting while they load would take a fifth longer, and later
# collections would delay a request by a tenth of a second.
gc.disable()
application = get_wsgi_application()
import_module(settings.ROOT_URLCONF)  # Load all views now, or the first request would wait.
gc.freeze()
gc.enable()
