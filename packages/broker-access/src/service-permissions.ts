import { auditSubject } from '@runledger/contracts/audit-record';
import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { allBlobs, BLOB_STREAMS, type BlobStream } from '@runledger/contracts/blobs';
import { executorToken } from '@runledger/contracts/ids';
import { executorConsumer } from '@runledger/contracts/requests/executors';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import type { ServiceContract, UsedBucket } from '@runledger/contracts/service-contract';
import { ALL_LOGS } from '@runledger/contracts/run-logs';
import { ALL_PROGRESS } from '@runledger/contracts/events/progress';
import { executorFilter, READ_MARKER } from '@runledger/contracts/events/subjects';
import { ALL_TERM_ANNOUNCEMENTS, TERMS } from '@runledger/contracts/events/leader-terms';
import { WEBHOOK_EVENTS } from '@runledger/contracts/events/webhook-event';
import { fleetFactOf } from '@runledger/contracts/events/fleet-event';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { API_PREFIX } from '@runledger/event-log/connect/broker-config';
import {
  streamInfo,
  createConsumer,
  pulledConsumer,
  bucketKeys,
  directGetLast,
  streamMessageGet,
  ephemeralConsumers,
  streamPurge,
  messageDelete,
  leaderStepDown,
  consumerDelete,
  directGet,
} from './api-subjects.ts';

/** What a client of the broker may do: only this, and use its inbox, which depends on its key. */
export interface Permissions {
  readonly publish: { readonly allow: readonly string[] };
  readonly subscribe: { readonly allow: readonly string[] };
  /** Whether it may respond to requests, at the reply subject of each. */
  readonly responses: boolean;
}

/** @throws TypeError for an executor without a name, for another service with one, and for a name that is not a subject token */
export const permissionsOf = (contract: ServiceContract, executor?: string): Permissions => {
  if ((contract.role === 'executor') !== (executor !== undefined)) {
    throw new TypeError(
      `${contract.service}: the permissions of an executor need its name, and other services have no such name`,
    );
  }
  if (executor !== undefined && executor !== executorToken(executor)) {
    throw new TypeError(
      `"${executor}" is not a subject token. The token of this executor name is "${executorToken(executor)}".`,
    );
  }
  const named = (text: string): string => text.replace('<name>', executor ?? '');
  const publish = [
    ...facts(contract, executor),
    ...(executor === undefined ? reading(contract) : executorsOwn(executor)),
    ...Object.entries(contract.buckets).flatMap(([bucket, uses]) => bucketUse(bucket as UsedBucket, uses)),
    ...BLOB_STREAMS.flatMap((stream) => blobUse(stream, contract.blobs[stream])),
    ...contract.erases.map(streamPurge),
    ...contract.objects.flatMap(objectUse),
    ...holding(contract),
    ...(contract.timers ? TIMERS : []),
    ...(contract.logs === 'reads' ? READS_LOGS : []),
    ...deliveries(contract),
    ...(contract.audit ? AUDIT : []),
    ...contract.deadLetters.map(
      ({ stream, as }) =>
        `dead_letters.${stream}.${named(as)}.${executor === undefined ? '*.*' : `executor.${executor}`}`,
    ),
    ...(contract.createsConsumers ? [createConsumer('RUNS', executorFilter('*.*'))] : []),
    ...(contract.showsDeadLetters ? SHOWS_DEAD_LETTERS : []),
    ...contract.requests.map(named),
  ];
  if (contract.gathersLeaders) publish.push(...readableIn(publish).map(leaderStepDown));
  // Behind the line before: nothing depends on these, so their leaders stay where they are.
  if (contract.readsAllStates) publish.push(...ALL_STREAMS.map(streamInfo));
  const responds = contract.responds.map((what) =>
    ['request', contract.role, ...(executor === undefined ? [] : [executor]), what].join('.'),
  );
  return {
    publish: { allow: sorted(publish) },
    subscribe: {
      allow: sorted([
        ...responds,
        ...(contract.subscribesToProgress ? [ALL_PROGRESS] : []),
        ...(contract.logs === 'reads' ? [ALL_LOGS] : []),
      ]),
    },
    responses: responds.length > 0,
  };
};

const sorted = (subjects: readonly string[]): string[] => [...new Set(subjects)].toSorted();

/** The subjects that it writes, and not those of another writer or another executor. */
const facts = (
  { role, writes, logs, heartbeats }: ServiceContract,
  executor: string | undefined,
): string[] => {
  // Other services write about every executor (two tokens) and about none (one token).
  const about = executor === undefined ? '>' : `${executor}.*`;
  return [
    ...writes.runs.map((type) => `runs.*.*.life.${RUN_EVENTS[type].fact}.${role}.*.${about}`),
    ...writes.webhooks.map((type) => `runs.*.*.webhook.${WEBHOOK_EVENTS[type].fact}.${role}.*`),
    ...writes.fleet.flatMap((type) => fleetFact(type, executor)),
    ...(writes.activity ? [`activity.*.*.*.${about}.progress`] : []),
    ...(logs === 'writes' ? [`logs.*.*.*.${about}.*`] : []),
    ...(writes.readMarkers ? [READ_MARKER] : []),
    ...(writes.terms ? [TERMS, ALL_TERM_ANNOUNCEMENTS] : []),
    ...(heartbeats ? [`$KV.EXECUTORS.${about}`] : []),
  ];
};

