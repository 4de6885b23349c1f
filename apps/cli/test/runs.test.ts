import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUN, aGateway, aRun } from './a-gateway.ts';
import { runCli, temporaryFolder } from './run-cli.ts';

const queued = { status: 200, body: { run_id: RUN } };
const at = (url: string) => ({ env: { RUNLEDGER_URL: url, RUNLEDGER_API_KEY: 'rl_key' } });

describe('runledger queue', () => {
  it('prints the id of the run', async () => {
    const gateway = await aGateway(queued);
    const args = [
      '--deployment',
      'd1',
      '--gpu',
      'T4',
      '--input',
      'size=64',
      '--input',
      'title=a=b',
      '--webhook',
      'http://h',
    ];
    expect(await runCli(['queue', ...args], at(gateway.url))).toEqual({
      code: 0,
      stdout: `${RUN}\n`,
      stderr: '',
    });
    expect(gateway.asked).toEqual([
      {
        method: 'POST',
        path: '/api/run/deployment/queue',
        key: 'Bearer rl_key',
        body: { deployment_id: 'd1', gpu: 'T4', inputs: { size: 64, title: 'a=b' }, webhook: 'http://h' },
      },
    ]);
  });

  it('takes all inputs as JSON, and single ones over them', async () => {
    const gateway = await aGateway(queued);
    const inputs = '{"size": 64, "tags": ["a"], "__proto__": 1}';
    await runCli(
      ['queue', '--deployment', 'd1', '--inputs', inputs, '--input', 'size="64"'],
      at(gateway.url),
    );
    expect(gateway.asked[0]?.body).toEqual(
      JSON.parse('{"deployment_id": "d1", "inputs": {"size": "64", "tags": ["a"], "__proto__": 1}}'),
    );
  });

  it('runs the sample of the standalone whose data folder is above, without being told more', async () => {
    const gateway = await aGateway(queued);
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.runledger'));
    mkdirSync(join(folder, 'deep', 'er'), { recursive: true });
    const connection = {
      url: gateway.url,
      api_key: 'rl_sample',
      deployment_id: 'sample',
      webhook_secret: 'whsec_x',
    };
    writeFileSync(join(folder, '.runledger', 'connection.json'), JSON.stringify(connection));
    const result = await runCli(['queue', '--json'], { cwd: join(folder, 'deep', 'er') });
    expect(result).toEqual({ code: 0, stdout: `{"run_id":"${RUN}"}\n`, stderr: '' });
    expect(gateway.asked[0]).toMatchObject({
      key: 'Bearer rl_sample',
      body: { deployment_id: 'sample', inputs: {} },
    });
  });

  it.each([
    [['--inputs', '[1]'], '--inputs is not a JSON object.'],
    [['--input', 'size'], '--input size has no name and value.'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    const result = await runCli(['queue', '--deployment', 'd1', ...args], at('http://127.0.0.1:9/api'));
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('needs a deployment when there is no sample to fall back on', async () => {
    const result = await runCli(['queue'], at('http://127.0.0.1:9/api'));
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --deployment ID') });
  });
});

describe('runledger watch', () => {
  it('shows plain lines where there is no terminal, and ends with 0 for success', async () => {
    const item = { url: 'http://127.0.0.1:1/outputs/k/a.png', filename: 'a.png', type: 'output' };
    const gateway = await aGateway(
      aRun({ status: 'queued', progress: 0, live_status: null }),
      aRun({ progress: 0.5 }),
      aRun({ progress: 0.55 }),
      aRun({ progress: 0.7, live_status: 'evil \u001B[2J row' }),
      aRun({
        status: 'success',
        progress: 1,
        finished: true,
        end_reason: 'completed',
        duration: 3.21,
        outputs: [{ data: { images: [item] } }],
      }),
    );
    const result = await runCli(['watch', RUN], at(gateway.url));
    expect(result.stdout.split('\n')).toEqual([
      'queued 0 %',
      'running 50 % (row 1/2)',
      'running 70 % (evil  [2J row)',
      'success after 3.2 s',
      'a.png  http://127.0.0.1:1/outputs/k/a.png',
      '',
    ]);
    expect(result.code).toBe(0);
  });

  it.each([
    ['failed', 'workflow_error', 1],
    ['timeout', 'run_timeout', 1],
    ['cancelled', 'cancelled_by_client', 130],
  ])('of a run that ends as %s ends with a code that says so', async (status, end_reason, code) => {
    const gateway = await aGateway(queued, aRun({ status, end_reason, finished: true, duration: 1 }));
    const result = await runCli(['queue', '--deployment', 'd1', '--watch'], at(gateway.url));
    const hint = status === 'failed' ? `See why with: runledger history ${RUN}\n` : '';
    expect(result).toEqual({
      code,
      stdout: `${RUN}\n${status} (${end_reason}) after 1.0 s\n`,
      stderr: hint,
    });
  });

  it('waits for a service that is away', async () => {
    const away = {
      status: 503,
      body: { detail: 'The log cannot be reached.' },
      headers: { 'retry-after': '1' },
    };
    const gateway = await aGateway(away, aRun({ status: 'success', finished: true }));
    const result = await runCli(['watch', RUN], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('Asking again') });
  });

  it('prints each change as the whole run with --json', async () => {
    const gateway = await aGateway(aRun(), aRun(), aRun({ status: 'success', finished: true }));
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

describe('runledger get and cancel', () => {
  it('show a run in rows', async () => {
    const gateway = await aGateway(aRun());
    const { stdout } = await runCli(['get', RUN], at(gateway.url));
    expect(stdout).toBe(
      `run       ${RUN}\nstatus    running 50 % (row 1/2)\ngpu       A10G\nqueued    2026-05-01T12:00:00.000Z\n`,
    );
  });

  it('give the whole answer with --json', async () => {
    const gateway = await aGateway(aRun());
    const { stdout } = await runCli(['get', RUN, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual(aRun().body);
  });

  it.each([
    ['cancelled', 'cancelled', `Run ${RUN} is cancelled.`],
    [
      'cancellation_requested',
      'running',
      `Run ${RUN} is running; it will be cancelled within the grace period.`,
    ],
    ['already_ended', 'success', `Run ${RUN} had ended before: success. Nothing was changed.`],
  ])('say what a cancel did: %s', async (outcome, status, sentence) => {
    const gateway = await aGateway({ status: 200, body: { run_id: RUN, status, outcome } });
    const result = await runCli(['cancel', RUN], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining(sentence) });
    expect(gateway.asked[0]).toMatchObject({ method: 'POST', path: `/api/run/${RUN}/cancel` });
  });
});

describe('an answer that is a no', () => {
  it.each([
    [
      { status: 401, body: { detail: 'Invalid API key' } },
      'The API key from RUNLEDGER_API_KEY was refused (Invalid API key).',
    ],
    [{ status: 404, body: { detail: 'Run not found' } }, 'does not know it (Run not found). Check the id'],
    [
      {
        status: 422,
        body: {
          detail: [{ loc: ['path', 'run_id'], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }],
        },
      },
      'The request was refused:\n  path.run_id: Input should be a valid UUID',
    ],
    [{ status: 429, body: { detail: 'Rate limit' }, headers: { 'retry-after': '7' } }, 'Try again in 7 s.'],
    [
      { status: 503, body: { detail: 'The log is away' } },
      'cannot reach its log right now (The log is away)',
    ],
    [{ status: 500, body: 'no json' }, 'answered 500 (status 500)'],
    [{ status: 200, body: { other: true } }, 'something that this release does not understand'],
  ])('%j becomes a sentence', async (answer, sentence) => {
    const gateway = await aGateway(answer);
    const result = await runCli(['get', 'x'], at(gateway.url));
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('may be no answer at all', async () => {
    const result = await runCli(['get', RUN], at('http://127.0.0.1:59999/api'));
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Nothing answers at .*the connection was refused/),
    });
  });

  it('is given before anything is asked when no connection is known', async () => {
    const { code, stderr } = await runCli(['get', RUN]);
    expect(code).toBe(2);
    expect(stderr).toContain('start a standalone (npm start)');
    expect(stderr).toContain('set RUNLEDGER_URL');
  });

  it('is given when the standalone is not running', async () => {
    const folder = temporaryFolder();
    const { stderr } = await runCli(['get', RUN], { env: { RUNLEDGER_DATA_DIR: folder } });
    expect(stderr).toContain(`The standalone of ${folder} is not running`);
  });
});
