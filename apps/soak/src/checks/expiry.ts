import { isEnded } from '@runledger/contracts/fold/run';
import { longestLifeMs } from '@runledger/contracts/lifetimes';
import type { Check, Evidence } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee =
  'A run or a delivery ends as log_expired only if the log lost its beginning, or was about to.';

/** Notifiers and gateways know the age of the log for a while. */
const KNOWN_FOR_MS = 10_000;
/** Deliveries are given up a tenth of the age before the end. */
const DELIVERY_PART = 0.9;

export const expiry: Check = (evidence) =>
  [...evidence.runs].flatMap(([run, logged]) => {
    const ended = endOfLife(logged, evidence.size);
    if (ended === undefined || wasForgotten(logged, ended, evidence)) return [];
    const message = `${ended.what} ended as log_expired at ${ended.at}, but the log had its beginning.`;
    return [{ guarantee, run, message }];
  });

interface EndOfLife {
  readonly what: string;
  readonly at: string;
  /** The age from which it may end so. */
  readonly fromMs: number;
}

const endOfLife = (logged: LoggedRun, { shortLogAgeMs }: Evidence['size']): EndOfLife | undefined => {
  const run = lastOf(logged);
  if (run && isEnded(run) && run.end_reason === 'log_expired')
    return { what: 'It', at: run.ended_at, fromMs: longestLifeMs(shortLogAgeMs) };
  const { webhook } = logged;
  return webhook?.status === 'failed' && webhook.reason === 'log_expired'
    ? { what: 'Its delivery', at: webhook.updated_at, fromMs: shortLogAgeMs * DELIVERY_PART }
    : undefined;
};

/** While the log kept messages for a short time, the run became too old for it. */
const wasForgotten = ({ facts }: LoggedRun, { at, fromMs }: EndOfLife, { limits }: Evidence): boolean => {
  const begunAt = Date.parse(facts[0]?.time ?? '');
  const endedAt = Date.parse(at);
  return limits.some(({ kind, from, to = Infinity }) => {
    if (kind !== 'forgetful' || endedAt < from) return false;
    return begunAt + fromMs <= Math.min(endedAt, to + KNOWN_FOR_MS);
  });
};
