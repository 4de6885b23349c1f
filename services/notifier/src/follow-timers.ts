import {
  deferredIn,
  expiredTimersIn,
  OpenBreaker,
  PendingDelivery,
} from '@runledger/contracts/deliveries/timers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, type Following } from '@runledger/event-log/follow/follow';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { StoredAt, StoredPending } from './timers.ts';

const Pending = compiledSchema(PendingDelivery);
const Breaker = compiledSchema(OpenBreaker);

export type Due =
  | ({ readonly kind: 'delivery' } & StoredPending)
  | { readonly kind: 'breaker'; readonly sequence: number; readonly breaker: OpenBreaker }
  /** Not written by a notifier. */
  | { readonly kind: 'unreadable'; readonly sequence: number; readonly subject: string };

/** Passes on what is due in a partition, old and new, until it is disposed. After an error `onDue` may get the same again. */
export const followDue = (
  log: EventLog,
  partition: number,
  onDue: (due: readonly Due[]) => Promise<void>,
  onCaughtUp: () => void,
): Promise<Following> =>
  follow(log, {
    stream: 'TIMERS',
    subjects: [expiredTimersIn(partition)],
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

/** Deliveries of a partition that are due or deferred and have expired, at most `max`. @throws what ends the reading */
export const readExpired = async (
  log: EventLog,
  partition: number,
  now: Date,
  max: number,
): Promise<StoredAt[]> => {
  const found: StoredAt[] = [];
  const done = Promise.withResolvers<undefined>();
  await using following = await follow(log, {
    stream: 'TIMERS',
    subjects: [deferredIn(partition), expiredTimersIn(partition)],
    after: 0,
    onCaughtUp: () => done.resolve(undefined),
    onBatch: async (messages) => {
      for (const { sequence, subject, body } of messages) {
        const isOver = Pending.Check(body) && Date.parse(body.expires_at) <= now.getTime();
        const state = subject.endsWith('.due') ? 'due' : 'deferred';
        if (isOver && found.length < max) found.push({ sequence, state, delivery: body });
      }
    },
  });
  const failure = await Promise.race([done.promise, following.failed]);
  if (failure) throw failure;
  return found;
};
