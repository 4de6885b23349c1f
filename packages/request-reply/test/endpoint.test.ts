import { redriveSubject, type RedriveResponse } from '@runledger/contracts/requests/redrive';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respondToRedrives, requestRedrive } from '../src/redrive.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { anEmptyLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

let test: TestLog;
/** Of one who asks. */
let log: EventLog;
/** Of one who answers. */
let own: EventLog;
beforeAll(async () => {
  test = await anEmptyLog();
  log = test.log;
  own = await test.open();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Answers, as the broker knows, until it is disposed of. */
const answering = async (
  take: (sequence: number) => RedriveResponse | Promise<RedriveResponse>,
): Promise<AsyncDisposable> => {
  const open = respondToRedrives(own, 'gateway', async ({ sequence }) => take(sequence));
  await own.nc.flush();
  return {
    [Symbol.asyncDispose]: async () => {
      open[Symbol.dispose]();
      await own.nc.flush();
    },
  };
};

const TAKEN: RedriveResponse = { outcome: 'taken', why: 'it is' };
const PATIENT_MS = 10_000;
/** Longer than any test: who is answered within it was told. */
const FOR_EVER_MS = 600_000;

describe('questions', () => {
  it('wait in a queue that has an end, and those beyond it learn at once that there is no answer', async () => {
    const first = Promise.withResolvers<void>();
    const asked: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await answering(async (sequence) => {
        asked.push(sequence);
        await first.promise;
        return TAKEN;
      }),
    );
    const answers = Array.from({ length: 501 }, (_, n) =>
      requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: n + 1 }, FOR_EVER_MS),
    );
    expect(await answers.at(-1)).toBeUndefined();
    expect(asked).toEqual([1]);
    first.resolve();
    expect((await Promise.all(answers)).filter((answer) => answer?.outcome === 'taken')).toHaveLength(500);
  });

  it('are no larger than they need to be', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await answering(() => TAKEN));
    const question = { stream: 'RUNS' as const, sequence: 1, more: 'x'.repeat(64 * 1024) };
    expect(await requestRedrive(log, 'gateway', question, FOR_EVER_MS)).toBeUndefined();
  });

  it('come from those who wait for an answer: what a consumer pushes is none', async () => {
    const asked: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await answering((sequence) => {
        asked.push(sequence);
        return TAKEN;
      }),
    );
    const { consumers, streams } = log.jsm;
    await streams.add({ name: 'PUSHED', subjects: ['pushed'] });
    await log.js.publish('pushed', JSON.stringify({ stream: 'RUNS', sequence: 7 }));
    for (const ack_policy of ['explicit', 'all', 'none'] as const) {
      const name = `push-${ack_policy}`;
      await consumers.add('PUSHED', {
        name,
        ack_policy,
        deliver_subject: redriveSubject('gateway'),
        inactive_threshold: 60e9,
      });
      const pushed = async () => (await consumers.info('PUSHED', name)).delivered.consumer_seq;
      await waitFor('it to be pushed', async () => (await pushed()) === 1);
    }
    await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 8 }, PATIENT_MS);
    expect(asked).toEqual([8]);
  });
});
