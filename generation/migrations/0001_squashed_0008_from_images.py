# All migrations that it replaces, as one, for new databases. A database with some of them goes on with those.

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotation.core.whole_migration import WholeMigration


class Migration(WholeMigration):

    replaces = [('generation', '0001_runs'), ('generation', '0002_workers'), ('generation', '0003_made_with'), ('generation', '0004_workers_and_batches'), ('generation', '0005_askings'), ('generation', '0006_descriptors'), ('generation', '0007_text_embeddings'), ('generation', '0008_from_images')]

    initial = True

    # The first of each suffices. With the last, going back to one in the middle (docs/backup.md) would go back
    # through both this and what it replaces.
    dependencies = [
        ('annotation', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('images', 'Images'), ('captions', 'Captions'), ('embeddings', 'Embeddings'), ('completions', 'Completions'), ('descriptions', 'Descriptions'), ('classifications', 'Classifications')], max_length=16)),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='planned', max_length=10)),
                ('backend', models.CharField(max_length=40)),
                ('recipe', models.JSONField(help_text='Everything that decides what comes out, but for the jobs.')),
                ('recipe_hash', models.CharField(help_text='SHA-256 of the canonical recipe.', max_length=64, unique=True)),
                ('error', models.TextField(blank=True, help_text='Why it paused by itself; empty once it runs again.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('image_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='annotation.imageset')),
                ('made_with', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Each way it was made, once: model, revision, device, libraries, code.')),
                ('failures_accepted', models.BooleanField(db_default=False, default=False)),
                ('limits', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='How much a server may be asked, and its prices.')),
                ('name', models.CharField(blank=True, db_default='', default='', max_length=80)),
                ('tokens_in', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('tokens_out', models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'running', 'paused', 'done', 'cancelled'])), name='run_state_known'), models.CheckConstraint(condition=models.Q(('recipe_hash__regex', '^[0-9a-f]{64}$')), name='run_recipe_hash_is_sha256'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('started_at__isnull', False), _connector='OR'), name='run_started_at_once_running'), models.CheckConstraint(condition=models.Q(('kind__in', ['images', 'captions', 'embeddings', 'completions', 'descriptions', 'classifications'])), name='run_kind_known'), models.UniqueConstraint(condition=models.Q(('name', ''), _negated=True), fields=('name',), name='run_unique_name'), models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), models.Q(('name', ''), _negated=True)), models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), _negated=True), ('name', '')), _connector='OR'), name='run_name_iff_asking'), models.CheckConstraint(condition=models.Q(models.Q(('image_set__isnull', True), ('kind__in', ('completions', 'classifications'))), ('kind', 'descriptions'), models.Q(models.Q(('kind__in', ('completions', 'descriptions', 'classifications')), _negated=True), ('image_set__isnull', False)), _connector='OR'), name='run_image_set_of_its_kind')],
            },
        ),
        migrations.CreateModel(
            name='Provenance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prompt_set', models.CharField(blank=True, choices=[('detection', 'detection'), ('default', 'default'), ('stereotypical', 'stereotypical'), ('non_stereotypical', 'non stereotypical'), ('descriptors', 'descriptors'), ('from_images', 'from images')], max_length=20)),
                ('seed', models.PositiveBigIntegerField(null=True)),
                ('recipe_hash', models.CharField(blank=True, max_length=64)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('revision', models.CharField(blank=True, max_length=80)),
                ('libraries', models.JSONField(blank=True, default=dict, help_text='Name -> version.')),
                ('device', models.CharField(blank=True, max_length=120)),
                ('code_revision', models.CharField(blank=True, max_length=80)),
                ('flagged', models.BooleanField(help_text="The safety checker's verdict; null: it was not asked.", null=True)),
                ('seconds', models.FloatField(help_text='Model time, its share of the batch.', null=True)),
                ('made_at', models.DateTimeField(null=True)),
                ('note', models.TextField(blank=True)),
                ('attribute', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.attribute')),
                ('image', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='provenance', to='annotation.image')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='provenances', to='generation.run')),
            ],
            options={
                'indexes': [models.Index(fields=['prompt_set', 'attribute'], name='provenance_by_prompts')],
                'constraints': [models.CheckConstraint(condition=models.Q(('run__isnull', True), models.Q(('recipe_hash__regex', '^[0-9a-f]{64}$'), ('seed__isnull', False)), _connector='OR'), name='provenance_of_a_run_is_whole'), models.CheckConstraint(condition=models.Q(('prompt_set', ''), ('prompt_set__in', ['detection', 'default', 'stereotypical', 'non_stereotypical', 'descriptors', 'from_images']), _connector='OR'), name='provenance_prompt_set_known')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('claimed', 'Claimed'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('prompt_set', models.CharField(blank=True, choices=[('detection', 'detection'), ('default', 'default'), ('stereotypical', 'stereotypical'), ('non_stereotypical', 'non stereotypical'), ('descriptors', 'descriptors'), ('from_images', 'from images')], max_length=20)),
                ('prompt', models.TextField(blank=True)),
                ('number', models.PositiveIntegerField(default=0, help_text='Number among the samples of one prompt, from 1.')),
                ('index', models.PositiveIntegerField(default=0, help_text="The picture's number within its set and group, from 1.")),
                ('seed', models.PositiveBigIntegerField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('claim', models.UUIDField(null=True)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(help_text='Not tried again before then.', null=True)),
                ('error', models.TextField(blank=True)),
                ('worker', models.CharField(blank=True, help_text='Host and process that took it last.', max_length=200)),
                ('seconds', models.FloatField(help_text='Model time, its share of the batch.', null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('attribute', models.ForeignKey(help_text="'described as ...'", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.attribute')),
                ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.identitygroup')),
                ('image', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='annotation.image')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='generation.run')),
                ('key', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('text_pair', models.TextField(blank=True, db_default='', default='')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['run', 'id'], name='job_pending'), models.Index(condition=models.Q(('state', 'claimed')), fields=['run', 'lease_expires_at'], name='job_claimed'), models.Index(fields=['run', 'state'], name='job_by_state'), models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at'], name='job_finished'), models.Index(condition=models.Q(('state', 'failed')), fields=['run'], name='job_failed')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'claimed', 'done', 'failed'])), name='job_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('claim__isnull', False), ('lease_expires_at__isnull', False), ('state', 'claimed')), models.Q(models.Q(('state', 'claimed'), _negated=True), ('claim__isnull', True), ('lease_expires_at__isnull', True)), _connector='OR'), name='job_claim_iff_claimed'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='job_failed_says_why'), models.UniqueConstraint(condition=models.Q(('group__isnull', False), ('key', '')), fields=('run', 'group', 'prompt', 'number'), name='job_unique_picture'), models.UniqueConstraint(condition=models.Q(('group__isnull', False), ('key', '')), fields=('run', 'group', 'index'), name='job_unique_index'), models.UniqueConstraint(condition=models.Q(('group__isnull', True), ('key', '')), fields=('run', 'image'), name='job_unique_image'), models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('run', 'key', 'number'), name='job_unique_asking'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('finished_at__isnull', False), models.Q(('image__isnull', False), models.Q(('key', ''), _negated=True), _connector='OR')), _connector='OR'), name='job_done_has_image_or_key'), models.CheckConstraint(condition=models.Q(models.Q(('group__isnull', False), ('index__gte', 1), ('key', ''), ('number__gte', 1), ('seed__isnull', False), models.Q(('prompt', ''), _negated=True), ('prompt_set__in', ['detection', 'default', 'stereotypical', 'non_stereotypical', 'descriptors', 'from_images'])), models.Q(('group__isnull', True), ('image__isnull', False), ('key', ''), ('prompt', ''), ('seed__isnull', True)), models.Q(models.Q(('key', ''), _negated=True), ('number__gte', 1), ('prompt_set', '')), _connector='OR'), name='job_picture_image_or_asking')],
            },
        ),
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dim', models.PositiveIntegerField()),
                ('vector', models.BinaryField()),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='annotation.image')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='generation.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'image'), name='embedding_unique_image'), models.CheckConstraint(condition=models.Q(('dim__gte', 1)), name='embedding_dim_from_one')],
            },
        ),
        migrations.CreateModel(
            name='Caption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveSmallIntegerField(help_text="From 1, the captioner's best.")),
                ('text', models.TextField()),
                ('score', models.FloatField(help_text="The captioner's own, higher is better.", null=True)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='captions', to='annotation.image')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='captions', to='generation.run')),
            ],
            options={
                'ordering': ['image', 'rank'],
                'constraints': [models.UniqueConstraint(fields=('run', 'image', 'rank'), name='caption_unique_rank'), models.CheckConstraint(condition=models.Q(('rank__gte', 1)), name='caption_rank_from_one'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='caption_has_text')],
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Host, process and queue.', max_length=200, unique=True)),
                ('host', models.CharField(max_length=120)),
                ('queue', models.CharField(max_length=20)),
                ('version', models.CharField(blank=True, max_length=80)),
                ('started_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
                ('device', models.CharField(blank=True, max_length=80)),
                ('memory_used', models.PositiveBigIntegerField(null=True)),
                ('memory_total', models.PositiveBigIntegerField(null=True)),
                ('error', models.TextField(blank=True, db_default='', default='')),
                ('ill_at', models.DateTimeField(null=True)),
                ('loading_since', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='workers', to='generation.run')),
            ],
            options={
                'ordering': ['queue', 'name'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('device', ''), ('memory_total__isnull', True), ('memory_used__isnull', True)), models.Q(models.Q(('device', ''), _negated=True), ('memory_total__isnull', False), ('memory_used__isnull', False), ('memory_used__lte', models.F('memory_total'))), _connector='OR'), name='worker_memory_of_a_device')],
            },
        ),
        migrations.CreateModel(
            name='BatchSize',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='batch_sizes', to='generation.run')),
                ('device', models.CharField(max_length=120)),
                ('size', models.PositiveIntegerField()),
            ],
            options={
                'ordering': ['device'],
                'constraints': [models.UniqueConstraint(fields=('run', 'device'), name='batchsize_unique_device'), models.CheckConstraint(condition=models.Q(('size__gte', 1)), name='batchsize_from_one')],
            },
        ),
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
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='generation.run')),
            ],
            options={
                'ordering': ['job'],
                'indexes': [models.Index(fields=['run', 'job'], name='answer_of_run'), models.Index(fields=['run', 'ended', 'job'], name='answer_by_ending')],
            },
        ),
        migrations.CreateModel(
            name='TextEmbedding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.CharField(max_length=500)),
                ('dim', models.PositiveIntegerField()),
                ('vector', models.BinaryField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='text_embeddings', to='generation.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'text'), name='textembedding_unique_text'), models.CheckConstraint(condition=models.Q(('dim__gte', 1)), name='textembedding_dim_from_one'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='textembedding_has_text')],
            },
        ),
    ]
