import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOST, RUN, aGateway, aRun } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const queued = { status: 200, body: { run_id: RUN } };

const DEPLOYMENT = '01940000-0000-7000-8000-0000000000d1';

describe('runledger queue', () => {
  it('prints the id of the run', async () => {
    const gateway = await aGateway(queued);
    const args = [
      '--deployment',
      DEPLOYMENT,
      '--gpu',
      'T4',
      '--input',
      'size=64',
      '--input',
      'title=a=b',
      '--webhook',
      'http://h',
      '--priority',
      '-5',
      '--concurrency-key',
      'user 7',
      '--run-timeout',
      '15m',
      '--start-deadline',
      '90',
      '--delay',
      '2h',
      '--tag',
      'a:1,b',
      '--tag',
      'c',
    ];
    expect(await runCli(['queue', ...args], at(gateway.url))).toEqual({
      code: 0,
      stdout: `${RUN}\n`,
      stderr: '',
    });
    expect(gateway.requests.filter(({ method }) => method === 'POST')).toEqual([
      {
        method: 'POST',
        path: '/api/run/deployment/queue',
        key: 'Bearer rl_key',
        body: {
          deployment_id: DEPLOYMENT,
          gpu: 'T4',
          priority: -5,
          concurrency_key: 'user 7',
          run_timeout_s: 900,
          start_deadline_s: 90,
          delay_s: 7_200,
          tags: ['a:1', 'b', 'c'],
          inputs: { size: 64, title: 'a=b' },
          webhook: 'http://h',
        },
      },
    ]);
  });

  it('warns about members that the service ignored', async () => {
    const headers = { 'runledger-ignored-members': 'delay_s, tags' };
    const gateway = await aGateway({ ...queued, headers });
    const answer = await runCli(['queue', '--deployment', DEPLOYMENT, '--delay', '5'], at(gateway.url));
    expect(answer).toMatchObject({ code: 0, stdout: `${RUN}\n` });
    expect(answer.stderr).toMatch(
      /^Warning: .*ignored them: delay_s, tags\. It may be of an earlier release\.\n$/,
    );
  });

  it('prints what the service warns of, once for each name', async () => {
    const headers = {
      'runledger-ignored-members': 'inptus',
      'runledger-warning':
        'unknown body member "inptus"; did you mean "inputs"?, unknown query parameter "x"',
    };
    const gateway = await aGateway({ ...queued, headers });
    const answer = await runCli(['queue', '--deployment', DEPLOYMENT], at(gateway.url));
    expect(answer).toMatchObject({ code: 0, stdout: `${RUN}\n` });
    expect(answer.stderr).toBe(
      'Warning: unknown body member "inptus"; did you mean "inputs"? The service ignored it.\n' +
        'Warning: unknown query parameter "x". The service ignored it.\n',
    );
  });

  it('accepts all inputs as JSON, and single inputs that change them', async () => {
    const gateway = await aGateway(queued);
    const inputs = '{"size": 64, "tags": ["a"], "__proto__": 1}';
    await runCli(
      ['queue', '--deployment', DEPLOYMENT, '--inputs', inputs, '--input', 'size="64"'],
      at(gateway.url),
    );
    expect(gateway.requests.at(-1)?.body).toEqual(
      JSON.parse(
        `{"deployment_id": "${DEPLOYMENT}", "inputs": {"size": "64", "tags": ["a"], "__proto__": 1}}`,
      ),
    );
  });

  it('queues the sample of the standalone whose data folder is above', async () => {
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
    expect(gateway.requests[0]).toMatchObject({
      key: 'Bearer rl_sample',
      body: { deployment_id: 'sample', inputs: {} },
    });
  });

  it.each([
    [['--inputs', '[1]'], '--inputs is not a JSON object.'],
    [['--input', 'size'], '--input size is not name=value.'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    const result = await runCli(['queue', '--deployment', DEPLOYMENT, ...args], at('http://127.0.0.1:9/api'));
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('needs a deployment without a standalone', async () => {
    const result = await runCli(['queue'], at('http://127.0.0.1:9/api'));
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --deployment NAME') });
  });
});

describe('runledger queue without an answer, or with a temporary refusal', () => {
  it.each([
    [LOST, 'There is no answer from'],
    [
      { status: 503, body: { detail: 'The log is unavailable' }, headers: { 'retry-after': '1' } },
      'The log is unavailable',
    ],
    [{ status: 429, body: { detail: 'The queue is full' } }, 'The queue is full'],
  ])('repeats the request with the same key: %j', async (answer, sentence) => {
    const gateway = await aGateway(answer, queued);
    const result = await runCli(['queue', '--deployment', DEPLOYMENT, '--input', 'a=b'], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stdout: `${RUN}\n`, stderr: expect.stringContaining(sentence) });
    const [first, second] = gateway.headers.map((headers) => headers['idempotency-key']);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toBe(first);
    expect(gateway.requests[1]).toEqual(gateway.requests[0]);
  });

  it('ends at once if Retry-After exceeds its time limit', async () => {
    const full = { status: 429, body: { detail: 'The queue is full' }, headers: { 'retry-after': '600' } };
    const gateway = await aGateway(full);
    const args = ['queue', '--deployment', DEPLOYMENT, '--idempotency-key', 'order 7'];
    const result = await runCli(args, at(gateway.url));
    expect(result).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Try again in 600 s.'),
    });
    expect(gateway.headers).toMatchObject([{ 'idempotency-key': 'order 7' }]);
  });
});

