import { setTimeout as pause } from 'node:timers/promises';
import { RunWaiting, type Waiting } from '@runledger/contracts/http/queues';
import { waitsSince, type QueuedRun, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { WaitReason } from '@runledger/contracts/requests/queue-position';
import { instantOf, isLater, liveStatus } from '@runledger/contracts/http/runs/live-status';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf } from './run-path.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import type { CurrentRun } from './facts/current-run.ts';

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

export const waitingRoute = (kit: Kit, runs: Runs): Route =>
  route(waitingOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const found = await waitingRun(kit, runs, key);
    switch (found.kind) {
      case 'waits': {
        const { run, wait } = found;
        return {
          run_id: key.run_id,
          status: run.status,
          waiting: waitingResponse(run, wait, kit.now()),
        };
      }
      case 'does_not_wait':
        return { run_id: key.run_id, status: found.run.status, waiting: null };
      case 'not_read_yet':
        throw new Refused({
          code: 'scheduler_behind',
          why: 'The run is queued, and the scheduler has not read it yet. Try again',
        });
      case 'none':
      case 'deleted':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(found);
    }
  });

type WaitingRun =
  | { readonly kind: 'waits'; readonly run: QueuedRun; readonly wait: WaitReason }
  | { readonly kind: 'does_not_wait'; readonly run: Run }
  /** The run was queued a moment ago, or the scheduler is behind. */
  | { readonly kind: 'not_read_yet' }
  | Exclude<CurrentRun, { kind: 'found' }>;

const KNOWN_WITHIN_MS = 3_000;
const RETRY_AFTER_MS = 50;

/**
 * Retries for up to three seconds: the scheduler may not know a run yet that was queued a moment ago, or may have assigned
 * a run that is still read as queued. @throws {SchedulerUnavailable} @throws {LogUnavailable}
 */
const waitingRun = async ({ clock }: Kit, { scheduler, current }: Runs, key: RunKey): Promise<WaitingRun> => {
  const deadline = clock() + KNOWN_WITHIN_MS;
  for (;;) {
    const found = await current(key);
    if (found.kind !== 'found') return found;
    const { run } = found;
    if (run.status !== 'queued') return { kind: 'does_not_wait', run };
    const wait = await scheduler.waitReason(key);
    if (wait !== null) return { kind: 'waits', run, wait };
    if (clock() >= deadline) return { kind: 'not_read_yet' };
    await pause(RETRY_AFTER_MS);
  }
};

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
