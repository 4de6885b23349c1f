import { setTimeout as pause } from 'node:timers/promises';
import type { OpenBreaker } from '@runledger/contracts/deliveries';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects';
import { lastReport } from '@runledger/event-log/activity';
import { recordState } from '@runledger/event-log/deliveries';
import { patiently } from '@runledger/event-log/patiently';
import { runsIdentity } from '@runledger/event-log/read-run';
import {
  dropOpening,
  dropTimer,
  followDue,
  keepOpening,
  keepPosition,
  nextParked,
  readOpenings,
  readPosition,
  setAside,
  type Due,
} from '@runledger/event-log/timers';
import type { Breakers, BreakerState } from '../breaker/breakers.ts';
import { isSuperseded, pendingOf, tryFinal, type FinalDelivery } from '../delivering/final.ts';
import { tryIntermediate } from '../delivering/intermediate.ts';
import { openDesk } from '../delivering/run-desk.ts';
import type { DeliveryParts } from '../delivering/parts.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { nameOf, type Receiver } from '../dispatch/item.ts';
import { lowWater } from '../domain/low-water.ts';
import type { Callback } from './callbacks.ts';
import type { Feed, FeedListener } from './feed.ts';
import { inTurns } from './in-turns.ts';

export interface ShareParts extends DeliveryParts {
  readonly dispatcher: Dispatcher;
  readonly breakers: Breakers;
  readonly feed: Feed;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** What is in flight when the share is given away may be finished for so long. */
  readonly finishWithinMs: number;
}

/** One share of the origins, while this process holds it. */
export interface HeldShare {
  readonly share: number;
  /** Everything in RUNS up to here is settled or stands in TIMERS. */
  settledUpTo(): number;
  swept(): number;
  sweptTo(sequence: number): void;
  /** The run's final notification is in hand here. */
  has(key: RunKey): boolean;
  /** Found by the sweep: nothing stands for it any more. */
  takeUp(key: RunKey, callback: Callback, sequence: number, round: number): void;
  refill(receiver: Receiver, most: number): Promise<boolean>;
  onBreaker(key: Pick<OpenBreaker, 'origin' | 'org_id'>, state: BreakerState): void;
  /** Winds down; keeps how far it came. */
  close(): Promise<void>;
}

const KEEP_POSITION_EVERY_MS = 2_000;
/** When a receiver has too much to take at once, what is set aside is looked at again by then at the latest. */
const LOOK_AT_PARKED_MS = 30_000;

