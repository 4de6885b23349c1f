import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { beforeEach, describe, expect, it } from 'vitest';
import { receiverKey, type Receiver } from '../../src/core/receiver.ts';
import { knownReceivers, type KnownReceiver } from '../../src/core/known-receivers.ts';
import {
  answers,
  observeReceivers,
  receiver,
  SECOND,
  type ObservedReceivers,
} from './receivers/observed-receivers.ts';

let observed: ObservedReceivers;
beforeEach(() => {
  observed = observeReceivers();
});

const MINE = receiver('shared', 'mine');
const YOURS = receiver('shared', 'yours');
const ELSEWHERE = receiver('elsewhere', 'mine');

const known = ({ org_id }: Receiver, origins: readonly string[] = [], host: string | null = null) =>
  knownReceivers(observed.state, { org_id, host, origins: [...origins] }, 500);
const only = (of: Receiver, origins: readonly string[] = []): KnownReceiver => {
  const [first, ...others] = known(of, origins).receivers;
  expect(others).toEqual([]);
  if (!first) throw new Error('nothing is known of the receiver');
  return first;
};
const send = (to: Receiver, times: number, reason: Parameters<typeof answers>[0]): void => {
  observed.submitMany(times, to, { behaviour: answers(reason) });
  observed.pass(SECOND);
};

describe('what is known of a receiver', () => {
  it('is nothing of those of another organisation', () => {
    send(MINE, 1, 'accepted');
    expect(known(YOURS)).toMatchObject({ receivers: [], more: false });
    expect(known(MINE).partitions).toHaveLength(PARTITIONS);
  });

  it('are its last results, and for how long it fails', () => {
    send(MINE, 1, 'accepted');
    const accepted = only(MINE).record;
    expect(accepted).toMatchObject({ failuresInARow: 0, lastFailure: undefined, failingSince: undefined });
    send(MINE, 1, 'client_error');
    const failingSince = only(MINE).record.lastFailure?.at;
    send(MINE, 1, 'server_error');
    send(MINE, 1, 'no_dns');
    expect(only(MINE).record).toMatchObject({
      lastSuccessAt: accepted.lastSuccessAt,
      lastFailure: { reason: 'server_error', status: null },
      failuresInARow: 2,
      failingSince,
    });
    send(MINE, 1, 'accepted');
    expect(only(MINE).record).toMatchObject({ failuresInARow: 0, failingSince: undefined });
  });

  it('is its own breaker, with the time of the next probe', () => {
    send(MINE, 5, 'server_error');
    const { breaker, maxInFlight, heldUpBy } = only(MINE);
    expect(breaker).toMatchObject({ state: 'open', shared: false });
    expect(breaker.until).toBe((breaker.since ?? NaN) + 30 * SECOND);
    expect([maxInFlight, heldUpBy]).toEqual([0, 'breaker']);
    observed.pass(31 * SECOND);
    expect(only(MINE)).toMatchObject({ breaker: { state: 'probing', until: undefined }, maxInFlight: 1 });
    send(YOURS, 1, 'accepted');
    expect(only(YOURS).breaker.state).toBe('closed');
  });

  it('is of a breaker that all share only its state and its next probe', () => {
    send(YOURS, 1, 'accepted');
    send(MINE, 5, 'connect_refused');
    const { breaker, record } = only(YOURS);
    expect(breaker).toEqual({ state: 'open', shared: true, since: undefined, until: expect.any(Number) });
    expect(record).toMatchObject({ failuresInARow: 0, lastFailure: undefined });
  });

  it('is the breaker that opens later, of two that are open', () => {
    send(MINE, 1, 'accepted');
    observed.trip(MINE.origin, 20 * SECOND);
    observed.trip(receiverKey(MINE), 10 * SECOND);
    expect(only(MINE).breaker.shared).toBe(true);
    observed.trip(receiverKey(ELSEWHERE), 10 * SECOND);
    observed.trip(ELSEWHERE.origin, 5 * SECOND);
    const [, elsewhere] = known(MINE).receivers.toSorted((a, b) => (a.origin < b.origin ? 1 : -1));
    expect(elsewhere?.breaker.shared).toBe(false);
  });

  it('is what holds it up', () => {
    observed = observeReceivers({ maxInFlight: 4 });
    observed.submitMany(2, MINE);
    // One that has not answered yet gets one attempt.
    expect(only(MINE)).toMatchObject({
      inFlight: 1,
      maxInFlight: 1,
      unstored: 2,
      heldUpBy: 'receiver_limit',
    });
    observed.submit(ELSEWHERE);
    expect(known(MINE).receivers.map(({ heldUpBy }) => heldUpBy)).toEqual([
      'organisation_limit',
      'receiver_limit',
    ]);
    for (const org of ['b', 'c']) observed.submit(receiver(`of-${org}`, org));
    expect(only(receiver('of-c', 'c')).heldUpBy).toBe('notifier_limit');
  });

  it('is that a probe has to end, while others wait for it', () => {
    observed.trip(receiverKey(MINE));
    observed.submitMany(3, MINE);
    observed.pass(32 * SECOND);
    expect(only(MINE)).toMatchObject({ inFlight: 1, maxInFlight: 1, heldUpBy: 'probe' });
  });

  it('is the breaker also of an origin to which this process has sent nothing', () => {
    observed.trip(MINE.origin);
    expect(only(MINE, [MINE.origin])).toMatchObject({
      breaker: { state: 'open', shared: true },
      inFlight: 0,
      unstored: 0,
    });
  });
});

describe('the receivers that are known', () => {
  it('are those of the partitions that are held', () => {
    send(MINE, 1, 'accepted');
    const before = known(MINE);
    for (const partition of before.partitions) observed.core.handle({ type: 'partition_closing', partition });
    expect(known(MINE, [MINE.origin])).toEqual({ partitions: [], receivers: [], more: false });
  });

  it('are forgotten with their partition, since another process continues them', () => {
    send(MINE, 1, 'server_error');
    const partitions = [...observed.state.partitions.values()];
    for (const { number } of partitions) {
      observed.core.handle({ type: 'partition_closing', partition: number });
      observed.core.handle({ type: 'partition_lost', partition: number });
      const start = { number, created: 'first', lastSequence: 0, lastReport: 0, position: undefined };
      observed.core.handle({ type: 'partition_gained', start });
    }
    expect(only(MINE).record).toMatchObject({ failuresInARow: 0, lastFailure: undefined });
  });

  it('are those in trouble first, as many as wanted', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => receiver(name, 'mine'));
    if (!a || !b || !c || !d) throw new Error('there are four');
    send(a, 1, 'accepted');
    send(b, 1, 'client_error');
    send(c, 1, 'accepted');
    send(d, 5, 'server_error');
    const list = (most: number) => knownReceivers(observed.state, { ...a, host: null, origins: [] }, most);
    expect(list(500).receivers.map(({ origin }) => origin)).toEqual([d, b, a, c].map(({ origin }) => origin));
    expect(list(2)).toMatchObject({ receivers: [{ origin: d.origin }, { origin: b.origin }], more: true });
  });

  it('are those of one host on request, and no origin that is not a URL', () => {
    send(MINE, 1, 'accepted');
    send(ELSEWHERE, 1, 'accepted');
    const at = (host: string | null) => known(MINE, ['null'], host).receivers.map(({ origin }) => origin);
    expect(at('elsewhere.example')).toEqual([ELSEWHERE.origin]);
    expect(at('another.example')).toEqual([]);
    expect(at(null)).toEqual([ELSEWHERE.origin, MINE.origin]);
  });
});
