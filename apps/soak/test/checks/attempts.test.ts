import { assigned, failed, started, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { attempts } from '../../src/checks/attempts.ts';
import { aSoak, EVENTS, INPUTS, queuedRun, RUN, succeededAs } from '../fixtures/a-soak.ts';

const messagesOf = (...given: Parameters<typeof aSoak>): string[] =>
  attempts(aSoak(...given)).map((one) => one.message);
const start = (attempt: number) => ({ run: RUN.run_id, attempt });

describe('attempts', () => {
  it('have the result of the attempt that was running', () => {
    const events = [...EVENTS.slice(0, 3), succeededAs(`${RUN.run_id}.2`)];
    expect(messagesOf({ events })).toEqual([
      expect.stringMatching(/^It succeeded with .*\.2"\], expected .*\.1\.$/),
    ]);
  });

  it('end as their inputs request', () => {
    const requested = (what: string) => queued(RUN, { inputs: { ...INPUTS, what } });
    const toFail = [requested('failure'), assigned(RUN), started(RUN), succeededAs()];
    expect(messagesOf({ events: toFail })).toEqual(['It succeeded, but its inputs request a failure.']);
    const toSucceed = [queuedRun(), assigned(RUN), started(RUN), failed(RUN)];
    expect(messagesOf({ events: toSucceed })).toEqual([
      'It failed, but its inputs request a success: size is too large',
    ]);
    expect(messagesOf({ events: [requested('file'), ...toSucceed.slice(1)] })).toEqual([]);
  });

  it('are assigned before a program starts', () => {
    expect(messagesOf({ programStarts: [start(1), start(2)] })).toEqual([
      'A program started attempt 2, which was never assigned.',
    ]);
  });

  it('start once', () => {
    expect(messagesOf({ programStarts: [start(1), start(1)] })).toEqual([
      'A program started attempt 1 twice.',
    ]);
  });

  it('belong to runs', () => {
    const programStarts = [start(1), { run: 'unknown', attempt: 1 }];
    expect(messagesOf({ programStarts })).toEqual([
      'A program started 1 times for a run that the log does not have.',
    ]);
  });
});
