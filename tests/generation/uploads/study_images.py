"""A study of what images depict, being set up by a lead with a ZIP and a CSV."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.generation.uploads.bundles import encoded, pixels, table, zipped

IMAGES = {
    **{f"{number}.png": encoded(pixels(size=(8 + number, 6))) for number in range(1, 5)},
    "t.csv": table(
        *(
            {"file": f"{number}.png", "group": group}
            for number, group in enumerate(("Mexican", "French") * 2, 1)
        )
    ),
}
ATTRIBUTES = (
    "Identity group,Attribute,Stereotypical\n"
    "Mexican,sombrero,yes\nMexican,guitar,yes\nMexican,hat,no\nFrench,beret,yes\nFrench,wine,yes\n"
)


def begin(client, **said):
    said = {"template": "visage_depiction", "title": "What is shown?", "contact": "a@example.org", **said}
    return client.post(reverse("setup"), said)


def send(client, *, images=IMAGES, attributes=ATTRIBUTES, name="what-is-shown", **said):
    files = {}
    if images:
        files["images"] = SimpleUploadedFile("pack.zip", zipped(images).getvalue())
    if attributes:
        files["attributes"] = SimpleUploadedFile("attributes.csv", attributes.encode())
    said = {"axis": "nationality", **said}
    return client.post(reverse("study_images", args=[name]), {**said, **files})


def form_data(shown) -> dict:
    """What a browser would send of the page's form if nothing was changed."""
    form = shown.context["form"]
    values = {field.html_name: field.value() for field in form}
    return {name: value for name, value in values.items() if value is not None and value is not False}
