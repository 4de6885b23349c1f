import type { LogChunk } from '@runledger/contracts/run-logs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAttemptLog, type AttemptLog } from '../../src/attempt/attempt-log.ts';

interface Published {
  readonly log: AttemptLog;
  /** By slot. */
  readonly stored: Map<number, LogChunk>;
  readonly sent: number[];
  readonly cleared: number[];
  connected: boolean;
  reconnect: () => void;
}

const anAttemptLog = (): Published => {
  const published = {
    stored: new Map<number, LogChunk>(),
    sent: [] as number[],
    cleared: [] as number[],
    connected: true,
    reconnect: () => undefined as void,
  };
  const log = openAttemptLog({
    mask: (text) => text,
    publish: (slot, chunk) => {
      if (!published.connected) return false;
      published.sent.push(slot);
      published.stored.set(slot, chunk);
      return true;
    },
    clear: (slot) => published.cleared.push(slot),
    onReconnect: (listener) => {
      published.reconnect = listener;
      return () => undefined;
    },
    now: Date.now,
    clock: () => performance.now(),
  });
  return Object.assign(published, { log });
};

const write = (log: AttemptLog, ...lines: readonly string[]): void =>
  lines.forEach((line) => log.write({ stream: 'stdout', line }));
const textOf = ({ stored }: Published): string[] =>
  [...stored.values()]
    .toSorted((a, b) => a.first - b.first)
    .flatMap(({ lines }) => lines.map(([, , text]) => text));

describe('the log of an attempt', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is stored a moment after it was written, with what was written before', () => {
    const published = anAttemptLog();
    write(published.log, 'one', 'two');
    expect(textOf(published)).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(textOf(published)).toEqual(['one', 'two']);
    write(published.log, 'three');
    vi.advanceTimersByTime(200);
    expect(textOf(published)).toEqual(['one', 'two', 'three']);
    vi.advanceTimersByTime(10_000);
    expect(published.sent).toEqual([0, 0]);
  });

  it('is stored in a limited number of messages a second, however much is written', () => {
    const published = anAttemptLog();
    for (let second = 0; second < 10; second += 1) {
      for (let n = 0; n < 20_000; n += 1) write(published.log, `line ${n}`.padEnd(100));
      vi.advanceTimersByTime(1_000);
    }
    expect(published.sent.length).toBeLessThanOrEqual(10 * 5 * 8);
    expect(published.stored.size).toBeLessThanOrEqual(128);
  });

  it('is stored to its last line at its end', async () => {
    vi.useRealTimers();
    const published = anAttemptLog();
    for (let n = 0; n < 100_000; n += 1) write(published.log, `line ${n}`);
    const { chunks: kept, lines } = await published.log.end();
    expect(lines).toBe(100_000);
    expect(textOf(published).at(-1)).toBe('line 99999');
    expect(kept.at(0)?.lines[0]?.[2]).toBe('line 0');
    expect(kept.at(-1)?.lines.at(-1)?.[2]).toBe('line 99999');
    published.log.clear();
    expect(published.cleared).toHaveLength(128);
  });

  it('is stored again after the broker was away, from its beginning', () => {
    const published = anAttemptLog();
    write(published.log, 'one');
    vi.advanceTimersByTime(200);
    published.connected = false;
    published.stored.clear();
    write(published.log, 'two');
    vi.advanceTimersByTime(1_000);
    published.connected = true;
    vi.advanceTimersByTime(200);
    expect(textOf(published)).toEqual(['one', 'two']);
    published.stored.clear();
    published.reconnect();
    vi.advanceTimersByTime(1);
    expect(textOf(published)).toEqual(['one', 'two']);
  });
});
