import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { publicKeyOf } from '@runledger/event-log/connect/user-key';
import { describe, expect, it } from 'vitest';
import { USERS, aFolder, mode } from '../fixtures/config-folder.ts';

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
