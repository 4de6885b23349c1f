import { instancesSubject } from '@runledger/contracts/requests/instances';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestInstances, respondAsInstance, type OwnInstance } from '../src/instances.ts';
import {
  requesterAndResponder,
  responding,
  type RequesterAndResponder,
} from './fixtures/requester-and-responder.ts';

let test: RequesterAndResponder;
let log: EventLog;
let responder: EventLog;
beforeAll(async () => {
  test = await requesterAndResponder();
  ({ log, responder } = test);
});
afterAll(() => test[Symbol.asyncDispose]());

const WITHIN = { totalMs: 5_000, quietMs: 500, most: 100 };
const STARTED = '2026-05-01T12:00:00.000Z';

const present = (instance: string, own: Partial<OwnInstance> = {}): Promise<AsyncDisposable> =>
  responding(
    responder,
    respondAsInstance(responder, {
      service: 'scheduler',
      instance,
      startedAt: new Date(STARTED),
      software_version: '1.2.3',
      readiness: async () => ({ checks: { broker: { ok: true } } }),
      doing: () => ({}),
      ...own,
    }),
  );

const names = async (within = WITHIN): Promise<string[]> =>
  (await requestInstances(log, 'scheduler', within)).map(({ instance }) => instance);

describe('the instances of a service', () => {
  it('are none when nobody responds', async () => {
    expect(await requestInstances(log, 'notifier', WITHIN)).toEqual([]);
  });

  it('say each for itself what they are and do, in the order of their names', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await present('b', { doing: () => ({ leads: true, term: 7 }) }));
    open.use(await present('a', { doing: () => ({ leads: false }) }));
    const common = {
      software_version: '1.2.3',
      started_at: STARTED,
      ready: true,
      problems: [],
      position: null,
      partitions: null,
    };
    expect(await requestInstances(log, 'scheduler', WITHIN)).toEqual([
      { instance: 'a', ...common, leads: false, term: null },
      { instance: 'b', ...common, leads: true, term: 7 },
    ]);
  });

  it('name the checks that are not ok', async () => {
    await using open = new AsyncDisposableStack();
    open.use(
      await present('ill', {
        readiness: async () => ({
          checks: { broker: { ok: true }, log: { ok: false, why: 'x'.repeat(10_000) } },
        }),
      }),
    );
    const [ill] = await requestInstances(log, 'scheduler', WITHIN);
    expect(ill).toMatchObject({
      ready: false,
      problems: [{ check: 'log', why: expect.stringMatching(/^x+$/) }],
    });
    expect(ill?.problems[0]?.why.length).toBeLessThanOrEqual(2_048);
  });

  it('are there although a check hangs', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await present('stuck', { readiness: () => new Promise(() => undefined) }));
    const [stuck] = await requestInstances(log, 'scheduler', WITHIN);
    expect(stuck).toMatchObject({ instance: 'stuck', ready: false, problems: [{ check: 'checks' }] });
  });

  it('are no more than wanted', async () => {
    await using open = new AsyncDisposableStack();
    for (const name of ['a', 'b', 'c']) open.use(await present(name));
    expect(await names({ ...WITHIN, most: 2 })).toHaveLength(2);
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('leave out a response that does not match the schema', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await present('a'));
    const stranger = responder.nc.subscribe(instancesSubject('scheduler'), {
      callback: (_error, message) => void message.respond('{"instance": 7}'),
    });
    await responder.nc.flush();
    expect(await names()).toEqual(['a']);
    stranger.unsubscribe();
  });
});
