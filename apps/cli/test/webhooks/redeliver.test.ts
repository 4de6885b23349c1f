import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const some = (matched: number, requested: number, next_cursor: string | null = null) => ({
  status: 200,
  body: { matched, requested, next_cursor },
});

describe('runledger redeliver', () => {
  it('sends the notification of a run again', async () => {
    const answer = { run_id: RUN, webhook_status: 'running', round: 2 };
    const gateway = await aGateway({ status: 200, body: answer });
    expect(await runCli(['redeliver', RUN], at(gateway.url))).toEqual({
      code: 0,
      stdout: `The notification of run ${RUN} is sent again. See it with: runledger deliveries ${RUN}\n`,
      stderr: '',
    });
    expect(gateway.requests).toEqual([
      { method: 'POST', path: `/api/run/${RUN}/redeliver`, key: 'Bearer rl_key', body: null },
    ]);
    const { stdout } = await runCli(['redeliver', RUN, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual(answer);
  });

  it('explains a refusal', async () => {
    const gateway = await aGateway({ status: 409, body: { detail: 'The run has not ended' } });
    expect(await runCli(['redeliver', RUN], at(gateway.url))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'The present state does not allow this: The run has not ended.\n',
    });
  });

  it('sends all failed notifications again, page after page', async () => {
    const gateway = await aGateway(some(100, 100, 'second'), some(100, 0, 'third'), some(30, 30));
    const { code, stdout, stderr } = await runCli(
      ['redeliver', '--failed', '--host', 'h.example'],
      at(gateway.url),
    );
    expect([code, stdout]).toEqual([0, '130 notifications will be sent again.\n']);
    expect(stderr).toContain('100 of them could not be sent again');
    const body = { filter: { status: 'failed', host: 'h.example' }, dry_run: false };
    const request = { method: 'POST', path: '/api/webhooks/redeliver', key: 'Bearer rl_key' };
    expect(gateway.requests).toEqual([
      { ...request, body },
      { ...request, body: { ...body, cursor: 'second' } },
      { ...request, body: { ...body, cursor: 'third' } },
    ]);
  });

  it('reports only what it sends again if nothing is left after that', async () => {
    const gateway = await aGateway(some(1, 1));
    expect(await runCli(['redeliver', '--failed'], at(gateway.url))).toEqual({
      code: 0,
      stdout: '1 notification will be sent again.\n',
      stderr: '',
    });
  });

  it('counts all with --dry-run, and changes nothing', async () => {
    const gateway = await aGateway(some(100, 0, 'second'), some(31, 0));
    const args = ['redeliver', '--failed', '--created-before', '2026-05-01', '--dry-run'];
    expect(await runCli(args, at(gateway.url))).toEqual({
      code: 0,
      stdout: '131 notifications would be sent again. Nothing was changed.\n',
      stderr: '',
    });
    const body = { filter: { status: 'failed', created_before: '2026-05-01' }, dry_run: true };
    expect(gateway.requests.map((request) => request.body)).toEqual([body, { ...body, cursor: 'second' }]);
    const { stdout } = await runCli([...args, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual({ matched: 31, requested: 0, complete: true, dry_run: true });
  });

  it('stops counting after a hundred pages, and prints "At least"', async () => {
    const pages = Array.from({ length: 101 }, (_, page) => some(10, 0, `behind ${page}`));
    const gateway = await aGateway(...pages, ...pages);
    const args = ['redeliver', '--failed', '--dry-run'];
    const { stdout } = await runCli(args, at(gateway.url));
    expect(stdout).toBe('At least 1000 notifications would be sent again. Nothing was changed.\n');
    expect(gateway.requests).toHaveLength(100);
    const json = await runCli([...args, '--json'], at(gateway.url));
    expect(JSON.parse(json.stdout)).toEqual({
      matched: 1000,
      requested: 0,
      complete: false,
      dry_run: true,
    });
  });

  it('continues to the last page', async () => {
    const pages = Array.from({ length: 150 }, (_, page) => some(10, 10, `behind ${page}`));
    const gateway = await aGateway(...pages, some(1, 1));
    const { stdout } = await runCli(['redeliver', '--failed'], at(gateway.url));
    expect(stdout).toBe('1501 notifications will be sent again.\n');
    expect(gateway.requests).toHaveLength(151);
  });

  it('stops if the service repeats a page', async () => {
    const gateway = await aGateway(some(2, 2, 'same'), some(2, 1, 'same'));
    expect(await runCli(['redeliver', '--failed'], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^3 notifications will be sent again. Then.*\n.*same page again/),
    });
    expect(gateway.requests).toHaveLength(2);
  });

  it('reports how many it requested before a failure', async () => {
    const gateway = await aGateway(some(100, 100, 'second'), {
      status: 503,
      body: { detail: 'The log is unavailable' },
    });
    expect(await runCli(['redeliver', '--failed'], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^100 notifications will be sent again. Then.*\n.*The log is unavailable/,
      ),
    });
  });

  it.each([
    [[], 'No run was given'],
    [['--host', 'h'], 'No run was given'],
    [[RUN, '--failed'], 'A run and a filter exclude each other.'],
  ])('refuses %j', async (args, sentence) => {
    const gateway = await aGateway(some(0, 0));
    expect(await runCli(['redeliver', ...args], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
    expect(gateway.requests).toEqual([]);
  });
});
