import { assigned, failed, started } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { acceptedRuns } from '../../src/checks/accepted-runs.ts';
import { aSoak, EVENTS, queuedRun, RUN, stored, succeededAs, wasQueued } from '../fixtures/a-soak.ts';

const LOST = '01920000-0000-7000-8000-00000000dead';

describe('accepted runs', () => {
  it('are in the log', () => {
    const evidence = aSoak({ records: { exchanges: [wasQueued(1.1), wasQueued(2, LOST)] } });
    const [violation, ...others] = acceptedRuns(evidence);
    expect(violation?.run).toBe(LOST);
    expect(violation?.message).toContain('which is not in the log');
    expect(others).toEqual([]);
  });

  it('end', () => {
    const evidence = aSoak({ events: [queuedRun(), assigned(RUN), started(RUN)] });
    expect(acceptedRuns(evidence)).toMatchObject([
      { run: RUN.run_id, message: 'It has not ended. It has been running since 2026-01-01T00:00:03.000Z.' },
    ]);
  });

  it('end once', () => {
    const evidence = aSoak({ events: [...EVENTS.slice(0, 3), succeededAs(), failed(RUN)] });
    expect(acceptedRuns(evidence)).toMatchObject([
      { message: expect.stringContaining('RunFailed of attempt 1') as unknown },
    ]);
  });

  it('stay in the log unchanged', () => {
    const vanished = stored(EVENTS).slice(1, 2);
    expect(acceptedRuns(aSoak({ vanished }))).toMatchObject([
      {
        run: RUN.run_id,
        message: expect.stringMatching(/^Message 2, runs\..* It is missing or different now/) as unknown,
      },
    ]);
  });
});
