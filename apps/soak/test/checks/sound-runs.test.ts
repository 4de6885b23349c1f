import { assigned, failed, givenUp, started } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { soundRuns } from '../../src/checks/sound-runs.ts';
import { aSoak, queuedRun, RUN } from '../fixtures/a-soak.ts';

describe('runs whose workflow and inputs are sound', () => {
  it('do not end as internal_error', () => {
    const events = [queuedRun(), givenUp(RUN, 'internal_error')];
    expect(soundRuns(aSoak({ events }))).toMatchObject([
      { run: RUN.run_id, message: expect.stringMatching(/^It ended as internal_error: ./) as unknown },
    ]);
  });

  it('may end as their programs do', () => {
    expect(soundRuns(aSoak({ events: [queuedRun(), assigned(RUN), started(RUN), failed(RUN)] }))).toEqual([]);
  });
});
