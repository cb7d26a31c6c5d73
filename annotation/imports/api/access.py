"""Who may add to the catalogue by the API."""

from django.http import Http404
from rest_framework.request import Request

from annotation import policies
from annotation.api.resource import Resource


class EditorResource(Resource):
    """For accounts that may set up studies."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if not policies.may_edit_catalogue(request.user):
            raise Http404
