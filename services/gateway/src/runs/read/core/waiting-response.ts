import { instantOf } from '@runledger/contracts/run-view/instant';
import type { Waiting } from '@runledger/contracts/http/runs/waiting';
import { isLater, liveStatus } from '@runledger/contracts/run-view/live-status';
import { waitsSince, type QueuedRun } from '@runledger/contracts/fold/run';
import type { WaitReason } from '@runledger/contracts/requests/wait-reason';

/** Why a queued run waits, for the client. */
export const waitingResponse = (run: QueuedRun, wait: WaitReason, now: Date): Waiting => {
  const { ahead, capacity, eta, gpu, executors } = wait;
  const queuedAt = instantOf(run.queued_at);
  return {
    // The time of queueing comes from the broker's clock, which may be ahead of this one.
    for_s: Math.max(0, now.getTime() - queuedAt) / 1_000,
    reason: capacity,
    not_before: isLater(wait) ? run.not_before : null,
    // A queued run always has a sentence.
    sentence: liveStatus(run, null, { ahead, capacity }) ?? '',
    ahead,
    eta,
    eta_sentence: etaSentence(run, wait),
    gpu,
    executors,
    gives_up_at: timeOf(instantOf(waitsSince(run)) + run.request.start_deadline_s * 1_000),
  };
};

const etaSentence = (run: QueuedRun, { eta, no_eta, gpu }: WaitReason): string => {
  if (eta) return `about ${eta.expected}; in 8 of 10 cases between ${eta.earliest} and ${eta.latest}`;
  switch (no_eta) {
    case 'not_yet':
      return `not before ${run.not_before ?? 'later'}; nobody can say how long the queue will be then`;
    case 'no_durations':
      return `nobody can say yet: too few runs have ended that used the GPU model ${gpu}`;
    case 'not_busy':
    case null:
      return 'nobody can say: it waits for something else than the ends of other runs';
  }
};

// oxlint-disable-next-line no-restricted-globals -- it writes a time; it does not read the clock
const timeOf = (instant: number): string => new Date(instant).toISOString();
