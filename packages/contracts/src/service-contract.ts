import type { BlobStream } from './blobs.ts';
import type { FleetEvent } from './events/fleet-event.ts';
import type { RunEventType } from './events/run-event.ts';
import type { WebhookEventType } from './events/webhook-event.ts';
import type { WriterRole } from './events/event-envelope.ts';

/** `list`: read the keys under a prefix, or follow the whole bucket. `erase`: remove without a delete marker. */
type BucketUse = 'read' | 'list' | 'write' | 'erase';
export type UsedBucket =
  | 'ACCOUNTS'
  | 'ARCHIVE'
  | 'CATALOGUE'
  | 'FILES'
  | 'KEYS'
  | 'RATES'
  | 'SCHEDULES'
  | 'WEBHOOK_SECRETS'
  | 'EXECUTORS';

/**
 * Everything that a service writes, reads and requests. The broker's permissions, docs/events.md, docs/asyncapi.json,
 * docs/broker.md and the ownership test are made from it. The broker refuses everything else.
 */
export interface ServiceContract {
  readonly service: 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';
  readonly role: WriterRole;
  /** An executor writes facts, activity and heartbeats under its own name only. */
  readonly writes: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
    /** Read markers, by which it proves that its reads are not stale. */
    readonly readMarkers: boolean;
    /** Terms of a leader: that one begins, and to executors that it did. */
    readonly terms: boolean;
  };
  /** An executor reads only what is addressed to it. */
  readonly reads: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
  };
  /** Whether it may move the leaders of the streams whose state it reads to another broker. */
  readonly gathersLeaders: boolean;
  /** Whether it may read the state of every stream, for the operator; it needs only some of them. */
  readonly readsAllStates: boolean;
  /** Streams that it follows in order. It reads single messages of other streams. */
  readonly follows: readonly ('RUNS' | 'ACTIVITY' | 'FLEET')[];
  /** Whether it receives progress as it is reported, besides reading the stored progress. */
  readonly subscribesToProgress: boolean;
  /** How it uses the stream LOGS. Who reads also receives, and erases. */
  readonly logs: 'reads' | 'writes' | 'nothing';
  readonly buckets: Readonly<Partial<Record<UsedBucket, readonly BucketUse[]>>>;
  /** Streams of blobs that it reads, or keeps: then it also stores, lists and erases blobs. */
  readonly blobs: Readonly<Partial<Record<BlobStream, 'reads' | 'keeps'>>>;
  /** Streams from which it erases all that belongs to an organisation. */
  readonly erases: readonly ('ACTIVITY' | 'DELIVERY_ATTEMPTS' | 'TIMERS' | BlobStream)[];
  /** Object stores in which it reads, writes and deletes. */
  readonly objects: readonly ('ARCHIVE' | 'MODELS' | 'OUTPUTS' | 'SNAPSHOTS')[];
  /** Leases: one process of the service holds each at a time. */
  readonly leases: readonly string[];
  /** Whether its processes divide partitions among themselves. */
  readonly partitions: boolean;
  /** Whether it creates the consumers of executors, which may not do so themselves. */
  readonly createsConsumers: boolean;
  /** Whether it sends heartbeats. */
  readonly heartbeats: boolean;
  /** Whether it stores and removes timers. */
  readonly timers: boolean;
  /** How it uses the stream DELIVERY_ATTEMPTS. */
  readonly deliveryAttempts: 'reads' | 'writes' | 'nothing';
  /** Whether it stores and reads audit records. */
  readonly audit: boolean;
  /** The streams whose messages it may make dead letters, and the consumer name in their subjects; an executor uses its own. */
  readonly deadLetters: readonly { readonly stream: 'RUNS' | 'FLEET'; readonly as: string }[];
  /** Whether it lists and removes the dead letters of all services, for the operator. */
  readonly showsDeadLetters: boolean;
  /** Subjects of the requests that it sends to other services; in those of an executor, `<name>` is its own. */
  readonly requests: readonly string[];
  /** Requests that it answers: the last token of `request.<role>.<what>`, or of `request.executor.<name>.<what>`. */
  readonly responds: readonly string[];
}
