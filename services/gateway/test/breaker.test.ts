import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openBreaker, type BreakerOptions, type NoResult } from '../src/breaker.ts';

const opened = new DisposableStack();
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Another system that answers as each test says, and how often it was called. */
const aSystem = () => {
  const system = { calls: 0, answer: (_signal: AbortSignal): Promise<string> => Promise.resolve('fine') };
  const changes: string[] = [];
  const breakerOf = (opensOn: BreakerOptions<[string], string | NoResult>['opensOn']) =>
    opened.use(
      openBreaker<[string], string | NoResult>({
        action: async (signal, what) => {
          system.calls += 1;
          return `${await system.answer(signal)} ${what}`;
        },
        timeoutMs: 200,
        opensOn,
        fallback: (why) => why,
        onChange: (state) => changes.push(state),
      }),
    ).call;
  return { system, changes, breakerOf };
};

const unavailable = () => Promise.reject(new Error('unavailable'));
const FAILED = { kind: 'failed', error: new Error('unavailable') };
const OPEN = { kind: 'circuit_open' };

describe('a circuit that opens on the first failure', () => {
  it('passes calls and results on while it is closed', async () => {
    const { system, changes, breakerOf } = aSystem();
    const call = breakerOf('first_failure');
    expect(await Promise.all(['a', 'b'].map((what) => call(what)))).toEqual(['fine a', 'fine b']);
    expect([system.calls, changes]).toEqual([2, []]);
  });

  it('calls nothing for a second after a failure, then probes with one call', async () => {
    const { system, changes, breakerOf } = aSystem();
    const call = breakerOf('first_failure');
    system.answer = unavailable;
    expect(await call('a')).toEqual(FAILED);
    expect(await call('b')).toEqual(OPEN);
    vi.advanceTimersByTime(999);
    expect(await call('c')).toEqual(OPEN);
    vi.advanceTimersByTime(1);
    const probe = call('d');
    expect(await call('e')).toEqual(OPEN);
    expect(await probe).toEqual(FAILED);
    expect([system.calls, changes]).toEqual([2, ['open']]);
    vi.advanceTimersByTime(1_000);
    system.answer = async () => 'back';
    expect(await call('f')).toBe('back f');
    expect(await call('g')).toBe('back g');
    expect(changes).toEqual(['open', 'closed']);
  });

  it('gives up a late call, and aborts only that call', async () => {
    vi.useRealTimers();
    const { system, breakerOf } = aSystem();
    const call = breakerOf('first_failure');
    const signals: AbortSignal[] = [];
    system.answer = (signal) => {
      signals.push(signal);
      return new Promise((resolve) => setTimeout(() => resolve('late'), signals.length === 1 ? 300 : 100));
    };
    const late = call('a');
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    await new Promise((resolve) => setTimeout(resolve, 150));
    const other = call('b');
    expect(await late).toEqual({ kind: 'timeout' });
    expect(await other).toBe('late b');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('rejects with what the fallback throws', async () => {
    const { call } = opened.use(
      openBreaker<[], string>({
        action: unavailable,
        timeoutMs: 200,
        opensOn: 'first_failure',
        fallback: () => {
          throw new Error('no fallback');
        },
      }),
    );
    await expect(call()).rejects.toThrow('no fallback');
    await expect(call()).rejects.toThrow('no fallback');
  });
});

describe('a circuit that opens when most calls fail', () => {
  it('stays closed for a few failures, and opens at the fifth', async () => {
    const { system, breakerOf } = aSystem();
    const call = breakerOf('most_fail');
    system.answer = unavailable;
    for (let calls = 0; calls < 4; calls += 1) expect(await call('a')).toEqual(FAILED);
    expect(await call('a')).toEqual(FAILED);
    expect(await call('a')).toEqual(OPEN);
    expect(system.calls).toBe(5);
  });

  it('stays closed while half of them succeed', async () => {
    const { system, breakerOf } = aSystem();
    const call = breakerOf('most_fail');
    for (let calls = 0; calls < 20; calls += 1) {
      system.answer = calls % 2 === 0 ? async () => 'fine' : unavailable;
      await call('a');
    }
    expect(system.calls).toBe(20);
  });
});
