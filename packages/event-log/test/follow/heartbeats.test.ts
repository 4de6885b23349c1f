import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Msg, MsgCallback } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import { openPulls, type Pulls } from '../../src/follow/open-pulls.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Pulls at a broker that sends nothing but what the test sends. */
const pullsOf = (): { readonly pulls: Pulls; readonly heartbeat: () => void } => {
  const sent: { callback?: MsgCallback<Msg>; pull?: string } = {};
  const nc = {
    subscribe: (_subject: string, { callback }: { callback: MsgCallback<Msg> }) => {
      sent.callback = callback;
      return { closed: new Promise(() => undefined), unsubscribe: () => undefined };
    },
    publish: (_subject: string, _request: string, { reply }: { reply: string }) => {
      sent.pull = reply;
    },
    isClosed: () => false,
  };
  // Nothing else of them is used.
  const log = { nc, apiPrefix: '$JS.API', connected: () => true } as unknown as EventLog;
  const pulls = openPulls(log, { stream_name: 'RUNS', name: 'reader' } as ConsumerInfo);
  onTestFinished(() => pulls[Symbol.dispose]());
  const heartbeat = (): void =>
    void sent.callback?.(null, { subject: sent.pull, headers: { code: 100 } } as unknown as Msg);
  return { pulls, heartbeat };
};

/** The failure of a pull, or undefined while it goes on. */
const failureOf = (pulls: Pulls): (() => unknown) => {
  let failure: unknown;
  pulls.next().catch((error: unknown) => {
    failure = error;
  });
  return () => failure;
};

describe('a pull of which nothing comes', () => {
  it('goes on while heartbeats come, also when the reader looks between two of them twice', async () => {
    const { pulls, heartbeat } = pullsOf();
    pulls.send({ messages: 10, once: false });
    const failure = failureOf(pulls);
    // It looks after 2,000 and 4,000 ms.
    await vi.advanceTimersByTimeAsync(1_999);
    heartbeat();
    await vi.advanceTimersByTimeAsync(2_002);
    heartbeat();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(failure()).toBeUndefined();
  });

  it('ends when two heartbeats are missing', async () => {
    const { pulls, heartbeat } = pullsOf();
    pulls.send({ messages: 10, once: false });
    const failure = failureOf(pulls);
    await vi.advanceTimersByTimeAsync(2_001);
    heartbeat();
    await vi.advanceTimersByTimeAsync(6_000);
    expect(String(failure())).toContain('the broker missed its heartbeats');
  });
});
