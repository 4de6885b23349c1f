import { type DeploymentName, MISSING_GPU } from '../cluster/organisation.ts';
import type { RandomSource } from '@runledger/testing/random-source';
import type { Size } from '../size.ts';

/** What a client does with one run. Times are in milliseconds. */
export interface RunPlan {
  /** Counts from 1. The inputs of the run hold it, so that the log shows which request queued the run. */
  readonly request: number;
  /** From the beginning of the soak. */
  readonly at: number;
  readonly deployment: DeploymentName;
  readonly gpu: string | null;
  /** `list`: so many outputs that their list is too large for an event. */
  readonly work: {
    readonly what: 'success' | 'failure' | 'file' | 'text' | 'list';
    readonly seconds: string;
    /** How many lines its program writes to its log. */
    readonly lines?: string;
  };
  /** The client uploads a file, which is an input of the run. */
  readonly hasInputFile: boolean;
  /** Too large for an event, so that they are stored as a blob. */
  readonly hasLargeInputs: boolean;
  readonly key: string | null;
  /** The client aborts its first request after this time, and sends it again. */
  readonly abortFirstAfterMs: number | null;
  /** `unreachable`: final notifications, to a receiver that nobody can connect to until all runs have ended. */
  readonly webhook: 'none' | 'final' | 'every state' | 'unreachable';
  readonly follow: 'polls' | 'waits' | 'streams';
  readonly cancelAfterMs: number | null;
  readonly rerun: boolean;
  /** The client sends another request with the key of this one. */
  readonly reusesKey: boolean;
  /** A client of another organisation tries to reach the run. */
  readonly isForeignTarget: boolean;
  /** After its end and its notification. */
  readonly deletes: 'run' | 'outputs' | null;
}

/** The plans of all clients. The same random numbers give the same plans. */
export const planRuns = (
  random: RandomSource,
  { minutes, rate, shortLogAgeMs, giveUpS }: Size,
): RunPlan[] => {
  const count = Math.round(minutes * 60 * rate);
  const apart = 1_000 / rate;
  // Only the first half has these. A brief soak has no time for deliveries that are given up, in the soak or soon after it, and a
  // short one none for runs that outlive the log while the rest goes on.
  const hasUnreachable = minutes * 60_000 >= giveUpS * 1_000;
  const hasLong = minutes * 30_000 >= lifeOf(shortLogAgeMs);
  const plans = Array.from({ length: count }, (_, at) => {
    const one = plan(random, at + 1, Math.round(at * apart));
    if (at >= count / 2) return one;
    const webhook = hasUnreachable && random.chance(10) ? 'unreachable' : one.webhook;
    return { ...one, webhook, ...(hasLong ? longLife(random, rate, shortLogAgeMs) : {}) };
  });
  return plans
    .map((one) => ({ ...one, deletes: deletionOf(random) }))
    .map((one) => ({
      ...one,
      // What such a program puts out is known beforehand.
      hasInputFile: random.chance(10) && one.work.what !== 'list',
      work: random.chance(25) ? { ...one.work, lines: LOG_LINES } : one.work,
    }));
};

const LOG_LINES = '20';

const deletionOf = (random: RandomSource): RunPlan['deletes'] => {
  const kind = random.integer(1, 100);
  if (kind <= 15) return 'run';
  return kind <= 25 ? 'outputs' : null;
};

/** Some wait for a GPU that does not exist, and some execute, until they are cancelled. */
const longLife = (random: RandomSource, rate: number, shortLogAgeMs: number): Partial<RunPlan> => {
  const lifeMs = lifeOf(shortLogAgeMs);
  const [waiting, executing] = [LONG_WAITING, LONG_EXECUTING].map(
    (atOnce) => (atOnce * 100_000_000) / (rate * lifeMs),
  );
  const kind = random.integer(1, 100_000);
  if (kind > (waiting ?? 0) + (executing ?? 0)) return {};
  const seconds = (lifeMs / 1_000).toFixed(2);
  return {
    deployment: 'ordinary',
    gpu: kind <= (waiting ?? 0) ? MISSING_GPU : null,
    work: { what: 'success', seconds },
    cancelAfterMs: lifeMs,
    rerun: false,
  };
};
const lifeOf = (shortLogAgeMs: number): number => shortLogAgeMs * 2;
/** How many of them there are at the same time. */
const LONG_WAITING = 4;
const LONG_EXECUTING = 1.5;

const plan = (random: RandomSource, request: number, at: number): RunPlan => {
  const kind = random.integer(1, 100);
  const key = random.chance(75) ? `soak-${request}` : null;
  const webhook = random.pick(['none', 'none', 'final', 'final', 'every state'] as const);
  return {
    request,
    at: at + random.integer(0, 500),
    ...workOf(random, kind),
    key,
    abortFirstAfterMs: key !== null && random.chance(15) ? random.integer(1, 40) : null,
    webhook,
    // The log shows the request of such a run by its webhook.
    hasLargeInputs: webhook !== 'none' && random.chance(15),
    follow: random.pick(['polls', 'waits', 'streams']),
    cancelAfterMs: random.chance(20) ? random.pick([0, 0, random.integer(0, 6_000)]) : null,
    rerun: random.chance(4),
    reusesKey: key !== null && random.chance(10),
    isForeignTarget: random.chance(10),
    deletes: null,
    hasInputFile: false,
  };
};

const workOf = (random: RandomSource, kind: number): Pick<RunPlan, 'deployment' | 'gpu' | 'work'> => {
  const seconds = (from: number, to: number): string => (random.integer(from, to) / 1_000).toFixed(2);
  if (kind <= 4)
    return {
      deployment: 'shortTimeout',
      gpu: null,
      work: { what: 'success', seconds: seconds(20_000, 60_000) },
    };
  if (kind <= 7)
    return { deployment: 'shortDeadline', gpu: MISSING_GPU, work: { what: 'success', seconds: '0' } };
  const deployment = random.chance(12) ? 'bulkCancelled' : 'ordinary';
  if (kind <= 17) return { deployment, gpu: null, work: { what: 'failure', seconds: seconds(0, 500) } };
  if (kind <= 27) return { deployment, gpu: null, work: { what: 'success', seconds: seconds(3_000, 6_000) } };
  if (kind <= 32) return { deployment, gpu: null, work: { what: 'file', seconds: seconds(0, 500) } };
  if (kind <= 37) return { deployment, gpu: null, work: { what: 'text', seconds: seconds(0, 500) } };
  const what = kind <= 41 ? 'list' : 'success';
  return { deployment, gpu: null, work: { what, seconds: seconds(0, 1_000) } };
};
