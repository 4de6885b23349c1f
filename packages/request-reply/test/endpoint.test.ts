import { redriveSubject, type RedriveResponse } from '@runledger/contracts/requests/operator-requests';
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

const taking = (
  take: (sequence: number) => RedriveResponse | Promise<RedriveResponse>,
): Promise<AsyncDisposable> =>
  responding(
    responder,
    respondToRedrives(responder, 'gateway', async ({ sequence }) => take(sequence)),
  );

const TAKEN: RedriveResponse = { outcome: 'taken', why: 'it is' };
const WITHIN_MS = 10_000;
/** Longer than any test: without a response the test would time out. */
const NEVER_MS = 600_000;

describe('requests', () => {
  it('wait in a bounded queue, and one beyond it fails at once', async () => {
    const first = Promise.withResolvers<void>();
    const handled: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await taking(async (sequence) => {
        handled.push(sequence);
        await first.promise;
        return TAKEN;
      }),
    );
    const responses = Array.from({ length: 501 }, (_, n) =>
      requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: n + 1 }, NEVER_MS),
    );
    expect(await responses.at(-1)).toBeUndefined();
    expect(handled).toEqual([1]);
    first.resolve();
    expect((await Promise.all(responses)).filter((response) => response?.outcome === 'taken')).toHaveLength(
      500,
    );
  });

  it('that are too large get no response', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await taking(() => TAKEN));
    const request = { stream: 'RUNS' as const, sequence: 1, more: 'x'.repeat(64 * 1024) };
    expect(await requestRedrive(log, 'gateway', request, NEVER_MS)).toBeUndefined();
  });

  it('pushed by a consumer are ignored: nobody waits for a response', async () => {
    const handled: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await taking((sequence) => {
        handled.push(sequence);
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
    await requestRedrive(log, 'gateway', { stream: 'RUNS', sequence: 8 }, WITHIN_MS);
    expect(handled).toEqual([8]);
  });
});
