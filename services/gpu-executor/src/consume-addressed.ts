import { setTimeout as pause } from 'node:timers/promises';
import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { addressedTo } from '@runledger/contracts/subjects';
import { consume, done, parkBecause, type Consumption } from '@runledger/event-log/consume';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import type { Executor } from './executor.ts';

/** An executor whose broker was away longer than this begins anew; those that never come back leave nothing behind. */
const forgetAfterMs = 3_600_000;
const retryAfterMs = 500;

/**
 * Hands the executor every fact that is addressed to it, in the order of the log, from now on. It has to be open before
 * the executor registers, so that no assignment comes before it. The consumer bears the executor's name, so that the
 * broker can allow it to this executor alone; whoever starts last under a name has it.
 */
export const consumeAddressed = async (
  log: EventLog,
  executorId: ExecutorId,
  executor: Pick<Executor, 'handle'>,
  stopping: AbortSignal,
): Promise<Consumption> => {
  const options = {
    name: `executor-${executorName(executorId)}`,
    stream: 'RUNS',
    subjects: [addressedTo(executorId)],
    deliver: 'new' as const,
    forgetAfterMs,
    owner: { id: executorId, owns: (subject: string) => subject.endsWith(`.${executorId}`) },
  };
  for (;;) {
    try {
      return await consume(log, options, async ({ stored }) => {
        const handled = executor.handle(stored);
        return handled.kind === 'taken' ? done : parkBecause(handled.why);
      });
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      log.logger.warn({ err: error }, 'the log is away or not provisioned; opening the consumer again');
      await pause(retryAfterMs, undefined, { signal: stopping });
    }
  }
};
