import { isDeepStrictEqual } from 'node:util';
import type { OpenBreaker, PartitionPosition } from '@runledger/contracts/deliveries/deliveries';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { lastProgressSequence } from '@runledger/event-log/streams/activity';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { runsIdentity } from '@runledger/event-log/read/read-run';
import { within } from '@runledger/resilience/within';
import {
  removeTimer,
  followDue,
  storePosition,
  readOpenings,
  readExpired,
  readPosition,
  type Due,
} from '../timers/timers.ts';
import type { Breakers, BreakerState } from '../breaker/breakers.ts';
import { attemptFinal } from '../effects/attempt-final.ts';
import { deliveryIn, type FinalDelivery } from '../delivering/final-delivery.ts';
import { attemptIntermediate } from '../effects/attempt-intermediate.ts';
import { openDesk } from '../delivering/run-desk.ts';
import type { DeliveryContext } from '../effects/delivery-context.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { nameOf, type Receiver } from '../core/receivers/receiver.ts';
import { lowWatermark } from '../core/low-watermark.ts';
import type { WebhookTarget } from './webhook-targets.ts';
import type { Feed, FeedListener } from './subscription.ts';
import { openParking } from '../effects/deferred-deliveries.ts';

export interface ShareParts extends DeliveryContext {
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
  /** Pending deliveries that the sweep looks at again. */
  readonly watched: Map<RunId, { readonly key: RunKey; readonly sequence: number }>;
  /** The run's final notification is in hand here. */
  has(key: RunKey): boolean;
  /** Found by the sweep: nothing stands for it any more. */
  takeUp(key: RunKey, callback: WebhookTarget, sequence: number, round: number): void;
  /** Something is parked there, and is to be sent when it may. */
  lookAt(receiver: Receiver): void;
  /** Gives up what is parked and whose time is over. */
  expire(): Promise<void>;
  refill(receiver: Receiver, most: number): Promise<boolean>;
  onBreaker(key: Pick<OpenBreaker, 'origin' | 'org_id'>, state: BreakerState): void;
  /** Resolves when its timers cannot be followed any more. */
  readonly failed: Promise<Error>;
  /** Winds down; keeps how far it came. */
  close(): Promise<void>;
}

const KEEP_POSITION_EVERY_MS = 2_000;
/** Given up at once; the others the next time. */
const MOST_EXPIRED = 1_000;

