import type { AttemptReport } from '@runledger/notifier/core/delivery';
import { conclusionOf, type Retry } from '@runledger/notifier/core/conclusion';
import type { PlayedCore } from './played-core.ts';
import type { RetryTime } from './played-timers.ts';

/** What the schedule allows after an attempt that ended so: it leaves a part of the delay to chance. */
export const retryTimeOf = (
  { at }: Retry,
  sent: Extract<AttemptReport, { readonly kind: 'sent' }> | undefined,
  { nowMs: now, settings }: Pick<PlayedCore, 'nowMs' | 'settings'>,
): RetryTime => {
  const atChance = (chance: number): number => {
    const conclusion = sent && conclusionOf(sent, { now, chance }, settings);
    return conclusion?.kind === 'retry' ? conclusion.at : at;
  };
  // Only a response can ask for more time.
  const mayBeLater = typeof sent?.result.status === 'number';
  return { earliestMs: atChance(0), latestMs: atChance(1), mayBeLater };
};
