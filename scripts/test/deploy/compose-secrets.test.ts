import { globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeComposeSecrets } from '../../deploy/compose-secrets.ts';
import { readCompose } from './read-compose.ts';
import { members } from './workspaces.ts';

const PRESET = './deploy/secrets';

describe('the secrets of docker-compose.yml', () => {
  let folder: string;
  let changed: readonly string[];
  const open = new AsyncDisposableStack();
  beforeAll(async () => {
    const temporary = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-secrets-')));
    folder = join(temporary.path, 'secrets');
    changed = await makeComposeSecrets(folder);
  });
  afterAll(() => open.disposeAsync());

  const filesOf = (file: string): string[] =>
    ['secrets', 'configs']
      .flatMap((kind) => Object.values(members(readCompose(file)[kind] ?? {})))
      .map((entry) => String(members(entry)['file']))
      .filter((path) => path.startsWith(PRESET))
      .map((path) => path.slice(PRESET.length + 1));
  const contents = (): Record<string, string> =>
    Object.fromEntries(
      globSync('**', { cwd: folder })
        .filter((path) => statSync(join(folder, path)).isFile())
        .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
    );

  it.each(['docker-compose.yml', 'docker-compose.watch.yml'])(
    'include every secret that %s mounts',
    (file) => {
      expect(Object.keys(contents())).toEqual(expect.arrayContaining(filesOf(file)));
    },
  );

  it('are readable for every user in containers, and only for their owner on this machine', () => {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const path of filesOf('docker-compose.yml'))
      expect([path, statSync(join(folder, path)).mode & 0o777]).toEqual([path, 0o444]);
  });

  it('match: the gateway has the password of its user', () => {
    const { 'mongodb-url': url = '', 'mongodb-password': password = '' } = contents();
    expect(new URL(url).password).toBe(password.trim());
  });

  it('are made before any broker runs that would have to be restarted', () => {
    expect(changed).toEqual([]);
  });

  it('include a key for each further executor, which the broker knows after a restart', async () => {
    const nodes = ['nats-1', 'nats-2', 'nats-3'].map((name) => `nats/nodes/${name}/broker.conf`);
    expect(await makeComposeSecrets(folder, ['--executor', 'gpu-2'])).toEqual(['nats/broker.conf', ...nodes]);
    for (const path of filesOf('docker-compose.cluster.yml'))
      expect([path, statSync(join(folder, path)).mode & 0o777]).toEqual([path, 0o444]);
  });

  it('keep the key that lets brokers into the cluster for their owner', () => {
    expect(statSync(join(folder, 'nats/nodes/authority.key')).mode & 0o777).toBe(0o600);
  });

  it('stay the same in a second run, which leaves a running broker as it is', async () => {
    const before = contents();
    expect(await makeComposeSecrets(folder)).toEqual([]);
    expect(contents()).toEqual(before);
  });

  it('name every file that changed, such as what another release writes for one of three brokers', async () => {
    const path = 'nats/nodes/nats-2/nats.conf';
    const present = contents()[path];
    rmSync(join(folder, path));
    writeFileSync(join(folder, path), 'port: 4222\n', { mode: 0o444 });
    expect(await makeComposeSecrets(folder)).toEqual([path]);
    expect(contents()[path]).toBe(present);
  });

  it('name the key that was made anew', async () => {
    expect(await makeComposeSecrets(folder, ['--rotate', 'gateway'])).toContain('nats/keys/gateway.nk');
  });
});
