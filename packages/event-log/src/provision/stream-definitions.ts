import { StoreCompression, type StreamConfig } from '@nats-io/jetstream';
import { auditSubject } from '@runledger/contracts/audit-record';
import { ringsIn, type AuditStream } from '@runledger/contracts/audit-actions';
import { allBlobs, type BlobStream } from '@runledger/contracts/blobs';
import { ALL_LOGS } from '@runledger/contracts/run-logs';
import { ALL_FLEET } from '@runledger/contracts/events/fleet-event';
import { nanos } from '@nats-io/transport-node';
import type { LogSettings } from './log-settings.ts';

export interface StreamDefinition {
  readonly name: string;
  /** The guarantees depend on these: another value is an error, and is never overwritten. */
  readonly required: Partial<StreamConfig>;
  /** Sizes and times: updated to the settings. */
  readonly limits: Partial<StreamConfig>;
  /** Fixed when it is created. Another value is slower, and correct. */
  readonly atCreation: Partial<StreamConfig>;
  /** No guarantee needs what it holds: it may be deleted and created again. */
  readonly isShortLived: boolean;
}

/** With the number of copies. */
type Settings = LogSettings & { readonly replicas: number };

const DUPLICATES_MS = 120_000;
const RATES_MS = 120_000;
/** The largest message of RUNS fits, in base64. */
export const DEAD_LETTER_BYTES = 64 * 1024;
/** Three times what the largest fact takes, with its headers. */
const RUNS_MAX_MESSAGE_BYTES = 32 * 1024;

const stream = (
  name: string,
  required: Partial<StreamConfig>,
  limits: Partial<StreamConfig>,
): StreamDefinition => ({
  name,
  required: { retention: 'limits', storage: 'file', allow_direct: true, no_ack: false, ...required },
  limits: { duplicate_window: nanos(DUPLICATES_MS), ...limits },
  atCreation: {},
  isShortLived: false,
});

/** Every stream, bucket and object store of the log. A bucket is a stream too, and is created and checked as one. */
export const streamDefinitions = (settings: Settings): readonly StreamDefinition[] => {
  const common = { num_replicas: settings.replicas };
  return [
    runs(settings),
    activity(settings),
    logs(settings),
    // nats-server does not allow schedules with `discard: new`. A pending delivery is one message, the latest.
    stream(
      'TIMERS',
      { subjects: ['timers.>'], discard: 'old', allow_msg_schedules: true },
      { ...common, max_bytes: settings.timersMaxBytes, max_msgs_per_subject: 1 },
    ),
    // Delivery attempts are for people to read; the outcome of a delivery is a fact of its run. So they are not flushed.
    unflushed(
      stream(
        'DELIVERY_ATTEMPTS',
        { ...kept, subjects: ['delivery_attempts.>'], discard: 'old' },
        {
          ...common,
          max_bytes: settings.deliveryAttemptsMaxBytes,
          max_age: nanos(settings.deliveryAttemptsMaxAgeMs),
          max_msgs_per_subject: 1,
        },
      ),
      settings,
    ),
    fleet(settings),
    deadLetters(settings),
    audit('AUDIT', settings.auditMaxBytes, settings),
    audit('AUDIT_RIGHTS', settings.auditRightsMaxBytes, settings),
    records('ACCOUNTS', { ...common, max_bytes: settings.accountsMaxBytes }),
    records('ARCHIVE', { ...common, max_bytes: settings.archiveRecordsMaxBytes }),
    records('CATALOGUE', { ...common, max_bytes: settings.catalogueMaxBytes }),
    records('FILES', { ...common, max_bytes: settings.filesMaxBytes }),
    records('KEYS', { ...common, max_bytes: settings.keysMaxBytes }),
    records('SCHEDULES', { ...common, max_bytes: settings.schedulesMaxBytes }),
    blobs('WORKFLOWS', { ...common, max_bytes: settings.workflowsMaxBytes }),
    blobs('BLOBS', {
      ...common,
      max_bytes: settings.blobsMaxBytes,
      max_age: nanos(settings.blobsMaxAgeMs),
    }),
    rates(settings),
    bucket('LEASES', {}, { ...common, max_bytes: 1024 ** 2 }),
    executors(settings),
    records('WEBHOOK_SECRETS', { ...common, max_bytes: settings.webhookSecretsMaxBytes }),
    objectStore('OUTPUTS', {
      ...common,
      max_bytes: settings.outputsMaxBytes,
      max_age: nanos(settings.outputsMaxAgeMs),
    }),
    objectStore('MODELS', { ...common, max_bytes: settings.modelsMaxBytes }),
    objectStore('ARCHIVE', { ...common, max_bytes: settings.archiveMaxBytes }),
    objectStore('SNAPSHOTS', { ...common, max_bytes: settings.snapshotsMaxBytes }),
  ];
};