const fleetFact = (
  type: ServiceContract['writes']['fleet'][number],
  executor: string | undefined,
): string[] => {
  const fact = fleetFactOf(type);
  if (type === 'ExecutorDrainRequested' || type === 'ExecutorResumeRequested') return [`fleet.*.all.${fact}`];
  return executor === undefined ? [`fleet.*.*.${fact}`, `fleet.*.${fact}`] : [`fleet.${executor}.*.${fact}`];
};

/** Its own consumer, which it cannot create, and single facts under its own name: no other runs, and no stream information. */
const executorsOwn = (name: string): string[] => [
  ...pulledConsumer('RUNS', executorConsumer(name)),
  directGetLast('RUNS', executorFilter(`${name}.*`)),
];

/** Several services and all executors have consumers on RUNS, so no service may delete consumers there. */
const reading = ({ reads, follows, deadLetters }: ServiceContract): string[] => {
  const streams = [
    ...(reads.runs.length + reads.webhooks.length > 0 ? ['RUNS'] : []),
    ...(reads.fleet.length > 0 ? ['FLEET'] : []),
    ...(reads.activity ? ['ACTIVITY'] : []),
    ...deadLetters.map(({ stream }) => stream),
  ];
  return [
    ...streams.flatMap((stream) => [streamInfo(stream), streamMessageGet(stream)]),
    // The number of dead letters, for the metrics.
    ...(deadLetters.length > 0 ? [streamInfo('DEAD_LETTERS')] : []),
    ...(streams.includes('RUNS') ? [directGet('RUNS')] : []),
    ...follows.flatMap((stream) => [
      ...ephemeralConsumers(stream),
      ...(stream === 'RUNS' ? [] : [consumerDelete(stream)]),
    ]),
  ];
};

const bucketUse = (
  bucket: UsedBucket,
  uses: ServiceContract['buckets'][UsedBucket] & readonly string[],
): string[] => {
  const stream = `KV_${bucket}`;
  return [
    streamInfo(stream),
    streamMessageGet(stream),
    ...(uses.includes('list') ? [...ephemeralConsumers(stream), consumerDelete(stream)] : []),
    ...(uses.includes('write') ? [bucketKeys(bucket)] : []),
    ...(uses.includes('erase') ? [streamPurge(stream)] : []),
  ];
};

const blobUse = (stream: BlobStream, use: ServiceContract['blobs'][BlobStream]): string[] =>
  use === undefined
    ? []
    : [
        streamInfo(stream),
        streamMessageGet(stream),
        directGetLast(stream, allBlobs(stream)),
        ...(use === 'reads'
          ? []
          : [allBlobs(stream), ...ephemeralConsumers(stream), consumerDelete(stream), messageDelete(stream)]),
      ];

const objectUse = (store: string): string[] => {
  const stream = `OBJ_${store}`;
  return [
    `$O.${store}.C.*`,
    `$O.${store}.M.*`,
    streamInfo(stream),
    streamMessageGet(stream),
    directGet(stream),
    streamPurge(stream),
    // The driver checks that JetStream is available.
    `${API_PREFIX}.INFO`,
  ];
};

/** Leases and partitions are in one bucket. Only a service with partitions reads all of it and removes old memberships. */
const holding = ({ service, leases, partitions: shares }: ServiceContract): string[] => {
  if (leases.length === 0 && !shares) return [];
  const stream = 'KV_LEASES';
  return [
    streamInfo(stream),
    streamMessageGet(stream),
    ...leases.map((lease) => `$KV.LEASES.${lease}`),
    ...(shares
      ? [
          `$KV.LEASES.${service}.member.*`,
          `$KV.LEASES.${service}.partition.*`,
          ...ephemeralConsumers(stream),
          consumerDelete(stream),
          streamPurge(stream),
        ]
      : []),
  ];
};

const READS_LOGS: readonly string[] = [streamInfo('LOGS'), directGet('LOGS'), streamPurge('LOGS')];

const TIMERS: readonly string[] = [
  'timers.>',
  streamInfo('TIMERS'),
  streamMessageGet('TIMERS'),
  // Says how many messages a subject has.
  directGet('TIMERS'),
  ...ephemeralConsumers('TIMERS'),
  consumerDelete('TIMERS'),
  streamPurge('TIMERS'),
  messageDelete('TIMERS'),
];

/**
 * It can neither change nor remove a record: the streams deny it, and only the operator may change a stream. The oldest of a ring leaves as
 * a newer one is stored.
 */
const AUDIT: readonly string[] = [
  auditSubject(undefined, '*'),
  ...AUDIT_STREAMS.flatMap((stream) => [streamInfo(stream), directGet(stream)]),
];

const SHOWS_DEAD_LETTERS: readonly string[] = [
  directGet('DEAD_LETTERS'),
  streamMessageGet('DEAD_LETTERS'),
  messageDelete('DEAD_LETTERS'),
];

const deliveries = (contract: ServiceContract): readonly string[] => {
  switch (contract.deliveryAttempts) {
    case 'reads':
      return [streamInfo('DELIVERY_ATTEMPTS'), directGet('DELIVERY_ATTEMPTS')];
    case 'writes':
      return [
        'delivery_attempts.*.*.attempt.*.*',
        'delivery_attempts.*.*.intermediate',
        'delivery_attempts.*.*.state',
      ];
    case 'nothing':
      return [];
  }
};

/** The streams that a service needs: whose information it may read, and for which it waits at its start. An executor may read none. */
export const streamsOf = (contract: ServiceContract): readonly string[] =>
  contract.role === 'executor'
    ? []
    : readableIn(permissionsOf({ ...contract, readsAllStates: false }).publish.allow);

const readableIn = (allowed: readonly string[]): readonly string[] =>
  ALL_STREAMS.filter((stream) => allowed.includes(streamInfo(stream)));