/** Takes a share up where the last holder left it. @throws what the broker does, and the signal's reason */
export const openShare = async (parts: ShareParts, share: number, over: AbortSignal): Promise<HeldShare> => {
  const { log, logger, dispatcher, breakers, feed, clock, now } = parts;
  const act = <Answer>(work: () => Promise<Answer>, signal = over): Promise<Answer> =>
    patiently({ signal, logger }, work);
  const stood = await act(() => readPosition(log, share));
  const identity = await act(() => runsIdentity(log));
  const { created } = identity;
  const position = stood?.created === created ? stood : undefined;
  // What was stored before may be in another's hands already, or have been.
  let careful = identity.lastSequence;
  for (const { origin, org_id, opens, until } of await act(() => readOpenings(log, share))) {
    const key = org_id === null ? origin : nameOf({ org_id, origin });
    if (opens > 0) breakers.restore(key, { opens, until: Date.parse(until) });
  }

  let runs = lowWater(position?.runs ?? 0);
  // Progress of long ago is no news.
  let activity = lowWater(position?.activity ?? (await act(() => lastReport(log))));
  let swept = position?.swept ?? 0;
  const sending = new AbortController();
  const stopped = sending.signal;
  const inTurn = inTurns();
  /** Of each receiver: being set aside right now. */
  const settingAside = new Map<string, number>();
  /** Receivers whose parked deliveries a timer will remind of; the sequence of one that is due. */
  const reminders = new Map<string, number | null>();
  const cursors = new Map<string, number>();

  const background = (work: () => Promise<unknown>, what: string): void => {
    act(work, stopped).catch((error: unknown) => {
      if (!stopped.aborted) logger.error({ err: error, share }, what);
    });
  };
  const settle = ({ source }: FinalDelivery): void => {
    if (source.kind === 'fact') runs.settle(source.sequence);
    else background(() => dropTimer(log, source.sequence), 'a timer could not be removed');
  };
  const untilOf = (receiver: Receiver): { opens: number; until: Date } => {
    const state = breakers.state(nameOf(receiver));
    const origin = breakers.state(receiver.origin);
    const soon = now().getTime() + LOOK_AT_PARKED_MS;
    if (state.kind === 'open') return { opens: state.opens, until: new Date(state.until) };
    return { opens: 0, until: new Date(origin.kind === 'open' ? origin.until : soon) };
  };
  const remind = async (receiver: Receiver): Promise<void> => {
    const { opens, until } = untilOf(receiver);
    const opening: OpenBreaker = { version: 1, ...receiver, opens, until: until.toISOString() };
    await act(() => keepOpening(log, opening), stopped);
    reminders.set(nameOf(receiver), reminders.get(nameOf(receiver)) ?? null);
  };

  const putOff = async (delivery: FinalDelivery): Promise<void> => {
    const { key, origin, source, round, tries } = delivery;
    const receiver = { org_id: key.org_id, origin };
    const name = nameOf(receiver);
    settingAside.set(name, (settingAside.get(name) ?? 0) + 1);
    try {
      await inTurn(name, async () => {
        // First what reminds of it, so that nothing is parked for ever.
        if (!reminders.has(name)) await remind(receiver);
        if (source.kind === 'parked') return;
        if (delivery.careful && (await isSuperseded(parts, delivery, stopped))) return;
        await act(() => setAside(log, pendingOf(delivery, now())), stopped);
      });
      if (source.kind !== 'parked') {
        settle(delivery);
        const state = {
          version: 1,
          round,
          state: 'parked',
          tries,
          next_try_at: null,
          last_reason: null,
        } as const;
        const message = 'Set aside until its receiver takes notifications again.';
        background(
          () => recordState(log, key, { ...state, message, at: now().toISOString() }),
          'a state could not be kept',
        );
      }
      parts.metrics.parked();
    } catch (error) {
      if (!stopped.aborted)
        logger.error({ err: error, run_id: key.run_id }, 'a delivery could not be set aside');
    } finally {
      const left = (settingAside.get(name) ?? 1) - 1;
      if (left === 0) settingAside.delete(name);
      else settingAside.set(name, left);
    }
  };

  const desk = openDesk({
    dispatcher,
    clock,
    putOff,
    settle,
    tryFinal: (delivery) => tryFinal(parts, delivery, stopped),
    tryIntermediate: (key, atLeast) => tryIntermediate(parts, key, atLeast, stopped),
    settleIntermediate: (origins) => {
      for (const sequence of origins.runs) runs.settle(sequence);
      for (const sequence of origins.activity) activity.settle(sequence);
    },
  });

  const tellOfFact = (
    key: RunKey,
    { origin }: Callback,
    sequence: number,
    round: number,
    isCareful: boolean,
  ): void => {
    runs.open(sequence);
    const source = { kind: 'fact', sequence } as const;
    desk.tellFinal({ key, origin, round, tries: 0, due_at: null, source, careful: isCareful });
  };
  const listener: FeedListener = {
    share,
    taken: () => ({ runs: runs.taken(), activity: activity.taken() }),
    onEnded: (key, callback, sequence) => tellOfFact(key, callback, sequence, 1, sequence <= careful),
    // Whatever waits for an earlier round gives way.
    onRedelivery: (key, callback, sequence, round) => tellOfFact(key, callback, sequence, round, true),
    onChanged: (key, { origin }, at) => {
      if (at.runs !== undefined) runs.open(at.runs);
      if (at.activity !== undefined) activity.open(at.activity);
      desk.tellIntermediate(key, origin, at);
    },
    onTaken: (stream, sequence) => (stream === 'runs' ? runs : activity).take(sequence),
    onBeyondEnd: (stream, lastSequence) => {
      logger.error({ share, stream, lastSequence }, 'the log is shorter than it was; it is read again');
      // All of RUNS, since other facts may stand where known ones stood; progress only matters from now on.
      if (stream === 'activity') activity = lowWater(lastSequence);
      else [runs, swept, careful] = [lowWater(0), 0, Infinity];
    },
  };

  let caughtUp = false;
  const takeDue = async (due: readonly Due[]): Promise<void> => {
    for (const one of due) {
      switch (one.kind) {
        case 'delivery': {
          const { delivery, sequence } = one;
          const { origin, round, tries, due_at } = delivery;
          parts.metrics.late(Math.max(now().getTime() - Date.parse(due_at), 0) / 1_000);
          const key = { org_id: orgId(delivery.org_id), run_id: runId(delivery.run_id) };
          const source = { kind: 'due', sequence } as const;
          desk.tellFinal({ key, origin, round, tries, due_at, source, careful: !caughtUp });
          break;
        }
        case 'breaker':
          takeReminder(one.breaker, one.sequence);
          break;
        case 'unreadable':
          logger.warn(
            { subject: one.subject, sequence: one.sequence },
            'a timer cannot be read; it is dropped',
          );
          await dropTimer(log, one.sequence);
      }
    }
  };
  const takeReminder = ({ origin, org_id, opens, until }: OpenBreaker, sequence: number): void => {
    // Its time came while nobody held the share; a breaker of this process needs no telling.
    const key = org_id === null ? origin : nameOf({ org_id, origin });
    if (!caughtUp && opens > 0) breakers.restore(key, { opens, until: Date.parse(until) });
    if (org_id === null) return background(() => dropTimer(log, sequence), 'a timer could not be removed');
    reminders.set(key, sequence);
    dispatcher.expectParked({ org_id, origin });
  };
  const due = await act(() =>
    followDue(log, share, takeDue, () => {
      caughtUp = true;
    }),
  );
  feed.add(listener);

  let kept = position;
  const keep = async (): Promise<void> => {
    const present = { version: 1, created, runs: runs.low(), activity: activity.low(), swept } as const;
    if (kept && kept.runs === present.runs && kept.activity === present.activity && kept.swept === swept)
      return;
    await keepPosition(log, share, present);
    kept = present;
  };
  const keeping = setInterval(() => {
    keep().catch((error: unknown) => logger.debug({ err: error, share }, 'a position could not be kept yet'));
  }, KEEP_POSITION_EVERY_MS);

  return {
    share,
    settledUpTo: () => runs.low(),
    swept: () => swept,
    sweptTo: (sequence) => {
      swept = Math.max(swept, sequence);
    },
    has: ({ run_id }) => desk.has(run_id),
    takeUp: (key, { origin }, sequence, round) => {
      const source = { kind: 'fact', sequence } as const;
      desk.tellFinal({ key, origin, round, tries: 0, due_at: null, source, careful: true });
    },
    refill: (receiver, most) =>
      inTurn(nameOf(receiver), async () => {
        const name = nameOf(receiver);
        for (let submitted = 0; submitted < most && !over.aborted;) {
          const cursor = cursors.get(name) ?? 0;
          const next = await act(() => nextParked(log, receiver, cursor));
          if (!next) {
            cursors.delete(name);
            if (cursor > 0 || settingAside.has(name)) return true;
            await forget(receiver);
            return false;
          }
          cursors.set(name, next.sequence);
          const { origin, round, tries, due_at } = next.delivery;
          const key = { org_id: orgId(next.delivery.org_id), run_id: runId(next.delivery.run_id) };
          if (desk.has(key.run_id)) continue;
          const source = { kind: 'parked', sequence: next.sequence } as const;
          desk.tellFinal({ key, origin, round, tries, due_at, source, careful: true });
          submitted += 1;
        }
        return true;
      }).catch((error: unknown) => {
        if (!over.aborted) logger.error({ err: error, share }, 'parked deliveries could not be read');
        return !over.aborted;
      }),
    onBreaker: ({ origin, org_id }, state) => {
      if (state.kind !== 'open') return;
      const until = new Date(state.until).toISOString();
      const opening: OpenBreaker = { version: 1, origin, org_id, opens: state.opens, until };
      if (org_id !== null)
        reminders.set(nameOf({ org_id, origin }), reminders.get(nameOf({ org_id, origin })) ?? null);
      background(() => keepOpening(log, opening), 'the opening of a breaker could not be kept');
    },
    close: async () => {
      feed.remove(listener);
      clearInterval(keeping);
      await due[Symbol.asyncDispose]();
      const closing = desk.close();
      const late = pause(log.connected() ? parts.finishWithinMs : 0, undefined, { ref: false });
      await Promise.race([closing, late]);
      sending.abort(new Error('the share is given away'));
      await closing;
      await keep().catch((error: unknown) =>
        logger.debug({ err: error, share }, 'a position could not be kept'),
      );
    },
  };

  /** Nothing is parked at the receiver any more: nobody need be reminded. */
  async function forget(receiver: Receiver): Promise<void> {
    const name = nameOf(receiver);
    const sequence = reminders.get(name);
    reminders.delete(name);
    if (sequence === undefined) return;
    await act(() => dropOpening(log, receiver));
    if (sequence !== null) await act(() => dropTimer(log, sequence));
  }
};
