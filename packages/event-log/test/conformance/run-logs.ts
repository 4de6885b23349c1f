import type { RunLog } from '../../src/read/run-messages.ts';
import { memoryLog } from '../../src/append/memory-log.ts';
import { aLog, forge } from '../fixtures/test-log.ts';

/** A log under test, and a client that may write any message. */
export interface LogUnderTest extends AsyncDisposable {
  readonly log: RunLog;
  forge(
    subject: string,
    body: object,
    fence?: { readonly filter: string; readonly sequence: number },
  ): Promise<number>;
}

/** The adapters of the log of runs: one suite for all. */
export const RUN_LOGS: readonly (readonly [string, () => Promise<LogUnderTest>])[] = [
  [
    'on JetStream',
    async () => {
      const test = await aLog();
      return {
        log: test.log,
        forge: (subject, body, fence) => forge(test.log, subject, body, fence),
        [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
      };
    },
  ],
  [
    'in memory',
    async () => {
      const log = memoryLog();
      return {
        log,
        forge: async (subject, body, fence) => log.forge(subject, body, fence),
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
  ],
];
