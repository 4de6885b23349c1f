import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { aRun } from '@runledger/testing/run-events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  openSchedulerClient,
  type SchedulerClient,
} from '../../../src/records/operators/scheduler-client.ts';
import { queuePositions } from '../../../src/runs/queue-positions.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let scheduler: EventLog;
beforeAll(async () => {
  const { login } = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...login, name: 'gateway' }, silentLogger));
  scheduler = opened.use(await openEventLog({ ...login, name: 'scheduler' }, silentLogger));
});
afterAll(() => opened.disposeAsync());

let now = 0;
const clock = (): number => now;
let client: SchedulerClient;
/** The runs of each question that reached the scheduler. */
let questions: (readonly RunKey[])[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  client = openSchedulerClient(log);
  now = 1;
  questions = [];
});
afterEach(() => {
  client[Symbol.dispose]();
  vi.useRealTimers();
});

const aSecondLater = (): void => {
  now += 1_000;
  vi.advanceTimersByTime(1_000);
};

type Places = (keys: readonly RunKey[]) => readonly (QueuePosition | undefined)[] | undefined;
const byQuestion: Places = (keys) => keys.map(() => ({ ahead: questions.length, capacity: 'busy' }));

/** A scheduler that leads, until it is disposed of. */
const leading = async (placesOf: Places = byQuestion): Promise<AsyncDisposable> => {
  const answering = respondWithQueuePositions(scheduler, (keys) => {
    questions.push(keys);
    return placesOf(keys);
  });
  await scheduler.nc.flush();
  return {
    [Symbol.asyncDispose]: async () => {
      answering[Symbol.dispose]();
      await scheduler.nc.flush();
    },
  };
};

describe('the positions of queued runs', () => {
  it('come from the scheduler, without runs that do not wait', async () => {
    await using open = new AsyncDisposableStack();
    open.use(
      await leading((keys) =>
        keys.map((_key, index) => (index === 1 ? undefined : { ahead: index, capacity: 'busy' })),
      ),
    );
    const [one, two, three] = [aRun(), aRun(), aRun()];
    const places = await queuePositions(client, clock)([one, two, three]);
    expect([...places]).toEqual([
      [one.run_id, { ahead: 0, capacity: 'busy' }],
      [three.run_id, { ahead: 2, capacity: 'busy' }],
    ]);
  });

  it('are cached for a second', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    const places = queuePositions(client, clock);
    const key = aRun();
    const ahead = async (): Promise<number | undefined> => (await places([key])).get(key.run_id)?.ahead;
    expect(await ahead()).toBe(1);
    now += 1_000;
    expect(await ahead()).toBe(1);
    now += 1;
    expect(await ahead()).toBe(2);
  });

  it('go into one request when they are needed at the same time, each run once', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    const places = queuePositions(client, clock);
    const keys = Array.from({ length: 20 }, () => aRun());
    await Promise.all([...keys, ...keys].map((key) => places([key])));
    expect(questions).toEqual([keys]);
  });

  it('go into requests of a hundred runs', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    const keys = Array.from({ length: 250 }, () => aRun());
    expect((await queuePositions(client, clock)(keys)).size).toBe(250);
    expect(questions.map(({ length }) => length)).toEqual([100, 100, 50]);
  });

  it('are not requested when no run waits', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    expect((await queuePositions(client, clock)([])).size).toBe(0);
    expect(questions).toEqual([]);
  });

  it('are requested once a second while no scheduler responds, and delay no response', async () => {
    const places = queuePositions(client, clock);
    await using silent = await leading(() => undefined);
    expect((await places([aRun()])).size).toBe(0);
    expect((await places([aRun()])).size).toBe(0);
    expect(questions).toHaveLength(1);
    aSecondLater();
    const trying = places([aRun()]);
    // While that one waits, in vain.
    expect((await places([aRun()])).size).toBe(0);
    expect((await trying).size).toBe(0);
    expect(questions).toHaveLength(2);
    await silent[Symbol.asyncDispose]();
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    expect((await places([aRun()])).size).toBe(0);
    aSecondLater();
    expect((await places([aRun()])).size).toBe(1);
    expect((await places([aRun()])).size).toBe(1);
  });

  it('are shown a second after a scheduler leads again', async () => {
    const places = queuePositions(client, clock);
    const key = aRun();
    expect((await places([key])).size).toBe(0);
    await using open = new AsyncDisposableStack();
    open.use(await leading());
    aSecondLater();
    expect((await places([key])).size).toBe(1);
  });
});
