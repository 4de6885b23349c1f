import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const aTry = (changes: object = {}) => ({
  webhook_id: 'msg_1',
  round: 1,
  try: 1,
  url: 'https://hooks.example.com/r',
  started_at: '2026-05-01T12:00:00.000Z',
  phases: { dns: 0.0021, connect: 0.012, tls: null, wait: 15, body: null },
  reason: 'server_error',
  message: 'The receiver answered 503.',
  status: 503,
  answer: 'evil \u001B[2J\nbusy',
  ...changes,
});

const refused = aTry({
  try: 2,
  started_at: '2026-05-01T12:00:05.000Z',
  phases: { dns: null, connect: null, tls: null, wait: null, body: null },
  reason: 'connect_refused',
  message: 'Nothing listens there.',
  status: null,
  answer: null,
});

const deliveries = (changes: object = {}) => ({
  status: 200,
  body: {
    run_id: RUN,
    webhook: 'https://hooks.example.com/r?[hidden]',
    webhook_status: 'running',
    round: 1,
    state: 'retrying',
    next_try_at: '2026-05-01T12:00:35.000Z',
    given_up_reason: null,
    message: 'Nothing listens there.',
    tries: [aTry(), refused],
    intermediate: null,
    a_later_field: 7,
    ...changes,
  },
});

