import { aRun, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { queuedOnce } from '../../src/checks/queued-once.ts';
import { foldRuns } from '../../src/evidence/logged-run.ts';
import { aSoak, EVENTS, exchange, INPUTS, RUN, stored, wasQueued } from '../fixtures/a-soak.ts';

const other = aRun();
const withAnother = (inputs: Readonly<Record<string, string | number | boolean>>) => {
  const [message, ...rest] = stored([queued(other, { inputs })]).map((one) => ({
    ...one,
    sequence: 10,
    fence: `runs.${other.org_id}.${other.run_id}.life.>`,
  }));
  expect(rest).toEqual([]);
  return aSoak({ runs: foldRuns([...stored(EVENTS), ...(message ? [message] : [])]) });
};

describe('a request', () => {
  it('queues one run', () => {
    expect(queuedOnce(withAnother(INPUTS))).toMatchObject([
      { run: other.run_id, message: expect.stringMatching(/^Request 1 queued .* and /) as unknown },
    ]);
  });

  it('may be rerun', () => {
    expect(queuedOnce(withAnother({ ...INPUTS, again: true }))).toEqual([]);
  });

  it('exists for each run', () => {
    expect(queuedOnce(withAnother({ ...INPUTS, request: 2 }))).toMatchObject([
      { run: other.run_id, message: 'No client requested it. Its inputs name request 2.' },
    ]);
  });

  it('is the only one with its key', () => {
    const reused = (answer: Parameters<typeof exchange>[1]) =>
      aSoak({
        records: { exchanges: [wasQueued(1.1), exchange(2, answer, { kind: 'queue_other', key: 'soak-1' })] },
      });
    expect(queuedOnce(reused({ kind: 'refused', status: 409, why: 'x' }))).toEqual([]);
    expect(queuedOnce(reused({ kind: 'queued', run: RUN.run_id }))).toMatchObject([
      { message: expect.stringMatching(/accepted another request with the key soak-1\.$/) as unknown },
    ]);
  });

  it('is answered with the same run for the same key', () => {
    const exchanges = [wasQueued(1.1), wasQueued(2, other.run_id), exchange(3, { kind: 'lost', why: 'x' })];
    expect(queuedOnce(aSoak({ records: { exchanges } }))).toMatchObject([
      { message: expect.stringMatching(/^Key soak-1 was answered with .* and /) as unknown },
    ]);
  });
});
