import type { SliceFact, SliceHeader } from '@runledger/contracts/slices/slice';
import { Comparison } from './comparison.ts';
import type { ReplayedService } from './replayed-service.ts';
import type { Decided } from './verdict.ts';

/** What the code makes of what was known before a recorded decision. */
export type Outcome =
  /** `why`: the slice does not say enough to compare a decision that differs; undefined when it does. */
  | { readonly kind: 'decides'; readonly now: Decided; readonly why?: string | undefined }
  /** `situation`: what it decides on, for people. */
  | { readonly kind: 'decides_nothing'; readonly situation: string }
  /** The slice does not say enough: why. */
  | { readonly kind: 'unknown'; readonly why: string };

export interface Judgement {
  readonly run_id: string;
  readonly recorded: Decided;
  readonly outcome: Outcome;
}

/** A service that decides when something outside happens, which only the fact shows that it stored then. */
export interface JudgedService extends Pick<ReplayedService, 'name' | 'assumptions' | 'viewOf'> {
  /** Takes the next fact of the slice; returns what it decides now in place of it, if the fact is one of its decisions. */
  readonly judge: (fact: SliceFact) => Judgement | undefined;
}

/** Compares each decision at the moment of its fact: nothing is foreseen, nothing stays open, and nothing is late. */
export const judgedAtOnce = (
  { judge, ...service }: JudgedService,
  { from }: Pick<SliceHeader, 'from'>,
): ReplayedService => {
  const options = { service: service.name, fromMs: Date.parse(from), toleranceMs: 0 };
  const comparison = new Comparison<undefined>(options);
  return {
    ...service,
    foresee: () => undefined,
    take: (fact) => {
      const judgement = judge(fact);
      if (judgement) compare(comparison, fact, judgement);
      return comparison.takeVerdicts();
    },
    end: () => [],
  };
};

const compare = (
  comparison: Comparison<undefined>,
  { stream, sequence, time }: SliceFact,
  { run_id, recorded, outcome }: Judgement,
): void => {
  const atMs = Date.parse(time);
  const about = { run_id };
  if (outcome.kind === 'decides')
    comparison.add({ key: run_id, about, decision: undefined, decided: outcome.now, atMs });
  const isNothing = outcome.kind === 'decides_nothing';
  const known = {
    whyNotCompared: () => (isNothing ? undefined : outcome.why),
    whyNotDecided: () => (isNothing ? outcome.situation : 'the slice does not say enough'),
  };
  const decision = { about, recorded: { ...recorded, stream, position: sequence, time } };
  comparison.judge(atMs, run_id, decision, known);
  comparison.close(run_id);
};
