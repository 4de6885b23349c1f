import type { Schedule, ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { isEnded } from '@runledger/contracts/fold/run';
import { statusOf } from '@runledger/contracts/http/refusal-codes';
import { MAX_SCHEDULE_MESSAGE } from '@runledger/contracts/limits';
import type { Bucket } from '@runledger/event-log/streams/bucket';
import { Refused, type Conflict, type InvalidRequest } from '../../door/refusal.ts';
import { changeRecord } from '../../records/catalogue/records.ts';
import { queueRequestOf, acceptedRun } from '../facts/deployment-queue.ts';
import { storedChoice } from '../facts/named-deployment.ts';
import { runIdOfSchedule } from '../facts/accept-run.ts';
import type { NotQueued } from '../facts/queue-run.decide.ts';
import { NOBODY, textOf, advance, settle, type HandledTimes } from './schedule.decide.ts';
import { cronTimes } from './cron-times.decide.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';

/** What schedules are handled with. */
export interface ScheduleHandling {
  readonly kit: Kit;
  readonly runs: Runs;
  readonly bucket: Bucket<Schedule>;
  /** The broker's time, in milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
}

/**
 * Handles the times of a schedule that have come. False when it was deleted.
 *
 * The times are stored as due before a run is queued, and their outcomes after it. A gateway that is killed in between leaves due times,
 * which the next one handles; the id of the run of a time is made of the schedule and the time, so it is queued once. @throws {LogUnavailable}
 */
export const handleSchedule = async (handling: ScheduleHandling, key: string): Promise<boolean> => {
  const { kit, bucket, brokerNow } = handling;
  const now = await brokerNow();
  let before: Schedule | undefined;
  const advanced = await changeSchedule(bucket, key, (schedule) => {
    before = schedule;
    return advance(schedule, cronTimes(schedule), now);
  });
  if (!advanced) return false;
  const [missed] = advanced.outcomes;
  if (advanced !== before && missed !== undefined && missed !== before?.outcomes[0]) {
    kit.metrics.schedules.handled('missed', missed.times);
    const { time, last_time, times } = missed;
    kit.logger.warn({ ...nameOf(advanced), time, last_time, times }, 'a schedule missed times');
  }
  if (advanced.due.length === 0) return true;
  const { failure, ...handled } = await handleDue(handling, advanced, now);
  const settled = await changeSchedule(bucket, key, (schedule) => settle(schedule, handled));
  if (failure !== undefined) throw failure;
  return settled !== undefined;
};

/** Undefined when it was deleted. */
const changeSchedule = async (
  bucket: Bucket<Schedule>,
  key: string,
  change: (schedule: Schedule) => Schedule,
): Promise<Schedule | undefined> => {
  const changed = await changeRecord<Schedule, never>(bucket, key, async (schedule) => ({
    kind: 'changed',
    record: change(schedule),
  }));
  if (changed.kind === 'changed') return changed.record;
  if (changed.kind === 'none') return undefined;
  throw new Error(`The schedule ${key} was changed again and again while it was handled.`);
};

/** One after the other, until one fails for now. */
const handleDue = async (
  { kit, runs }: ScheduleHandling,
  schedule: Schedule,
  now: number,
): Promise<HandledTimes & { readonly failure?: unknown }> => {
  const metrics = kit.metrics.schedules;
  let handled: HandledTimes = { outcomes: [], ended: new Set() };
  for (const time of schedule.due) {
    try {
      const ended = new Set(handled.ended);
      const outcome = await queueTime(kit, runs, settle(schedule, handled), time, now, ended);
      handled = { outcomes: [...handled.outcomes, outcome], ended };
      metrics.handled(outcome.outcome, 1);
      if (outcome.outcome === 'queued') metrics.late((now - Date.parse(time)) / 1_000);
      const { run_id, message } = outcome;
      const fields = { ...nameOf(schedule), time, outcome: outcome.outcome, run_id, message };
      kit.logger[USUAL.has(outcome.outcome) ? 'info' : 'warn'](fields, 'a time of a schedule was handled');
    } catch (failure) {
      return { ...handled, failure };
    }
  }
  return handled;
};

const USUAL: ReadonlySet<string> = new Set(['queued', 'skipped']);

const nameOf = ({ org_id, id }: Schedule) => ({ org_id, schedule_id: id });

/** Beyond the catch-up time, for what became due in time: it may wait for others that are due too. */
const LATE_AFTER_MS = 60_000;

/** What came of a time. `run_id`: of its run, or of the earlier one that has not ended. */
type Result = Pick<ScheduleOutcome, 'outcome' | 'run_id' | 'message'> & { readonly kind: 'result' };

/**
 * Queues the run of a due time, unless it has one already. `ended` gets the earlier runs that are found to have ended. A refusal that passes,
 * such as a log without room, is thrown: the time stays due until it is too late. @throws {LogUnavailable} @throws {Refused}
 */
const queueTime = async (
  kit: Kit,
  runs: Runs,
  schedule: Schedule,
  time: string,
  now: number,
  ended: Set<string>,
): Promise<ScheduleOutcome> => {
  const org_id = orgId(schedule.org_id);
  const { user_id } = schedule;
  const scheduled = { id: schedule.id, time };
  const isLate = now - Date.parse(time) > schedule.catch_up_s * 1_000 + LATE_AFTER_MS;
  const queued = await runs.deployments.queue(
    { org_id, user_id, correlation_id: newUuid(), idempotencyKey: undefined, traceparent: null },
    {
      kind: 'schedule',
      schedule: scheduled,
      request: queueRequestOf(schedule.request, storedChoice(schedule.request)),
    },
    () => refuse(runs, schedule, isLate, ended),
  );
  const as = (outcome: ScheduleOutcome['outcome'], run_id: string | null, message: string | null) => ({
    time,
    last_time: time,
    times: 1,
    outcome,
    run_id,
    message: message?.slice(0, MAX_SCHEDULE_MESSAGE) ?? null,
    handled_at: textOf(now),
  });
  if (queued.kind === 'refused') {
    const { why } = queued;
    if (typeof why === 'string') return as('refused', null, GONE[why]);
    return why.kind === 'invalid'
      ? as('refused', null, problemsText(why))
      : as(why.outcome, why.run_id, why.message);
  }
  // A client deleted it since: the time was handled.
  if (queued.kind === 'key_of_deleted_run') return as('queued', runIdOfSchedule(org_id, scheduled), null);
  try {
    return as('queued', acceptedRun(kit, queued).run_id, null);
  } catch (error) {
    if (isLasting(error)) return as('refused', null, error.refusal.why);
    throw error;
  }
};

const NO_DEPLOYMENT =
  'The deployment was archived or deleted, so nothing was queued: restore it, or give the schedule another one.';
const GONE = {
  no_deployment: NO_DEPLOYMENT,
  archived_deployment: NO_DEPLOYMENT,
  no_version:
    'The workflow version of the schedule was deleted, or its deployment has another workflow now, so nothing was queued: give the schedule another one.',
};

/** Why no run is queued, if the time has none yet. Cancels earlier runs when the schedule says so. */
const refuse = async (
  { current, cancel }: Runs,
  { org_id, user_id, overlap, open_runs }: Schedule,
  isLate: boolean,
  ended: Set<string>,
): Promise<NotQueued<Result> | undefined> => {
  const refused = (outcome: 'missed' | 'skipped', run_id: string | null, message: string) => ({
    kind: 'refused' as const,
    why: { kind: 'result' as const, outcome, run_id, message },
  });
  if (isLate) return refused('missed', null, NOBODY);
  for (const run_id of overlap === 'allow' ? [] : open_runs) {
    const key = { org_id: orgId(org_id), run_id: runId(run_id) };
    const found = await current(key);
    if ('why' in found) throw notYet(found.why);
    if (found.kind !== 'found' || isEnded(found.run)) ended.add(run_id);
    else if (overlap === 'skip')
      return refused('skipped', run_id, 'An earlier run of the schedule had not ended.');
    else {
      const cancelled = await cancel(key, { user_id, traceparent: null });
      if (cancelled.kind === 'too_busy') throw notYet('it changes again and again');
      if ('why' in cancelled) throw notYet(cancelled.why);
    }
  }
  return undefined;
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
