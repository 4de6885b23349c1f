import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { USERS, aFolder, type ConfigFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

describe('runledger broker-config', () => {
  const refused = async ({ run }: ConfigFolder, ...options: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...options);
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  };

  it('refuses a name that is invalid in subjects, and shows a valid one', async () => {
    const folder = aFolder();
    expect(await refused(folder, '--executor', 'gpu 1.local')).toContain('Use --executor gpu-1-local.');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('refuses an unknown user or executor', async () => {
    const folder = aFolder();
    expect(await refused(folder, '--remove', 'gpu-1')).toContain('There is no executor gpu-1');
    expect(await refused(folder, '--rotate', 'gatway')).toContain('It has gateway, scheduler, notifier');
    expect(await refused(folder, '--executor', 'a', '--remove', 'a')).toContain(
      'cannot be added and removed at the same time.',
    );
  });

  it('refuses to replace a configuration that it did not make', async () => {
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
  ])('refuses a seed file that %s, until --rotate replaces it', async (_what, text) => {
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

  it('refuses one key for two users', async () => {
    const folder = aFolder();
    await folder.run();
    copyFileSync(folder.at('keys', 'gateway.nk'), folder.at('keys', 'scheduler.nk'));
    expect(await refused(folder)).toContain('hold the same key');
  });

  it('refuses a folder that cannot be written', async () => {
    const folder = aFolder();
    writeFileSync(folder.at('keys'), '');
    expect(await refused(folder)).toMatch(/^The folder .* cannot be used: .*--out\.\n$/);
  });

  it.skipIf(process.getuid?.() === 0)('refuses a folder of another user', async () => {
    const folder = aFolder();
    mkdirSync(folder.at('closed'), { mode: 0o500 });
    onTestFinished(() => chmodSync(folder.at('closed'), 0o700));
    const { code, stderr } = await cliWith({})(['broker-config', '--out', folder.at('closed')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('EACCES')]);
  });
});
