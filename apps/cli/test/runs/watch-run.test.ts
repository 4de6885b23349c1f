import { describe, expect, it } from 'vitest';
import { COMMENT, RUN, aFact, aGateway, aRun, aStream, someProgress } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const succeeded = aRun({ status: 'success', progress: 1, finished: true, end_reason: 'completed' });
const waiting = aRun({ status: 'queued', progress: 0, live_status: null });

describe('runledger watch', () => {
  it('prints plain lines without a terminal, and ends with 0 for success', async () => {
    const item = { url: 'http://127.0.0.1:1/outputs/k/a.png', filename: 'a.png', type: 'output' };
    const gateway = await aGateway(
      waiting,
      aStream(
        aFact(7),
        someProgress(0.55),
        'event: a_later_kind\ndata: x\n\n',
        someProgress(0.7, 'evil \u001B[2J row'),
        someProgress(0.6),
        aFact(9),
      ),
      aRun({ progress: 0.5 }),
      aRun({
        status: 'success',
        progress: 1,
        finished: true,
        end_reason: 'completed',
        duration: 3.21,
        outputs: [{ data: { images: [item], texts: ['evil \u001B[2J text'] } }],
      }),
    );
    const result = await runCli(['watch', RUN], at(gateway.url));
    expect(result.stdout.split('\n')).toEqual([
      'queued 0 %',
      'running 50 % (row 1/2)',
      'running 70 % (evil  [2J row)',
      'success after 3.2 s',
      'a.png  http://127.0.0.1:1/outputs/k/a.png',
      'texts: evil  [2J text',
      '',
    ]);
    expect(result.code).toBe(0);
  });

  it.each([
    ['failed', 'workflow_error', 1],
    ['timeout', 'run_timeout', 1],
    ['cancelled', 'cancelled_by_client', 130],
  ])('has its own exit code for a run that ends as %s', async (status, end_reason, code) => {
    const queued = { status: 200, body: { run_id: RUN } };
    const error =
      status === 'cancelled' ? null : { kind: 'program_exit', message: 'It ended with 3.\n\u001Btoo large' };
    const gateway = await aGateway(queued, aRun({ status, end_reason, error, finished: true, duration: 1 }));
    const result = await runCli(
      ['queue', '--deployment', '01940000-0000-7000-8000-0000000000d1', '--watch'],
      at(gateway.url),
    );
    const why = error === null ? '' : 'It ended with 3.\ntoo large\n';
    expect(result).toEqual({
      code,
      stdout: `${RUN}\n${status} (${end_reason}) after 1.0 s\n${why}`,
      stderr: code === 1 ? `Its log: runledger logs ${RUN}\n` : '',
    });
  });

  it('waits while the service is unavailable', async () => {
    const unavailable = {
      status: 503,
      body: { detail: 'The log cannot be reached.' },
      headers: { 'retry-after': '1' },
    };
    const gateway = await aGateway(unavailable, succeeded);
    const result = await runCli(['watch', RUN], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('Retrying for') });
  });

  it('continues a stream after its last fact', async () => {
    const gateway = await aGateway(waiting, aStream(aFact(7)), aRun(), aRun(), aStream(aFact(9)), succeeded);
    const { code, stdout } = await runCli(['watch', RUN], at(gateway.url));
    expect([code, stdout]).toEqual([0, 'queued 0 %\nrunning 50 % (row 1/2)\nsuccess\n']);
    const streams = gateway.requests.flatMap(({ path }, index) =>
      path === `/api/run/${RUN}/events` ? [gateway.headers[index]?.['last-event-id']] : [],
    );
    expect(streams).toEqual([undefined, '7']);
  });

  it('does not read the run again for older facts', async () => {
    const old = '2026-05-01T12:00:00.000Z';
    const gateway = await aGateway(aRun(), aStream(aFact(7, old), aFact(8, old), aFact(9)), succeeded);
    await runCli(['watch', RUN], at(gateway.url));
    expect(gateway.requests.map(({ path }) => path.replace('/api/run/', ''))).toEqual([
      RUN,
      `${RUN}/events`,
      RUN,
    ]);
  });

  it('polls a queued run, because its position changes without a fact', async () => {
    const gateway = await aGateway(
      aRun({ status: 'queued', live_status: 'waiting for an A10G (2 ahead)' }),
      aStream(COMMENT, aFact(9)),
      aRun({ status: 'queued', live_status: 'waiting for an A10G (next)' }),
      succeeded,
    );
    const { stdout } = await runCli(['watch', RUN, '--json'], at(gateway.url));
    expect(stdout).toMatch(/2 ahead.*\n.*\(next\).*\n.*success/);
  });

  it('prints each change as the whole run with --json', async () => {
    const gateway = await aGateway(aRun(), aStream(aFact(7), aFact(9)), aRun(), succeeded);
    const { stdout } = await runCli(['watch', RUN, '--json'], at(gateway.url));
    const runs = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(runs).toMatchObject([
      { status: 'running', a_later_field: 7 },
      { status: 'success', a_later_field: 7 },
    ]);
  });
});
