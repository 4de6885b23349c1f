import { isDeepStrictEqual } from 'node:util';
import { OpenDecisions, type OpenDecision } from './open-decisions.ts';
import type { About, PresentDecision, RecordedDecision, Verdict, Decided } from './verdict.ts';

/** A decision that another fact came before was being stored for less than this. */
const IN_FLIGHT_MS = 1_000;

interface ComparisonOptions {
  readonly service: string;
  /** Decisions of this time and later are compared. Milliseconds since 1970. */
  readonly fromMs: number;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/** What is known of a recorded decision beside the open ones. */
export interface Circumstances<Decision> {
  /** The slice does not say enough to compare it with the open decision, if there is one, from which it differs: why, or undefined. */
  readonly whyNotCompared: (open: OpenDecision<Decision> | undefined) => string | undefined;
  /** Why the code does not decide it, if it does not. */
  readonly whyNotDecided: () => string;
}

/** Compares what the code of a service decides with what was recorded. All times are those of the slice, in milliseconds since 1970. */
export class Comparison<Decision> {
  readonly #options: ComparisonOptions;
  readonly #open = new OpenDecisions<Decision>();
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
  add(open: OpenDecision<Decision>): void {
    this.#open.add(open);
  }

  get(key: string): OpenDecision<Decision> | undefined {
    return this.#open.get(key);
  }

  all(): Iterable<OpenDecision<Decision>> {
    return this.#open.all();
  }

  isDecided(key: string, recorded: RecordedDecision): boolean {
    const open = this.#open.get(key);
    return open !== undefined && differencesOf(open.decided, recorded).length === 0;
  }

  /** The run or executor has another fact, or the decision is taken back: the next one is about what comes then. */
  close(key: string): void {
    this.#open.close(key);
  }

  /** The service stored this now. */
  judge(
    nowMs: number,
    key: string,
    { about, recorded }: { readonly about: About; readonly recorded: RecordedDecision },
    { whyNotCompared, whyNotDecided }: Circumstances<Decision>,
  ): void {
    const open = this.#open.get(key);
    const reported = this.#open.reported(key);
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
  takeOverdue(nowMs: number, isExcused: (open: OpenDecision<Decision>) => boolean): OpenDecision<Decision>[] {
    const { toleranceMs } = this.#options;
    return this.#open.madeBefore(nowMs - toleranceMs).filter((open) => {
      if (isExcused(open)) return false;
      this.#open.report(open);
      const why = `the slice does not hold it within ${toleranceMs / 1_000} s`;
      this.#add(open.atMs, { kind: 'not_recorded', ...open.about, now: presentOf(open), why });
      return true;
    });
  }

  notCompared(open: OpenDecision<Decision>, why: string): void {
    this.#open.close(open.key);
    this.#add(open.atMs, { kind: 'not_compared', ...open.about, now: presentOf(open), why });
  }

  /** None of the open decisions will be recorded, which says nothing about them. */
  dropAll(why: string): void {
    for (const open of this.#open.takeAll()) this.notCompared(open, why);
  }

  #add(atMs: number, verdict: WithoutService<Verdict>): void {
    const { service, fromMs } = this.#options;
    if (atMs >= fromMs) this.#verdicts.push({ service, ...verdict });
  }
}

type WithoutService<V> = V extends unknown ? Omit<V, 'service'> : never;

const presentOf = <Decision>({ decided, atMs }: OpenDecision<Decision>): PresentDecision => ({
  ...decided,
  time: new Date(atMs).toISOString(),
});

/** The names of the members in which two decisions differ; `type` when they are decisions of different kinds. */
const differencesOf = (one: Decided, other: Decided): string[] => {
  if (one.type !== other.type) return ['type'];
  const names = new Set([...Object.keys(one.members), ...Object.keys(other.members)]);
  return [...names].filter((name) => !isDeepStrictEqual(one.members[name], other.members[name]));
};
