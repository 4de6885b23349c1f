import type { UserName } from './a-guarded-broker.ts';

/** Written by hand, unlike the permissions from the contracts: a change of a permission needs a change here too. */
export interface Allowed {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

const api = (requests: readonly string[]): string[] =>
  requests.map((request) => `$JS.RUNLEDGER.API.${request}`);

const reading = (...streams: readonly string[]): string[] =>
  streams.flatMap((stream) => api([`STREAM.INFO.${stream}`, `STREAM.MSG.GET.${stream}`]));
const consuming = (...streams: readonly string[]): string[] =>
  streams.flatMap((stream) =>
    api([`CONSUMER.CREATE.${stream}`, `CONSUMER.INFO.${stream}.*`, `CONSUMER.MSG.NEXT.${stream}.*`]),
  );
const movingLeaders = (...streams: readonly string[]): string[] =>
  api(streams.map((stream) => `STREAM.LEADER.STEPDOWN.${stream}`));
/** No other service has consumers in this stream. */
const consumingAlone = (...streams: readonly string[]): string[] => [
  ...consuming(...streams),
  ...streams.flatMap((stream) => api([`CONSUMER.DELETE.${stream}.*`])),
];

const gateway: Allowed = {
  publish: [
    'runs.*.*.life.queued.gateway.>',
    'runs.*.*.life.cancel_requested.gateway.>',
    'runs.*.*.life.ended.gateway.>',
    'runs.*.*.life.outputs_deleted.gateway.>',
    'runs.*.*.life.deleted.gateway.>',
    'runs.*.*.webhook.expired.gateway.*',
    'runs.*.*.webhook.redelivery_requested.gateway.*',
    'runs.read_marker',
    'fleet.*.all.drain_requested',
    'fleet.*.all.resume_requested',
    'audit.*.*',
    'dead_letters.RUNS.projection.*.*',
    '$KV.LEASES.projection.*',
    '$KV.LEASES.schedules',
    '$KV.LEASES.log_end',
    'workflows.*.*',
    'blobs.*.*',
    '$O.ARCHIVE.C.*',
    '$O.ARCHIVE.M.*',
    '$O.MODELS.C.*',
    '$O.MODELS.M.*',
    '$O.OUTPUTS.C.*',
    '$O.OUTPUTS.M.*',
    'request.scheduler.queue_position',
    'request.scheduler.executors',
    'request.scheduler.wait',
    'request.scheduler.pools',
    'request.scheduler.shortage',
    'request.scheduler.ready_slots',
    'request.gateway.redrive',
    'request.scheduler.redrive',
    'request.executor.*.redrive',
    'request.executor.*.keep_ready',
    'request.gateway.instances',
    'request.notifier.instances',
    'request.notifier.receivers',
    'request.scheduler.instances',
    ...api([
      '$KV.ACCOUNTS.>',
      '$KV.ARCHIVE.>',
      '$KV.CATALOGUE.>',
      '$KV.FILES.>',
      '$KV.KEYS.>',
      '$KV.RATES.>',
      '$KV.SCHEDULES.>',
      '$KV.WEBHOOK_SECRETS.>',
    ]),
    ...reading('RUNS', 'ACTIVITY', 'KV_CATALOGUE', 'KV_FILES', 'KV_KEYS', 'KV_RATES', 'KV_WEBHOOK_SECRETS'),
    ...reading('KV_ACCOUNTS', 'KV_ARCHIVE', 'OBJ_ARCHIVE', 'OBJ_MODELS'),
    ...reading('KV_LEASES', 'KV_SCHEDULES', 'OBJ_OUTPUTS', 'WORKFLOWS', 'BLOBS'),
    ...consuming('RUNS'),
    ...consumingAlone('KV_ACCOUNTS', 'KV_ARCHIVE'),
    ...consumingAlone('KV_CATALOGUE', 'KV_FILES', 'KV_KEYS', 'KV_SCHEDULES', 'WORKFLOWS', 'BLOBS'),
    ...api([
      'DIRECT.GET.WORKFLOWS.workflows.*.*',
      'DIRECT.GET.BLOBS.blobs.*.*',
      'DIRECT.GET.RUNS',
      'DIRECT.GET.DELIVERY_ATTEMPTS',
      'DIRECT.GET.LOGS',
      'DIRECT.GET.AUDIT',
      'DIRECT.GET.AUDIT_RIGHTS',
      'DIRECT.GET.DEAD_LETTERS',
      'STREAM.MSG.GET.DEAD_LETTERS',
      'STREAM.MSG.DELETE.DEAD_LETTERS',
      'DIRECT.GET.OBJ_ARCHIVE',
      'DIRECT.GET.OBJ_MODELS',
      'DIRECT.GET.OBJ_OUTPUTS',
      'STREAM.INFO.DELIVERY_ATTEMPTS',
      'STREAM.INFO.DEAD_LETTERS',
      'STREAM.INFO.LOGS',
      'STREAM.INFO.AUDIT',
      'STREAM.INFO.AUDIT_RIGHTS',
      'STREAM.INFO.FLEET',
      'STREAM.INFO.TIMERS',
      'STREAM.INFO.KV_EXECUTORS',
      'STREAM.INFO.OBJ_SNAPSHOTS',
      'INFO',
    ]),
    ...api([
      'STREAM.PURGE.LOGS',
      'STREAM.PURGE.KV_ACCOUNTS',
      'STREAM.PURGE.KV_ARCHIVE',
      'STREAM.PURGE.KV_CATALOGUE',
      'STREAM.PURGE.KV_FILES',
      'STREAM.PURGE.KV_KEYS',
      'STREAM.PURGE.KV_SCHEDULES',
      'STREAM.PURGE.KV_WEBHOOK_SECRETS',
      'STREAM.PURGE.OBJ_ARCHIVE',
      'STREAM.PURGE.OBJ_MODELS',
      'STREAM.PURGE.OBJ_OUTPUTS',
    ]),
    ...api(
      ['ACTIVITY', 'BLOBS', 'DELIVERY_ATTEMPTS', 'TIMERS', 'WORKFLOWS'].map(
        (stream) => `STREAM.PURGE.${stream}`,
      ),
    ),
    ...api(['STREAM.MSG.DELETE.WORKFLOWS', 'STREAM.MSG.DELETE.BLOBS']),
    ...movingLeaders(
      'RUNS',
      'ACTIVITY',
      'KV_CATALOGUE',
      'KV_FILES',
      'KV_KEYS',
      'KV_RATES',
      'KV_WEBHOOK_SECRETS',
    ),
    ...movingLeaders(
      'KV_LEASES',
      'KV_SCHEDULES',
      'OBJ_OUTPUTS',
      'WORKFLOWS',
      'BLOBS',
      'DELIVERY_ATTEMPTS',
      'DEAD_LETTERS',
    ),
    ...movingLeaders(
      'LOGS',
      'AUDIT',
      'AUDIT_RIGHTS',
      'KV_ACCOUNTS',
      'KV_ARCHIVE',
      'OBJ_ARCHIVE',
      'OBJ_MODELS',
    ),
  ],
  subscribe: [
    'request.gateway.instances',
    'request.gateway.redrive',
    'request.gateway.view_digests',
    'request.gateway.rebuild_views',
    'logs.*.*.*.*.*.*',
    'activity.*.*.*.*.*.progress',
  ],
};

const scheduler: Allowed = {
  publish: [
    ...['assigned', 'requeued', 'ended'].map((fact) => `runs.*.*.life.${fact}.scheduler.>`),
    'fleet.*.*.lost',
    'fleet.*.lost',
    'fleet.term',
    'runs.none.none.term.began.scheduler.none.>',
    'dead_letters.RUNS.scheduler.*.*',
    'dead_letters.FLEET.scheduler.*.*',
    '$KV.LEASES.scheduler',
    '$O.SNAPSHOTS.C.*',
    '$O.SNAPSHOTS.M.*',
    ...reading('RUNS', 'FLEET', 'ACTIVITY', 'KV_EXECUTORS', 'KV_LEASES', 'OBJ_SNAPSHOTS'),
    ...consuming('RUNS'),
    ...consumingAlone('FLEET', 'KV_EXECUTORS'),
    ...api(['DIRECT.GET.RUNS', 'DIRECT.GET.OBJ_SNAPSHOTS', 'INFO', 'STREAM.PURGE.OBJ_SNAPSHOTS']),
    ...api(['STREAM.INFO.DEAD_LETTERS', 'CONSUMER.CREATE.RUNS.*.runs.*.*.*.*.*.*.*.*']),
  ],
  subscribe: [
    'queue_position',
    'executors',
    'wait',
    'pools',
    'shortage',
    'ready_slots',
    'redrive',
    'instances',
    'consumer.*',
  ].map((what) => `request.scheduler.${what}`),
};

const notifier: Allowed = {
  publish: [
    'runs.*.*.webhook.started.notifier.*',
    'runs.*.*.webhook.delivered.notifier.*',
    'runs.*.*.webhook.given_up.notifier.*',
    'timers.>',
    'delivery_attempts.*.*.attempt.*.*',
    'delivery_attempts.*.*.intermediate',
    'delivery_attempts.*.*.state',
    '$KV.LEASES.notifier.member.*',
    '$KV.LEASES.notifier.partition.*',
    ...api(['$KV.WEBHOOK_SECRETS.>']),
    ...reading('RUNS', 'ACTIVITY', 'TIMERS', 'KV_LEASES', 'KV_WEBHOOK_SECRETS', 'BLOBS'),
    ...api(['DIRECT.GET.BLOBS.blobs.*.*']),
    ...consuming('RUNS'),
    ...consumingAlone('ACTIVITY', 'TIMERS', 'KV_LEASES'),
    ...api([
      'DIRECT.GET.RUNS',
      'DIRECT.GET.TIMERS',
      'STREAM.PURGE.TIMERS',
      'STREAM.MSG.DELETE.TIMERS',
      'STREAM.PURGE.KV_LEASES',
    ]),
  ],
  subscribe: ['request.notifier.instances', 'request.notifier.receivers'],
};

const executor = (name: string): Allowed => ({
  publish: [
    ...['started', 'uploading', 'requeued', 'ended'].map(
      (fact) => `runs.*.*.life.${fact}.executor.*.${name}.*`,
    ),
    ...['registered', 'draining', 'left'].map((fact) => `fleet.${name}.*.${fact}`),
    `activity.*.*.*.${name}.*.progress`,
    `logs.*.*.*.${name}.*.*`,
    `$KV.EXECUTORS.${name}.*`,
    `dead_letters.RUNS.executor-${name}.executor.${name}`,
    `$JS.ACK.RUNS.executor-${name}.>`,
    `request.scheduler.consumer.${name}`,
    ...api([
      `CONSUMER.INFO.RUNS.executor-${name}`,
      `CONSUMER.DELETE.RUNS.executor-${name}`,
      `CONSUMER.RESET.RUNS.executor-${name}`,
      `CONSUMER.MSG.NEXT.RUNS.executor-${name}`,
      `DIRECT.GET.RUNS.runs.*.*.*.*.*.*.${name}.*`,
    ]),
  ],
  subscribe: [`request.executor.${name}.keep_ready`, `request.executor.${name}.redrive`],
});

const OPEN = [
  'RUNS',
  'ACTIVITY',
  'TIMERS',
  'DELIVERY_ATTEMPTS',
  'FLEET',
  'DEAD_LETTERS',
  'WORKFLOWS',
  'BLOBS',
  'OBJ_SNAPSHOTS',
  'KV_ARCHIVE',
  'KV_CATALOGUE',
  'KV_LEASES',
  'KV_EXECUTORS',
];

const debuggerUser: Allowed = {
  publish: [
    ...reading(...OPEN),
    ...api(['INFO', 'STREAM.LIST', 'STREAM.NAMES', 'CONSUMER.LIST.RUNS', 'CONSUMER.INFO.RUNS.*']),
    ...OPEN.filter((name) => !name.startsWith('KV_')).flatMap((name) =>
      api([`DIRECT.GET.${name}`, `DIRECT.GET.${name}.>`]),
    ),
  ],
  subscribe: ['runs.>', 'activity.>', 'fleet.>'],
};

export const ALLOWED: Readonly<Record<Exclude<UserName, 'operator'>, Allowed>> = {
  gateway,
  scheduler,
  notifier,
  'executor-a': executor('a'),
  'executor-b': executor('b'),
  debugger: debuggerUser,
  system: {
    publish: ['$JS.API.SERVER.REMOVE', '$SYS.REQ.SERVER.PING.HEALTHZ', '$SYS.REQ.SERVER.PING.JSZ'],
    subscribe: [],
  },
};
