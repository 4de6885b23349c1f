import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aFolder, mode, type ConfigFolder } from '../fixtures/config-folder.ts';

const NAMES = ['nats-1', 'nats-2', 'nats-3'];
const FILES = ['authority.crt', 'broker.conf', 'nats.conf', 'route.crt', 'route.key'];
const textOf = (folder: ConfigFolder, ...names: string[]): string =>
  readFileSync(folder.at(...names), 'utf8');
const filesOf = (folder: ConfigFolder): Record<string, string> =>
  Object.fromEntries(
    NAMES.flatMap((name) =>
      FILES.map((file) => [`${name}/${file}`, textOf(folder, 'nodes', name, file)] as const),
    ),
  );

describe('runledger broker-config --nodes', () => {
  it('makes a folder for each broker, with all that it needs', async () => {
    const folder = aFolder();
    const { code, stderr } = await folder.run('--nodes', '3', '--hosts', 'a.example', '10.0.0.2', 'c:6333');
    expect(code).toBe(0);
    expect(stderr).toContain('authority.key here');
    expect(stderr).toContain('A broker that has a log deletes it when it joins: move it');
    expect(readdirSync(folder.at('nodes')).toSorted()).toEqual(['authority.crt', 'authority.key', ...NAMES]);
    for (const name of NAMES) {
      expect(readdirSync(folder.at('nodes', name)).toSorted()).toEqual(FILES);
      expect(textOf(folder, 'nodes', name, 'broker.conf')).toBe(folder.conf());
      const conf = textOf(folder, 'nodes', name, 'nats.conf');
      expect(conf).toContain(`server_name: "${name}"`);
      for (const route of ['nats://a.example:6222', 'nats://10.0.0.2:6222', 'nats://c:6333'])
        expect(conf).toContain(`"${route}"`);
      expect(conf).toContain(`cert_file: "${folder.at('nodes', name, 'route.crt')}"`);
      expect(mode(folder.at('nodes', name, 'route.key'))).toBe('600');
      expect(mode(folder.at('nodes', name, 'nats.conf'))).toBe('600');
    }
    const secrets = NAMES.map(
      (name) => /^http_base_path: "\/([\da-f]{64})"$/m.exec(textOf(folder, 'nodes', name, 'nats.conf'))?.[1],
    );
    expect(new Set(secrets).size).toBe(NAMES.length);
    expect(secrets).not.toContain(undefined);
    const third = textOf(folder, 'nodes', 'nats-3', 'nats.conf');
    expect(third).toContain('port: 6333\n');
    expect(third).toContain('advertise: "c:6333"\n');
    expect(mode(folder.at('nodes', 'authority.key'))).toBe('600');
    const certificate = new X509Certificate(textOf(folder, 'nodes', 'nats-2', 'route.crt'));
    expect(certificate.checkIP('10.0.0.2')).toBeDefined();
    expect(certificate.checkIP('10.0.0.3')).toBeUndefined();
  });

  it('changes nothing when it runs again, and gives each broker the users of a later call', async () => {
    const folder = aFolder();
    const options = ['--nodes', '3', '--installed-at', '/etc/nats', '--store', '/data'];
    await folder.run(...options);
    const before = filesOf(folder);
    expect(before['nats-1/nats.conf']).toContain('key_file: "/etc/nats/route.key"');
    expect(before['nats-1/nats.conf']).toContain('store_dir: "/data"');
    expect(await folder.run(...options)).toMatchObject({ code: 0, stderr: 'Nothing needs to be done.\n' });
    expect(filesOf(folder)).toEqual(before);

    const { stdout } = await folder.run('--executor', 'gpu-1');
    expect(stdout).toContain('is changed');
    const users = folder.conf();
    expect(users).toContain('executor-gpu-1');
    expect(filesOf(folder)).toEqual({
      ...before,
      ...Object.fromEntries(NAMES.map((name) => [`${name}/broker.conf`, users])),
    });
  });

  it('certifies a broker again that moved or whose certificate is missing, by the same authority', async () => {
    const folder = aFolder();
    await folder.run('--nodes', '3');
    const before = filesOf(folder);
    rmSync(folder.at('nodes', 'nats-2', 'route.crt'));
    await folder.run('--nodes', '3', '--hosts', 'nats-1', 'nats-2', '10.0.0.3');
    const after = filesOf(folder);
    expect(after['nats-1/route.crt']).toBe(before['nats-1/route.crt']);
    const authority = new X509Certificate(textOf(folder, 'nodes', 'authority.crt'));
    for (const name of ['nats-2', 'nats-3']) {
      const certificate = after[`${name}/route.crt`] ?? '';
      expect(certificate).not.toBe(before[`${name}/route.crt`]);
      expect(new X509Certificate(certificate).verify(authority.publicKey)).toBe(true);
    }
  });

  it.each([
    [['--nodes', '2'], 'Use 3'],
    [['--hosts', 'a', 'b', 'c'], 'Add --nodes 3'],
    [['--nodes', '3', '--hosts', 'a', 'b'], '2 hosts, and 3 are needed'],
    [['--nodes', '3', '--hosts', 'a', 'b', 'a'], 'one host twice'],
    [['--nodes', '3', '--hosts', 'a', 'b', 'nats://c'], 'a host is a name or an address'],
    [['--nodes', '3', '--hosts', 'a', 'b', 'c:99999'], 'a host is a name or an address'],
    [['--nodes', '3', '--store', 'data'], 'not absolute'],
  ])('refuses %j, and makes nothing', async (options, why) => {
    const folder = aFolder();
    const { code, stderr } = await folder.run(...options);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('does not drop a broker that it made earlier', async () => {
    const folder = aFolder();
    await folder.run('--nodes', '5');
    const { code, stderr } = await folder.run('--nodes', '3');
    expect([code, stderr]).toEqual([2, expect.stringContaining('has nats-4, nats-5 too')]);
  });
});
