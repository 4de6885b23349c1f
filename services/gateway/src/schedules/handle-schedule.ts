import { isDeepStrictEqual } from 'node:util';
import type { Schedule } from '@runledger/contracts/catalogue/schedules';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import { advance } from './core/advance.ts';
import { cronTimes } from './core/cron-times.ts';
import { settle, type HandledTimes } from './core/settle.ts';
import type { QueueTime } from './queue-time.ts';
import type { ScheduleMetrics } from './schedule-metrics.ts';

export interface HandleScheduleOptions {
  readonly bucket: Pick<Bucket<Schedule>, 'get' | 'update'>;
  readonly queueTime: QueueTime;
  /** The broker's time, in milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
  readonly metrics: Pick<ScheduleMetrics, 'handled' | 'late'>;
  readonly logger: Logger;
}

/**
 * Handles the times of a schedule that have come. Resolves with the schedule as it is then; undefined when it was deleted.
 *
 * The times are stored as due before a run is queued, and their outcomes after it. A gateway that is killed in between leaves due times,
 * which the next one handles; the id of the run of a time is made of the schedule and the time, so it is queued once. @throws {LogUnavailable}
 */
export type HandleSchedule = (key: string) => Promise<Schedule | undefined>;

const MAX_TRIES = 50;

export const handleSchedule = (options: HandleScheduleOptions): HandleSchedule => {
  const { bucket, brokerNow } = options;
  return async (key) => {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const entry = await bucket.get(key);
      if (!entry) return undefined;
      const now = await brokerNow();
      const taken = await take(options, entry, now);
      if (!taken) continue;
      if (taken.value.due.length === 0) return taken.value;
      const { failure, ...handled } = await handleDue(options, taken.value, now);
      const settled = await storeOutcomes(options, taken, handled);
      if (failure !== undefined) throw failure;
      return settled;
    }
    throw new Error(`The schedule ${key} was changed again and again while it was handled.`);
  };
};

type Taken = Pick<Entry<Schedule>, 'key' | 'value' | 'revision'>;

/** Undefined when the schedule was changed meanwhile. */
const take = async (
  { bucket, metrics, logger }: HandleScheduleOptions,
  { key, value, revision }: Taken,
  now: number,
): Promise<Taken | undefined> => {
  const advanced = advance(value, cronTimes(value), now);
  if (advanced === value) return { key, value, revision };
  const written = await bucket.update(key, advanced, revision);
  if (written === false) return undefined;
  const [missed] = advanced.outcomes;
  if (missed !== undefined && missed !== value.outcomes[0]) {
    metrics.handled('missed', missed.times);
    const { time, last_time, times } = missed;
    logger.warn({ ...nameOf(value), time, last_time, times }, 'a schedule missed times');
  }
  return { key, value: advanced, revision: written };
};

/** One after the other, until one fails for now. */
const handleDue = async (
  { queueTime, metrics, logger }: HandleScheduleOptions,
  schedule: Schedule,
  now: number,
): Promise<HandledTimes & { readonly failure?: unknown }> => {
  let handled: HandledTimes = { outcomes: [], ended: new Set() };
  for (const time of schedule.due) {
    try {
      const { outcome, ended } = await queueTime(settle(schedule, handled), time, now);
      handled = { outcomes: [...handled.outcomes, outcome], ended: handled.ended.union(ended) };
      metrics.handled(outcome.outcome, 1);
      if (outcome.outcome === 'queued') metrics.late((now - Date.parse(time)) / 1_000);
      const { run_id, message } = outcome;
      const fields = { ...nameOf(schedule), time, outcome: outcome.outcome, run_id, message };
      logger[USUAL.has(outcome.outcome) ? 'info' : 'warn'](fields, 'a time of a schedule was handled');
    } catch (failure) {
      return { ...handled, failure };
    }
  }
  return handled;
};

const USUAL: ReadonlySet<string> = new Set(['queued', 'skipped']);

const nameOf = ({ org_id, id }: Schedule) => ({ org_id, schedule_id: id });

/** The schedule with them; undefined when it was deleted. */
const storeOutcomes = async (
  { bucket }: HandleScheduleOptions,
  taken: Taken,
  handled: HandledTimes,
): Promise<Schedule | undefined> => {
  let entry: Taken | undefined = taken;
  for (let tries = 1; entry !== undefined && tries <= MAX_TRIES; tries += 1) {
    const settled = settle(entry.value, handled);
    if (isDeepStrictEqual(settled, entry.value)) return settled;
    if ((await bucket.update(entry.key, settled, entry.revision)) !== false) return settled;
    entry = await bucket.get(entry.key);
  }
  if (entry === undefined) return undefined;
  throw new Error(
    `The outcomes of the schedule ${taken.key} could not be stored: it is changed again and again.`,
  );
};
