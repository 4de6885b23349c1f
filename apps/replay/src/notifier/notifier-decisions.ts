import type { RunId } from '@runledger/contracts/ids';
import { Comparison } from '../decisions/comparison.ts';
import type { OpenDecision } from '../decisions/open-decisions.ts';
import type { Decided, Verdict } from '../decisions/verdict.ts';

/** What a decision is about, beside its run: each kind has one open decision for a run. */
export type DecisionKind = 'attempt' | 'state' | 'start' | 'conclusion';

export interface NotifierDecisionsOptions {
  /** Decisions of this time and later are compared. Milliseconds since 1970. */
  readonly fromMs: number;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
  /** How long an attempt may take, which is stored when it has ended. */
  readonly attemptMs: number;
}

/** What the notifier decides, compared with what it wrote. */
export class NotifierDecisions {
  /** Attempts, and states of deliveries between them. */
  readonly attempts: Comparison<RunId>;
  /** What the notifier wrote to RUNS. */
  readonly facts: Comparison<RunId>;
  readonly toleranceMs: number;

  constructor({ fromMs, toleranceMs, attemptMs }: NotifierDecisionsOptions) {
    const common = { service: 'notifier', fromMs };
    this.toleranceMs = toleranceMs;
    this.attempts = new Comparison({ ...common, toleranceMs: toleranceMs + attemptMs });
    this.facts = new Comparison({ ...common, toleranceMs });
  }

  comparisonOf(kind: DecisionKind): Comparison<RunId> {
    return kind === 'attempt' || kind === 'state' ? this.attempts : this.facts;
  }

  /** The code has decided. */
  add(kind: DecisionKind, run: RunId, decided: Decided, atMs: number): void {
    const open: OpenDecision<RunId> = {
      key: keyOf(kind, run),
      about: { run_id: run },
      decision: run,
      decided,
      atMs,
    };
    this.comparisonOf(kind).add(open);
  }

  isOpen(kind: DecisionKind, run: RunId): boolean {
    return this.comparisonOf(kind).get(keyOf(kind, run)) !== undefined;
  }

  close(kind: DecisionKind, run: RunId): void {
    this.comparisonOf(kind).close(keyOf(kind, run));
  }

  /** The delivery went on, so it was not concluded. */
  overtake(nowMs: number, run: RunId, by: string): void {
    this.facts.overtake(nowMs, keyOf('conclusion', run), by);
    this.facts.close(keyOf('conclusion', run));
  }

  /** Reports those that should be in the slice by now, and returns the runs whose attempts are. */
  takeOverdue(nowMs: number, whyExcused: (run: RunId) => string | undefined): RunId[] {
    this.facts.takeOverdue(nowMs, () => false);
    const runs: RunId[] = [];
    this.attempts.takeOverdue(nowMs, (open) => {
      runs.push(open.decision);
      const why = whyExcused(open.decision);
      if (why !== undefined) this.attempts.notCompared(open, why);
      return why !== undefined;
    });
    return runs;
  }

  dropAll(why: string): void {
    this.attempts.dropAll(why);
    this.facts.dropAll(why);
  }

  takeVerdicts(): Verdict[] {
    return [...this.attempts.takeVerdicts(), ...this.facts.takeVerdicts()];
  }
}

export const keyOf = (kind: DecisionKind, run: RunId): string => `${run} ${kind}`;
