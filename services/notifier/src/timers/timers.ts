import {
  ALL_DEFERRED,
  breakerTimerSubject,
  expiredTimersIn,
  OpenBreaker,
  openBreakersIn,
  deferredAt,
  deferredIn,
  PendingDelivery,
  partitionPositionSubject,
  PartitionPosition,
  timerSubject,
  timersOfRun,
} from '@runledger/contracts/deliveries/deliveries';
import { newUuid } from '@runledger/contracts/ids';
import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { Compile } from 'typebox/compile';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import { lastMessage, nextMessage } from '@runledger/event-log/read/leader-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, type Following } from '@runledger/event-log/follow/follow';
import { lastPerSubject } from '@runledger/event-log/follow/last-per-subject';
import { publish } from '@runledger/event-log/append/publish';
import { removeMessage } from '@runledger/event-log/streams/remove-message';
import { parseJson } from '@runledger/event-log/read/stored-message';

const STREAM = 'TIMERS';
const utf8 = new TextEncoder();
const Pending = Compile(PendingDelivery);
const Breaker = Compile(OpenBreaker);
const Position = Compile(PartitionPosition);
const MOST_OPENINGS = 200_000;
/** Nobody waits for a number. */
const COUNT_WITHIN_MS = 1_000;

/** Lets the delivery wait, on the broker's clock. It replaces what was waiting for the run. @throws {LogUnavailable} */
export const scheduleDelivery = (log: EventLog, delivery: PendingDelivery, at: Date): Promise<void> =>
  put(log, timerSubject(delivery, 'wait'), delivery, { at, target: timerSubject(delivery, 'due') });

/** Sets the delivery aside, without a timer of its own. @throws {LogUnavailable} */
export const deferDelivery = (log: EventLog, delivery: PendingDelivery): Promise<void> =>
  put(log, timerSubject(delivery, 'deferred'), delivery);

/** Keeps the opening of a breaker, and wakes its holder when it is over. @throws {LogUnavailable} */
export const storeOpening = (log: EventLog, breaker: OpenBreaker): Promise<void> =>
  put(log, breakerTimerSubject(breaker, 'wait'), breaker, {
    at: new Date(breaker.until),
    target: breakerTimerSubject(breaker, 'due'),
  });

const put = async (
  log: EventLog,
  subject: string,
  body: PendingDelivery | OpenBreaker | PartitionPosition,
  schedule?: { readonly at: Date; readonly target: string },
): Promise<void> => {
  const data = utf8.encode(JSON.stringify(body));
  await publish(log, { stream: STREAM, subject, data, id: newUuid(), ...(schedule ? { schedule } : {}) });
};

/** Breakers that are open in a share, as the last holder kept them. @throws {LogUnavailable} */
export const readOpenings = async (log: EventLog, share: number): Promise<OpenBreaker[]> =>
  (await lastPerSubject(log, STREAM, openBreakersIn(share), MOST_OPENINGS))
    .map(({ data }) => parseJson(data))
    .filter((body) => Breaker.Check(body));

/** Keeps how far a share has come. @throws {LogUnavailable} */
export const storePosition = (log: EventLog, share: number, position: PartitionPosition): Promise<void> =>
  put(log, partitionPositionSubject(share), position);

/** Undefined for a share that nobody ever held. @throws {LogUnavailable} */
export const readPosition = async (log: EventLog, share: number): Promise<PartitionPosition | undefined> => {
  const message = await lastMessage(log, STREAM, partitionPositionSubject(share));
  const body = message ? parseJson(message.data) : undefined;
  return Position.Check(body) ? body : undefined;
};

export interface StoredPending {
  readonly sequence: number;
  readonly delivery: PendingDelivery;
}

export type Due =
  | ({ readonly kind: 'delivery' } & StoredPending)
  | { readonly kind: 'breaker'; readonly sequence: number; readonly breaker: OpenBreaker }
  /** Nothing that a notifier wrote. */
  | { readonly kind: 'unreadable'; readonly sequence: number; readonly subject: string };

