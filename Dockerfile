# One image for the web server and the workers of queue `default`, one more (`gpu`) with the models' libraries, and
# one for the proxy.
# docs/serving.md says how they are run. Versions are those of deploy/constraints.txt.

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv
WORKDIR /build
COPY pyproject.toml deploy/constraints.txt deploy/requirements.py ./
# Before the code, so that a change of the code installs nothing anew.
RUN python requirements.py pyproject.toml > needed.txt \
    && python requirements.py pyproject.toml s3 >> needed.txt \
    && python requirements.py pyproject.toml errors >> needed.txt \
    && /venv/bin/pip install --constraint constraints.txt --requirement needed.txt

FROM build AS build-gpu
RUN python requirements.py pyproject.toml models > models.txt \
    && /venv/bin/pip install --constraint constraints.txt --requirement models.txt

FROM python:3.11-slim-bookworm AS base
ARG CODE_REVISION=""
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=visage_app.settings VAR_DIR=/var/lib/visage CODE_REVISION=$CODE_REVISION
RUN useradd --system --uid 10001 --home-dir /var/lib/visage visage \
    && install --directory --owner visage --group visage /var/lib/visage
WORKDIR /app
COPY --chown=root:root . .
USER 10001
STOPSIGNAL SIGTERM

FROM base AS gpu
USER 0
# torch compiles models with it (recipes with `compiled`); Python's headers are in the image that this one starts from.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
USER 10001
COPY --from=build-gpu /venv /venv
CMD ["celery", "-A", "visage_app", "worker", "-Q", "gpu", "-P", "solo", "--loglevel", "WARNING"]

# The proxy as somebody who is not root. Its program is marked to have low ports for itself, which whoever has no
# rights at all may not start; a sysctl of docker-compose.yml opens them instead.
FROM caddy:2.10-alpine AS proxy
RUN setcap -r /usr/bin/caddy && chown -R 10001:10001 /config /data
USER 10001:10001

# The last one is what `docker build .` makes.
FROM base AS web
COPY --from=build /venv /venv
EXPOSE 8000
CMD ["gunicorn", "visage_app.wsgi:application", "--config", "python:visage_app.serving.gunicorn_hooks", "--bind", "0.0.0.0:8000", "--workers", "4", "--threads", "4", "--graceful-timeout", "20", "--worker-tmp-dir", "/dev/shm", "--no-control-socket"]
