import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from './a-gateway.ts';
import { runCli } from './run-cli.ts';

const at = (url: string) => ({ env: { RUNLEDGER_URL: url, RUNLEDGER_API_KEY: 'rl_key' } });
const some = (matched: number, requested: number, more = false) => ({
  status: 200,
  body: { matched, requested, more },
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
    expect(gateway.asked).toEqual([
      { method: 'POST', path: `/api/run/${RUN}/redeliver`, key: 'Bearer rl_key', body: null },
    ]);
    const { stdout } = await runCli(['redeliver', RUN, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual(answer);
  });

  it('says why it cannot be', async () => {
    const gateway = await aGateway({ status: 409, body: { detail: 'The run has not ended' } });
    expect(await runCli(['redeliver', RUN], at(gateway.url))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'This cannot be done as things stand (The run has not ended).\n',
    });
  });

  it('sends all that were given up again, as often as there are more', async () => {
    const gateway = await aGateway(some(100, 100, true), some(31, 30));
    const { code, stdout } = await runCli(['redeliver', '--failed', '--host', 'h.example'], at(gateway.url));
    expect([code, stdout]).toEqual([0, '130 notifications will be sent again.\n']);
    const body = { filter: { status: 'failed', host: 'h.example' }, dry_run: false };
    expect(gateway.asked).toMatchObject([
      { method: 'POST', path: '/api/webhooks/redeliver', body },
      { method: 'POST', path: '/api/webhooks/redeliver', body },
    ]);
  });

  it('changes nothing with --dry-run, and asks once', async () => {
    const gateway = await aGateway(some(100, 0, true));
    const args = ['redeliver', '--failed', '--created-before', '2026-05-01', '--dry-run'];
    expect(await runCli(args, at(gateway.url))).toEqual({
      code: 0,
      stdout: 'At least 100 notifications would be sent again. Nothing was changed.\n',
      stderr: '',
    });
    expect(gateway.asked.map(({ body }) => body)).toEqual([
      { filter: { status: 'failed', created_before: '2026-05-01' }, dry_run: true },
    ]);
    const { stdout } = await runCli([...args, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual({ matched: 100, requested: 0, more: true, dry_run: true });
  });

  it('ends when nothing more can be asked for', async () => {
    const gateway = await aGateway(some(2, 1, true), some(1, 0, true));
    const { stdout, stderr } = await runCli(['redeliver', '--failed'], at(gateway.url));
    expect(stdout).toBe('1 notification will be sent again.\n');
    expect(stderr).toContain('There are more that could not be asked for now');
    expect(gateway.asked).toHaveLength(2);
  });

  it('says how many it had asked for when it is cut off', async () => {
    const gateway = await aGateway(some(100, 100, true), {
      status: 503,
      body: { detail: 'The log is away' },
    });
    expect(await runCli(['redeliver', '--failed'], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^100 notifications will be sent again; then.*\n.*The log is away/),
    });
  });

  it.each([
    [[], 'Nothing to send again was named'],
    [['--host', 'h'], 'Nothing to send again was named'],
    [[RUN, '--failed'], 'A run and a filter were both given.'],
  ])('with %j asks for one or the other', async (args, sentence) => {
    const gateway = await aGateway(some(0, 0));
    expect(await runCli(['redeliver', ...args], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
    expect(gateway.asked).toEqual([]);
  });
});