/** A delivery of a fact, but for what depends on who tells of it. */
type Untold = Omit<FinalDelivery, 'round' | 'careful'>;
/** Takes a share up where the last holder left it. @throws what the broker does, and the signal's reason */
export const openShare = async (parts: ShareParts, share: number, over: AbortSignal): Promise<HeldShare> => {
  const { log, logger, dispatcher, breakers, feed, clock, now } = parts;
  const act = <Answer>(work: () => Promise<Answer>, signal = over): Promise<Answer> =>
    retryWhileUnavailable({ signal, logger }, work);
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

  let runs = lowWatermark(position?.runs ?? 0);
  // Progress of long ago is no news.
  let activity = lowWatermark(position?.activity ?? (await act(() => lastProgressSequence(log))));
  let swept = position?.swept ?? 0;
  const watched: HeldShare['watched'] = new Map();
  const sending = new AbortController();
  const stopped = sending.signal;
  // Lost rather than given away: somebody else may be sending the same by now, so nothing more leaves from here.
  over.addEventListener('abort', () => void (isAsked(over) || sending.abort(over.reason)), { once: true });

  const background = (work: () => Promise<unknown>, what: string): void => {
    act(work, stopped).catch((error: unknown) => {
      if (!stopped.aborted) logger.error({ err: error, share }, what);
    });
  };
  const settle = ({ source }: FinalDelivery): void => {
    if (source.kind === 'fact') runs.settle(source.sequence);
    else background(() => removeTimer(log, source.sequence), 'a timer could not be removed');
  };
  const parking = openParking({
    parts,
    breakers,
    stopped,
    settle,
    isInHand: (run) => desk.has(run),
    tell: (delivery) => desk.tellFinal(delivery),
  });
  const desk = openDesk({
    dispatcher,
    clock,
    putOff: (delivery) => parking.putOff(delivery),
    settle,
    tryFinal: (delivery) => attemptFinal(parts, delivery, stopped),
    tryIntermediate: (key, atLeast) => attemptIntermediate(parts, key, atLeast, stopped),
    settleIntermediate: (origins) => {
      for (const sequence of origins.runs) runs.settle(sequence);
      for (const sequence of origins.activity) activity.settle(sequence);
    },
  });

  const tellOfFact = (
    key: RunKey,
    { origin }: WebhookTarget,
    sequence: number,
    time: string,
    round: number,
    isCareful: boolean,
  ): void => {
    runs.open(sequence);
    desk.tellFinal({ ...ofFact(key, origin, sequence, time), round, careful: isCareful });
  };
  const ofFact = (key: RunKey, origin: string, sequence: number, time: string): Untold => ({
    key,
    origin,
    tries: 0,
    due_at: null,
    expires_at: new Date(Date.parse(time) + parts.giveUpAfterMs).toISOString(),
    source: { kind: 'fact', sequence },
  });
  const listener: FeedListener = {
    share,
    taken: () => ({ runs: runs.taken(), activity: activity.taken() }),
    onEnded: (key, callback, sequence, time) =>
      tellOfFact(key, callback, sequence, time, 1, sequence <= careful),
    // Whatever waits for an earlier round gives way.
    onRedelivery: (key, callback, sequence, time, round) =>
      tellOfFact(key, callback, sequence, time, round, true),
    onChanged: (key, { origin }, at) => {
      if (at.runs !== undefined) runs.open(at.runs);
      if (at.activity !== undefined) activity.open(at.activity);
      desk.tellIntermediate(key, origin, at);
    },
    onTaken: (stream, sequence) => (stream === 'runs' ? runs : activity).take(sequence),
    onBeyondEnd: (stream, lastSequence) => {
      logger.error({ share, stream, lastSequence }, 'the log is shorter than it was; it is read again');
      // All of RUNS, since other facts may stand where known ones stood; progress only matters from now on.
      if (stream === 'activity') activity = lowWatermark(lastSequence);
      else [runs, swept, careful] = [lowWatermark(0), 0, Infinity];
    },
  };

  let caughtUp = false;
  const takeDue = async (due: readonly Due[]): Promise<void> => {
    for (const one of due) {
      switch (one.kind) {
        case 'delivery':
          parts.metrics.late(Math.max(now().getTime() - Date.parse(one.delivery.due_at), 0) / 1_000);
          desk.tellFinal(deliveryIn(one, 'due', !caughtUp));
          break;
        case 'breaker':
          takeReminder(one.breaker, one.sequence);
          break;
        case 'unreadable':
          logger.warn(
            { subject: one.subject, sequence: one.sequence },
            'a timer cannot be read; it is dropped',
          );
          await removeTimer(log, one.sequence);
      }
    }
  };
  const takeReminder = ({ origin, org_id, opens, until }: OpenBreaker, sequence: number): void => {
    // Its time came while nobody held the share; a breaker of this process needs no telling.
    const key = org_id === null ? origin : nameOf({ org_id, origin });
    if (!caughtUp && opens > 0) breakers.restore(key, { opens, until: Date.parse(until) });
    if (org_id === null) return background(() => removeTimer(log, sequence), 'a timer could not be removed');
    parking.reminded({ org_id, origin }, sequence);
    dispatcher.expectParked({ org_id, origin });
  };
  const following = followDue(log, share, takeDue, () => {
    caughtUp = true;
  });
  const due = await act(() => following).catch(async (error: unknown) => {
    // What opens after all is nobody's: it would send what another holds.
    sending.abort(error);
    await desk.close();
    void following.then((late) => late[Symbol.asyncDispose]()).catch(() => undefined);
    throw error;
  });
  feed.add(listener);

  let kept = position;
  const keep = async (): Promise<void> => {
    // Whoever holds the share next looks at them again too.
    const sweptBy = Math.min(swept, ...[...watched.values()].map(({ sequence }) => sequence - 1));
    const [at, of] = [runs.low(), activity.low()];
    const present: PartitionPosition = { version: 1, created, runs: at, activity: of, swept: sweptBy };
    if (isDeepStrictEqual(kept, present)) return;
    await storePosition(log, share, present);
    kept = present;
  };
  const keeping = setInterval(() => {
    keep().catch((error: unknown) => logger.debug({ err: error, share }, 'a position could not be kept yet'));
  }, KEEP_POSITION_EVERY_MS);

  return {
    share,
    failed: due.failed,
    settledUpTo: () => runs.low(),
    swept: () => swept,
    watched,
    sweptTo: (sequence) => {
      swept = Math.max(swept, sequence);
    },
    has: ({ run_id }) => desk.has(run_id),
    takeUp: (key, { origin }, sequence, round) => {
      desk.tellFinal({ ...ofFact(key, origin, sequence, now().toISOString()), round, careful: true });
    },
    lookAt: (receiver) => dispatcher.expectParked(receiver),
    expire: async () => {
      for (const pending of await readExpired(log, share, now(), MOST_EXPIRED)) {
        const delivery = deliveryIn(pending, 'parked', true);
        // One that somebody asked for waits for its first try.
        if (stopped.aborted || (delivery.round > 1 && delivery.tries === 0)) continue;
        if (desk.has(delivery.key.run_id)) continue;
        const { end } = await attemptFinal(parts, delivery, stopped);
        if (end !== 'interrupted') settle(delivery);
      }
    },
    refill: (receiver, most) => parking.refill(receiver, most),
    onBreaker: (at, state) => parking.onBreaker(at, state),
    close: async () => {
      feed.remove(listener);
      clearInterval(keeping);
      const deaf = due[Symbol.asyncDispose]();
      const closing = desk.close();
      await within(log.connected() ? parts.finishWithinMs : 0, closing, () => undefined);
      sending.abort(new Error('the share is given away'));
      await Promise.all([closing, deaf]);
      await keep().catch((error: unknown) =>
        logger.debug({ err: error, share }, 'a position could not be kept'),
      );
    },
  };
};

/** An abort without a reason of its own is somebody's wish. */
const isAsked = ({ reason }: AbortSignal): boolean =>
  reason instanceof DOMException && reason.name === 'AbortError';
