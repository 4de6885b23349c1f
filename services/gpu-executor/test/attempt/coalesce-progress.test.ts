import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { coalesceProgress } from '../../src/attempt/execute-attempt.ts';

const PACE = { firstAfterMs: 50, everyMs: 200 };

describe('progress', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is sent after a moment, then at most once in each interval, the latest report', () => {
    const sent: number[] = [];
    using progress = coalesceProgress((report) => sent.push(report.progress), PACE);
    const report = (value: number): void => progress.report({ progress: value, live_status: null });
    report(0.1);
    report(0.2);
    vi.advanceTimersByTime(49);
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual([0.2]);
    report(0.3);
    report(0.4);
    expect(sent).toEqual([0.2]);
    vi.advanceTimersByTime(200);
    expect(sent).toEqual([0.2, 0.4]);
    vi.advanceTimersByTime(1_000);
    report(0.5);
    expect(sent).toEqual([0.2, 0.4, 0.5]);
    expect(progress.last().progress).toBe(0.5);
  });

  it('is not sent after the end, and none of an attempt that ends within the moment', () => {
    const sent: number[] = [];
    const attempt = (ms: number): void => {
      using progress = coalesceProgress((report) => sent.push(report.progress), PACE);
      progress.report({ progress: ms, live_status: null });
      vi.advanceTimersByTime(ms);
      progress.report({ progress: -1, live_status: null });
    };
    attempt(49);
    attempt(50);
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([50]);
  });
});
