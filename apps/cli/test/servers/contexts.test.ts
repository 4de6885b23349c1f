import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUN, aGateway, aRun, type Answer } from '../fixtures/fake-gateway.ts';
import { runCli, type CliOptions, type Result } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ID = '01920000-0000-7000-8000-00000000000d';
const WHO: Answer = {
  status: 200,
  body: {
    organisation: { id: ID, name: 'Acme' },
    user: { id: ID, name: 'first user' },
    key: {
      id: ID,
      name: 'laptop',
      prefix: 'rl_abcde',
      scopes: ['runs:write'],
      created_at: '2026-05-01T12:00:00.000Z',
      expires_at: null,
    },
    version: '0.0.9',
  },
};

/** A person with a folder of their own. */
const aPerson = () => {
  const config = temporaryFolder();
  const run = (args: readonly string[], { env, ...options }: CliOptions = {}): Promise<Result> =>
    runCli(args, { cwd: config, ...options, env: { XDG_CONFIG_HOME: config, ...env } });
  return { run, file: join(config, 'runledger', 'contexts.json') };
};

const hostOf = (url: string): string => new URL(url).host;

describe('runledger login', () => {
  it('checks the key, and stores it with the server where only its owner can read it', async () => {
    const { run, file } = aPerson();
    const gateway = await aGateway(WHO, aRun());
    const result = await run(['login'], { answer: [gateway.url, 'rl_secret'] });
    expect(result).toMatchObject({
      code: 0,
      stdout: `Logged in to ${gateway.url} as first user of Acme, with the key laptop.\n`,
    });
    expect(result.stderr).toContain('API key (it is not shown): \n');
    expect(JSON.stringify(result)).not.toContain('rl_secret');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      current: hostOf(gateway.url),
      contexts: { [hostOf(gateway.url)]: { url: gateway.url, api_key: 'rl_secret' } },
    });
    expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(await run(['get', RUN])).toMatchObject({ code: 0 });
    expect(gateway.requests.map(({ path, key }) => [path, key])).toEqual([
      ['/api/whoami', 'Bearer rl_secret'],
      [`/api/run/${RUN}`, 'Bearer rl_secret'],
    ]);
  });

  it('takes the key from standard input or the environment, and a URL without its base path', async () => {
    const { run, file } = aPerson();
    const gateway = await aGateway({ status: 200, body: {} }, WHO);
    const url = new URL(gateway.url).origin;
    const login = ['login', '--url', url, '--name', 'ci', '--json'];
    const { stdout } = await run(login, { stdin: 'rl_piped\n' });
    expect(JSON.parse(stdout)).toEqual({ context: 'ci', url: gateway.url, file });
    expect(gateway.requests[1]?.key).toBe('Bearer rl_piped');
    const again = await run(['login', '--url', gateway.url, '--name', 'ci'], {
      env: { RUNLEDGER_API_KEY: 'rl_set' },
    });
    expect(again.code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8')).contexts.ci.api_key).toBe('rl_set');
  });

  it.each([
    [['--url', 'example.com'], 'The URL of the server has no URL that starts with http://'],
    [[], 'No server was given. Add --url URL'],
    [['--url', 'http://127.0.0.1:9/api'], 'No API key was given.'],
    [['--name', 'local'], 'The name local stands for the standalone of this folder.'],
    [['--name', 'a b'], 'cannot be the name of a context'],
  ])('refuses %j, and stores nothing', async (args, sentence) => {
    const { run, file } = aPerson();
    expect(await run(['login', ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
    expect(() => statSync(file)).toThrow('ENOENT');
  });

  it('stores no key that the server refuses', async () => {
    const { run, file } = aPerson();
    const gateway = await aGateway({ status: 401, body: { detail: 'The API key is invalid' } });
    const result = await run(['login', '--url', gateway.url], { stdin: 'rl_wrong' });
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The API key from standard input was refused'),
    });
    expect(() => statSync(file)).toThrow('ENOENT');
  });
});

