import type { FleetEvent } from '../events/fleet-event.ts';
import type { RunEventType } from '../events/run-event.ts';
import type { WebhookEventType } from '../events/webhook-event.ts';
import type { WriterRole } from '../events/writer.ts';

/** `list`: what stands under a prefix, or the whole bucket as it changes. `erase`: take out without a mark. */
export type BucketUse = 'read' | 'list' | 'write' | 'erase';
export type UsedBucket = 'CATALOGUE' | 'KEYS' | 'RATES' | 'UPLOADS' | 'WEBHOOK_SECRETS' | 'EXECUTORS';

/**
 * What a service writes, reads and asks, told in one place: the broker's permissions, docs/events.md, docs/broker.md and the
 * ownership test are made from it. What is not told here the broker refuses to it.
 */
export interface ServiceContract {
  readonly service: 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';
  readonly role: WriterRole;
  /** An executor's facts, activity and heartbeats: of its own name only. */
  readonly writes: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
  };
  /** An executor's: what is addressed to it only. */
  readonly reads: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
  };
  /** Streams that it is handed in their order. Of what it reads otherwise it asks for single messages. */
  readonly follows: readonly ('RUNS' | 'ACTIVITY' | 'FLEET')[];
  /** Whether it is told of progress as it is reported, beside what is stored of it. */
  readonly subscribesToProgress: boolean;
  readonly buckets: Readonly<Partial<Record<UsedBucket, readonly BucketUse[]>>>;
  /** Object stores that it reads, writes and removes from. */
  readonly objects: readonly ('OUTPUTS' | 'SNAPSHOTS')[];
  /** Leases that one process of it holds at a time. */
  readonly leases: readonly string[];
  /** Whether its processes divide shares among them, under its own name. */
  readonly partitions: boolean;
  /** Whether it sends heartbeats. */
  readonly heartbeats: boolean;
  /** Whether it keeps and drops timers. */
  readonly timers: boolean;
  /** What it does with the tries of deliveries. */
  readonly deliveryAttempts: 'reads' | 'writes' | 'nothing';
  /** The streams of which it parks messages, and the name that it does so under; an executor under its own. */
  readonly deadLetters: readonly { readonly stream: 'RUNS' | 'FLEET'; readonly as: string }[];
  /** Subjects of plain requests that it makes of other services. */
  readonly requests: readonly string[];
  /** What it answers: the last token of `request.<role>.<what>`, of `request.executor.<name>.<what>` for an executor. */
  readonly responds: readonly string[];
}
