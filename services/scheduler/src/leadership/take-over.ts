import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { untilAborted } from '@runledger/resilience/abort';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { beginTerm, tellTerm } from '@runledger/event-log/streams/terms';
import type { Scheduling } from '../core/scheduling.ts';
import type { FollowedLog } from '../log/follow-log.ts';

export interface TakeOverOptions {
  readonly scheduling: Pick<Scheduling, 'mayBegin'>;
  readonly followed: Pick<FollowedLog, 'readToEnd' | 'superseded'>;
  readonly instance: string;
}

/** A term in which this scheduler may decide. */
export interface Term {
  readonly term: number;
  /** Aborted when another one has begun. */
  readonly over: AbortSignal;
}

const MAX_CONCURRENT_APPENDS = 256;

/**
 * Begins a term, and tells it to all executors: what leaders before store from then on is void. Then it reads all that they stored before:
 * it counts for every limit and every slot. An executor that registers after the term began knows it. Undefined when the term is over.
 * @throws the signal's reason
 */
export const takeOver = async (
  log: EventLog,
  options: TakeOverOptions,
  signal: AbortSignal,
): Promise<Term | undefined> => {
  const { followed, instance } = options;
  const retrying = { signal, logger: log.logger };
  const term = await retryWhileUnavailable(retrying, () => beginTerm(log, instance));
  const over = AbortSignal.any([signal, followed.superseded(term)]);
  await followed.readToEnd(over, { runs: 0, fleet: term });
  const runs = await untilAborted(tellExecutors(log, options, { term, over }), over);
  if (runs === undefined) return undefined;
  await followed.readToEnd(over, { runs, fleet: term });
  return over.aborted ? undefined : { term, over };
};

/** The last sequence at which one is told. */
const tellExecutors = async (
  log: EventLog,
  { scheduling, instance }: TakeOverOptions,
  { term, over }: Term,
): Promise<number> => {
  const executors = scheduling.mayBegin().values();
  const retrying = { signal: over, logger: log.logger };
  let last = 0;
  const tell = async (): Promise<void> => {
    for (const executor of executors) {
      const told = await retryWhileUnavailable(retrying, () => tellTerm(log, { term, instance, executor }));
      last = Math.max(last, told);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_APPENDS }, tell));
  return last;
};
