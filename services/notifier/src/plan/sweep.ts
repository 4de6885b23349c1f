import type { StoredMessage } from '@runledger/contracts/chain';
import { isEnded } from '@runledger/contracts/run';
import { ALL_LIFECYCLES } from '@runledger/contracts/subjects';
import { shareOf } from '@runledger/contracts/deliveries';
import { isSettled, roundOf } from '@runledger/contracts/webhook';
import type { EventLog } from '@runledger/event-log/event-log';
import { follow } from '@runledger/event-log/follow';
import { readRun } from '@runledger/event-log/read-run';
import { findPending } from '@runledger/event-log/timers';
import { callbackOf } from './callbacks.ts';
import { runNews } from './run-news.ts';
import type { HeldShare } from './share.ts';

export interface Sweep {
  readonly log: EventLog;
  readonly shares: () => Iterable<HeldShare>;
  /** A notification was found that nothing stood for: a bug, or a log that lost its end. */
  readonly onForgotten: (run: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Looks after that nothing was forgotten, without trusting what the plan remembers: for every run that ended, as far as the plan
 * says that all is settled, its notification must be settled, or stand in TIMERS, or be in hand.
 */
export const sweepOnce = async (sweep: Sweep): Promise<void> => {
  const { log, shares, signal } = sweep;
  const held = [...shares()].filter((share) => share.swept() < share.settledUpTo());
  const from = Math.min(...held.map((share) => share.swept()));
  const to = Math.min(...held.map((share) => share.settledUpTo()));
  if (!Number.isFinite(from) || from >= to) return;
  const done = Promise.withResolvers<void>();
  const onBatch = async (messages: readonly StoredMessage[]): Promise<void> => {
    for (const message of messages) {
      if (message.sequence > to || signal.aborted) return done.resolve();
      await look(sweep, held, message);
    }
  };
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES],
    after: from,
    onBatch,
    onCaughtUp: () => done.resolve(),
  });
  signal.addEventListener('abort', () => done.resolve(), { once: true });
  const failure = await Promise.race([done.promise, following.failed]);
  if (failure) throw failure;
  if (!signal.aborted) for (const share of held) share.sweptTo(to);
};

const look = async (
  { log, onForgotten }: Sweep,
  held: readonly HeldShare[],
  message: StoredMessage,
): Promise<void> => {
  const news = runNews(message);
  if (news?.kind !== 'ended') return;
  const { key } = news;
  const read = await readRun(log, key, { atLeast: message.sequence });
  if (read.kind !== 'found' || !read.webhook || !isEnded(read.run)) return;
  const callback = callbackOf(read.run.request);
  if (!callback || isSettled(read.webhook.webhook)) return;
  const share = held.find((one) => one.share === shareOf(callback.origin));
  if (!share || message.sequence <= share.swept() || share.has(key)) return;
  if (await findPending(log, { origin: callback.origin, ...key })) return;
  // It may have been settled, or taken from TIMERS in hand, between the two questions.
  const again = await readRun(log, key, { atLeast: message.sequence });
  if (again.kind !== 'found' || !again.webhook || isSettled(again.webhook.webhook) || share.has(key)) return;
  onForgotten(key.run_id);
  share.takeUp(key, callback, message.sequence, roundOf(again.webhook.webhook));
};
