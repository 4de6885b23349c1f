import {
  ALL_DEFERRED,
  breakerTimersAt,
  OpenBreaker,
  openBreakersIn,
  PartitionPosition,
  partitionPositionSubject,
  isBreakerTimer,
  pendingAt,
  PendingDelivery,
  timersAt,
  timersOfOrg,
  timersOfRun,
  timerSubject,
  breakerTimerSubject,
  partitionOf,
  type TimerState,
} from '@runledger/contracts/deliveries/timers';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastPerSubject } from '@runledger/event-log/follow/read-to-end';
import { countDirect } from '@runledger/event-log/read/direct-read';
import { lastMessage, nextMessage } from '@runledger/event-log/read/leader-read';
import { parseJson } from '@runledger/event-log/read/stored-message';
import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { publish } from '@runledger/event-log/append/publish';
import { removeMessage } from '@runledger/event-log/streams/erase-messages';
import type { FinalDelivery } from './core/delivery.ts';

const STREAM = 'TIMERS';
const Pending = compiledSchema(PendingDelivery);
const Breaker = compiledSchema(OpenBreaker);
const Position = compiledSchema(PartitionPosition);
const MAX_OPENINGS = 200_000;
/** A metric is not worth more time. */
const COUNT_WITHIN_MS = 1_000;

export interface StoredPending {
  readonly sequence: number;
  readonly delivery: PendingDelivery;
}

/** Breakers that are open in a partition, as the last holder stored them. @throws {LogUnavailable} */
export const readOpenings = async (log: EventLog, partition: number): Promise<OpenBreaker[]> =>
  (await lastPerSubject(log, STREAM, openBreakersIn(partition), MAX_OPENINGS))
    .map(({ data }) => parseJson(data))
    .filter((body) => Breaker.Check(body));

/** Undefined for a partition that was never held. @throws {LogUnavailable} */
export const readPosition = async (
  log: EventLog,
  partition: number,
): Promise<PartitionPosition | undefined> => {
  const message = await lastMessage(log, STREAM, partitionPositionSubject(partition));
  const body = message ? parseJson(message.data) : undefined;
  return Position.Check(body) ? body : undefined;
};

interface FoundPending extends StoredPending {
  readonly isDeferred: boolean;
  /** The broker is to say when its time has come. */
  readonly isWaiting: boolean;
}

