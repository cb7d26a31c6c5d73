"""A migration that makes all models of an app at once, in the place of many that came to the same tables."""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.state import ProjectState


class WholeMigration(Migration):
    """Its operations are CreateModel only, each after those that it refers to.

    Django would build the classes of all related models again after each of them. Here they are built once.
    And it would run the statements that it deferred (indexes, foreign keys) first, and note each of the
    migrations replaced in a transaction of its own: killed in between, `migrate` would never go on. Without
    deferred statements it does all in one transaction."""

    def apply(
        self, project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
    ) -> ProjectState:
        if collect_sql:
            return super().apply(project_state, schema_editor, collect_sql)
        project_state.__dict__.pop("apps", None)
        state = self.mutate_state(project_state, preserve=False)
        for operation in self.operations:
            operation.database_forwards(self.app_label, schema_editor, state, state)
        while schema_editor.deferred_sql:
            schema_editor.execute(schema_editor.deferred_sql.pop(0), None)
        return state
