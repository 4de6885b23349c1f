import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { newUuid } from '@runledger/contracts/ids';
import type { ReceiversResponse, ReceiverState } from '@runledger/contracts/deliveries/receivers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestReceivers, respondWithReceivers } from '../src/receivers.ts';
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

const WITHIN = { totalMs: 10_000, quietMs: 300, most: 16 };
const ALL = Array.from({ length: PARTITIONS }, (_, number) => number);

const state = (origin: string, some: Partial<ReceiverState> = {}): ReceiverState => ({
  origin,
  state: 'closed',
  shared: false,
  since: null,
  next_probe_at: null,
  failures_in_a_row: 0,
  failing_since: null,
  waiting: 0,
  in_flight: 0,
  max_in_flight: 1,
  held_up_by: null,
  last_success_at: null,
  last_failure: null,
  ...some,
});
const holding = (partitions: number[], receivers: ReceiverState[], more = false): Promise<AsyncDisposable> =>
  responding(
    responder,
    respondWithReceivers(responder, async (): Promise<ReceiversResponse> => ({
      partitions,
      receivers,
      more,
    })),
  );
const ask = (within = WITHIN) =>
  requestReceivers(log, { org_id: newUuid(), host: null, origins: [] }, within);

describe('the receivers of an organisation', () => {
  it('are none, and not complete, when no notifier responds', async () => {
    expect(await ask()).toEqual({ receivers: [], more: false, complete: false });
  });

  it('come from all notifiers, those in trouble first, each origin once', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await holding(ALL.slice(0, 8), [state('https://b.example'), state('https://c.example')]));
    const failing = state('https://d.example', { failures_in_a_row: 1 });
    const opened = state('https://z.example', { state: 'open' });
    const probing = state('https://y.example', { state: 'probing' });
    open.use(await holding(ALL.slice(7), [opened, probing, failing, state('https://b.example')]));
    const { receivers, more, complete } = await ask();
    expect(receivers.map(({ origin }) => origin[8])).toEqual(['z', 'y', 'd', 'b', 'c']);
    expect([more, complete]).toEqual([false, true]);
  });

  it('are there as soon as every partition is', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await holding(ALL, [], true));
    const since = performance.now();
    expect(await ask({ ...WITHIN, quietMs: 10_000 })).toEqual({ receivers: [], more: true, complete: true });
    expect(performance.now() - since).toBeLessThan(5_000);
  });

  it('are not complete while a partition is missing', async () => {
    await using open = new AsyncDisposableStack();
    open.use(await holding(ALL.slice(1), []));
    expect((await ask()).complete).toBe(false);
  });

  it('are as many as fit into a message', async () => {
    await using open = new AsyncDisposableStack();
    const long = `https://${'x'.repeat(2_000)}.example`;
    const many = Array.from({ length: 500 }, (_, number) => state(`${long}:${number}`));
    open.use(await holding(ALL, many));
    const { receivers, more } = await ask();
    expect(receivers.length).toBeGreaterThan(100);
    expect(receivers.length).toBeLessThan(500);
    expect(more).toBe(true);
  });
});
