import type { Decision } from '@runledger/scheduler/core/decision';
import type { ReplayedService } from '../decisions/judged-at-once.ts';
import { Comparison } from '../decisions/comparison.ts';
import { placeOf, type Survey } from '../slice.ts';
import { FactsOfScheduler } from './facts-of-scheduler.ts';
import { viewOf } from './known-to-scheduler.ts';
import { Foresight } from './foresight.ts';
import { PlayedScheduler } from './played-scheduler.ts';
import type { SchedulerSettings } from './scheduler-settings.ts';

export interface ReplayedSchedulerOptions {
  readonly survey: Survey;
  readonly settings: SchedulerSettings;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/**
 * The scheduler's core in the time of a slice. It takes every fact as the scheduler does; what it decides is compared with the fact that the
 * scheduler stored, and the fact counts. So a difference does not make all that follows differ.
 */
export const replayedScheduler = (options: ReplayedSchedulerOptions): ReplayedService => {
  const { survey, toleranceMs } = options;
  const fromMs = Date.parse(survey.header.from);
  const leadInMs = Date.parse(survey.header.lead_in_from);
  const comparison = new Comparison<Decision>({ service: 'scheduler', fromMs, toleranceMs });
  const played = new PlayedScheduler({ ...options, comparison });
  const foresight = new Foresight();
  const facts = new FactsOfScheduler(played, comparison);
  return {
    name: 'scheduler',
    foresee: (fact) => {
      const assignment = foresight.foresee(fact);
      if (assignment) played.foresee(assignment);
    },
    take: (fact) => {
      const ms = Date.parse(fact.time);
      if (ms >= leadInMs) played.passTime(ms);
      facts.take(fact);
      if (survey.lastOfTerms.has(placeOf(fact))) played.standBy();
      return comparison.takeVerdicts();
    },
    end: () => {
      comparison.dropAll('the slice ends before it could be stored');
      return comparison.takeVerdicts();
    },
    assumptions: () => assumptionsOf(options, facts.olderRuns),
    viewOf: (run_id) => viewOf(played.scheduling, run_id),
  };
};

const assumptionsOf = ({ settings, toleranceMs }: ReplayedSchedulerOptions, olderRuns: number): string[] => {
  const weights = entriesOf('RUNLEDGER_ORG_WEIGHTS', settings, 'all equal');
  const limits = entriesOf('RUNLEDGER_ORG_LIMITS', settings, 'none');
  return [
    `Weights of organisations: ${weights}. Limits of organisations: ${limits}.`,
    `A heartbeat period of ${settings.RUNLEDGER_HEARTBEAT_PERIOD_S} s, and cancels enforced after ${settings.RUNLEDGER_CANCEL_ENFORCE_S} s.`,
    'Heartbeats: each executor sent them from its registration until it left, or until a period before it was lost. What its slots have loaded follows from RunStarted and from placements.',
    `A decision was stored at most ${toleranceMs / 1_000} s after it was made, and the log had room.`,
    ...(olderRuns > 0
      ? [
          `${olderRuns} runs were queued before the slice begins: their slots look free. Capture it with a longer --lead-in.`,
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
