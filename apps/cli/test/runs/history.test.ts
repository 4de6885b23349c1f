import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import {
  assigned,
  cancelled,
  cancelRequested,
  EXECUTOR,
  failed,
  queued,
  started,
  aRun,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { startCli } from '../fixtures/run-cli.ts';
import { storeFacts } from '../fixtures/stored-facts.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const ownRun = (): RunKey => aRun(gateway.org_id);
const store = (...facts: Parameters<typeof storeFacts>[1][]): Promise<number> =>
  storeFacts(gateway.log, ...facts);
const linesOf = async (...args: readonly string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await gateway.cli(args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trimEnd().split('\n');
};

describe('runledger history', () => {
  it('shows each fact with its writer and what it changed, and whole messages without control characters', async () => {
    const run = ownRun();
    const end = failed(run);
    const message = `evil \u001B[2J answer\n${'x'.repeat(500)} the last words`;
    const told = { ...end, data: { ...end.data, error: { ...end.data.error, message } } };
    await store(
      queued(run, { webhook: 'https://example.com/hook' }),
      assigned(run),
      started(run),
      told,
      webhookStarted(run),
    );
    expect(await linesOf('history', run.run_id)).toEqual([
      expect.stringMatching(/Z +\d+ {2}RunQueued +gateway +queued +deployment .* on A10G, 1 input$/),
      expect.stringMatching(
        /Z +\d+ {2}RunAssigned +scheduler +queued -> started +attempt 1 on box, slot 0 \(A10G\)$/,
      ),
      expect.stringMatching(
        /Z +\d+ {2}RunStarted +executor +started -> running +attempt 1 executes the workflow$/,
      ),
      expect.stringMatching(
        /Z +\d+ {2}RunFailed +executor +running -> failed +program_exit: evil {2}\[2J answer$/,
      ),
      expect.stringMatching(/^ {4}x{500} the last words$/),
      expect.stringMatching(
        /Z +\d+ {2}WebhookStarted +notifier +webhook not-started -> running +the final notification is being sent$/,
      ),
    ]);
  });

  it('prints what each fact changed with --changes, one entry a line with --json, and a picture with --svg', async () => {
    const run = ownRun();
    const first = await store(queued(run));
    await store(assigned(run));
    expect(await linesOf('history', run.run_id, '--changes')).toContain('    status: queued -> started');
    const entries = (await linesOf('history', run.run_id, '--json')).map((line) => JSON.parse(line));
    expect(entries).toMatchObject([
      { kind: 'fact', sequence: first, type: 'RunQueued', details: { event_id: expect.any(String) } },
      {
        kind: 'fact',
        type: 'RunAssigned',
        changes: expect.arrayContaining([{ member: 'status', before: 'queued', after: 'started' }]),
      },
    ]);
    const picture = (await linesOf('history', run.run_id, '--svg')).join('\n');
    expect(picture).toMatch(/^<svg .*<\/svg>$/s);
    expect(picture).toContain('attempt 1');
  });

  it('follows the run until it has ended, and its notification is settled', async () => {
    const run = ownRun();
    await store(queued(run, { webhook: 'https://example.com/hook' }));
    const following = startCli(['history', run.run_id, '--follow'], { env: gateway.env });
    const has = (type: string) => waitFor(type, () => following.stdout().includes(type));
    await has('RunQueued');
    await store(assigned(run), cancelRequested(run, 1, EXECUTOR));
    await has('RunCancelRequested');
    await store(cancelled(run), webhookStarted(run));
    await has('RunCancelled');
    await store(webhookDelivered(run));
    const { code, stdout } = await following.ended;
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ +/)[2]),
    ).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunCancelRequested',
      'RunCancelled',
      'WebhookStarted',
      'WebhookDelivered',
    ]);
  });

  it.each([
    [newUuid(), 'Run not found'],
    ['x', 'Send a UUID'],
  ])('refuses %s with a sentence', async (run, sentence) => {
    expect(await gateway.cli(['history', run])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger at and diff', () => {
  it('show the run as it was, and what changed between two moments', async () => {
    const run = ownRun();
    const first = await store(queued(run));
    await store(assigned(run), started(run));
    const last = await lastOfRun(gateway.log, run);
    expect(await linesOf('at', run.run_id, String(first))).toContainEqual(
      expect.stringMatching(/^status +queued/),
    );
    expect(await linesOf('at', run.run_id, '2999-01-01')).toContainEqual(
      expect.stringMatching(/^status +running/),
    );
    const [shown = ''] = await linesOf('at', run.run_id, String(first), '--json');
    expect(JSON.parse(shown)).toMatchObject({ status: 'queued', started_at: null });
    const changes = await linesOf('diff', run.run_id, String(first), String(last));
    expect(changes).toContain('status: queued -> running');
    expect(changes).toContainEqual(expect.stringMatching(/^started_at: - -> \d{4}-/));
    expect(await gateway.cli(['diff', run.run_id, String(last), String(last)])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Nothing differs.\n',
    });
  });

  it('refuse what is no moment, and one at which there was no run', async () => {
    const run = ownRun();
    await store(queued(run));
    const refused = async (moment: string) => (await gateway.cli(['at', run.run_id, moment])).stderr;
    expect(await refused('yesterday')).toContain('"yesterday" is no moment');
    expect(await refused('2001-01-01')).toContain('Run at that time not found');
    expect(await refused('2001-13-01')).toContain('at');
  });
});