/**
 * Where roll-up is allowed, one message with `Nats-Rollup: all` from anybody who may write under any subject of the stream empties it.
 * Schedules and markers of expired messages allow it too. So only object stores, whose driver needs it, TIMERS, and the buckets of records
 * have one of these: no executor writes to them.
 */
const noRollUp: Partial<StreamConfig> = {
  allow_rollup_hdrs: false,
  allow_msg_schedules: false,
  subject_delete_marker_ttl: 0,
};
/** Facts and records stay until their age. */
const kept: Partial<StreamConfig> = { ...noRollUp, allow_msg_ttl: false };

const runs = (settings: Settings): StreamDefinition =>
  stream(
    'RUNS',
    {
      ...kept,
      subjects: ['runs.>'],
      discard: 'new',
      deny_delete: true,
      deny_purge: true,
      max_msgs: -1,
      max_msgs_per_subject: -1,
      max_consumers: settings.runsMaxConsumers,
      allow_msg_counter: false,
      persist_mode: 'default',
    },
    {
      num_replicas: settings.replicas,
      max_bytes: settings.runsMaxBytes,
      max_age: nanos(settings.runsMaxAgeMs),
      allow_atomic: true,
      // The broker may hold messages of a batch in memory until it is committed, so nobody may send large ones.
      max_msg_size: RUNS_MAX_MESSAGE_BYTES,
      // A broker of 2.15.1 that comes back to a cluster may compress the block that it still writes to, and then never reads it again (ADR 85).
      compression: StoreCompression.None,
    },
  );

/** Progress may be lost with the broker, because the next report replaces it. So it is not flushed. */
const activity = (settings: Settings): StreamDefinition =>
  unflushed(
    stream(
      'ACTIVITY',
      { ...kept, subjects: ['activity.>'], discard: 'old' },
      {
        num_replicas: settings.replicas,
        max_bytes: settings.activityMaxBytes,
        max_age: nanos(settings.activityMaxAgeMs),
        max_msgs_per_subject: settings.activityMaxPerAttempt,
      },
    ),
    settings,
  );

/**
 * What attempts write, until it is kept with the run. One message for each slot of an attempt, so an attempt never has more than
 * its slots. It may be lost with the broker, so it is not flushed.
 */
const logs = (settings: Settings): StreamDefinition =>
  unflushed(
    stream(
      'LOGS',
      // What empties a slot goes by itself.
      { ...noRollUp, subjects: [ALL_LOGS], discard: 'old', allow_msg_ttl: true },
      {
        num_replicas: settings.replicas,
        max_bytes: settings.logsMaxBytes,
        max_age: nanos(settings.logsMaxAgeMs),
        max_msgs_per_subject: 1,
      },
    ),
    settings,
  );

const fleet = (settings: Settings): StreamDefinition =>
  stream(
    'FLEET',
    { ...kept, subjects: [ALL_FLEET], discard: 'old', deny_delete: true, deny_purge: true },
    {
      num_replicas: settings.replicas,
      max_bytes: settings.fleetMaxBytes,
      max_age: nanos(settings.fleetMaxAgeMs),
    },
  );

/** Those of one executor have one subject, for each consumer. */
const deadLetters = (settings: Settings): StreamDefinition =>
  stream(
    'DEAD_LETTERS',
    { ...kept, subjects: ['dead_letters.*.*.*.*'], discard: 'old' },
    {
      num_replicas: settings.replicas,
      max_bytes: settings.deadLettersMaxBytes,
      max_age: nanos(settings.deadLettersMaxAgeMs),
      max_msgs_per_subject: 100,
      max_msg_size: DEAD_LETTER_BYTES,
    },
  );

/** The part of a stream that one organisation may fill. Rights have the smaller one, so that a hundred fit at their most. */
const AUDIT_PARTS: Readonly<Record<AuditStream, number>> = { AUDIT: 16, AUDIT_RIGHTS: 128 };
/** A record has some 700 bytes. */
const AUDIT_RECORD_BYTES = 1024;
const AUDIT_MAX_MESSAGE_BYTES = 8 * 1024;
const FEWEST_RECORDS = 8;

