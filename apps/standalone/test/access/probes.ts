import { BLOB_STREAMS, blobSubject } from '@runledger/contracts/blobs';
import { RUN_EVENTS, RUN_EVENT_TYPES } from '@runledger/contracts/events/run-event';
import { WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '@runledger/contracts/events/webhook-event';
import { WRITERS } from '@runledger/contracts/events/event-envelope';
import { fleetFactOf } from '@runledger/contracts/events/fleet-event';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { CONTRACTS } from './a-guarded-broker.ts';

/**
 * Every kind of subject that a client of the broker might try: all event types with all writers, all streams with all
 * JetStream requests, and all subjects of the contracts. New code is included without a change here.
 */

const ORG = '0192e0c0-0000-7000-8000-00000000000a';
const RUN = `${ORG}.0192e0c0-0000-7000-8000-00000000000b`;
/** None, one of each name, and one of an earlier release. */
const EXECUTORS = ['none', 'a.000000000001', 'b.000000000001', 'old-000000000001'];
const EXECUTOR_NAMES = ['a', 'b', 'other'];
const CONSUMERS = ['executor-a', 'executor-b', 'another'];
const FILTERS = ['runs.*.*.*.*.*.*.a.*', 'runs.*.*.*.*.*.*.b.*', 'runs.>', '>'];
const BLOBS = BLOB_STREAMS.map((stream) => blobSubject(stream, ORG, 'a'.repeat(64)));
const PREFIXES = ['$JS.API', '$JS.RUNLEDGER.API'];

const facts = (): string[] => [
  ...RUN_EVENT_TYPES.flatMap((type) =>
    WRITERS.flatMap((writer) =>
      EXECUTORS.map((executor) => `runs.${RUN}.life.${RUN_EVENTS[type].fact}.${writer}.1.${executor}`),
    ),
  ),
  ...WEBHOOK_EVENT_TYPES.flatMap((type) =>
    WRITERS.map((writer) => `runs.${RUN}.webhook.${WEBHOOK_EVENTS[type].fact}.${writer}.1`),
  ),
  ...CONTRACTS.flatMap(({ writes }) => writes.fleet).flatMap((type) =>
    [...EXECUTORS, 'a.all', 'b.all'].map((executor) => `fleet.${executor}.${fleetFactOf(type)}`),
  ),
  ...EXECUTORS.flatMap((executor) =>
    ['progress', 'other'].map((kind) => `activity.${RUN}.1.${executor}.${kind}`),
  ),
  ...EXECUTORS.flatMap((executor) => ['0', '127'].map((slot) => `logs.${RUN}.1.${executor}.${slot}`)),
  `runs.${RUN}`,
  `runs.${RUN}.life`,
  `runs.${RUN}.other.queued.gateway.0.none`,
  'runs.read_marker',
  'fleet.term',
  ...EXECUTORS.map((executor) => `runs.none.none.term.began.scheduler.none.${executor}`),
];

const records = (): string[] => {
  const buckets = ALL_STREAMS.flatMap((name) => (name.startsWith('KV_') ? [name.slice(3)] : []));
  const stores = ALL_STREAMS.flatMap((name) => (name.startsWith('OBJ_') ? [name.slice(4)] : []));
  const keys = [
    'a-key',
    ...EXECUTORS,
    'notifier.member.one',
    'notifier.partition.1',
    ...CONTRACTS.flatMap(({ leases }) => leases.map((lease) => lease.replace('*', 'v1'))),
  ];
  return [
    ...buckets.flatMap((bucket) =>
      keys.flatMap((key) =>
        ['', ...PREFIXES.map((prefix) => `${prefix}.`)].map((prefix) => `${prefix}$KV.${bucket}.${key}`),
      ),
    ),
    ...stores.flatMap((store) => [`$O.${store}.C.piece`, `$O.${store}.M.name`, `$O.${store}.other`]),
    ...BLOBS,
    `audit.${ORG}.given`,
    'audit.installation.work',
    `audit.${ORG}`,
    `timers.1.origin.${RUN}.wait`,
    `delivery_attempts.${RUN}.attempt.1.1`,
    `delivery_attempts.${RUN}.intermediate`,
    `delivery_attempts.${RUN}.state`,
    `delivery_attempts.${RUN}.other`,
    ...['RUNS', 'FLEET', 'TIMERS'].flatMap((stream) =>
      ['projection', 'scheduler', 'executor-a', 'executor-b', 'other'].flatMap((consumer) =>
        ['', '.message.1', '.executor.a', '.executor.b'].map(
          (about) => `dead_letters.${stream}.${consumer}${about}`,
        ),
      ),
    ),
  ];
};

// https://docs.nats.io/reference/reference-protocols/nats_api_reference, and the server's own list of API subjects.
const OF_STREAMS = [
  'CREATE',
  'UPDATE',
  'DELETE',
  'PURGE',
  'INFO',
  'SNAPSHOT',
  'RESTORE',
  'MSG.GET',
  'MSG.DELETE',
];
const OF_LEADERS = ['STREAM.LEADER.STEPDOWN', 'STREAM.PEER.REMOVE', 'CONSUMER.LIST', 'CONSUMER.NAMES'];
const OF_CONSUMERS = ['CREATE', 'DURABLE.CREATE', 'DELETE', 'INFO', 'MSG.NEXT', 'PAUSE', 'RESET', 'UNPIN'];
const OF_ACCOUNTS = [
  'INFO',
  'STREAM.LIST',
  'STREAM.NAMES',
  'SERVER.REMOVE',
  'META.LEADER.STEPDOWN',
  'ACCOUNT.PURGE.RUNLEDGER',
  'ACCOUNT.STREAM.MOVE.RUNLEDGER.RUNS',
];

const requests = (): string[] =>
  PREFIXES.flatMap((prefix) => [
    ...OF_ACCOUNTS.map((request) => `${prefix}.${request}`),
    ...ALL_STREAMS.flatMap((stream) => [
      ...OF_STREAMS.map((request) => `${prefix}.STREAM.${request}.${stream}`),
      ...OF_LEADERS.map((request) => `${prefix}.${request}.${stream}`),
      ...CONSUMERS.flatMap((consumer) => [
        ...OF_CONSUMERS.map((request) => `${prefix}.CONSUMER.${request}.${stream}.${consumer}`),
        `${prefix}.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`,
        ...FILTERS.map((filter) => `${prefix}.CONSUMER.CREATE.${stream}.${consumer}.${filter}`),
      ]),
      `${prefix}.CONSUMER.CREATE.${stream}`,
      `${prefix}.DIRECT.GET.${stream}`,
      ...EXECUTORS.map(
        (executor) => `${prefix}.DIRECT.GET.${stream}.runs.${RUN}.life.started.executor.1.${executor}`,
      ),
      ...FILTERS.map((filter) => `${prefix}.DIRECT.GET.${stream}.${filter}`),
      ...BLOBS.map((blob) => `${prefix}.DIRECT.GET.${stream}.${blob}`),
    ]),
  ]);

const acknowledgements = (): string[] =>
  ALL_STREAMS.flatMap((stream) => [
    ...CONSUMERS.map((consumer) => `$JS.ACK.${stream}.${consumer}.1.1.1.1.0`),
    `$JS.FC.${stream}.another.one`,
  ]);

const questions = (): string[] => [
  ...new Set([
    ...CONTRACTS.flatMap(({ requests: asks }) => asks.map((subject) => subject.replace(/\*|<name>/, 'a'))),
    ...['gateway', 'scheduler', 'notifier', 'executor.a', 'executor.b'].map(
      (who) => `request.${who}.redrive`,
    ),
    ...EXECUTOR_NAMES.map((name) => `request.scheduler.consumer.${name}`),
    'request.scheduler.consumer',
    'request.executor.a.instances',
    'request.scheduler.receivers',
    'request.gateway.view_digests',
    'request.gateway.rebuild_views',
    'request.scheduler.other',
  ]),
];

const OF_THE_BROKER = [
  '$SYS.REQ.SERVER.PING',
  '$SYS.REQ.SERVER.PING.JSZ',
  '$SYS.REQ.SERVER.PING.HEALTHZ',
  '$SYS.REQ.SERVER.PING.CONNZ',
  '$JS.API.SERVER.REMOVE',
  '$JS.API.SERVER.EVACUATE',
  '$JS.API.META.RESCUE',
  '$JS.API.META.LEADER.STEPDOWN',
  '$SYS.REQ.ACCOUNT.PING.CONNZ',
  '$SYS.REQ.USER.INFO',
  '$SYS.ACCOUNT.RUNLEDGER.CONNECT',
  '_INBOX.one',
  '_R_.one',
  '$JS.EVENT.ADVISORY.one',
  'anything',
];

export const PUBLISHED = [
  ...new Set([
    ...facts(),
    ...records(),
    ...requests(),
    ...acknowledgements(),
    ...questions(),
    ...OF_THE_BROKER,
  ]),
];

/** Subjects to subscribe to: everything, each kind, and the inboxes of other users. */
export const subscribed = (publicKeys: readonly string[]): string[] => [
  '>',
  '*',
  '*.>',
  'runs.>',
  'activity.>',
  'logs.>',
  'fleet.>',
  'audit.>',
  'timers.>',
  'delivery_attempts.>',
  'dead_letters.>',
  'request.>',
  '$KV.>',
  '$O.>',
  '$JS.>',
  '$JS.API.>',
  '$JS.ACK.>',
  '$JS.FC.>',
  '$JS.EVENT.>',
  '$SYS.>',
  '_R_.>',
  '_INBOX.>',
  '$KV.KEYS.>',
  '$KV.EXECUTORS.>',
  '$KV.LEASES.>',
  `runs.${RUN}.>`,
  `activity.${RUN}.*.*.*.progress`,
  `logs.${RUN}.*.*.*.*`,
  'logs.*.*.*.*.*.*',
  `activity.*.*.*.*.*.progress`,
  ...questions(),
  ...publicKeys.map((publicKey) => `_INBOX_${publicKey}.>`),
];
