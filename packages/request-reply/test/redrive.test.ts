import { redriveSubject } from '@runledger/contracts/requests/operator-requests';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respondToRedrives, requestRedrive } from '../src/redrive.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
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

const WITHIN_MS = 10_000;

describe('a dead letter', () => {
  it('is taken again by the addressed service, one after the other', async () => {
    let atOnce = 0;
    let most = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondToRedrives(responder, 'executor.box', async ({ stream, sequence }) => {
          atOnce += 1;
          most = Math.max(most, atOnce);
          await responder.nc.flush();
          atOnce -= 1;
          return { outcome: 'taken', why: `${stream} ${sequence}` };
        }),
      ),
    );
    const handled = [7, 8, 9].map((sequence) =>
      requestRedrive(log, 'executor.box', { stream: 'RUNS', sequence }, WITHIN_MS),
    );
    expect(await Promise.all(handled)).toEqual(
      [7, 8, 9].map((sequence) => ({ outcome: 'taken', why: `RUNS ${sequence}` })),
    );
    expect(most).toBe(1);
    expect(
      await requestRedrive(log, 'executor.other', { stream: 'RUNS', sequence: 7 }, 600_000),
    ).toBeUndefined();
  });

  it('is left to another process by one that gives no response', async () => {
    await using open = new AsyncDisposableStack();
    let passed = 0;
    open.use(
      await responding(
        responder,
        respondToRedrives(responder, 'scheduler', async () => {
          passed += 1;
          return undefined;
        }),
      ),
    );
    open.use(
      await responding(
        responder,
        respondToRedrives(responder, 'scheduler', async () => ({ outcome: 'refused', why: 'no' })),
      ),
    );
    const answered = await requestRedrive(log, 'scheduler', { stream: 'FLEET', sequence: 1 }, WITHIN_MS);
    expect(answered).toEqual({ outcome: 'refused', why: 'no' });
    await waitFor('the other process to be handled too', () => passed === 1);
  });

  it('gets no response that is larger than the broker accepts', async () => {
    await using open = new AsyncDisposableStack();
    const why = 'x'.repeat(2 * 1024 * 1024);
    open.use(
      await responding(
        responder,
        respondToRedrives(responder, 'gateway', async () => ({ outcome: 'taken', why })),
      ),
    );
    expect(await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 1 }, 100)).toBeUndefined();
    expect(responder.connected()).toBe(true);
  });

  it.each([
    '{}',
    JSON.stringify({ stream: 'KEYS', sequence: 1 }),
    JSON.stringify({ stream: 'RUNS', sequence: 0 }),
  ])('is not what the invalid request %s names', async (wrong) => {
    const handled: unknown[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondToRedrives(responder, 'gateway', async (request) => {
          handled.push(request);
          return { outcome: 'taken', why: 'it is' };
        }),
      ),
    );
    log.nc.publish(redriveSubject('gateway'), wrong);
    await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 2 }, WITHIN_MS);
    expect(handled).toEqual([{ stream: 'RUNS', sequence: 2 }]);
  });
});
