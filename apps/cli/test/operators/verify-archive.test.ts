import type { CheckedSegment } from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondToArchiveCheck } from '@runledger/request-reply/archive-check';
import { aRun } from '@runledger/testing/run-events';
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

const { org_id } = aRun();
const aSegment = (revision: number, ...problems: string[]): CheckedSegment => ({
  revision,
  org_id,
  first_sequence: 1,
  last_sequence: 9,
  messages: 4,
  compared: 4,
  root: 'r',
  problems,
});
/** A gateway with these segments, until the end of the test. */
const answering = (...segments: readonly CheckedSegment[]): void => {
  const responding = respondToArchiveCheck(log, async ({ behind }) => ({
    segment: segments.find(({ revision }) => revision > behind) ?? null,
  }));
  onTestFinished(() => responding[Symbol.dispose]());
};
const verify = (...options: string[]) => cli(['verify', '--no-blobs', '--no-views', '--archive', ...options]);

describe('the archive of a gateway', () => {
  it('is verified segment by segment', async () => {
    answering(aSegment(3), aSegment(5));
    expect(await verify()).toMatchObject({
      code: 0,
      stderr: '0 runs with 0 messages and 2 segments verified: no difference.\n',
    });
  });

  it('is told when a segment is damaged', async () => {
    answering(aSegment(3), aSegment(5, 'its object is missing'));
    expect(await verify()).toMatchObject({
      code: 1,
      stdout: `Segment 1 to 9 of organisation ${org_id}: its object is missing.\n`,
    });
    const { stdout } = await verify('--json');
    expect(JSON.parse(stdout)).toEqual({
      org_id,
      first_sequence: 1,
      last_sequence: 9,
      problem: 'its object is missing',
    });
  });

  it('needs a gateway that has one', async () => {
    expect(await verify()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No gateway checks the archive'),
    });
  });
});
