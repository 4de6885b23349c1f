import { describe, expect, it } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const shown = { secret: 'whsec_new', created_at: '2026-05-01T12:00:00.000Z', previous: null };
const previous = { secret: 'whsec_old', expires_at: '2026-05-02T12:00:00.000Z' };

describe('runledger webhook-secret', () => {
  it('shows the secret', async () => {
    const gateway = await aGateway({ status: 200, body: shown });
    expect(await runCli(['webhook-secret'], at(gateway.url))).toEqual({
      code: 0,
      stdout: 'secret   whsec_new\ncreated  2026-05-01T12:00:00.000Z\n',
      stderr: '',
    });
    expect(gateway.requests).toEqual([
      { method: 'GET', path: '/api/webhooks/secret', key: 'Bearer rl_key', body: null },
    ]);
  });

  it('shows the previous secret while it signs, and all as JSON', async () => {
    const gateway = await aGateway({ status: 200, body: { ...shown, previous, a_later_field: 1 } });
    const { stdout } = await runCli(['webhook-secret'], at(gateway.url));
    expect(stdout).toContain('previous  whsec_old (until 2026-05-02T12:00:00.000Z)\n');
    const json = await runCli(['webhook-secret', '--json'], at(gateway.url));
    expect(JSON.parse(json.stdout)).toEqual({ ...shown, previous });
  });

  it('explains a missing scope', async () => {
    const gateway = await aGateway({
      status: 403,
      body: { detail: 'This API key lacks the scope admin' },
    });
    expect(await runCli(['webhook-secret'], at(gateway.url))).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'The API key from RUNLEDGER_API_KEY may not do this: This API key lacks the scope admin. ' +
        "Use a key with the required scope. An organisation's first key has all scopes except operator; runledger keys create --operator makes one with it.\n",
    });
  });
});

describe('runledger webhook-secret rotate', () => {
  it('makes a new secret, and shows how long both sign', async () => {
    const gateway = await aGateway({ status: 200, body: { ...shown, previous } });
    const { code, stdout, stderr } = await runCli(['webhook-secret', 'rotate'], at(gateway.url));
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'secret    whsec_new']);
    expect(stderr).toBe(
      'Webhooks are signed with both secrets until 2026-05-02T12:00:00.000Z. Give the new one to their receivers before.\n',
    );
    expect(gateway.requests).toEqual([
      { method: 'POST', path: '/api/webhooks/secret', key: 'Bearer rl_key', body: {} },
    ]);
  });

  it.each([
    ['rotate', '--overlap', '0h', '--json'],
    ['--json', 'rotate', '--overlap=0'],
  ])('takes an overlap, and --json: %s %s %s', async (...args) => {
    const gateway = await aGateway({ status: 200, body: shown });
    const { code, stdout, stderr } = await runCli(['webhook-secret', ...args], at(gateway.url));
    expect([code, JSON.parse(stdout)]).toEqual([0, shown]);
    expect(stderr).toContain('the new secret only');
    expect(gateway.requests[0]?.body).toEqual({ overlap_s: 0 });
  });

  it.each(['soon', '-1', '1e3', ''])('sends no request with an overlap of %j', async (overlap) => {
    const gateway = await aGateway({ status: 200, body: shown });
    const result = await runCli(['webhook-secret', 'rotate', `--overlap=${overlap}`], at(gateway.url));
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not a time. Write seconds'),
    });
    expect(gateway.requests).toEqual([]);
  });

  it('shows why the service refuses an overlap', async () => {
    const detail = [{ loc: ['body', 'overlap_s'], msg: 'Input should be less', type: 'less_than_equal' }];
    const gateway = await aGateway({ status: 422, body: { detail } });
    const args = ['webhook-secret', 'rotate', '--overlap', '604801'];
    expect(await runCli(args, at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('body.overlap_s: Input should be less'),
    });
  });

  it('makes no new secret for a misspelled command', async () => {
    const gateway = await aGateway({ status: 200, body: shown });
    expect(await runCli(['webhook-secret', 'rotat'], at(gateway.url))).toMatchObject({ code: 2 });
    expect(gateway.requests).toEqual([]);
  });
});