/** Gives whatever is due in a share, old and new, until it is disposed. `onDue` may give the same again after an error. */
export const followDue = (
  log: EventLog,
  share: number,
  onDue: (due: readonly Due[]) => Promise<void>,
  onCaughtUp: () => void,
): Promise<Following> =>
  follow(log, {
    stream: STREAM,
    subjects: [expiredTimersIn(share)],
    after: 0,
    onCaughtUp,
    onBatch: (messages) =>
      onDue(
        messages.map(({ sequence, subject, body }): Due => {
          if (Pending.Check(body)) return { kind: 'delivery', sequence, delivery: body };
          if (Breaker.Check(body)) return { kind: 'breaker', sequence, breaker: body };
          return { kind: 'unreadable', sequence, subject };
        }),
      ),
  });

/** The newest message that is pending for a run; undefined when there is none. @throws {LogUnavailable} */
export const findPending = async (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<(StoredPending & { readonly isParked: boolean }) | undefined> => {
  const message = await lastMessage(log, STREAM, timersOfRun(of));
  const pending = pendingIn(message);
  return pending && { ...pending, isParked: message?.subject === timerSubject(pending.delivery, 'deferred') };
};

/** The first delivery that is parked at a receiver, or at the whole origin, behind a sequence. @throws {LogUnavailable} */
export const nextDeferred = async (
  log: EventLog,
  at: Pick<OpenBreaker, 'origin' | 'org_id'>,
  after: number,
): Promise<StoredPending | undefined> => {
  for (let from = after + 1; ;) {
    const message = await nextMessage(log, STREAM, from, deferredAt(at));
    if (!message) return undefined;
    const pending = pendingIn(message);
    if (pending) return pending;
    log.logger.warn(
      { subject: message.subject, sequence: message.seq },
      'a timer cannot be read; it is dropped',
    );
    await removeTimer(log, message.seq);
    from = message.seq + 1;
  }
};

const pendingIn = (
  message: { readonly seq: number; readonly data: Uint8Array } | null,
): StoredPending | undefined => {
  const body = message ? parseJson(message.data) : undefined;
  return message && Pending.Check(body) ? { sequence: message.seq, delivery: body } : undefined;
};

/** Parked deliveries of a share whose time is over, at most so many. @throws what ends the reading */
export const readExpired = async (
  log: EventLog,
  share: number,
  now: Date,
  most: number,
): Promise<StoredPending[]> => {
  const found: StoredPending[] = [];
  const done = Promise.withResolvers<undefined>();
  await using following = await follow(log, {
    stream: STREAM,
    subjects: [deferredIn(share)],
    after: 0,
    onCaughtUp: () => done.resolve(undefined),
    onBatch: async (messages) => {
      for (const { sequence, body } of messages) {
        const isOver = Pending.Check(body) && Date.parse(body.expires_at) <= now.getTime();
        if (isOver && found.length < most) found.push({ sequence, delivery: body });
      }
    },
  });
  const failure = await Promise.race([done.promise, following.failed]);
  if (failure) throw failure;
  return found;
};

/** How many deliveries are parked, over all shares, without reading them. @throws {LogUnavailable} */
export const countDeferred = (log: EventLog): Promise<number> =>
  callBroker(
    'counting parked deliveries',
    async () => {
      const { name, num_pending } = await log.jsm.consumers.add(STREAM, {
        filter_subject: ALL_DEFERRED,
        ack_policy: AckPolicy.None,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: nanos(5_000),
      });
      await log.jsm.consumers.delete(STREAM, name);
      return num_pending;
    },
    COUNT_WITHIN_MS,
  );

/** Removes a message that was gone on with; nothing happens when it is gone. @throws {LogUnavailable} */
export const removeTimer = (log: EventLog, sequence: number): Promise<void> =>
  removeMessage(log, STREAM, sequence);

/** Removes everything that is pending for a run. @throws {LogUnavailable} */
export const removePending = async (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<void> => {
  const filter = timersOfRun(of);
  await callBroker(`removing what is pending under ${filter}`, () =>
    log.jsm.streams.purge(STREAM, { filter }),
  );
};

/** Removes the opening of a breaker, so that nobody is woken for it. @throws {LogUnavailable} */
export const removeOpening = async (
  log: EventLog,
  breaker: Pick<OpenBreaker, 'origin' | 'org_id'>,
): Promise<void> => {
  const filter = breakerTimerSubject(breaker, 'wait');
  await callBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, { filter }));
};
