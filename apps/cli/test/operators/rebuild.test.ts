import type {
  RebuildViewsRequest,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondToRebuilds } from '@runledger/request-reply/rebuild-views';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { besideALog } from '../fixtures/beside-a-log.ts';
import type { Cli } from '../fixtures/run-cli.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
beforeAll(async () => {
  ({ log, cli } = await besideALog(opened));
});
afterAll(() => opened.disposeAsync());

const COMPARISON = {
  sequence: 88,
  runs: 2,
  live_sha256: 'aa',
  new_sha256: 'aa',
  compared_at_end: 1,
  differences: 0,
  examples: [],
};

/** A gateway that gives these responses, one after the other, until the end of the test. It resolves with what was requested. */
const answering = (...responses: readonly RebuildViewsResponse[]): RebuildViewsRequest[] => {
  const requests: RebuildViewsRequest[] = [];
  const responding = respondToRebuilds(log, async (request) => {
    requests.push(request);
    return responses[Math.min(requests.length, responses.length) - 1];
  });
  onTestFinished(() => responding[Symbol.dispose]());
  return requests;
};

describe('runledger rebuild', () => {
  it('waits until the new views are in place, and says how they were compared', async () => {
    const requests = answering(
      { state: 'copying', derivation: 1, done: 0 },
      { state: 'folding', derivation: 1, done: 40, of: 88 },
      { state: 'comparing', derivation: 1, done: 2 },
      { state: 'replaced', derivation: 2, comparison: COMPARISON },
    );
    expect(await cli(['rebuild'])).toMatchObject({
      code: 0,
      stdout:
        'The views were built again from the log, and are in place. 2 runs compared up to position 88, and 1 run that went on meanwhile: no difference. SHA-256 of both: aa.\n',
    });
    expect(requests.map(({ action }) => action)).toEqual(['start', 'state', 'state', 'state']);
  });

  it('names the runs that differ, and what to do', async () => {
    const comparison = {
      ...COMPARISON,
      new_sha256: 'bb',
      differences: 1,
      examples: [{ run_id: 'r1', why: 'its live view says something else than its facts' }],
    };
    answering({ state: 'different', derivation: 1, comparison });
    const { code, stdout, stderr } = await cli(['rebuild']);
    expect([code, stdout]).toEqual([1, 'Run r1: its live view says something else than its facts.\n']);
    expect(stderr).toContain('1 difference. SHA-256 of the live views: aa, of the new ones: bb.');
    expect(stderr).toContain('runledger rebuild --accept-differences');
  });

  it('has differences accepted', async () => {
    const requests = answering({ state: 'replaced', derivation: 2, comparison: COMPARISON });
    expect((await cli(['rebuild', '--accept-differences', '--json'])).code).toBe(0);
    expect(requests).toEqual([{ action: 'start', accept_differences: true }]);
  });

  it('knows that the views were replaced from a gateway that has started again since', async () => {
    answering({ state: 'finishing', derivation: 1 }, { state: 'none', derivation: 2 });
    expect((await cli(['rebuild'])).code).toBe(0);
  });

  it('says why nothing was built, and is in the audit', async () => {
    answering({ state: 'failed', derivation: 1, why: 'the disk is full' });
    expect(await cli(['rebuild'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'The views were not built again: the disk is full. The live ones are as they were.',
      ),
    });
    const recorded = await log.jsm.streams.getMessage('AUDIT', {
      last_by_subj: 'audit.installation.work',
    });
    expect(recorded?.json()).toMatchObject({ actor: { kind: 'operator' }, outcome: 'unknown' });
  });

  it('stops', async () => {
    const requests = answering({ state: 'none', derivation: 1 });
    expect(await cli(['rebuild', '--stop'])).toMatchObject({
      code: 0,
      stdout: 'Nothing is being built. The live views are as they were.\n',
    });
    expect(requests).toEqual([{ action: 'stop' }]);
  });
});