/** The newest message that is pending for a run; undefined when there is none. @throws {LogUnavailable} */
export const findPending = async (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<FoundPending | undefined> => {
  const message = await lastMessage(log, STREAM, timersOfRun(of));
  const pending = pendingIn(message);
  const isIn = (state: TimerState): boolean =>
    pending !== undefined && message?.subject === timerSubject(pending.delivery, state);
  return pending && { ...pending, isDeferred: isIn('deferred'), isWaiting: isIn('wait') };
};

export interface StoredAt extends StoredPending {
  readonly state: 'due' | 'deferred';
}

/**
 * The deliveries that are due or deferred at a receiver, or at the whole origin, behind a sequence and in that order.
 * `retrying` repeats a read while the broker is unavailable.
 */
export async function* storedAt(
  log: EventLog,
  at: Pick<OpenBreaker, 'origin' | 'org_id'>,
  after: number,
  retrying: <Answer>(work: () => Promise<Answer>) => Promise<Answer>,
): AsyncGenerator<StoredAt> {
  const nextIn = async (state: StoredAt['state'], behind: number): Promise<StoredAt | undefined> => {
    const next = await retrying(() => nextStored(log, pendingAt(at, state), behind));
    return next && { ...next, state };
  };
  let due = await nextIn('due', after);
  let deferred = await nextIn('deferred', after);
  for (;;) {
    const next = due && deferred && due.sequence > deferred.sequence ? deferred : (due ?? deferred);
    if (!next) return;
    yield next;
    if (next === due) due = await nextIn('due', next.sequence);
    else deferred = await nextIn('deferred', next.sequence);
  }
}

/** The first delivery under the subjects, behind a sequence. One that cannot be read is removed. @throws {LogUnavailable} */
const nextStored = async (
  log: EventLog,
  subjects: string,
  after: number,
): Promise<StoredPending | undefined> => {
  for (let from = after + 1; ;) {
    const message = await nextMessage(log, STREAM, from, subjects);
    if (!message) return undefined;
    const pending = pendingIn(message);
    if (pending) return pending;
    from = message.seq + 1;
    if (isBreakerTimer(message.subject)) continue;
    log.logger.warn(
      { subject: message.subject, sequence: message.seq },
      'a timer cannot be read; it is removed',
    );
    await removeTimer(log, message.seq);
  }
};

const pendingIn = (
  message: { readonly seq: number; readonly data: Uint8Array } | null,
): StoredPending | undefined => {
  const body = message ? parseJson(message.data) : undefined;
  return message && Pending.Check(body) ? { sequence: message.seq, delivery: body } : undefined;
};

/** How many deliveries are deferred, over all partitions. @throws {LogUnavailable} */
export const countDeferred = (log: EventLog): Promise<number> => count(log, ALL_DEFERRED, COUNT_WITHIN_MS);

/** How many messages there are of one organisation, over all partitions. @throws {LogUnavailable} */
export const countTimersOf = (log: EventLog, org_id: string): Promise<number> =>
  count(log, timersOfOrg(org_id));

/** How many deliveries of an organisation wait for one receiver. @throws {LogUnavailable} */
export const countPendingAt = async (
  log: EventLog,
  receiver: Pick<PendingDelivery, 'origin' | 'org_id'>,
): Promise<number> => {
  const [all, ofBreaker] = await Promise.all(
    [timersAt(receiver), breakerTimersAt(receiver)].map((filter) => countDirect(log, STREAM, filter)),
  );
  return Math.max((all ?? 0) - (ofBreaker ?? 0), 0);
};

/** Counts messages without reading them. */
const count = (log: EventLog, filter: string, withinMs?: number): Promise<number> =>
  callBroker(
    `counting ${filter}`,
    async () => {
      const { name, num_pending } = await log.jsm.consumers.add(STREAM, {
        filter_subject: filter,
        ack_policy: AckPolicy.None,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: nanos(5_000),
      });
      await log.jsm.consumers.delete(STREAM, name);
      return num_pending;
    },
    withinMs,
  );

interface TimersFill {
  readonly bytes: number;
  readonly messages: number;
  /** Infinity when it has no limit. */
  readonly maxBytes: number;
}

/** How full TIMERS is. @throws {LogUnavailable} */
export const readFill = async (log: EventLog): Promise<TimersFill> => {
  const { state, config } = await callBroker('reading the state of TIMERS', () =>
    log.jsm.streams.info(STREAM),
  );
  const { bytes, messages } = state;
  return { bytes, messages, maxBytes: config.max_bytes > 0 ? config.max_bytes : Infinity };
};

const utf8 = new TextEncoder();

/** Stores a delivery until its time, by the broker's clock. It replaces what was waiting for the run. @throws {LogUnavailable} */
export const scheduleDelivery = (log: EventLog, delivery: PendingDelivery, at: Date): Promise<void> =>
  put(log, timerSubject(delivery, 'wait'), delivery, { at, target: timerSubject(delivery, 'due') });

/** Stores a delivery that waits without a timer of its own. @throws {LogUnavailable} */
export const deferDelivery = (log: EventLog, delivery: PendingDelivery): Promise<void> =>
  put(log, timerSubject(delivery, 'deferred'), delivery);

/** Stores the opening of a breaker, which becomes due for the holder of its partition when it is over. @throws {LogUnavailable} */
export const storeOpening = (log: EventLog, breaker: OpenBreaker): Promise<void> =>
  put(log, breakerTimerSubject(breaker, 'wait'), breaker, {
    at: new Date(breaker.until),
    target: breakerTimerSubject(breaker, 'due'),
  });

/** Stores how far a partition has come. @throws {LogUnavailable} */
export const storePosition = (log: EventLog, partition: number, position: PartitionPosition): Promise<void> =>
  put(log, partitionPositionSubject(partition), position);

const put = async (
  log: EventLog,
  subject: string,
  body: PendingDelivery | OpenBreaker | PartitionPosition,
  schedule?: { readonly at: Date; readonly target: string },
): Promise<void> => {
  const data = utf8.encode(JSON.stringify(body));
  await publish(log, { stream: STREAM, subject, data, id: newUuid(), ...(schedule ? { schedule } : {}) });
};

/** Removes one message. Does nothing when it is not there any more. @throws {LogUnavailable} */
export const removeTimer = (log: EventLog, sequence: number): Promise<void> =>
  removeMessage(log, STREAM, sequence);

/** Removes everything that is pending for a run. @throws {LogUnavailable} */
export const removePending = (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<void> => removeAll(log, timersOfRun(of));

/** Removes the opening of a breaker, so that it does not become due. @throws {LogUnavailable} */
export const removeOpening = (
  log: EventLog,
  breaker: Pick<OpenBreaker, 'origin' | 'org_id'>,
): Promise<void> => removeAll(log, breakerTimerSubject(breaker, 'wait'));

const removeAll = async (log: EventLog, filter: string): Promise<void> => {
  await callBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, { filter }));
};

/** The delivery as it is stored in TIMERS. */
export const pendingOf = (
  { key, origin, round, attempts, expiresAt, fact }: FinalDelivery,
  at: number,
): PendingDelivery => ({
  version: 1,
  ...key,
  origin,
  round,
  tries: attempts,
  due_at: new Date(at).toISOString(),
  expires_at: new Date(expiresAt).toISOString(),
  sequence: fact,
});

/** The delivery that a message of TIMERS holds. */
export const deliveryIn = (
  { sequence, delivery }: StoredPending,
  kind: 'due' | 'deferred',
  mayBeSuperseded: boolean,
): FinalDelivery => ({
  key: { org_id: orgId(delivery.org_id), run_id: runId(delivery.run_id) },
  origin: delivery.origin,
  partition: partitionOf(delivery.origin),
  round: delivery.round,
  attempts: delivery.tries,
  expiresAt: Date.parse(delivery.expires_at),
  fact: delivery.sequence,
  source: { kind, sequence },
  mayBeSuperseded,
});
