import type { ExecutorsRequest, ExecutorState } from '@runledger/contracts/requests/executor-state';
import { redriveSubject } from '@runledger/contracts/requests/redrive';
import { WAIT_SUBJECT, type WaitReason } from '@runledger/contracts/requests/wait-reason';
import { aRun } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respondWithExecutors, requestExecutors } from '../src/executors.ts';
import { respondToRedrives, requestRedrive } from '../src/redrive.ts';
import { respondWithWaitReasons, requestWaitReason } from '../src/wait-reason.ts';
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

const PATIENT_MS = 10_000;

/** Answers, as the broker knows, until it is disposed of. */
const known = async (open: Disposable): Promise<AsyncDisposable> => {
  await own.nc.flush();
  return {
    [Symbol.asyncDispose]: async () => {
      open[Symbol.dispose]();
      await own.nc.flush();
    },
  };
};

const WAIT: WaitReason = {
  ahead: 3,
  capacity: 'busy',
  gpu: 'A10G',
  executors: { serving: 2, busy_slots: 2, free_slots: 0, draining: 1 },
};

describe('why a run waits', () => {
  it('is told, and that it does not wait is told too', async () => {
    const [one, other] = [aRun(), aRun()];
    await using open = new AsyncDisposableStack();
    open.use(await known(respondWithWaitReasons(own, ({ run_id }) => (run_id === one.run_id ? WAIT : null))));
    expect(await requestWaitReason(log, one, PATIENT_MS)).toEqual({ wait: WAIT });
    expect(await requestWaitReason(log, other, PATIENT_MS)).toEqual({ wait: null });
  });

  it('is not to be had while no scheduler leads, and nobody waits for it', async () => {
    expect(await requestWaitReason(log, aRun(), 600_000)).toBeUndefined();
  });

  it('is still told after a question that is none, and after one that could not be answered', async () => {
    let asked = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await known(
        respondWithWaitReasons(own, () => {
          asked += 1;
          if (asked === 1) throw new Error('not today');
          return WAIT;
        }),
      ),
    );
    for (const wrong of ['', 'no json', JSON.stringify({ ...aRun(), org_id: 'everybody' })]) {
      log.nc.publish(WAIT_SUBJECT, wrong);
    }
    expect(await requestWaitReason(log, aRun(), 50)).toBeUndefined();
    await waitFor('the question to come', () => asked === 1);
    expect(await requestWaitReason(log, aRun(), PATIENT_MS)).toEqual({ wait: WAIT });
  });
});

const executor = (name: string, machines: string[] = ['*']): ExecutorState => ({
  executor_id: `${name}.0a1b2c3d4e5f`,
  name,
  state: 'ready',
  drain: null,
  slots: [{ slot: 0, gpu: 'A10G', run: null }],
  machines,
  machine_count: machines.length,
  programs: ['render'],
  program_count: 1,
  software_version: '0.1.0',
  registered_at: '2026-01-01T00:00:00.000Z',
  last_beat_at: null,
});
const FIRST: ExecutorsRequest = { name: null, after: null, limit: 200 };

describe('the executors', () => {
  it('are told by the page', async () => {
    const asked: ExecutorsRequest[] = [];
    const page = { executors: [executor('a'), executor('b')], more: true };
    await using open = new AsyncDisposableStack();
    open.use(
      await known(
        respondWithExecutors(own, (question) => {
          asked.push(question);
          return page;
        }),
      ),
    );
    const question = { name: 'box', after: { name: 'a', executor_id: null }, limit: 2 };
    expect(await requestExecutors(log, question, PATIENT_MS)).toEqual(page);
    expect(asked).toEqual([question]);
  });

  it('are told on a smaller page when they would not fit a message', async () => {
    const machines = Array.from({ length: 100 }, (_, machine) => `${machine}`.padStart(128, 'ä'));
    const executors = Array.from({ length: 200 }, (_, number) => executor(`box-${number}`, machines));
    await using open = new AsyncDisposableStack();
    open.use(await known(respondWithExecutors(own, () => ({ executors, more: false }))));
    const page = await requestExecutors(log, FIRST, PATIENT_MS);
    expect(page?.more).toBe(true);
    expect(page?.executors.length).toBeGreaterThan(10);
    expect(page?.executors).toEqual(executors.slice(0, page?.executors.length));
  });

  it('are not told in an answer that does not fit its schema', async () => {
    await using open = new AsyncDisposableStack();
    const asleep = { ...executor('a'), state: 'asleep' } as unknown as ExecutorState;
    open.use(await known(respondWithExecutors(own, () => ({ executors: [asleep], more: false }))));
    expect(await requestExecutors(log, FIRST, PATIENT_MS)).toBeUndefined();
  });
});

describe('a parked message', () => {
  it('is taken again by the one who is asked, one after the other', async () => {
    let atOnce = 0;
    let most = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await known(
        respondToRedrives(own, 'executor.box', async ({ stream, sequence }) => {
          atOnce += 1;
          most = Math.max(most, atOnce);
          await own.nc.flush();
          atOnce -= 1;
          return { outcome: 'taken', why: `${stream} ${sequence}` };
        }),
      ),
    );
    const asked = [7, 8, 9].map((sequence) =>
      requestRedrive(log, 'executor.box', { stream: 'RUNS', sequence }, PATIENT_MS),
    );
    expect(await Promise.all(asked)).toEqual(
      [7, 8, 9].map((sequence) => ({ outcome: 'taken', why: `RUNS ${sequence}` })),
    );
    expect(most).toBe(1);
    expect(
      await requestRedrive(log, 'executor.other', { stream: 'RUNS', sequence: 7 }, 600_000),
    ).toBeUndefined();
  });

  it('is left to another process by one who says nothing', async () => {
    await using open = new AsyncDisposableStack();
    let passed = 0;
    open.use(
      await known(
        respondToRedrives(own, 'scheduler', async () => {
          passed += 1;
          return undefined;
        }),
      ),
    );
    open.use(
      await known(respondToRedrives(own, 'scheduler', async () => ({ outcome: 'refused', why: 'no' }))),
    );
    const answered = await requestRedrive(log, 'scheduler', { stream: 'FLEET', sequence: 1 }, PATIENT_MS);
    expect(answered).toEqual({ outcome: 'refused', why: 'no' });
    await waitFor('the other to be asked too', () => passed === 1);
  });

  it('is not answered about with more than the broker takes', async () => {
    await using open = new AsyncDisposableStack();
    const why = 'x'.repeat(2 * 1024 * 1024);
    open.use(await known(respondToRedrives(own, 'gateway', async () => ({ outcome: 'taken', why }))));
    expect(await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 1 }, 100)).toBeUndefined();
    expect(own.connected()).toBe(true);
  });

  it.each([
    '{}',
    JSON.stringify({ stream: 'KEYS', sequence: 1 }),
    JSON.stringify({ stream: 'RUNS', sequence: 0 }),
  ])('is not what %s asks for', async (wrong) => {
    const asked: unknown[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await known(
        respondToRedrives(own, 'gateway', async (question) => {
          asked.push(question);
          return { outcome: 'taken', why: 'it is' };
        }),
      ),
    );
    log.nc.publish(redriveSubject('gateway'), wrong);
    await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 2 }, PATIENT_MS);
    expect(asked).toEqual([{ stream: 'RUNS', sequence: 2 }]);
  });
});