/**
 * Who did what. Each ring of an organisation is one subject, of which the broker keeps the newest records: so nobody is refused anything
 * because records take room, and nobody makes the records of others leave. When the stream itself is full, the oldest of all leave.
 */
const audit = (name: AuditStream, maxBytes: number, settings: Settings): StreamDefinition => {
  const rings = ringsIn(name);
  const records = Math.floor(maxBytes / AUDIT_PARTS[name] / rings.length / AUDIT_RECORD_BYTES);
  return stream(
    name,
    {
      ...kept,
      subjects: rings.map((ring) => auditSubject(undefined, ring)),
      discard: 'old',
      deny_delete: true,
      deny_purge: true,
    },
    {
      num_replicas: settings.replicas,
      max_bytes: maxBytes,
      max_age: nanos(settings.auditMaxAgeMs),
      max_msgs_per_subject: Math.max(FEWEST_RECORDS, records),
      max_msg_size: AUDIT_MAX_MESSAGE_BYTES,
    },
  );
};

/** One message for each blob. A newer copy of it replaces the older one, and what nothing refers to is deleted. */
const blobs = (name: BlobStream, limits: Partial<StreamConfig>): StreamDefinition =>
  stream(
    name,
    { ...kept, subjects: [allBlobs(name)], discard: 'new', deny_delete: false },
    { ...limits, max_msgs_per_subject: 1 },
  );

const bucket = (
  name: string,
  required: Partial<StreamConfig>,
  limits: Partial<StreamConfig>,
): StreamDefinition =>
  stream(
    `KV_${name}`,
    {
      ...kept,
      subjects: [`$KV.${name}.>`],
      discard: 'new',
      deny_delete: true,
      // Reads go to the leader: a key that was just revoked must not be found at a replica that is behind.
      allow_direct: false,
      ...required,
    },
    { max_msgs_per_subject: 1, ...limits },
  );

/**
 * Records that are erased. Each write rolls up the one before, which the broker writes down; a limit of one would drop it before, without
 * a trace, and a kill of the broker would bring it back once the newer one was erased (nats-server 2.15.1).
 */
const records = (name: string, limits: Partial<StreamConfig>): StreamDefinition =>
  bucket(name, { allow_rollup_hdrs: true }, { max_msgs_per_subject: 2, ...limits });

/**
 * Heartbeats. nats-server (2.15.1) allows `persist_mode: async` with file storage for a bucket with message TTLs, so
 * heartbeats survive a restart without a flush for each. After a kill -9 the last ones may be lost, and the next ones come
 * within a period. Every executor writes here: nobody can roll it up or purge it, so a key goes when it expires, without a marker. When
 * one fills the bucket, the oldest are dropped, and the others can still write. A heartbeat with 1,024 busy slots has 100 KB.
 */
const executors = (settings: Settings): StreamDefinition =>
  unflushed(
    bucket(
      'EXECUTORS',
      { allow_msg_ttl: true, discard: 'old', deny_purge: true },
      { num_replicas: settings.replicas, max_bytes: 64 * 1024 ** 2, max_msg_size: 128 * 1024 },
    ),
    settings,
  );

/**
 * The remaining rate limit of each key. It is renewed within a minute, so older entries are worthless, and the last writes
 * may be lost with the broker. So it is not flushed. It is stored in a file, because a bucket in memory would not exist after
 * a restart of the broker. The room is enough for some 100,000 keys at once; beyond it the oldest are dropped.
 */
const rates = (settings: Settings): StreamDefinition =>
  unflushed(
    bucket(
      'RATES',
      { discard: 'old', allow_rollup_hdrs: true },
      {
        num_replicas: settings.replicas,
        max_bytes: 16 * 1024 ** 2,
        max_age: nanos(RATES_MS),
        duplicate_window: nanos(RATES_MS),
      },
    ),
    settings,
  );

/**
 * Its data may be lost with the broker. nats-server allows `async` only for a single copy; several copies are flushed in parallel
 * at little cost.
 */
const unflushed = (definition: StreamDefinition, { replicas }: Settings): StreamDefinition =>
  replicas === 1
    ? { ...definition, atCreation: { persist_mode: 'async' }, isShortLived: true }
    : { ...definition, required: { ...definition.required, persist_mode: 'default' }, isShortLived: true };

const objectStore = (name: string, limits: Partial<StreamConfig>): StreamDefinition =>
  stream(
    `OBJ_${name}`,
    { subjects: [`$O.${name}.C.>`, `$O.${name}.M.>`], discard: 'new', allow_rollup_hdrs: true },
    limits,
  );
