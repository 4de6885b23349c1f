import { isDeepStrictEqual } from 'node:util';
import type { Decision } from '@runledger/scheduler/core/decision';
import type { About, PresentDecision, RecordedDecision, Verdict, Decided } from './verdict.ts';

/** A decision that another fact came before was being stored for less than this. */
const IN_FLIGHT_MS = 1_000;

interface ComparisonOptions {
  /** Decisions of this time and later are compared. Milliseconds since 1970. */
  readonly fromMs: number;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/** What is known of a recorded decision beside the open ones. */
export interface Circumstances {
  /** The slice does not say enough to compare it with the open decision, if there is one, from which it differs: why, or undefined. */
  readonly whyNotCompared: (open: OpenDecision | undefined) => string | undefined;
  /** Why the code does not decide it, if it does not. */
  readonly whyNotDecided: () => string;
}

/** Compares what the code of a service decides with what was recorded. All times are those of the slice, in milliseconds since 1970. */
export class Comparison {
  readonly #options: ComparisonOptions;
  /** Decisions that are not compared yet, in the order in which they were made. */
  readonly #open = new Map<string, OpenDecision>();
  /** What was reported about a run or executor because it was not recorded in time, and waits for its next fact. */
  readonly #reported = new Map<string, Decided>();
  #verdicts: Verdict[] = [];

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  takeVerdicts(): Verdict[] {
    const verdicts = this.#verdicts;
    this.#verdicts = [];
    return verdicts;
  }

  /** The code has decided. */
  add(open: OpenDecision): void {
    this.close(open.key);
    this.#open.set(open.key, open);
  }

  get(key: string): OpenDecision | undefined {
    return this.#open.get(key);
  }

  all(): Iterable<OpenDecision> {
    return this.#open.values();
  }

  isDecided(key: string, recorded: RecordedDecision): boolean {
    const open = this.#open.get(key);
    return open !== undefined && differencesOf(open.decided, recorded).length === 0;
  }

  /** The run or executor has another fact, or the decision is taken back: the next one is about what comes then. */
  close(key: string): void {
    this.#open.delete(key);
    this.#reported.delete(key);
  }

  /** The service stored this now. */
  judge(
    nowMs: number,
    key: string,
    { about, recorded }: { readonly about: About; readonly recorded: RecordedDecision },
    { whyNotCompared, whyNotDecided }: Circumstances,
  ): void {
    const open = this.#open.get(key);
    const reported = this.#reported.get(key);
    if (!open && reported && differencesOf(reported, recorded).length === 0) return;
    const common = { ...about, recorded };
    const differs = open ? differencesOf(open.decided, recorded) : [];
    if (open && differs.length === 0)
      return this.#add(nowMs, { kind: 'equal', ...common, now: presentOf(open) });
    const why = whyNotCompared(open);
    const now = open && { now: presentOf(open) };
    if (why !== undefined) this.#add(nowMs, { kind: 'not_compared', ...common, ...now, why });
    else if (now) this.#add(nowMs, { kind: 'different', ...common, ...now, differs });
    else if (reported)
      this.#add(nowMs, {
        kind: 'not_decided',
        ...common,
        why: `it decided ${reported.type} before, which was not recorded`,
      });
    else this.#add(nowMs, { kind: 'not_decided', ...common, why: whyNotDecided() });
  }

  /** Another service stored a fact now: a decision on what came before it can no longer be stored. */
  overtake(nowMs: number, key: string, by: string): void {
    const open = this.#open.get(key);
    if (!open) return;
    if (nowMs - open.atMs <= IN_FLIGHT_MS)
      return this.notCompared(open, `a fact of another service came first`);
    this.#add(open.atMs, {
      kind: 'not_recorded',
      ...open.about,
      now: presentOf(open),
      why: `the next fact is ${by}`,
    });
  }

  /** Reports those that should have been recorded by now, and returns them. Those that `isExcused` count no more. */
  takeOverdue(nowMs: number, isExcused: (open: OpenDecision) => boolean): OpenDecision[] {
    const { toleranceMs } = this.#options;
    const overdue = [...this.#open.values()].filter(({ atMs }) => atMs < nowMs - toleranceMs);
    return overdue.filter((open) => {
      if (isExcused(open)) return false;
      this.#open.delete(open.key);
      this.#reported.set(open.key, open.decided);
      const why = `the slice does not hold it within ${toleranceMs / 1_000} s`;
      this.#add(open.atMs, { kind: 'not_recorded', ...open.about, now: presentOf(open), why });
      return true;
    });
  }

  notCompared(open: OpenDecision, why: string): void {
    this.close(open.key);
    this.#add(open.atMs, { kind: 'not_compared', ...open.about, now: presentOf(open), why });
  }

  /** None of the open decisions will be recorded, which says nothing about them. */
  dropAll(why: string): void {
    for (const open of this.#open.values()) this.notCompared(open, why);
    this.#reported.clear();
  }

  #add(atMs: number, verdict: Verdict): void {
    if (atMs >= this.#options.fromMs) this.#verdicts.push(verdict);
  }
}

const presentOf = ({ decided, atMs }: OpenDecision): PresentDecision => ({
  ...decided,
  time: new Date(atMs).toISOString(),
});

/** The names of the members in which two decisions differ; `type` when they are decisions of different kinds. */
const differencesOf = (one: Decided, other: Decided): string[] => {
  if (one.type !== other.type) return ['type'];
  const names = new Set([...Object.keys(one.members), ...Object.keys(other.members)]);
  return [...names].filter((name) => !isDeepStrictEqual(one.members[name], other.members[name]));
};

/** A decision that the slice may still hold further on. */
export interface OpenDecision {
  /** The run or executor that it is about: there is one open decision for each. */
  readonly key: string;
  readonly about: About;
  readonly decision: Decision;
  readonly decided: Decided;
  /** When the code made it, in the time of the slice. Milliseconds since 1970. */
  readonly atMs: number;
}
