"""All settings, from environment variables; an invalid value is refused with a message (environment.py).

Without any variable the program runs *embedded*: SQLite in `var/`, no broker, no other servers. With
`DATABASE_URL` and `CELERY_BROKER_URL` it runs *served* (DESIGN §9). `.env.example` lists every variable; a
test checks that it is complete.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from generation.backends import model_servers
from visage_app.cache import caches
from visage_app.database import databases
from visage_app.environment import BASE_DIR, env, env_bool, env_choice, env_hosts, env_int, env_rate
from visage_app.observability import logs, monitoring
from visage_app.openapi import SPECTACULAR_SETTINGS  # noqa: F401 - a setting
from visage_app.storage import storages

VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var"))).resolve()
DEBUG = env_bool("DEBUG", False)
HTTPS = env_bool("HTTPS", False)


def _secret_key() -> str:
    """SECRET_KEY from the environment, or for the embedded mode one that is created once in var/."""
    configured_key = env.str("SECRET_KEY", default="")
    if configured_key:
        if len(configured_key) < 50 or len(set(configured_key)) < 5:
            raise ImproperlyConfigured(
                "SECRET_KEY is too short to be safe. Create one: python -c "
                '"from django.core.management.utils import get_random_secret_key as k; print(k())"'
            )
        return configured_key
    if HTTPS:
        raise ImproperlyConfigured("SECRET_KEY is not set. An HTTPS server needs its own.")
    key_file = VAR_DIR / "secret_key"
    if not key_file.is_file():
        VAR_DIR.mkdir(parents=True, exist_ok=True)
        with _locked(VAR_DIR):  # server and worker start together and need the same key
            if not key_file.is_file():
                temporary = key_file.with_suffix(".new")
                temporary.write_text(get_random_secret_key())
                temporary.chmod(0o600)
                temporary.replace(key_file)
    return key_file.read_text().strip()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _model_servers() -> dict[str, str]:
    variables = {
        "MODEL_SERVERS": env.str("MODEL_SERVERS", default=""),
        "OPENAI_BASE_URL": env.str("OPENAI_BASE_URL", default=""),
        "OPENAI_API_KEY": env.str("OPENAI_API_KEY", default=""),
    }
    try:
        servers = model_servers.configured({**os.environ, **variables})
    except model_servers.ServersRefused as error:
        raise ImproperlyConfigured(str(error)) from None
    return {name: server.url for name, server in servers.items()}


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "visage_app",
    "metrics",
    "generation",
    "annotation",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
]

MIDDLEWARE = [
    # First, since it measures and logs all the others.
    "visage_app.observability.requests.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    # Before the ones below, so that their refusals have the header too.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    # Before the CSRF check, which reads the form to find its token.
    "visage_app.storage.body_limits.BodyLimitMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "visage_app.storage.body_limits.DiskFullMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "visage_app.login.middleware.LoginRequiredMiddleware",
    "visage_app.login.middleware.SecondFactorMiddleware",
    "visage_app.database.replica_pages.ReplicaMiddleware",
    # Last: shows the lockout page after too many failed logins.
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "visage_app.urls"
WSGI_APPLICATION = "visage_app.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "visage_app.context_processors.roles",
            ],
        },
    },
]


DATABASES = databases.configured(VAR_DIR)
DATABASE_ROUTERS = ["annotation.core.replica.ReplicaRouter"] if "replica" in DATABASES else []
# If the replica is further behind, the primary is read.
DATABASE_REPLICA_LAG_SECONDS = env_int("DATABASE_REPLICA_LAG_SECONDS", 10, least=1)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# The lockout comes before any password check.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
LOGIN_ATTEMPTS = env_int("LOGIN_ATTEMPTS", 10, least=1)
LOGIN_PAUSE_MINUTES = env_int("LOGIN_PAUSE_MINUTES", 15, least=1)
AXES_FAILURE_LIMIT = LOGIN_ATTEMPTS
AXES_COOLOFF_TIME = timedelta(minutes=LOGIN_PAUSE_MINUTES)
# Name and address together: a stranger elsewhere cannot lock out a user, and one person cannot lock out a
# classroom that shares an address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "visage_app.login.client_address.client_ip"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_HTTP_RESPONSE_CODE = 429
# Do not record who logs in from where, and log no names.
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
AXES_CLIENT_STR_CALLABLE = "visage_app.observability.logs.somebody"
AXES_ENABLE_ADMIN = False
# Who must have a second factor; it is optional for everyone else with a password.
SECOND_FACTOR = env_choice("SECOND_FACTOR", ("optional", "admins", "leads"))
OTP_TOTP_ISSUER = "Visage"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
# It redirects to the login, unless the demonstration was made (annotation/demo/entry.py).
LOGOUT_REDIRECT_URL = "home"

LANGUAGE_CODE = "en"
# In their own language, so that people can find theirs (docs/translating.md).
LANGUAGES = [("en", "English"), ("es", "Español"), ("ar", "العربية")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "visage_app.serving.static_files.ChartBundle",
]
MEDIA_ROOT = VAR_DIR / "media"
# Hashed names need `collectstatic` first; `make run` does that, and the tests do without.
STATIC_MANIFEST = env_bool("STATIC_MANIFEST", not DEBUG)
# Above 0, browsers load images from the bucket by signed URLs that are valid this long.
IMAGES_SIGNED_SECONDS = storages.signed_seconds()
STORAGES = storages.configured(VAR_DIR, static_manifest=STATIC_MANIFEST)
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # The origin of signed image URLs, if any.
        "img-src": [SELF, "data:", "blob:", *storages.image_origins(https=HTTPS)],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
CSRF_USE_SESSIONS = False
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
# Requested from inside, not through the proxy.
SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$", "^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
BEHIND_PROXY = env_bool("BEHIND_PROXY", False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Token for /metrics; without it the URL does not exist (docs/monitoring.md).
METRICS_TOKEN = monitoring.metrics_token()
# A queue is slow if a job that could start has waited longer.
QUEUE_SLOW_MINUTES = env_int("QUEUE_SLOW_MINUTES", 15, least=1)

# The commit of the code, if there is no git checkout.
CODE_REVISION = env.str("CODE_REVISION", default="").strip()

CACHES = caches.configured(code=CODE_REVISION)

# Celery messages only wake workers; rows decide. Without a broker the embedded worker looks for waiting rows.
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="")
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
# Queue gpu: everything that needs a model (docs/adr/0007-generation.md). One message is one time slice.
CELERY_TASK_ROUTES = {"generation.tasks.work_slice": {"queue": "gpu"}}

# How long the file of a background export is stored.
EXPORT_KEEP_DAYS = env_int("EXPORT_KEEP_DAYS", 7, least=1)
# Where exports are written; always on this machine, even if finished exports are stored elsewhere.
EXPORTS_UNFINISHED = VAR_DIR / "exports-unfinished"
LEASE_MINUTES = env_int("LEASE_MINUTES", 60, least=1)
UPLOAD_MAX_MB = env_int("UPLOAD_MAX_MB", 500, least=1)
# Where uploads are written while they arrive.
UPLOADS_UNFINISHED = VAR_DIR / "uploads-unfinished"
FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "annotation.images.upload_spool.SpoolingUploadHandler",
]
# After this time without a sign of its worker, another worker may take a job.
JOB_LEASE_SECONDS = env_int("JOB_LEASE_SECONDS", 120, least=5)
# The pause after the first failed attempt; the second is twice as long.
JOB_RETRY_SECONDS = env_int("JOB_RETRY_SECONDS", 30)
# How long a Celery worker works on one run before it takes the next message.
JOB_SLICE_SECONDS = env_int("JOB_SLICE_SECONDS", 120, least=1)
# The device for models: cuda, cuda:1, mps, cpu; "" chooses a GPU if there is one.
MODEL_DEVICE = env.str("MODEL_DEVICE", default="").strip()
# The servers that models are asked on (docs/asking.md): name -> URL. No setting holds a key: workers read
# them from the environment (generation/backends/model_servers.py).
MODEL_SERVERS = _model_servers()
# By default, webhooks go only to public addresses over https.
WEBHOOK_ALLOW_HTTP = env_bool("WEBHOOK_ALLOW_HTTP", False)
WEBHOOK_ALLOWED_HOSTS = env_hosts("WEBHOOK_ALLOWED_HOSTS")
BOOTSTRAP_RESAMPLES = env_int("BOOTSTRAP_RESAMPLES", 1000, least=100)

# The rate limit of the API for each token, account or address, counted in Django's cache.
API_RATE = env_rate("API_RATE", "600/minute")
REST_FRAMEWORK = {
    # annotation/api/resource.py checks permissions; this is a fallback.
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "annotation.api.schema.Schema",
    "EXCEPTION_HANDLER": "annotation.api.errors.exception_handler",
    # For the address of unauthenticated clients.
    "NUM_PROXIES": 1 if BEHIND_PROXY else 0,
    "URL_FORMAT_OVERRIDE": None,
}

LOGGING = logs.configured()
monitoring.report_errors(release=CODE_REVISION)
