import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { publicKeyOf } from '@runledger/event-log/connect/user-key';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cliWith } from '../fixtures/run-cli.ts';
import type { Result } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const USERS = ['debugger', 'gateway', 'notifier', 'operator', 'scheduler'];

interface Folder {
  readonly path: string;
  readonly at: (...names: string[]) => string;
  readonly run: (...options: string[]) => Promise<Result>;
  readonly conf: () => string;
  readonly seed: (user: string) => string;
  readonly seeds: () => Record<string, string>;
}

const aFolder = (): Folder => {
  const path = temporaryFolder();
  const at = (...names: string[]): string => join(path, ...names);
  const seed = (user: string): string => readFileSync(at('keys', `${user}.nk`), 'utf8').trim();
  const users = (): string[] => readdirSync(at('keys')).map((name) => name.replace(/\.nk$/, ''));
  return {
    path,
    at,
    run: (...options) => cliWith({})(['broker-config', '--out', path, ...options]),
    conf: () => readFileSync(at('broker.conf'), 'utf8'),
    seed,
    seeds: () => Object.fromEntries(users().map((user) => [user, seed(user)])),
  };
};

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('runledger broker-config', () => {
  it('makes a key for each user that only its owner may read, and a configuration with public keys', async () => {
    const folder = aFolder();
    const { code, stdout, stderr } = await folder.run('--executor', 'gpu-1', 'gpu-2');
    expect(code).toBe(0);
    const seeds = folder.seeds();
    expect(Object.keys(seeds).toSorted()).toEqual([...USERS, 'executor-gpu-1', 'executor-gpu-2'].toSorted());
    expect(mode(folder.at('keys'))).toBe('700');
    for (const [user, seed] of Object.entries(seeds)) {
      expect([user, mode(folder.at('keys', `${user}.nk`))]).toEqual([user, '600']);
      expect(folder.conf()).toContain(publicKeyOf(seed));
      expect(`${folder.conf()}${stdout}${stderr}`).not.toContain(seed);
      expect(stdout).toContain(join('keys', `${user}.nk`));
    }
    expect(stderr).toContain(`NATS_NKEY_FILE=${folder.at('keys', 'gateway.nk')}`);
    expect(stderr).toContain('EXECUTOR_NAME=gpu-1');
    expect(stderr).toContain('nats-server --signal reload');
  });

  it('keeps existing keys when it runs again, and adds missing ones', async () => {
    const folder = aFolder();
    await folder.run('--executor', 'gpu-1');
    const [before, seeds] = [folder.conf(), folder.seeds()];
    expect(await folder.run()).toMatchObject({ code: 0, stderr: 'Nothing needs to be done.\n' });
    expect([folder.conf(), folder.seeds()]).toEqual([before, seeds]);

    rmSync(folder.at('keys', 'notifier.nk'));
    const { stdout } = await folder.run('--executor', 'gpu-2');
    expect(stdout).toMatch(/^notifier +new /m);
    expect(stdout).toMatch(/^executor-gpu-1 +kept /m);
    expect(folder.seeds()).toEqual({
      ...seeds,
      notifier: folder.seed('notifier'),
      'executor-gpu-2': folder.seed('executor-gpu-2'),
    });
    expect(folder.seed('notifier')).not.toBe(seeds['notifier']);
  });

  it('still knows an executor whose key was moved away', async () => {
    const folder = aFolder();
    await folder.run('--executor', 'gpu-1');
    rmSync(folder.at('keys', 'executor-gpu-1.nk'));
    expect((await folder.run()).stdout).toMatch(/^executor-gpu-1 +new /m);
  });

  it('replaces one key, and no other', async () => {
    const folder = aFolder();
    await folder.run();
    const { gateway, ...others } = folder.seeds();
    const { stdout, stderr } = await folder.run('--rotate', 'gateway');
    expect(stdout).toMatch(/^gateway +rotated /m);
    expect(stderr).toContain('give gateway the new file');
    expect(folder.seeds()).toMatchObject(others);
    expect(folder.seed('gateway')).not.toBe(gateway);
    expect(folder.conf()).toContain(publicKeyOf(folder.seed('gateway')));
    expect(folder.conf()).not.toContain(publicKeyOf(gateway ?? ''));
  });

  it('keeps the mode of a replaced key, as docker-compose.yml needs', async () => {
    const folder = aFolder();
    await folder.run();
    chmodSync(folder.at('keys', 'gateway.nk'), 0o444);
    await folder.run('--rotate', 'gateway', '--executor', 'gpu-1');
    expect(mode(folder.at('keys', 'gateway.nk'))).toBe('444');
    expect(mode(folder.at('keys', 'executor-gpu-1.nk'))).toBe('600');
  });

  it('removes an executor with its key', async () => {
    const folder = aFolder();
    await folder.run('--executor', 'gpu-1', 'gpu-2');
    expect((await folder.run('--remove', 'gpu-1')).stdout).toContain('Removed, with their keys: gpu-1.');
    expect(Object.keys(folder.seeds())).not.toContain('executor-gpu-1');
    expect(folder.conf()).not.toContain('gpu-1');
    expect((await folder.run()).stdout).not.toContain('gpu-1');
  });

  it('prints JSON with --json, without seeds', async () => {
    const folder = aFolder();
    const { stdout } = await folder.run('--json');
    expect(JSON.parse(stdout)).toMatchObject({
      config_file: folder.at('broker.conf'),
      config: 'made',
      removed: [],
    });
    expect(JSON.parse(stdout).users).toContainEqual({
      user: 'gateway',
      key: 'new',
      public_key: publicKeyOf(folder.seed('gateway')),
      seed_file: folder.at('keys', 'gateway.nk'),
    });
    for (const seed of Object.values(folder.seeds())) expect(stdout).not.toContain(seed);
  });
});

