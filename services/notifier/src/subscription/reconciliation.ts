import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { isEnded } from '@runledger/contracts/fold/run';
import {
  ALL_LIFECYCLES,
  ALL_REDELIVERY_REQUESTS,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { partitionOf } from '@runledger/contracts/deliveries/deliveries';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';
import { readRun } from '@runledger/event-log/read/read-run';
import { findPending } from '../timers/timers.ts';
import { webhookTargetOf, type WebhookTarget } from './webhook-targets.ts';
import { runNotice } from './run-notice.ts';
import type { HeldShare } from './held-partition.ts';

export interface Sweep {
  readonly log: EventLog;
  readonly shares: () => Iterable<HeldShare>;
  /** A notification was found that nothing stood for: a bug, or a log that lost its end. */
  readonly onForgotten: (run: string) => void;
  readonly signal: AbortSignal;
}

/** Pending deliveries of a share that are looked at again with every sweep; what is beyond it is looked at once. */
const MOST_WATCHED = 200;

/**
 * Looks after that nothing was forgotten, without trusting what the plan remembers: for every run that ended, as far as the plan
 * says that all is settled, its notification must be settled, or stand in TIMERS, or be in hand. What stands in TIMERS is looked
 * at again.
 */
export const sweepOnce = async (sweep: Sweep): Promise<void> => {
  const { log, shares, signal } = sweep;
  for (const share of shares()) {
    // A snapshot: what is watched changes meanwhile.
    for (const { key, sequence } of share.watched.values().toArray()) {
      if (signal.aborted) return;
      await look(sweep, [share], key, sequence);
    }
  }
  const held = [...shares()].filter((share) => share.swept() < share.settledUpTo());
  const from = Math.min(...held.map((share) => share.swept()));
  const to = Math.min(...held.map((share) => share.settledUpTo()));
  if (!Number.isFinite(from) || from >= to) return;
  const done = Promise.withResolvers<void>();
  const onBatch = async (messages: readonly StoredMessage[]): Promise<void> => {
    for (const message of messages) {
      if (message.sequence > to || signal.aborted) return done.resolve();
      const news = runNotice(message);
      if (news?.kind !== 'ended' && news?.kind !== 'redelivery') continue;
      const behind = held.filter((share) => message.sequence > share.swept());
      await look(sweep, behind, news.key, message.sequence);
    }
  };
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES, ALL_REDELIVERY_REQUESTS],
    after: from,
    onBatch,
    onCaughtUp: () => done.resolve(),
  });
  const onAbort = (): void => done.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  const failure = await Promise.race([done.promise, following.failed]);
  signal.removeEventListener('abort', onAbort);
  if (failure) throw failure;
  if (!signal.aborted) for (const share of held) share.sweptTo(to);
};

const look = async (
  { log, onForgotten }: Sweep,
  shares: readonly HeldShare[],
  key: RunKey,
  sequence: number,
): Promise<void> => {
  const unsettled = async (): Promise<{ callback: WebhookTarget; round: number } | undefined> => {
    const read = await readRun(log, key, { atLeast: sequence });
    if (read.kind !== 'found' || !read.webhook || !isEnded(read.run)) return undefined;
    const callback = webhookTargetOf(read.run.request);
    const { state: webhook } = read.webhook;
    return callback && !isSettled(webhook) ? { callback, round: roundOf(webhook) } : undefined;
  };
  const found = await unsettled();
  const share = shares.find((one) => !found || one.share === partitionOf(found.callback.origin));
  share?.watched.delete(key.run_id);
  if (!found || !share) return;
  const watch = (): void => {
    if (share.watched.size < MOST_WATCHED) share.watched.set(key.run_id, { key, sequence });
  };
  if (share.has(key)) return watch();
  const pending = await findPending(log, { origin: found.callback.origin, ...key });
  if (pending) {
    // What reminds of it may have been lost with a process.
    if (pending.isParked) share.lookAt({ org_id: key.org_id, origin: found.callback.origin });
    return watch();
  }
  // It may have been settled, or taken from TIMERS in hand, between the two questions.
  const still = await unsettled();
  if (!still || share.has(key)) return;
  onForgotten(key.run_id);
  // Until it is settled, or stands in TIMERS.
  watch();
  share.takeUp(key, still.callback, sequence, still.round);
};
