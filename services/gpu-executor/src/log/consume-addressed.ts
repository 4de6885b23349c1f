import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { executorFilter } from '@runledger/contracts/subjects/run-subjects';
import {
  consume,
  done,
  ConsumerInUse,
  deadLetterBecause,
  type Consumption,
} from '@runledger/event-log/consume/consume';
import { rememberMessage } from '@runledger/event-log/append/previous-hash';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { sleep } from '@runledger/resilience/abort';
import type { Executor } from '../attempt/executor.ts';

/** The broker removes the consumer of an executor that was disconnected longer than this. */
const EXPIRE_AFTER_MS = 3_600_000;
const RETRY_AFTER_MS = 500;
/** When a machine loses its power, its executor looks connected to the broker until its last request ends, 10 s at most. */
const OTHER_ENDS_WITHIN_MS = 12_000;

/**
 * Delivers every fact that is addressed to the executor, in the order of the log, from now on. Open it before the
 * executor registers, so that it misses no assignment. The consumer has the executor's name, so that the broker can
 * permit it to this executor alone. While another executor of that name is alive, that one keeps it.
 * @throws {Error} when the other one does not end
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
    subjects: [executorFilter(executorId)],
    deliver: 'new' as const,
    forgetAfterMs: EXPIRE_AFTER_MS,
    owner: { id: executorId, owns: (subject: string) => subject.endsWith(`.${executorId}`) },
  };
  let giveUpAt: number | undefined;
  for (;;) {
    try {
      return await consume(log, options, async ({ stored }) => {
        // What its attempts store next rests on it.
        rememberMessage(log, stored);
        const handled = executor.handle(stored);
        return handled.kind === 'taken' ? done : deadLetterBecause(handled.why);
      });
    } catch (error) {
      if (error instanceof ConsumerInUse) {
        giveUpAt ??= performance.now() + OTHER_ENDS_WITHIN_MS;
        if (performance.now() >= giveUpAt)
          throw new Error(nameTakenMessage(executorId, error), { cause: error });
        log.logger.warn({ err: error }, 'another executor of that name is running; waiting for it to end');
      } else if (error instanceof LogUnavailable) {
        log.logger.warn(
          { err: error },
          'the log is unavailable or not provisioned; opening the consumer again',
        );
      } else throw error;
      await sleep(RETRY_AFTER_MS, stopping);
      stopping.throwIfAborted();
    }
  }
};

const nameTakenMessage = (id: ExecutorId, { by }: ConsumerInUse): string =>
  `Another executor named ${executorName(id)} is running (${by}). ` +
  'Give each executor its own EXECUTOR_NAME, or stop the other one.';