describe('runledger get and cancel', () => {
  it('show a run in rows', async () => {
    const gateway = await aGateway(aRun());
    const { stdout } = await runCli(['get', RUN], at(gateway.url));
    expect(stdout).toBe(
      `run     ${RUN}\nstatus  running 50 % (row 1/2)\ngpu     A10G\nqueued  2026-05-01T12:00:00.000Z\n`,
    );
  });

  it('show why a run failed, and what became of its attempts', async () => {
    const error = { kind: 'program_exit', message: 'It ended with 3.\n\u001Btoo large' };
    const lost = { kind: 'executor_lost', message: 'It was lost.\nmore' };
    const attempts = [
      { number: 1, executor: 'box', ended_at: '2026-05-01T12:00:09.000Z', error: lost },
      {
        number: 2,
        executor: 'den',
        ended_at: '2026-05-01T12:00:19.000Z',
        error,
        placement: { sentence: 'after 3 s, the only free slot' },
      },
    ];
    const end = { status: 'failed', end_reason: 'workflow_error', finished: true, error, attempts };
    const gateway = await aGateway(aRun(end));
    const { stdout } = await runCli(['get', RUN], at(gateway.url));
    expect(stdout).toContain('attempt  1 on box, until 2026-05-01T12:00:09.000Z: It was lost.\n');
    expect(stdout).toContain('placed   on den, after 3 s, the only free slot\n');
    expect(stdout).toContain('error    It ended with 3.\nerror    too large\n');
  });

  it('give the whole answer with --json', async () => {
    const gateway = await aGateway(aRun());
    const { stdout } = await runCli(['get', RUN, '--json'], at(gateway.url));
    expect(JSON.parse(stdout)).toEqual(aRun().body);
  });

  it('wait for the end of the run with --wait', async () => {
    const gateway = await aGateway(aRun({ status: 'success', finished: true, duration: 2 }));
    const { stdout } = await runCli(['get', RUN, '--wait', '1m'], at(gateway.url));
    expect(stdout).toContain('status  success after 2.0 s\n');
    expect(gateway.requests[0]).toMatchObject({ method: 'GET', path: `/api/run/${RUN}?wait=60` });
    const refused = await runCli(['get', RUN, '--wait', '61'], at(gateway.url));
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('runledger watch') });
  });

  it.each([
    ['cancelled', 'cancelled', `Run ${RUN} is cancelled.`],
    [
      'cancellation_requested',
      'running',
      `Run ${RUN} is running; it will be cancelled within the grace period.`,
    ],
    ['already_ended', 'success', `Run ${RUN} has already ended: success. Nothing was changed.`],
  ])('show the outcome of a cancel: %s', async (outcome, status, sentence) => {
    const gateway = await aGateway({ status: 200, body: { run_id: RUN, status, outcome } });
    const result = await runCli(['cancel', RUN], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining(sentence) });
    expect(gateway.requests[0]).toMatchObject({ method: 'POST', path: `/api/run/${RUN}/cancel` });
  });
});

describe('runledger delete', () => {
  it.each([
    [[], '', 'deleted', `Run ${RUN} is deleted.`],
    [['--outputs'], '/outputs', 'deleted', `The outputs of run ${RUN} are deleted.`],
    [['--outputs'], '/outputs', 'already_deleted', `The outputs of run ${RUN} were deleted before.`],
  ])('%j requests it, and shows the outcome', async (options, path, outcome, sentence) => {
    const gateway = await aGateway({ status: 200, body: { run_id: RUN, outcome } });
    const result = await runCli(['delete', RUN, ...options], at(gateway.url));
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining(sentence) });
    expect(gateway.requests[0]).toMatchObject({ method: 'DELETE', path: `/api/run/${RUN}${path}` });
  });
});

describe('runledger tombstone', () => {
  it('shows what was erased, when and by whom', async () => {
    const gateway = await aGateway({
      status: 200,
      body: {
        run_id: RUN,
        number: 1,
        created_at: '2026-01-01T00:00:00.000Z',
        deleted_at: '2026-01-02T00:00:00.000Z',
        deleted_by: { user_id: RUN, key_id: RUN },
        state: 'erased',
        erases: { files: 2, file_bytes: 30, inputs_bytes: 5_000, outputs_bytes: 0, log_bytes: 70 },
      },
    });
    const result = await runCli(['tombstone', RUN], at(gateway.url));
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(
      /deleted +2026-01-02[^]*output files +2, 30 bytes[^]*stored inputs +5000 bytes/,
    );
    expect(gateway.requests[0]).toMatchObject({ method: 'GET', path: `/api/run/${RUN}/tombstone` });
  });
});
