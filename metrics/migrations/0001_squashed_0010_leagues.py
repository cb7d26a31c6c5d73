# All migrations that it replaces, as one, for new databases. A database with some of them goes on with those.

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotation.core.whole_migration import WholeMigration


class Migration(WholeMigration):

    replaces = [('metrics', '0001_initial'), ('metrics', '0002_parameters_and_parts'), ('metrics', '0003_runs_right_again'), ('metrics', '0004_score_run_claims'), ('metrics', '0005_candidates'), ('metrics', '0006_associations'), ('metrics', '0007_embedding_test_files'), ('metrics', '0008_embedding_test_variables'), ('metrics', '0009_intervals'), ('metrics', '0010_leagues')]

    initial = True

    # The first of each suffices, as in the one of generation.
    dependencies = [
        ('annotation', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('generation', '0001_runs'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScoreRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('metric', models.CharField(max_length=40)),
                ('version', models.PositiveIntegerField()),
                ('variant', models.CharField(choices=[('corrected', 'Corrected'), ('published', 'Published')], max_length=10)),
                ('digest', models.CharField(max_length=64)),
                ('seed', models.PositiveBigIntegerField(default=0)),
                ('resamples', models.PositiveIntegerField(help_text='Bootstrap resamples; 0 without a bootstrap.')),
                ('rule', models.TextField(blank=True)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('claimed', 'Claimed'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
                ('code_version', models.CharField(blank=True, max_length=80)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='score_runs', to='annotation.study')),
                ('parameters', models.CharField(default='{}', help_text='What was chosen, as JSON with its keys sorted.', max_length=2000)),
                ('confirmed_at', models.DateTimeField(help_text="When a finished run was last asked for again: its inputs were today's.", null=True)),
                ('claim', models.UUIDField(null=True)),
                ('not_before', models.DateTimeField(help_text='Not tried again before then.', null=True)),
                ('intervals', models.CharField(choices=[('none', 'None'), ('clustered', 'Clustered'), ('bootstrap', 'Bootstrap')], db_default='bootstrap', help_text='How its 95 % intervals are computed.', max_length=10)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['pending', 'claimed'])), fields=['created_at'], name='scorerun_waiting'), models.Index(fields=['study', 'metric', 'variant', 'finished_at'], name='scorerun_latest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'claimed', 'done', 'failed'])), name='scorerun_state_known'), models.CheckConstraint(condition=models.Q(('variant__in', ['corrected', 'published'])), name='scorerun_variant_known'), models.CheckConstraint(condition=models.Q(('version__gte', 1)), name='scorerun_version_from_one'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='scorerun_digest_is_sha256'), models.CheckConstraint(condition=models.Q(models.Q(('lease_expires_at__isnull', False), ('state', 'claimed')), models.Q(models.Q(('state', 'claimed'), _negated=True), ('lease_expires_at__isnull', True)), _connector='OR'), name='scorerun_lease_iff_claimed'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['done', 'failed'])), models.Q(models.Q(('state__in', ['done', 'failed']), _negated=True), ('finished_at__isnull', True)), _connector='OR'), name='scorerun_finished_iff_done_or_failed'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='scorerun_failed_says_why'), models.UniqueConstraint(fields=('study', 'metric', 'version', 'variant', 'parameters', 'digest', 'intervals', 'seed', 'resamples'), name='scorerun_unique_inputs'), models.CheckConstraint(condition=models.Q(('intervals__in', ['none', 'clustered', 'bootstrap'])), name='scorerun_intervals_known'), models.CheckConstraint(condition=models.Q(('intervals', 'bootstrap'), ('resamples', 0), _connector='OR'), name='scorerun_resamples_of_bootstrap')],
            },
        ),
        migrations.CreateModel(
            name='Score',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('value', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('n', models.PositiveIntegerField()),
                ('k', models.PositiveIntegerField(null=True)),
                ('infinite', models.PositiveIntegerField(null=True)),
                ('undefined', models.PositiveIntegerField(null=True)),
                ('attribute', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='annotation.attribute')),
                ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='annotation.identitygroup')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='metrics.scorerun')),
                ('part', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('high__isnull', True), ('low__isnull', True)), models.Q(('high__gte', models.F('value')), ('high__isnull', False), ('low__isnull', False), ('low__lte', models.F('value')), ('value__isnull', False)), _connector='OR'), name='score_low_value_high'), models.CheckConstraint(condition=models.Q(('k__isnull', True), ('k__lte', models.F('n')), _connector='OR'), name='score_k_at_most_n'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='score_has_name'), models.UniqueConstraint(fields=('run', 'name', 'part', 'group', 'attribute'), name='score_unique_group_and_attribute'), models.UniqueConstraint(condition=models.Q(('attribute__isnull', True), ('group__isnull', False)), fields=('run', 'name', 'part', 'group'), name='score_unique_group'), models.UniqueConstraint(condition=models.Q(('attribute__isnull', False), ('group__isnull', True)), fields=('run', 'name', 'part', 'attribute'), name='score_unique_attribute'), models.UniqueConstraint(condition=models.Q(('attribute__isnull', True), ('group__isnull', True)), fields=('run', 'name', 'part'), name='score_unique_whole')],
            },
        ),
        migrations.CreateModel(
            name='CandidateList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('claimed', 'Claimed'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('claim', models.UUIDField(null=True)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(help_text='Not tried again before then.', null=True)),
                ('error', models.TextField(blank=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('axis', models.CharField(choices=[('nationality', 'Nationality'), ('us_state', 'US state'), ('indian_state', 'Indian state'), ('age', 'Age'), ('disability', 'Disability'), ('gender', 'Gender'), ('physical_appearance', 'Physical appearance'), ('race_colour', 'Race or colour'), ('religion', 'Religion'), ('sexual_orientation', 'Sexual orientation'), ('socioeconomic_status', 'Socioeconomic status'), ('other', 'Other')], max_length=20)),
                ('per_region', models.PositiveIntegerField(help_text='How many candidates of a region are selected.')),
                ('digest', models.CharField(max_length=64)),
                ('rules', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='candidate_list', to='generation.run')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'claimed', 'done', 'failed'])), name='candidatelist_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('claim__isnull', False), ('lease_expires_at__isnull', False), ('state', 'claimed')), models.Q(models.Q(('state', 'claimed'), _negated=True), ('claim__isnull', True), ('lease_expires_at__isnull', True)), _connector='OR'), name='candidatelist_claim_iff_claimed'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='candidatelist_failed_says_why'), models.CheckConstraint(condition=models.Q(('axis__in', ['nationality', 'us_state', 'indian_state', 'age', 'disability', 'gender', 'physical_appearance', 'race_colour', 'religion', 'sexual_orientation', 'socioeconomic_status', 'other'])), name='candidatelist_axis_known')],
            },
        ),
        migrations.CreateModel(
            name='Candidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attribute', models.CharField(max_length=200)),
                ('also', models.JSONField(default=list)),
                ('count', models.PositiveIntegerField()),
                ('tf', models.FloatField()),
                ('idf', models.FloatField()),
                ('salience', models.FloatField()),
                ('selected', models.BooleanField(default=False)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.identitygroup')),
                ('candidate_list', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='metrics.candidatelist')),
            ],
            options={
                'indexes': [models.Index(fields=['candidate_list', 'group', 'salience'], name='candidate_of_group')],
                'constraints': [models.UniqueConstraint(fields=('candidate_list', 'group', 'attribute'), name='candidate_unique'), models.CheckConstraint(condition=models.Q(('attribute', ''), _negated=True), name='candidate_has_attribute'), models.CheckConstraint(condition=models.Q(('count__gte', 1)), name='candidate_was_given')],
            },
        ),
        migrations.CreateModel(
            name='StruckCandidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attribute', models.CharField(max_length=200)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.identitygroup')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='struck_candidates', to='generation.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'group', 'attribute'), name='struckcandidate_unique')],
            },
        ),
        migrations.CreateModel(
            name='AssociationList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('claimed', 'Claimed'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('claim', models.UUIDField(null=True)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(help_text='Not tried again before then.', null=True)),
                ('error', models.TextField(blank=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('digest', models.CharField(max_length=64)),
                ('settings', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='association_list', to='generation.run')),
                ('studies', models.ManyToManyField(blank=True, related_name='association_lists', to='annotation.study')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'claimed', 'done', 'failed'])), name='associationlist_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('claim__isnull', False), ('lease_expires_at__isnull', False), ('state', 'claimed')), models.Q(models.Q(('state', 'claimed'), _negated=True), ('claim__isnull', True), ('lease_expires_at__isnull', True)), _connector='OR'), name='associationlist_claim_iff_claimed'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='associationlist_failed_says_why')],
            },
        ),
        migrations.CreateModel(
            name='ModelAssociation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('setting', models.CharField(max_length=20)),
                ('word', models.CharField(max_length=200)),
                ('tf', models.PositiveIntegerField(null=True)),
                ('df', models.PositiveIntegerField(null=True)),
                ('score', models.FloatField(null=True)),
                ('p_value', models.FloatField(null=True)),
                ('significant', models.BooleanField(default=False)),
                ('corrected_tf', models.PositiveIntegerField(null=True)),
                ('corrected_df', models.PositiveIntegerField(null=True)),
                ('corrected_score', models.FloatField(null=True)),
                ('z', models.FloatField(null=True)),
                ('q', models.FloatField(null=True)),
                ('significant_corrected', models.BooleanField(default=False)),
                ('negative', models.BooleanField(null=True)),
                ('toxic', models.BooleanField(null=True)),
                ('model_level', models.FloatField(null=True)),
                ('association_list', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='associations', to='metrics.associationlist')),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.identitygroup')),
            ],
            options={
                'indexes': [models.Index(fields=['association_list', 'z'], name='modelassociation_by_z'), models.Index(fields=['association_list', 'score'], name='modelassociation_by_score')],
                'constraints': [models.UniqueConstraint(fields=('association_list', 'setting', 'group', 'word'), name='modelassociation_unique'), models.CheckConstraint(condition=models.Q(('word', ''), _negated=True), name='modelassociation_has_word'), models.CheckConstraint(condition=models.Q(('tf__gte', 1), ('corrected_tf__gte', 1), _connector='OR'), name='modelassociation_was_given'), models.CheckConstraint(condition=models.Q(('model_level__isnull', True), ('model_level__range', (1, 5)), _connector='OR'), name='modelassociation_level_in_scale')],
            },
        ),
        migrations.CreateModel(
            name='EmbeddingTestFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('text', models.TextField()),
                ('reference', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('changed_at', models.DateTimeField(auto_now=True)),
                ('image_set', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embedding_test_files', to='annotation.imageset')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('variables', models.TextField(blank=True, db_default='', default='')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='embeddingtestfile_has_text')],
            },
        ),
    ]
