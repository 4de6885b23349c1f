import { describe, expect, it } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const receiver = (changes: object = {}) => ({
  host: 'hooks.example.com',
  origin: 'https://hooks.example.com',
  state: 'open',
  shared: false,
  since: '2026-05-01T12:00:00.000Z',
  next_probe_at: '2026-05-01T12:00:30.000Z',
  failures_in_a_row: 5,
  failing_since: '2026-05-01T11:59:00.000Z',
  waiting: 12,
  in_flight: 0,
  max_in_flight: 0,
  held_up_by: 'breaker',
  last_success_at: null,
  last_failure: {
    at: '2026-05-01T12:00:00.000Z',
    reason: 'server_error',
    status: 503,
    message: 'hooks.example.com answered 503.\u001B[2J',
  },
  a_later_field: 7,
  ...changes,
});

const healthy = receiver({
  origin: 'https://b.example',
  state: 'closed',
  next_probe_at: null,
  failures_in_a_row: 0,
  waiting: null,
  held_up_by: null,
  last_success_at: '2026-05-01T12:00:00.000Z',
  last_failure: null,
});

const page = (receivers: readonly object[], changes: object = {}) => ({
  status: 200,
  body: { complete: true, receivers, more: false, ...changes },
});

describe('runledger webhooks receivers', () => {
  it('lists them in columns', async () => {
    const gateway = await aGateway(page([receiver(), healthy]));
    const { code, stdout, stderr } = await runCli(['webhooks', 'receivers'], at(gateway.url));
    expect(stdout.split('\n')).toEqual([
      'STATE     WAITING  FAILURES  NEXT PROBE                HELD UP BY          LAST SUCCESS              RECEIVER                          LAST FAILURE',
      'open      12       5         2026-05-01T12:00:30.000Z  breaker             -                         https://hooks.example.com         server_error: hooks.example.com answered 503. [2J',
      'closed    ?        0         -                         -                   2026-05-01T12:00:00.000Z  https://b.example                 -',
      '',
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(gateway.requests).toMatchObject([{ method: 'GET', path: '/api/webhooks/receivers' }]);
  });

  it('chooses a host, and prints all as JSON', async () => {
    const gateway = await aGateway(page([receiver()]));
    const args = ['webhooks', 'receivers', '--host', 'h:8080', '--json'];
    const { stdout } = await runCli(args, at(gateway.url));
    expect(JSON.parse(stdout)).toMatchObject({ state: 'open', waiting: 12 });
    expect(gateway.requests[0]?.path).toBe('/api/webhooks/receivers?host=h%3A8080');
  });

  it('takes no options of the list of runs with a webhook', async () => {
    const gateway = await aGateway(page([receiver()]));
    const { code, stderr } = await runCli(['webhooks', 'receivers', '--status', 'failed'], at(gateway.url));
    expect([code, gateway.requests]).toEqual([2, []]);
    expect(stderr).toContain("unknown option '--status'");
  });

  it.each([
    [{}, 'No receiver matches: no run has had a webhook lately.'],
    [{ more: true }, 'There are more receivers.'],
    [{ complete: false }, 'A notifier did not respond, so receivers may be missing.'],
  ])('says what the list lacks: %j', async (changes, sentence) => {
    const gateway = await aGateway(page([], changes));
    expect(await runCli(['webhooks', 'receivers'], at(gateway.url))).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});