describe('what runledger broker-config refuses', () => {
  const refused = async ({ run }: Folder, ...options: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...options);
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  };

  it('is a name that is invalid in subjects, with a valid one', async () => {
    const folder = aFolder();
    expect(await refused(folder, '--executor', 'gpu 1.local')).toContain('Use --executor gpu-1-local.');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('is an unknown user or executor', async () => {
    const folder = aFolder();
    expect(await refused(folder, '--remove', 'gpu-1')).toContain('There is no executor gpu-1');
    expect(await refused(folder, '--rotate', 'gatway')).toContain('It has gateway, scheduler, notifier');
    expect(await refused(folder, '--executor', 'a', '--remove', 'a')).toContain(
      'cannot be added and removed at the same time.',
    );
  });

  it('is a configuration that it did not make', async () => {
    const folder = aFolder();
    writeFileSync(folder.at('broker.conf'), 'accounts {}\n');
    expect(await refused(folder)).toContain('was not made by this command, and is not replaced');
    expect(folder.conf()).toBe('accounts {}\n');
    expect(readdirSync(folder.path)).toEqual(['broker.conf']);
  });

  it.each([
    ['holds something else', 'SUBROKEN'],
    ['is empty', ''],
    ['is too large', 'S'.repeat(5_000)],
  ])('is a seed file that %s, until a new key is asked for', async (_what, text) => {
    const folder = aFolder();
    await folder.run();
    const before = folder.conf();
    writeFileSync(folder.at('keys', 'gateway.nk'), text);
    const sentence = await refused(folder, '--executor', 'gpu-1');
    expect(sentence).toContain('keys/gateway.nk cannot be used: it ');
    expect(sentence).toContain('--rotate gateway');
    expect(sentence).not.toContain('SUBROKEN');
    expect([folder.conf(), Object.keys(folder.seeds()).length]).toEqual([before, USERS.length]);
    expect(await folder.run('--rotate', 'gateway')).toMatchObject({ code: 0 });
  });

  it('is one key for two users', async () => {
    const folder = aFolder();
    await folder.run();
    copyFileSync(folder.at('keys', 'gateway.nk'), folder.at('keys', 'scheduler.nk'));
    expect(await refused(folder)).toContain('hold the same key');
  });

  it('is a folder that cannot be written', async () => {
    const folder = aFolder();
    writeFileSync(folder.at('keys'), '');
    expect(await refused(folder)).toMatch(/^The folder .* cannot be used: .*--out\.\n$/);
  });

  it.skipIf(process.getuid?.() === 0)('is a folder of somebody else', async () => {
    const folder = aFolder();
    mkdirSync(folder.at('closed'), { mode: 0o500 });
    onTestFinished(() => chmodSync(folder.at('closed'), 0o700));
    const { code, stderr } = await cliWith({})(['broker-config', '--out', folder.at('closed')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('EACCES')]);
  });
});

describe('a nats-server that includes broker.conf', () => {
  it('accepts its users, and changes without a restart', async () => {
    const folder = aFolder();
    await folder.run('--executor', 'gpu-1');
    await using open = new AsyncDisposableStack();
    const { path: binary } = await findNatsServer({ env: process.env });
    const storeDir = folder.at('store');
    const authorization = `include '${relative(storeDir, folder.at('broker.conf'))}'`;
    const server = open.use(await startNatsServer({ binary, storeDir, authorization }));
    const connect = async (user: string, seed = folder.seed(user)): Promise<EventLog> =>
      openEventLog({ url: server.url, name: user, seed }, silentLogger);
    const letIn = async (user: string, seed?: string): Promise<boolean> => {
      const log = await connect(user, seed).catch(() => undefined);
      await log?.[Symbol.asyncDispose]();
      return log !== undefined;
    };
    const operator = await cliWith({
      RUNLEDGER_NATS_URL: server.url,
      RUNLEDGER_NATS_NKEY_FILE: folder.at('keys', 'operator.nk'),
    })(['provision']);
    expect(operator).toMatchObject({ code: 0 });
    const gateway = open.use(await connect('gateway'));
    expect((await gateway.jsm.streams.info('RUNS')).config.name).toBe('RUNS');
    const [first, scheduler] = [folder.seed('executor-gpu-1'), folder.seed('scheduler')];
    expect(await letIn('executor-gpu-1')).toBe(true);

    await folder.run('--executor', 'gpu-2', '--remove', 'gpu-1', '--rotate', 'scheduler');
    server.kill('SIGHUP');
    await waitFor('the new executor to be let in', () => letIn('executor-gpu-2'));
    expect(await letIn('executor-gpu-1', first)).toBe(false);
    expect(await letIn('scheduler', scheduler)).toBe(false);
    expect(await letIn('scheduler')).toBe(true);
    await waitFor('the gateway to go on', async () =>
      gateway.jsm.streams.info('RUNS').then(
        () => true,
        () => false,
      ),
    );
  });
});
