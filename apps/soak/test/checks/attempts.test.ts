import { assigned, failed, started } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { attempts } from '../../src/checks/attempts.ts';
import { aSoak, EVENTS, INPUTS, queuedRun, RUN, succeededAs } from '../fixtures/a-soak.ts';
import { queued } from '@runledger/testing/events/run-events';

const says = (...given: Parameters<typeof aSoak>): string[] =>
  attempts(aSoak(...given)).map((one) => one.says);
const begun = (attempt: number) => ({ run: RUN.run_id, attempt });

describe('attempts', () => {
  it('have a result of the program that was the attempt under way', () => {
    const events = [...EVENTS.slice(0, 3), succeededAs(`${RUN.run_id}.2`)];
    expect(says({ events })).toEqual([
      expect.stringMatching(/^It succeeded with .*\.2"\] and not with .*\.1\.$/),
    ]);
  });

  it('end as their programs were asked to', () => {
    const asked = (what: string) => queued(RUN, { inputs: { ...INPUTS, what } });
    const toFail = [asked('failure'), assigned(RUN), started(RUN), succeededAs()];
    expect(says({ events: toFail })).toEqual(['It succeeded, and its program was asked to fail.']);
    const toSucceed = [queuedRun(), assigned(RUN), started(RUN), failed(RUN)];
    expect(says({ events: toSucceed })).toEqual([
      'It failed, and its program was asked to succeed: size is too large',
    ]);
    expect(says({ events: [asked('file'), ...toSucceed.slice(1)] })).toEqual([]);
  });

  it('were assigned before a program began', () => {
    expect(says({ diary: [begun(1), begun(2)] })).toEqual([
      'A program began attempt 2, which was never assigned.',
    ]);
  });

  it('begin once', () => {
    expect(says({ diary: [begun(1), begun(1)] })).toEqual(['A program began attempt 1 twice.']);
  });

  it('are those of runs', () => {
    const diary = [begun(1), { run: 'nobody', attempt: 1 }];
    expect(says({ diary })).toEqual(['A program began 1 times for a run that the log does not have.']);
  });
});
