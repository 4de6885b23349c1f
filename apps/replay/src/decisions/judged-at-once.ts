import type { SliceFact, SliceHeader } from '@runledger/contracts/slices/slice';
import { Comparison } from './comparison.ts';
import type { Decided, Verdict } from './verdict.ts';

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
interface JudgedService extends Pick<ReplayedService, 'name' | 'assumptions' | 'viewOf'> {
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

/** The code of a service, played in the time of a slice. It does no I/O: what it decides is compared, and executed nowhere. */
export interface ReplayedService {
  readonly name: string;
  /** A fact that comes a little further on: it may show what the service knew before. Each is foreseen before it is taken. */
  readonly foresee: (fact: SliceFact) => void;
  /** Takes the next fact of the slice at its time, and returns what is known of decisions since the one before. */
  readonly take: (fact: SliceFact) => readonly Verdict[];
  /** The slice is over. */
  readonly end: () => readonly Verdict[];
  /** What the slice does not say, and what is assumed instead. For people, one sentence each. */
  readonly assumptions: () => readonly string[];
  /** What the service knows of a run, for people; undefined when it knows nothing of it. */
  readonly viewOf: (run_id: string) => object | undefined;
}