describe('contexts', () => {
  it('are listed, used one after the other, named by an option or a variable, and removed', async () => {
    const { run } = aPerson();
    const [one, two] = [await aGateway(WHO), await aGateway(WHO)];
    await run(['login', '--url', one.url, '--name', 'one'], { stdin: 'rl_1' });
    await run(['login', '--url', two.url, '--name', 'two'], { stdin: 'rl_2' });
    expect((await run(['context', 'list'])).stdout.split('\n')).toEqual([
      '   NAME                      URL',
      `   one                       ${one.url}`,
      `*  two                       ${two.url}`,
      '   local                     not running',
      '',
    ]);
    const server = async (args: readonly string[], env = {}): Promise<unknown> => {
      const { code, stdout, stderr } = await run([...args, '--json'], { env });
      return code === 0 ? JSON.parse(stdout).server : stderr;
    };
    expect(await server(['whoami'])).toBe(two.url);
    expect(await server(['whoami', '--context', 'one'])).toBe(one.url);
    expect(await server(['--context', 'one', 'whoami'])).toBe(one.url);
    const variable = { RUNLEDGER_CONTEXT: 'one' };
    expect(await server(['whoami'], variable)).toBe(one.url);
    expect(await server(['whoami', '--context', 'two'], variable)).toBe(two.url);
    const other = { RUNLEDGER_URL: one.url, RUNLEDGER_API_KEY: 'rl_3' };
    expect(await server(['whoami'], other)).toBe(one.url);
    expect(one.requests.at(-1)?.key).toBe('Bearer rl_3');

    const used = await run(['context', 'use', 'one'], { env: variable });
    expect(used).toMatchObject({
      stdout: `Commands use one now, at ${one.url}.\n`,
      stderr: 'Set in this shell, and comes before the chosen context: RUNLEDGER_CONTEXT.\n',
    });
    expect(await server(['whoami'])).toBe(one.url);
    expect(await run(['context', 'remove', 'one'])).toMatchObject({
      stdout: 'The context one is removed.\n',
      stderr: expect.stringContaining('It was the current one.'),
    });
    expect(await server(['whoami'])).toContain('No connection to Runledger was found.');
    expect(await server(['whoami', '--context', 'one'])).toContain('There is no context one.');
  });

  it('come before the standalone of the folder, unless local is chosen', async () => {
    const { run } = aPerson();
    const [stored, standalone] = [await aGateway(WHO), await aGateway(WHO)];
    const data = temporaryFolder();
    const connection = {
      url: standalone.url,
      api_key: 'rl_l',
      deployment_id: 'd',
      webhook_secret: 'whsec_x',
    };
    writeFileSync(join(data, 'connection.json'), JSON.stringify(connection));
    await run(['login', '--url', stored.url, '--name', 'far'], { stdin: 'rl_1' });
    const env = { RUNLEDGER_DATA_DIR: data };
    const server = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await run(['whoami', '--json', ...args], { env })).stdout).server;
    expect(await server()).toBe(standalone.url);
    expect(await server('--context', 'far')).toBe(stored.url);
    expect(await server('--context', 'local')).toBe(standalone.url);
    expect((await run(['context', 'use', 'local'])).stdout).toBe(
      'Commands use the standalone of their folder now.\n',
    );
    expect((await run(['context', 'list'], { env })).stdout).toContain(
      `*  local                     ${standalone.url}\n`,
    );
  });

  it('in a damaged file are not guessed', async () => {
    const { run, file } = aPerson();
    const gateway = await aGateway(WHO);
    await run(['login', '--url', gateway.url, '--name', 'one'], { stdin: 'rl_1' });
    writeFileSync(file, '{"current": "one"}');
    expect(await run(['whoami'])).toMatchObject({
      code: 2,
      stderr: `${file} cannot be used: a member is missing or invalid. Repair or remove it, and log in again with: runledger login\n`,
    });
  });

  it('are not for commands that use the broker', async () => {
    const { run } = aPerson();
    expect(await run(['dead-letters', 'list', '--context', 'one'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('this command uses the broker'),
    });
  });
});

describe('runledger whoami', () => {
  it('shows the server, whose the key is, and both versions', async () => {
    const { run } = aPerson();
    const gateway = await aGateway(WHO);
    await run(['login', '--url', gateway.url, '--name', 'one'], { stdin: 'rl_1' });
    const { stdout } = await run(['whoami']);
    expect(stdout).toMatch(/^server +http\S+\/api\nkey from +the context one \(\S+contexts\.json\)$/m);
    expect(stdout).toMatch(/^organisation +Acme \(\S{36}\)\nuser +first user \(\S{36}\)$/m);
    expect(stdout).toMatch(/^key +laptop \(rl_abcde…, \S{36}\)\nscopes +runs:write\nexpires +never$/m);
    expect(stdout).toMatch(/^version +0\.0\.9, the command \d+\.\d+\.\d+$/m);
  });
});

describe('runledger --version', () => {
  it('prints the version, which deployments --version is not', async () => {
    expect(await runCli(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const refused = await runCli(['deployments', 'update', 'x', '--version', 'three'], {
      env: { RUNLEDGER_URL: 'http://127.0.0.1:9/api', RUNLEDGER_API_KEY: 'rl_x' },
    });
    expect(refused.stderr).toContain('--version three is neither the id of a version');
  });
});
