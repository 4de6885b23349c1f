import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { coalesceProgress } from '../../src/attempt/coalesce-progress.ts';

describe('progress', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is sent at once, then at most once in each interval, the latest report', () => {
    const sent: number[] = [];
    using progress = coalesceProgress((report) => sent.push(report.progress), 200);
    const report = (value: number): void => progress.report({ progress: value, live_status: null });
    report(0.1);
    report(0.2);
    report(0.3);
    expect(sent).toEqual([0.1]);
    vi.advanceTimersByTime(200);
    expect(sent).toEqual([0.1, 0.3]);
    vi.advanceTimersByTime(1_000);
    report(0.4);
    expect(sent).toEqual([0.1, 0.3, 0.4]);
    expect(progress.last().progress).toBe(0.4);
  });

  it('is not sent after the end', () => {
    const sent: number[] = [];
    {
      using progress = coalesceProgress((report) => sent.push(report.progress), 200);
      progress.report({ progress: 0.1, live_status: null });
      progress.report({ progress: 0.2, live_status: null });
    }
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([0.1]);
  });
});
