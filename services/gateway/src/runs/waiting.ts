import { setTimeout as pause } from 'node:timers/promises';
import { RunWaiting, type Waiting } from '@runledger/contracts/http/queues';
import { waitsSince, type QueuedRun } from '@runledger/contracts/fold/run';
import type { WaitReason } from '@runledger/contracts/requests/queue-position';
import { instantOf, isLater, liveStatus } from '@runledger/contracts/http/runs/live-status';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { existingRun, RunPath, runKeyOf } from './run-path.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

const waitingOperation = operation({
  id: 'getRunWaiting',
  method: 'GET',
  path: '/run/{run_id}/waiting',
  tag: 'Runs',
  summary: 'Read why a run waits',
  description:
    'What the run waits for, how many runs are ahead of it, and how many executors can run it, from the leading scheduler.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'Why the run waits, or that it does not wait.', body: RunWaiting },
  refusals: [404],
});

const KNOWN_WITHIN_MS = 3_000;
const RETRY_AFTER_MS = 50;

/**
 * Retries for up to three seconds: the scheduler may not know a run yet that was queued a moment ago, or may have assigned
 * a run that is still read as queued. @throws {SchedulerUnavailable} @throws {LogUnavailable}
 */
export const waitingRoute = ({ clock, now }: Kit, { scheduler, current }: Runs): Route =>
  route(waitingOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const deadline = clock() + KNOWN_WITHIN_MS;
    for (;;) {
      const { run } = await existingRun(current, key);
      const { run_id, status } = run;
      if (run.status !== 'queued') return { run_id, status, waiting: null };
      const wait = await scheduler.waitReason(key);
      if (wait !== null) return { run_id, status, waiting: waitingResponse(run, wait, now()) };
      if (clock() >= deadline)
        throw new Refused({
          code: 'scheduler_behind',
          why: 'The run is queued, and the scheduler has not read it yet. Try again',
        });
      await pause(RETRY_AFTER_MS);
    }
  });

/** Why a queued run waits, for the client. */
const waitingResponse = (run: QueuedRun, wait: WaitReason, now: Date): Waiting => {
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
