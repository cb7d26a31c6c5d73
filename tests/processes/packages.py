"""What each of these processes would import for itself: packages that need no settings to be imported."""

# ruff: noqa: F401

import asyncio
import concurrent.futures

import celery.app.base
import celery.app.task
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.files.storage
import django.core.mail
import django.core.management
import django.core.paginator
import django.db.migrations.executor
import django.db.models
import django.db.models.functions
import django.forms
import django.http
import django.middleware.csrf
import django.template.loader
import django.test.signals
import django.urls
import django.views.generic
import environ
import httpx
import numpy.random
import PIL.Image
import prometheus_client
import psycopg
import psycopg.types.json
import pyarrow.compute
import pyarrow.parquet
import python_calamine
import redis
import requests
import segno
import uritemplate
import xlsxwriter
