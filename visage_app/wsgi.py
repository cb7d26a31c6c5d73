"""The program as a WSGI application: `gunicorn visage_app.wsgi:application`."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")

# What is loaded stays: none of it is garbage to look for, neither meanwhile, which would take a fifth longer,
# nor at some later request, which would wait a tenth of a second for it.
gc.disable()
application = get_wsgi_application()
import_module(settings.ROOT_URLCONF)  # all pages: the first request would wait for them
gc.freeze()
gc.enable()
