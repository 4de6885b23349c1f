import type { Waiting } from '@runledger/contracts/http/runs/waiting';
import { liveStatus } from '@runledger/contracts/run-view/live-status';
import type { QueuedRun } from '@runledger/contracts/fold/run';
import type { WaitReason } from '@runledger/contracts/requests/wait-reason';

/** Why a queued run waits, for the client. */
export const waitingResponse = (run: QueuedRun, wait: WaitReason, now: Date): Waiting => {
  const { ahead, capacity, gpu, executors } = wait;
  const queuedAt = instantOf(run.queued_at);
  return {
    // The time of queueing comes from the broker's clock, which may be ahead of this one.
    for_s: Math.max(0, now.getTime() - queuedAt) / 1_000,
    reason: capacity,
    // A queued run always has a sentence.
    sentence: liveStatus(run, null, { ahead, capacity }) ?? '',
    ahead,
    gpu,
    executors,
    gives_up_at: timeOf(queuedAt + run.request.start_deadline_s * 1_000),
  };
};

// oxlint-disable-next-line no-restricted-globals -- it parses a time; it does not read the clock
const instantOf = (time: string): number => Date.parse(time);

// oxlint-disable-next-line no-restricted-globals -- it writes a time; it does not read the clock
const timeOf = (instant: number): string => new Date(instant).toISOString();
