import type { RunEvent, RunEventType } from '@runledger/contracts/events/run-event';
import type { Chain } from '@runledger/contracts/fold/chain';
import { evolveAttempt, type AttemptState } from '@runledger/contracts/fold/evolve-attempt';
import { latestVersionUnder, RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { Assignment } from './assignment.ts';

/** The state of an attempt after its RunAssigned. */
export const ASSIGNED: AttemptState = { status: 'started', cancel: null };

/**
 * The lifecycle of a run as one attempt sees it. It accepts the same facts as the fold of the whole run, but
 * does not know the request and earlier attempts.
 */
export const attemptChain = ({
  attempt,
  executor_id,
  event: { data },
}: Pick<Assignment, 'attempt' | 'executor_id' | 'event'>): Chain<RunEventType, RunEvent, AttemptState> => ({
  ...RUN_CHAIN,
  latestVersion: (_state, subject, type) => latestVersionUnder(subject, type, data.fact_versions),
  evolve: (state, fact) => {
    const { event } = fact;
    if (event.attempt === attempt && event.executor_id === executor_id) return evolveAttempt(state, fact);
    return {
      impossible: `${event.type} is about attempt ${event.attempt} of ${event.executor_id ?? 'no executor'}, and this is attempt ${attempt} of ${executor_id}`,
    };
  },
});
