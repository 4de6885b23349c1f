import { longestRunMs } from '@runledger/contracts/lifetimes';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge } from '@runledger/event-log/messages/log-age';

/** Seconds that a run may live, so that the log keeps its facts until its notification is delivered. @throws {LogUnavailable} */
export type LongestRun = () => Promise<number>;

export interface LongestRunOptions {
  readonly log: EventLog;
  /** Seconds for which notifiers deliver. */
  readonly webhookGiveUpS: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const CACHED_MS = 5_000;

/** From the log as it is, not from its settings: an operator may change them at any time. */
export const longestRun = ({ log, webhookGiveUpS, clock }: LongestRunOptions): LongestRun => {
  let known: { readonly at: number; readonly seconds: number } | undefined;
  return async () => {
    if (!known || clock() - known.at >= CACHED_MS) {
      const { maxAgeMs } = await readLogAge(log);
      const seconds = longestRunMs({ log: maxAgeMs, webhookGiveUp: webhookGiveUpS * 1_000 }) / 1_000;
      known = { at: clock(), seconds };
    }
    return known.seconds;
  };
};
