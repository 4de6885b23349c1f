import {
  ALL_PARKED,
  breakerTimerOf,
  dueIn,
  OpenBreaker,
  openingsIn,
  parkedAt,
  parkedIn,
  PendingDelivery,
  positionOf,
  SharePosition,
  timerOf,
  timersOf,
} from '@runledger/contracts/deliveries/deliveries';
import { newUuid } from '@runledger/contracts/ids';
import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { Compile } from 'typebox/compile';
import { askBroker } from '@runledger/event-log/connect/broker-call';
import { lastUnder, nextUnder } from '@runledger/event-log/read/leader-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, type Following } from '@runledger/event-log/follow/follow';
import { lastOfEach } from '@runledger/event-log/follow/last-per-subject';
import { publish } from '@runledger/event-log/append/publish';
import { removeMessage } from '@runledger/event-log/streams/remove-message';
import { parseJson } from '@runledger/event-log/read/stored-message';

const STREAM = 'TIMERS';
const utf8 = new TextEncoder();
const Pending = Compile(PendingDelivery);
const Breaker = Compile(OpenBreaker);
const Position = Compile(SharePosition);
const MOST_OPENINGS = 200_000;
/** Nobody waits for a number. */
const COUNT_WITHIN_MS = 1_000;

/** Lets the delivery wait, on the broker's clock. It replaces what was waiting for the run. @throws {LogUnavailable} */
export const letWait = (log: EventLog, delivery: PendingDelivery, at: Date): Promise<void> =>
  put(log, timerOf(delivery, 'wait'), delivery, { at, target: timerOf(delivery, 'due') });

/** Sets the delivery aside, without a timer of its own. @throws {LogUnavailable} */
export const setAside = (log: EventLog, delivery: PendingDelivery): Promise<void> =>
  put(log, timerOf(delivery, 'parked'), delivery);

/** Keeps the opening of a breaker, and wakes its holder when it is over. @throws {LogUnavailable} */
export const keepOpening = (log: EventLog, breaker: OpenBreaker): Promise<void> =>
  put(log, breakerTimerOf(breaker, 'wait'), breaker, {
    at: new Date(breaker.until),
    target: breakerTimerOf(breaker, 'due'),
  });

const put = async (
  log: EventLog,
  subject: string,
  body: PendingDelivery | OpenBreaker | SharePosition,
  schedule?: { readonly at: Date; readonly target: string },
): Promise<void> => {
  const data = utf8.encode(JSON.stringify(body));
  await publish(log, { stream: STREAM, subject, data, id: newUuid(), ...(schedule ? { schedule } : {}) });
};

/** Breakers that are open in a share, as the last holder kept them. @throws {LogUnavailable} */
export const readOpenings = async (log: EventLog, share: number): Promise<OpenBreaker[]> =>
  (await lastOfEach(log, STREAM, openingsIn(share), MOST_OPENINGS))
    .map(({ data }) => parseJson(data))
    .filter((body) => Breaker.Check(body));

/** Keeps how far a share has come. @throws {LogUnavailable} */
export const keepPosition = (log: EventLog, share: number, position: SharePosition): Promise<void> =>
  put(log, positionOf(share), position);

/** Undefined for a share that nobody ever held. @throws {LogUnavailable} */
export const readPosition = async (log: EventLog, share: number): Promise<SharePosition | undefined> => {
  const message = await lastUnder(log, STREAM, positionOf(share));
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
    subjects: [dueIn(share)],
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
  const message = await lastUnder(log, STREAM, timersOf(of));
  const pending = pendingIn(message);
  return pending && { ...pending, isParked: message?.subject === timerOf(pending.delivery, 'parked') };
};

/** The first delivery that is parked at a receiver, or at the whole origin, behind a sequence. @throws {LogUnavailable} */
export const nextParked = async (
  log: EventLog,
  at: Pick<OpenBreaker, 'origin' | 'org_id'>,
  after: number,
): Promise<StoredPending | undefined> => {
  for (let from = after + 1; ;) {
    const message = await nextUnder(log, STREAM, from, parkedAt(at));
    if (!message) return undefined;
    const pending = pendingIn(message);
    if (pending) return pending;
    log.logger.warn(
      { subject: message.subject, sequence: message.seq },
      'a timer cannot be read; it is dropped',
    );
    await dropTimer(log, message.seq);
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
    subjects: [parkedIn(share)],
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
export const countParked = (log: EventLog): Promise<number> =>
  askBroker(
    'counting parked deliveries',
    async () => {
      const { name, num_pending } = await log.jsm.consumers.add(STREAM, {
        filter_subject: ALL_PARKED,
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
export const dropTimer = (log: EventLog, sequence: number): Promise<void> =>
  removeMessage(log, STREAM, sequence);

/** Removes everything that is pending for a run. @throws {LogUnavailable} */
export const dropPending = async (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<void> => {
  const filter = timersOf(of);
  await askBroker(`removing what is pending under ${filter}`, () =>
    log.jsm.streams.purge(STREAM, { filter }),
  );
};

/** Removes the opening of a breaker, so that nobody is woken for it. @throws {LogUnavailable} */
export const dropOpening = async (
  log: EventLog,
  breaker: Pick<OpenBreaker, 'origin' | 'org_id'>,
): Promise<void> => {
  const filter = breakerTimerOf(breaker, 'wait');
  await askBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, { filter }));
};
