import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { authenticate } from '@runledger/gateway/records/keys/api-keys';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliWith, type Cli } from '../fixtures/run-cli.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
beforeAll(async () => {
  const nats = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...nats.login, name: 'test' }, silentLogger));
  await provision(log);
  cli = cliWith(nats.env);
});
afterAll(() => opened.disposeAsync());

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli([...args, '--json']);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('could not')]);
  return JSON.parse(stdout);
};
/** As a person at a terminal sees it. */
const createKey = (...args: string[]) =>
  cli(['keys', 'create', '--operator', '--name', 'ops', ...args], { terminal: { columns: 120 } });

describe('the keys of operators', () => {
  it('belong to an organisation, by default to the only one', async () => {
    expect(await createKey()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Make one with: runledger organisations create NAME --operator'),
    });
    expect((await cli(['organisations', 'list'])).stderr).toContain('There is no organisation yet.');

    const first = await json('organisations', 'create', 'Acme');
    const made = await createKey();
    expect(made.stdout).toMatch(
      /^key +rl_\S+\nid +\S{36}\nname +ops\nscopes +runs:read,operator\nexpires +never\n$/,
    );
    expect(made.stderr).toContain('not shown again');
    const key = /^key +(\S+)$/m.exec(made.stdout)?.[1] ?? '';
    expect(await authenticate(log, key)).toMatchObject({
      org_id: first.org_id,
      scopes: ['runs:read', 'operator'],
    });

    const second = await json('organisations', 'create', 'Operations');
    expect(await createKey()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There are 2 organisations. Choose one with --organisation ID'),
    });
    const options = ['--organisation', second.org_id, '--scope', 'admin', '--expires-in', '1h'];
    const named = await json('keys', 'create', '--operator', '--name', 'ops', ...options);
    const { rate_key, ...record } = (await authenticate(log, named.key)) ?? {};
    expect([record, rate_key]).toMatchObject([
      { org_id: second.org_id, scopes: ['admin', 'operator'], expires_at: named.expires_at },
      undefined,
    ]);
    const bare = await json(
      'keys',
      'create',
      '--operator',
      '--name',
      'x',
      ...options.slice(0, 2),
      '--scope',
      'operator',
    );
    expect(bare.scopes).toEqual(['runs:read', 'operator']);
  });

  it.each([
    [['--organisation', 'x'], 'There is no organisation x.'],
    [['--scope', 'root'], '--scope takes runs:read, runs:write, admin with --operator, not root.'],
    [['--name', ' '], "A key's name has 1 to 128 characters."],
  ])('are refused with %j', async (args, sentence) => {
    expect(await createKey(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });

  it('belong to the organisation of the caller without --operator', async () => {
    expect(await cli(['keys', 'create', '--name', 'x', '--organisation', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Use --organisation only with --operator'),
    });
  });
});

describe('runledger organisations', () => {
  it('lists all, oldest first, without control characters', async () => {
    await cli(['organisations', 'create', 'evil \u001B[2J']);
    const { stdout } = await cli(['organisations', 'list']);
    const [head = '', ...lines] = stdout.trim().split('\n');
    expect(head).toMatch(/^ID +CREATED +NAME$/);
    expect(lines.map((line) => line.slice(head.indexOf('NAME')))).toEqual([
      'Acme',
      'Operations',
      'evil  [2J',
    ]);
  });

  it('creates a key with the scope operator only with --operator', async () => {
    const scopesOf = async (...args: string[]) => {
      const { api_key } = await json('organisations', 'create', 'Other', ...args);
      return (await authenticate(log, api_key))?.scopes;
    };
    expect(await scopesOf()).toEqual(['runs:write', 'admin']);
    expect(await scopesOf('--operator')).toEqual(['runs:write', 'admin', 'operator']);
  });
});
