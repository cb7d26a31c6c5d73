"""Runs that ask models. Three unique indexes of jobs are built again, in one transaction with the rest: workers
and pages of runs wait meanwhile, some seconds for a million jobs."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0012_exports_rest'),
        ('generation', '0004_workers_and_batches'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='answer', serialize=False, to='generation.job')),
                ('text', models.TextField(blank=True)),
                ('ended', models.CharField(blank=True, help_text='Why it ended: stop, length, filter ...', max_length=40)),
                ('tokens_in', models.PositiveIntegerField(null=True)),
                ('tokens_out', models.PositiveIntegerField(null=True)),
                ('seconds', models.FloatField(help_text='Model time: its share of a batch, or until a server answered.', null=True)),
                ('probabilities', models.JSONField(help_text='Label -> probability, of a classification.', null=True)),
                ('extra', models.JSONField(blank=True, default=dict, help_text='Further fields of an answer that was made elsewhere.')),
            ],
            options={
                'ordering': ['job'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_unique_picture',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_unique_index',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_unique_image',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_picture_or_image',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_done_has_image',
        ),
        migrations.RemoveConstraint(
            model_name='run',
            name='run_kind_known',
        ),
        migrations.AddField(
            model_name='job',
            name='key',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='job',
            name='text_pair',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='run',
            name='limits',
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='How much a server may be asked, and its prices.'),
        ),
        migrations.AddField(
            model_name='run',
            name='name',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AddField(
            model_name='run',
            name='tokens_in',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='run',
            name='tokens_out',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='job',
            name='number',
            field=models.PositiveIntegerField(default=0, help_text='Number among the samples of one prompt, from 1.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='prompt',
            field=models.TextField(blank=True),
        ),
        migrations.AlterField(
            model_name='run',
            name='image_set',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='annotation.imageset'),
        ),
        migrations.AlterField(
            model_name='run',
            name='kind',
            field=models.CharField(choices=[('images', 'Images'), ('captions', 'Captions'), ('embeddings', 'Embeddings'), ('completions', 'Completions'), ('descriptions', 'Descriptions'), ('classifications', 'Classifications')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('group__isnull', False), ('key', '')), fields=('run', 'group', 'prompt', 'number'), name='job_unique_picture'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('group__isnull', False), ('key', '')), fields=('run', 'group', 'index'), name='job_unique_index'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('group__isnull', True), ('key', '')), fields=('run', 'image'), name='job_unique_image'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('run', 'key', 'number'), name='job_unique_asking'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('group__isnull', False), ('index__gte', 1), ('key', ''), ('number__gte', 1), ('seed__isnull', False), models.Q(('prompt', ''), _negated=True), ('prompt_set__in', ['detection', 'default', 'stereotypical', 'non_stereotypical'])), models.Q(('group__isnull', True), ('image__isnull', False), ('key', ''), ('prompt', ''), ('seed__isnull', True)), models.Q(models.Q(('key', ''), _negated=True), ('number__gte', 1), ('prompt_set', '')), _connector='OR'), name='job_picture_image_or_asking'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('finished_at__isnull', False), models.Q(('image__isnull', False), models.Q(('key', ''), _negated=True), _connector='OR')), _connector='OR'), name='job_done_has_image_or_key'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['images', 'captions', 'embeddings', 'completions', 'descriptions', 'classifications'])), name='run_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('name', ''), _negated=True), fields=('name',), name='run_unique_name'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), models.Q(('name', ''), _negated=True)), models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), _negated=True), ('name', '')), _connector='OR'), name='run_name_iff_asking'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('image_set__isnull', True), ('kind__in', ('completions', 'classifications'))), ('kind', 'descriptions'), models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), _negated=True), ('image_set__isnull', False)), _connector='OR'), name='run_image_set_of_its_kind'),
        ),
        migrations.AddField(
            model_name='answer',
            name='run',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='generation.run'),
        ),
        migrations.AddIndex(
            model_name='answer',
            index=models.Index(fields=['run', 'job'], name='answer_of_run'),
        ),
        migrations.AddIndex(
            model_name='answer',
            index=models.Index(fields=['run', 'ended', 'job'], name='answer_by_ending'),
        ),
    ]
