import { longestRunMs } from '@runledger/contracts/lifetimes';
import type { Kit } from '../kit.ts';
import { readLogAge } from '@runledger/event-log/messages/log-age';

/** Seconds that a run may live, so that the log keeps its facts until its notification is delivered. @throws {LogUnavailable} */
export type LongestRun = () => Promise<number>;

const CACHED_MS = 5_000;

/** From the log as it is, not from its settings: an operator may change them at any time. */
export const longestRun = ({ config, log, clock }: Kit): LongestRun => {
  const webhookGiveUp = config.RUNLEDGER_WEBHOOK_GIVE_UP_S * 1_000;
  let known: { readonly at: number; readonly seconds: number } | undefined;
  return async () => {
    if (!known || clock() - known.at >= CACHED_MS) {
      const { maxAgeMs } = await readLogAge(log);
      const seconds = longestRunMs({ log: maxAgeMs, webhookGiveUp }) / 1_000;
      known = { at: clock(), seconds };
    }
    return known.seconds;
  };
};
