import { setTimeout as pause } from 'node:timers/promises';
import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { executorFilter } from '@runledger/contracts/subjects/run-subjects';
import {
  consume,
  done,
  ConsumerInUse,
  deadLetterBecause,
  type Consumption,
} from '@runledger/event-log/consume/consume';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import type { Executor } from '../attempt/executor.ts';

/** An executor whose broker was away longer than this begins anew; those that never come back leave nothing behind. */
const EXPIRE_AFTER_MS = 3_600_000;
const RETRY_AFTER_MS = 500;
/** The broker takes an executor whose machine lost its power for one that waits until its last request ends, 10 s at most. */
const OTHER_GONE_WITHIN_MS = 12_000;

/**
 * Hands the executor every fact that is addressed to it, in the order of the log, from now on. It has to be open before
 * the executor registers, so that no assignment comes before it. The consumer bears the executor's name, so that the
 * broker can allow it to this executor alone; while another one of that name is alive, that one has it.
 * @throws {Error} when that one does not go
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
        const handled = executor.handle(stored);
        return handled.kind === 'taken' ? done : deadLetterBecause(handled.why);
      });
    } catch (error) {
      if (error instanceof ConsumerInUse) {
        giveUpAt ??= performance.now() + OTHER_GONE_WITHIN_MS;
        if (performance.now() >= giveUpAt)
          throw new Error(nameTakenMessage(executorId, error), { cause: error });
        log.logger.warn({ err: error }, 'another executor of that name is running; waiting for it to go');
      } else if (error instanceof LogUnavailable) {
        log.logger.warn({ err: error }, 'the log is away or not provisioned; opening the consumer again');
      } else throw error;
      await pause(RETRY_AFTER_MS, undefined, { signal: stopping });
    }
  }
};

const nameTakenMessage = (id: ExecutorId, { by }: ConsumerInUse): string =>
  `Another executor named ${executorName(id)} is running (${by}). ` +
  'Give each executor an EXECUTOR_NAME of its own, or stop the other one.';
