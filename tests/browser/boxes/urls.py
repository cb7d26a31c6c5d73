"""The project's addresses, and a page that holds nothing but a box editor."""

from __future__ import annotations

import io
import json

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path
from PIL import Image, ImageDraw

from annotation.annotate import texts
from visage_app.urls import urlpatterns as project

PAGE = """{% extends "base.html" %}{% load static %}
{% block title %}Boxes{% endblock %}
{% block head %}
  <link rel="stylesheet" href="{% static 'annotation/annotate.css' %}">
  <link rel="stylesheet" href="{% static 'annotation/boxes.css' %}">
  <script type="module" src="/boxes/harness.js"></script>
{% endblock %}
{% block main_class %}page-task{% endblock %}
{% block page %}
  <h1>Boxes</h1>
  <div id="editor"></div>
  <p><label>A field <input type="text"></label></p>
{% endblock %}
"""
SCRIPT = """
import { BoxEditor } from "/static/annotation/boxes.js";

const asked = new URLSearchParams(location.search);
const [width, height] = (asked.get("size") ?? "512x512").split("x").map(Number);
if (asked.has("rtl")) document.documentElement.dir = "rtl";
window.log = { changes: [], said: [], hovered: [], revealed: [] };
window.editor = new BoxEditor(document.getElementById("editor"), {
  src: asked.get("src") ?? `/boxes/${width}x${height}.png`,
  width,
  height,
  alt: "A drawn test card",
  messages: MESSAGES,
  blurred: asked.has("blurred"),
  boxes: JSON.parse(asked.get("boxes") ?? "[]"),
  options: [
    { id: 11, label: "sombrero", number: 3 },
    { id: 12, label: "poor", number: 1 },
  ],
  onchange: (boxes, reason) => window.log.changes.push({ boxes, reason }),
  onstatus: (text) => window.log.said.push(text),
  onhover: (option) => window.log.hovered.push(option),
  onreveal: (shown) => window.log.revealed.push(shown),
});
if (!asked.has("idle")) window.editor.setActive(11);
document.body.dataset.ready = "yes";
"""


@login_not_required
def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(engines["django"].from_string(PAGE).render({}, request))


@login_not_required
def script(request: HttpRequest) -> HttpResponse:
    messages = json.dumps(texts.box_editor())
    return HttpResponse(f"const MESSAGES = {messages};{SCRIPT}", content_type="text/javascript")


@login_not_required
def card(request: HttpRequest, width: int, height: int) -> HttpResponse:
    image = Image.new("RGB", (width, height), "#8a8f98")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, width // 2, height // 2), fill="#f2f0ea")
    draw.rectangle((width // 2, height // 2, width, height), fill="#1d2026")
    out = io.BytesIO()
    image.save(out, "PNG")
    return HttpResponse(out.getvalue(), content_type="image/png")


urlpatterns = [
    path("boxes/", page),
    path("boxes/harness.js", script),
    path("boxes/<int:width>x<int:height>.png", card),
    *project,
]
