import { TimeoutError } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callBroker } from '../../src/connect/broker-call.ts';
import { LogUnavailable } from '../../src/connect/event-log.ts';

/** `maxElectionTimeoutDefault` of nats-server's raft.go, and a moment for the votes. */
const LONGEST_ELECTION_MS = 9_000 + 500;
const TRY_MS = 2_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** Each try takes its time, as `performance` measures it. */
const noResponseBefore = (end: number) => () => {
  if (performance.now() >= end) return Promise.resolve('response');
  vi.advanceTimersByTime(TRY_MS);
  return Promise.reject(new TimeoutError());
};

describe('a request to the broker', () => {
  it('outlasts the longest election', async () => {
    const end = performance.now() + LONGEST_ELECTION_MS;
    expect(await callBroker('asking', noResponseBefore(end))).toBe('response');
  });

  it('ends with advice when there is no response', async () => {
    const error: unknown = await callBroker('asking', noResponseBefore(Infinity)).catch(
      (why: unknown) => why,
    );
    expect(error).toBeInstanceOf(LogUnavailable);
    expect(error).toMatchObject({ message: expect.stringMatching(/asking: .* within 12000 ms.*\/healthz/s) });
  });
});
