import { isRunId } from '@runledger/contracts/ids';
import type { ReplayedService } from '../decisions/judged-at-once.ts';
import type { Survey } from '../slice.ts';
import { FactsOfNotifier } from './facts-of-notifier.ts';
import { WhatIsKnown } from './known-to-notifier.ts';
import { NotifiedRuns } from './notified-runs.ts';
import { NotifierDecisions } from './notifier-decisions.ts';
import type { NotifierSettings } from './notifier-settings.ts';
import { PlayedNotifier } from './played-notifier.ts';
import { ForeseenAttempts } from './recorded-attempts.ts';

export interface ReplayedNotifierOptions {
  readonly survey: Survey;
  readonly settings: NotifierSettings;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/**
 * The notifier's core in the time of a slice. It attempts, defers, concludes and gives up as the notifier does, with the outcomes that the slice
 * has; nothing is sent. What it decides is compared with what the notifier wrote, and that counts.
 */
export const replayedNotifier = (options: ReplayedNotifierOptions): ReplayedService => {
  const { survey, settings, toleranceMs } = options;
  const { from, lead_in_from, streams } = survey.header;
  const runs = new NotifiedRuns();
  const foreseen = new ForeseenAttempts();
  const attemptMs = settings.RUNLEDGER_WEBHOOK_TRY_S * 1_000;
  const decisions = new NotifierDecisions({ fromMs: Date.parse(from), toleranceMs, attemptMs });
  const known = new WhatIsKnown({ runs, foreseen, played: () => played, toleranceMs });
  const parts = { settings, created: streams.RUNS.created, runs, foreseen, decisions };
  const played: PlayedNotifier = new PlayedNotifier(parts, (run) => known.whyExcused(run));
  const facts = new FactsOfNotifier({ played, runs, foreseen, decisions, known });
  const leadInMs = Date.parse(lead_in_from);
  return {
    name: 'notifier',
    foresee: (fact) => foreseen.foresee(fact),
    take: (fact) => {
      const ms = Date.parse(fact.time);
      if (ms >= leadInMs) played.passTime(ms);
      facts.take(fact);
      return decisions.takeVerdicts();
    },
    end: () => {
      decisions.dropAll('the slice ends before it could be stored');
      return decisions.takeVerdicts();
    },
    assumptions: () => assumptionsOf(options),
    viewOf: (run_id) => (isRunId(run_id) ? known.viewOf(run_id) : undefined),
  };
};

const assumptionsOf = ({ settings, toleranceMs }: ReplayedNotifierOptions): string[] => [
  `Deliveries are given up ${settings.RUNLEDGER_WEBHOOK_GIVE_UP_S} s after the end of their run, an attempt takes at most ${settings.RUNLEDGER_WEBHOOK_TRY_S} s, and ${settings.RUNLEDGER_WEBHOOK_IN_FLIGHT} are made at the same time.`,
  'One notifier held every partition all the time, TIMERS had room and delivered what was due in the order of the recorded attempts, and the log keeps every fact.',
  'A retry was due when the slice has its attempt, if the schedule allows that; a receiver that answered may have asked for more time.',
  'Receivers had no breaker open at the beginning of the slice, and no breaker opened or closed because of intermediate notifications.',
  `A decision was stored at most ${toleranceMs / 1_000} s after it was made, and an attempt when it had ended.`,
];
