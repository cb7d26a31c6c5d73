from django.db import migrations, models


class Migration(migrations.Migration):
    """Room for the names of many studies, and for those of a study and an image set."""

    dependencies = [
        ('metrics', '0009_intervals'),
    ]

    operations = [
        migrations.AlterField(
            model_name='score',
            name='part',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name='scorerun',
            name='parameters',
            field=models.CharField(default='{}', help_text='What was chosen, as JSON with its keys sorted.', max_length=2000),
        ),
    ]
