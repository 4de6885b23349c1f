import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

describe('a refusal', () => {
  it.each([
    [
      { status: 401, body: { detail: 'Invalid API key' } },
      'The API key from RUNLEDGER_API_KEY was refused: Invalid API key.',
    ],
    [{ status: 404, body: { detail: 'Run not found' } }, ': Run not found. Check the id'],
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
      { status: 503, body: { detail: 'The log is unavailable' } },
      'cannot do this now, and has not confirmed the request: The log is unavailable.',
    ],
    [
      { status: 507, body: { detail: 'The object store OUTPUTS is full' } },
      'A store of the service is full: The object store OUTPUTS is full.',
    ],
    [
      {
        status: 409,
        body: { detail: 'The run has not ended', code: 'run_not_ended', request_id: 'r-1' },
      },
      'The present state does not allow this: The run has not ended. (run_not_ended, request r-1)\n',
    ],
    [
      { status: 404, body: { detail: 'The run was deleted', code: 'run_deleted', request_id: 'r-2' } },
      ': The run was deleted. (run_deleted, request r-2)\n',
    ],
    [
      {
        status: 404,
        body: { detail: 'The deployment is archived', code: 'deployment_archived', request_id: 'r-6' },
      },
      '/api refused this: The deployment is archived. (deployment_archived, request r-6)\n',
    ],
    [
      {
        status: 404,
        body: { detail: 'There is no GET /run/x.', code: 'path_unknown', request_id: 'r-3' },
      },
      'There is no GET /run/x. Check the URL: it must include the base path, such as /api. (path_unknown, request r-3)\n',
    ],
    [
      {
        status: 422,
        body: {
          detail: [{ loc: ['query', 'x'], msg: 'Extra', type: 'extra_forbidden' }],
          code: 'invalid_request',
          request_id: 'r-4',
        },
      },
      'The request was refused (invalid_request, request r-4):\n  query.x: Extra\n',
    ],
    [{ status: 500, body: 'no json' }, 'answered 500: no reason given.'],
    [{ status: 200, body: { other: true } }, 'in a form that this release does not understand'],
  ])('%j is explained in a sentence', async (answer, sentence) => {
    const gateway = await aGateway(answer);
    const result = await runCli(['get', 'x'], at(gateway.url));
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('is an object with --json, with its code and the id of the request', async () => {
    const refused = { detail: 'The log cannot be reached', code: 'log_unavailable', request_id: 'r-5' };
    const gateway = await aGateway({ status: 503, body: refused });
    const { code, stdout, stderr } = await runCli(['get', RUN, '--json'], at(gateway.url));
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toEqual({
      error: expect.stringContaining('The log cannot be reached'),
      status: 503,
      code: 'log_unavailable',
      request_id: 'r-5',
    });
  });

  it('is explained if there is no answer', async () => {
    const result = await runCli(['get', RUN], at('http://127.0.0.1:59999/api'));
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no answer from .*the connection was refused/),
    });
  });

  it('is printed without a request if no connection is found', async () => {
    const { code, stderr } = await runCli(['get', RUN]);
    expect(code).toBe(2);
    expect(stderr).toContain('start a standalone (npm start)');
    expect(stderr).toContain('set RUNLEDGER_URL');
  });

  it('is printed if the standalone is not running', async () => {
    const folder = temporaryFolder();
    const { stderr } = await runCli(['get', RUN], { env: { RUNLEDGER_DATA_DIR: folder } });
    expect(stderr).toContain(`The standalone of ${folder} is not running`);
  });
});
