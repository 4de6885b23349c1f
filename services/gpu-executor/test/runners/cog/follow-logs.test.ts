import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTHING_READ, readLogs, type LogsRead } from '../../../src/runners/cog/server-log.decide.ts';
import type { ProgressReport } from '../../../src/runners/runner.ts';

interface Followed {
  readonly lines: readonly string[];
  readonly reports: readonly ProgressReport[];
}

/** What is read of logs that are seen after so many characters each, and at their end. */
const follow = (logs: string, seenAt: readonly number[] = []): Followed => {
  const lines: string[] = [];
  const reports: ProgressReport[] = [];
  let read: LogsRead = NOTHING_READ;
  for (const seen of [...seenAt.toSorted((a, b) => a - b), logs.length]) {
    const step = readLogs(read, logs.slice(0, seen), false);
    ({ read } = step);
    lines.push(...step.lines);
    reports.push(...step.reports);
  }
  const end = readLogs(read, logs, true);
  return { lines: [...lines, ...end.lines], reports: [...reports, ...end.reports] };
};

const line = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
  fc.nat(30).map((done) => `step ${done}/20`),
  fc
    .array(fc.nat(120), { maxLength: 4 })
    .map((shares) => shares.map((share) => `\r${share}%|██  | ${share}/100`).join('')),
);
const logs = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'));

describe('the logs of a prediction', () => {
  it('are the same lines, however often they are seen', () => {
    fc.assert(
      fc.property(logs, fc.array(fc.nat(300), { maxLength: 8 }), (text, seenAt) => {
        expect(follow(text, seenAt).lines).toEqual(follow(text).lines);
      }),
    );
  });

  it('never let progress decrease, and end at the same one', () => {
    fc.assert(
      fc.property(logs, fc.array(fc.nat(300), { maxLength: 8 }), (text, seenAt) => {
        const { reports } = follow(text, seenAt);
        const values = reports.map(({ progress }) => progress);
        expect(values).toEqual(values.toSorted((a, b) => a - b));
        expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
      }),
    );
  });

  it('show a bar as one line, and as progress each time that it is drawn', () => {
    const bar =
      '\r  0%|      | 0/4 [00:00<?]\r 50%|███   | 2/4 [00:01<00:01]\r100%|██████| 4/4 [00:02<00:00]';
    expect(follow(`start\n${bar}\nend`)).toEqual({
      lines: ['start', '100%|██████| 4/4 [00:02<00:00]', 'end'],
      reports: [
        { progress: 0, live_status: '0/4' },
        { progress: 0.5, live_status: '2/4' },
        { progress: 1, live_status: '4/4' },
      ],
    });
  });

  it('say nothing when they are shorter than before', () => {
    const { read } = readLogs(NOTHING_READ, 'one\ntwo', false);
    expect(readLogs(read, '', true)).toEqual({ read, lines: [], reports: [] });
  });
});
