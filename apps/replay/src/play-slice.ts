import type { SliceFact, SliceHeader } from '@runledger/contracts/slices/slice';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { Comparison } from './comparison.ts';
import { FactsOfScheduler } from './facts-of-scheduler.ts';
import { Foresight } from './foresight.ts';
import { viewOf } from './known-to-scheduler.ts';
import { PlayedScheduler } from './played-scheduler.ts';
import type { SchedulerSettings } from './settings.ts';
import { foreseen, placeOf, surveySlice } from './slice.ts';
import type { Verdict } from './verdict.ts';

export interface PlayOptions {
  /** The file of the slice. */
  readonly path: string;
  readonly settings: SchedulerSettings;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/** One step of a replay: a fact, and what is known of decisions since the one before. */
export interface Step {
  /** Undefined for the last step, at the end of the slice. */
  readonly fact: SliceFact | undefined;
  readonly verdicts: readonly Verdict[];
  readonly header: SliceHeader;
  /** What the slice does not say, and what is assumed instead. For people, one sentence each. */
  readonly assumptions: () => readonly string[];
  /** What the scheduler knows of a run, for people; undefined when it knows nothing of it. */
  readonly viewOf: (run_id: string) => object | undefined;
}

/** The slice is whole, but decisions cannot be compared with it. */
export class UnusableSlice extends Error {
  override readonly name = 'UnusableSlice';
}

/**
 * Plays the scheduler's core in the time of a slice, one fact after another. It takes every fact as the scheduler does; what it decides is
 * compared with the fact that the scheduler stored, and the fact counts. So a difference does not make all that follows differ. The file is
 * read twice. @throws {InvalidSlice} {UnusableSlice} {NewerFact}
 */
export async function* playSlice(options: PlayOptions): AsyncGenerator<Step> {
  const { path, settings, toleranceMs } = options;
  const survey = await surveySlice(readSliceFile(path));
  const { header, lastOfTerms } = survey;
  if ([...header.organisations, ...header.deployments, ...header.runs].length > 0)
    throw new UnusableSlice(
      `${path} has some runs only, and others held slots meanwhile. Capture it without --organisation, --deployment and --run.`,
    );
  const comparison = new Comparison({ fromMs: Date.parse(header.from), toleranceMs });
  const played = new PlayedScheduler({ survey, settings, comparison });
  const foresight = new Foresight();
  const facts = new FactsOfScheduler(played, comparison);
  const warmUpMs = Date.parse(header.warm_up_from);
  const common = {
    header,
    assumptions: () => assumptionsOf(options, facts.olderRuns),
    viewOf: (run_id: string) => viewOf(played.scheduling, run_id),
  };
  const ahead = (fact: SliceFact): void => {
    const assignment = foresight.foresee(fact);
    if (assignment) played.foresee(assignment);
  };
  for await (const fact of foreseen(readSliceFile(path), ahead)) {
    const ms = Date.parse(fact.time);
    if (ms >= warmUpMs) played.passTime(ms);
    facts.take(fact);
    if (lastOfTerms.has(placeOf(fact))) played.standBy();
    yield { fact, verdicts: comparison.takeVerdicts(), ...common };
  }
  comparison.dropAll('the slice ends before it could be stored');
  yield { fact: undefined, verdicts: comparison.takeVerdicts(), ...common };
}

const assumptionsOf = ({ settings, toleranceMs }: PlayOptions, olderRuns: number): string[] => {
  const weights = entriesOf('RUNLEDGER_ORG_WEIGHTS', settings, 'all equal');
  const limits = entriesOf('RUNLEDGER_ORG_LIMITS', settings, 'none');
  return [
    `Weights of organisations: ${weights}. Limits of organisations: ${limits}.`,
    `A heartbeat period of ${settings.RUNLEDGER_HEARTBEAT_PERIOD_S} s, and cancels enforced after ${settings.RUNLEDGER_CANCEL_ENFORCE_S} s.`,
    'Heartbeats: each executor sent them from its registration until it left, or until a period before it was lost. What its slots have loaded follows from RunStarted and from placements.',
    `A decision was stored at most ${toleranceMs / 1_000} s after it was made, and the log had room.`,
    ...(olderRuns > 0
      ? [
          `${olderRuns} runs were queued before the slice begins: their slots look free. Capture it with a longer --warm-up.`,
        ]
      : []),
  ];
};

/** So many entries of a setting are shown. */
const SHOWN_ENTRIES = 3;

const entriesOf = (
  name: 'RUNLEDGER_ORG_WEIGHTS' | 'RUNLEDGER_ORG_LIMITS',
  settings: SchedulerSettings,
  none: string,
): string => {
  const entries = settings[name];
  if (entries.length === 0) return none;
  const shown = entries.slice(0, SHOWN_ENTRIES).join(', ');
  return `${shown}${entries.length > SHOWN_ENTRIES ? ` and ${entries.length - SHOWN_ENTRIES} more` : ''} (${name})`;
};