describe('runledger deliveries', () => {
  it('shows the result and the phases of each attempt, and the time of the next one', async () => {
    const gateway = await aGateway(deliveries());
    const { code, stdout, stderr } = await runCli(['deliveries', RUN], at(gateway.url));
    expect(stdout.split('\n')).toEqual([
      'webhook  https://hooks.example.com/r?[hidden]',
      'STARTED                   ATTEMPT       RESULT             PHASES, ANSWER',
      '2026-05-01T12:00:00.000Z  attempt 1     503 server_error   dns 2 ms, connect 12 ms, wait 15.0 s  The receiver answered 503.  answered "evil  [2J busy"',
      '2026-05-01T12:00:05.000Z  attempt 2     connect_refused    Nothing listens there.',
      'The next attempt follows at 2026-05-01T12:00:35.000Z: Nothing listens there.',
      '',
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(gateway.requests).toEqual([
      { method: 'GET', path: `/api/run/${RUN}/deliveries`, key: 'Bearer rl_key', body: null },
    ]);
  });

  it.each([
    [{ webhook: null, webhook_status: null, state: null }, 'was queued without a webhook'],
    [{ webhook_status: 'not-started', state: null }, 'Nothing was sent yet'],
    [{ state: 'deferred', next_try_at: null }, 'Deferred: Nothing listens there.'],
    [{ next_try_at: null }, 'The next attempt is running'],
    [{ webhook_status: 'success', state: null }, 'Delivered: the receiver accepted'],
    [
      { webhook_status: 'failed', state: null, given_up_reason: 'gone', message: 'Gone.' },
      `Failed: Gone. Send it again with: runledger redeliver ${RUN}\n`,
    ],
    [
      { webhook_status: 'failed', state: null, given_up_reason: 'log_expired', message: 'Too late.' },
      'Failed: Too late.\n',
    ],
    [{ webhook_status: 'a-later-one', state: null, message: null }, 'The webhook is a-later-one.'],
  ])('shows the state of the delivery: %j', async (changes, sentence) => {
    const gateway = await aGateway(deliveries(changes));
    const { stdout } = await runCli(['deliveries', RUN], at(gateway.url));
    expect(stdout).toContain(sentence);
  });

  it('shows rounds, and the latest intermediate notification', async () => {
    const tries = [aTry(), aTry({ round: 2, reason: 'accepted', status: 200, message: '', answer: 'ok' })];
    const intermediate = aTry({ reason: 'accepted', status: 204 });
    const gateway = await aGateway(deliveries({ tries, intermediate }));
    const { stdout } = await runCli(['deliveries', RUN], at(gateway.url));
    expect(stdout).toContain('Z  intermediate  204 accepted ');
    expect(stdout).toContain(
      'Z  round 2, attempt 1  200 accepted       dns 2 ms, connect 12 ms, wait 15.0 s\n',
    );
  });

  it('limits the lines, and prints everything with --json', async () => {
    const tries = Array.from({ length: 650 }, (_, index) => aTry({ try: index + 1 }));
    const gateway = await aGateway(deliveries({ tries }));
    const { stdout, stderr } = await runCli(['deliveries', RUN], at(gateway.url));
    expect(stdout.split('\n')).toHaveLength(100 + 4);
    expect(stdout).toContain('attempt 650');
    expect(stderr).toBe('550 earlier delivery attempts are left out; --json shows all.\n');
    const json = await runCli(['deliveries', RUN, '--json'], at(gateway.url));
    expect(JSON.parse(json.stdout)).toEqual(deliveries({ tries }).body);
  });
});

const listed = (run_id: string, changes: object = {}) => ({
  run_id,
  url: 'https://hooks.example.com/r',
  host: 'hooks.example.com',
  webhook_status: 'running',
  round: 1,
  state: 'deferred',
  tries: 3,
  next_try_at: null,
  given_up_reason: null,
  last_reason: 'timed_out',
  message: null,
  created_at: '2026-05-01T12:00:00.000Z',
  updated_at: '2026-05-01T12:30:00.000Z',
  ...changes,
});
const page = (ids: readonly string[], next_cursor: string | null = null) => ({
  status: 200,
  body: { deliveries: ids.map((id) => listed(id)), next_cursor },
});

describe('runledger webhooks', () => {
  it('lists runs with a webhook in columns', async () => {
    const gateway = await aGateway(page([RUN]));
    expect(await runCli(['webhooks'], at(gateway.url))).toEqual({
      code: 0,
      stdout: [
        'CHANGED                   RUN                                   STATE        ATTEMPTS  WHY                NEXT ATTEMPT              WEBHOOK\n',
        `2026-05-01T12:30:00.000Z  ${RUN}  deferred     3         timed_out          -                         https://hooks.example.com/r\n`,
      ].join(''),
      stderr: '',
    });
    expect(gateway.requests[0]).toMatchObject({ method: 'GET', path: '/api/webhooks/deliveries?limit=50' });
  });

  it('says why a delivery was given up', async () => {
    const failed = listed(RUN, { webhook_status: 'failed', state: null, given_up_reason: 'expired' });
    const gateway = await aGateway({ status: 200, body: { deliveries: [failed], next_cursor: null } });
    const { stdout } = await runCli(['webhooks', '--status', 'failed'], at(gateway.url));
    expect(stdout).toContain(`${RUN}  failed       3         expired  `);
  });

  it('reads the chosen runs, page after page up to the limit, and reports that there are more', async () => {
    const gateway = await aGateway(page(['a', 'b'], 'x&y'), page(['c'], 'z'));
    const chosen = ['--status', 'failed', '--host', 'h:8080', '--created-after', '2026-05-01T12:00:00+02:00'];
    const until = ['--created-before', '2026-05-02', '--limit', '3', '--json'];
    const { stdout } = await runCli(['webhooks', ...chosen, ...until], at(gateway.url));
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ run_id: 'a' }, { run_id: 'b' }, { run_id: 'c' }]);
    const filter =
      'status=failed&host=h%3A8080&created_after=2026-05-01T12%3A00%3A00%2B02%3A00&created_before=2026-05-02';
    expect(gateway.requests.map(({ path }) => path)).toEqual([
      `/api/webhooks/deliveries?${filter}&limit=3`,
      `/api/webhooks/deliveries?${filter}&limit=1&cursor=x%26y`,
    ]);
    const people = await runCli(['webhooks', '--limit', '1'], at(gateway.url));
    expect(people.stderr).toBe('There are more than 1. Use a higher --limit to see them.\n');
  });

  it('reports an empty list, and stops at a repeated page', async () => {
    const empty = await aGateway(page([]));
    expect(await runCli(['webhooks'], at(empty.url))).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No run with a webhook matches.\n',
    });
    const circle = await aGateway(page([], 'same'));
    expect(await runCli(['webhooks'], at(circle.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('returned the same page again'),
    });
  });

  it.each([
    [['--limit', '0'], '--limit 0 must be a number from 1 to 10000.'],
    [['--status', 'dead'], 'Allowed choices are not-started, running, success, failed.'],
  ])('refuses %j before it sends a request', async (args, sentence) => {
    const gateway = await aGateway(page([]));
    expect(await runCli(['webhooks', ...args], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
    expect(gateway.requests).toEqual([]);
  });
});
