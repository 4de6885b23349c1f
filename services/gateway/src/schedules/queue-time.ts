import type { Schedule, ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { isEnded } from '@runledger/contracts/fold/run';
import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import { MAX_SCHEDULE_MESSAGE } from '@runledger/contracts/limits';
import { Refused, type Conflict, type InvalidRequest } from '../http/refusal.ts';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { CancelRun } from '../runs/cancel/cancel-run.ts';
import type { ReadCurrentRun } from '../runs/current/current-run.ts';
import type { DeploymentQueue } from '../runs/queue/deployment-queue.ts';
import { queueRequestOf } from '../runs/queue/queue-request.ts';
import { acceptedRun } from '../runs/queue/queue-response.ts';
import { runIdOfSchedule } from '../runs/queue/run-identity.ts';
import { NOBODY, textOf } from './core/advance.ts';

export interface QueueTimeOptions {
  readonly queue: DeploymentQueue['queue'];
  readonly current: ReadCurrentRun;
  readonly cancel: CancelRun;
  /** A run was queued. */
  readonly onQueued: () => void;
}

interface HandledTime {
  readonly outcome: ScheduleOutcome;
  /** Earlier runs that were found to have ended. */
  readonly ended: ReadonlySet<string>;
}

/**
 * Queues the run of a due time, unless it has one already. A refusal that passes, such as a log without room, is thrown: the time stays
 * due until it is too late. @throws {LogUnavailable} @throws {Refused}
 */
export type QueueTime = (schedule: Schedule, time: string, now: number) => Promise<HandledTime>;

/** Beyond the catch-up time, for what became due in time: it may wait for others that are due too. */
const LATE_AFTER_MS = 60_000;

/** Why no run is queued. `run_id`: the run that has not ended. */
type Why = { readonly kind: 'late' } | { readonly kind: 'overlaps'; readonly run_id: string };
interface NotQueued {
  readonly kind: 'refused';
  readonly why: Why;
}
const refused = (why: Why): NotQueued => ({ kind: 'refused', why });

export const queueTime = (options: QueueTimeOptions): QueueTime => {
  const { queue, onQueued } = options;
  return async (schedule, time, now) => {
    const org_id = orgId(schedule.org_id);
    const given = { org_id, user_id: schedule.user_id, correlation_id: newUuid() };
    const caller = { ...given, idempotencyKey: undefined, traceparent: null };
    const scheduled = { id: schedule.id, time };
    const requested = {
      kind: 'schedule',
      schedule: scheduled,
      request: queueRequestOf(schedule.request),
    } as const;
    const isLate = now - Date.parse(time) > schedule.catch_up_s * 1_000 + LATE_AFTER_MS;
    const ended = new Set<string>();
    const queued = await queue(caller, requested, () => refuse(options, schedule, isLate, ended));
    const as = (outcome: ScheduleOutcome['outcome'], run_id: string | null, message: string | null) => ({
      ended,
      outcome: {
        time,
        last_time: time,
        times: 1,
        outcome,
        run_id,
        message: message?.slice(0, MAX_SCHEDULE_MESSAGE) ?? null,
        handled_at: textOf(now),
      },
    });
    if (queued.kind === 'refused') {
      const { why } = queued;
      if (typeof why === 'string') return as('refused', null, NO_DEPLOYMENT);
      switch (why.kind) {
        case 'late':
          return as('missed', null, NOBODY);
        case 'overlaps':
          return as('skipped', why.run_id, 'An earlier run of the schedule had not ended.');
        case 'invalid':
          return as('refused', null, problemsText(why));
      }
    }
    // A client deleted it since: the time was handled.
    if (queued.kind === 'key_of_deleted_run') return as('queued', runIdOfSchedule(org_id, scheduled), null);
    try {
      return as('queued', acceptedRun(queued, onQueued).run_id, null);
    } catch (error) {
      if (isLasting(error)) return as('refused', null, error.refusal.why);
      throw error;
    }
  };
};

/** Asked when the time has no run yet. `ended` gets the earlier runs that have ended. */
const refuse = async (
  { current, cancel }: Pick<QueueTimeOptions, 'current' | 'cancel'>,
  schedule: Schedule,
  isLate: boolean,
  ended: Set<string>,
): Promise<NotQueued | undefined> => {
  if (isLate) return refused({ kind: 'late' });
  if (schedule.overlap === 'allow') return undefined;
  for (const run_id of schedule.open_runs) {
    const key = { org_id: orgId(schedule.org_id), run_id: runId(run_id) };
    if (!(await isOpen(current, key))) ended.add(run_id);
    else if (schedule.overlap === 'skip') return refused({ kind: 'overlaps', run_id });
    else await cancelOther(cancel, key, schedule.user_id);
  }
  return undefined;
};

const NO_DEPLOYMENT =
  'The deployment was archived or deleted, so nothing was queued: restore it, or give the schedule another one.';

const isOpen = async (current: ReadCurrentRun, key: RunKey): Promise<boolean> => {
  const found = await current(key);
  switch (found.kind) {
    case 'found':
      return !isEnded(found.run);
    case 'none':
    case 'deleted':
      return false;
    case 'unreadable':
    case 'views_unavailable':
      throw notYet(found.why);
  }
};

const cancelOther = async (cancel: CancelRun, key: RunKey, user_id: string): Promise<void> => {
  const cancelled = await cancel(key, { user_id, traceparent: null });
  switch (cancelled.kind) {
    case 'answered':
    case 'status_excluded':
    case 'none':
    case 'deleted':
      return;
    case 'too_busy':
      throw notYet('it changes again and again');
    case 'unreadable':
    case 'views_unavailable':
      throw notYet(cancelled.why);
  }
};

const notYet = (why: string): Refused =>
  new Refused({
    code: 'run_unreadable',
    why: `An earlier run of the schedule cannot be handled now: ${why}`,
  });

const problemsText = ({ problems }: InvalidRequest): string =>
  problems.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');

/** A refusal that another try would meet again. */
const isLasting = (error: unknown): error is Refused & { readonly refusal: Conflict } =>
  error instanceof Refused && LASTING.has(statusOf(error.refusal.code));

const LASTING: ReadonlySet<number> = new Set([409, 413, 429, 507]);
