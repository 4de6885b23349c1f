import { execFileSync } from 'node:child_process';
import { chownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { describe, expect, it } from 'vitest';
import { FILE_LIMITS, collectFiles, identityOf } from '../../src/runner/output-files.ts';
import { temporaryFolder } from './program/run-a-program.ts';

describe('the files of a run', () => {
  it('are the regular files of its output folder, with their subfolders, sorted', async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, 'b', 'c'), { recursive: true });
    writeFileSync(join(root, 'z.png'), '12345');
    writeFileSync(join(root, 'b', 'c', 'a b.txt'), '');
    expect((await collectFiles(root, FILE_LIMITS)).files).toEqual([
      {
        path: join(root, 'b/c/a b.txt'),
        filename: 'a b.txt',
        subfolder: 'b/c',
        bytes: 0,
        identity: identityOf(statSync(join(root, 'b/c/a b.txt'))),
      },
      {
        path: join(root, 'z.png'),
        filename: 'z.png',
        subfolder: '',
        bytes: 5,
        identity: identityOf(statSync(join(root, 'z.png'))),
      },
    ]);
  });

  it.runIf(getuid?.() === 0)('include no second name of a file of another user', async () => {
    const [root, elsewhere] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(elsewhere, 'of-root'), 'secret');
    linkSync(join(elsewhere, 'of-root'), join(root, 'hard'));
    writeFileSync(join(root, 'own'), '');
    for (const path of [root, join(root, 'own')]) chownSync(path, 1000, 1000);
    linkSync(join(root, 'own'), join(root, 'own-again'));
    const { files, skipped } = await collectFiles(root, FILE_LIMITS);
    expect(files.map(({ filename }) => filename)).toEqual(['own', 'own-again']);
    expect(skipped).toEqual([{ path: 'hard', why: 'it is a second name of a file of another user' }]);
  });

  it('include no links, no pipes and no files with invalid names', async () => {
    const root = temporaryFolder();
    symlinkSync('/etc/passwd', join(root, 'passwd'));
    symlinkSync('/etc', join(root, 'etc'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    writeFileSync(join(root, 'new\nline'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), '');
    const { files, skipped } = await collectFiles(root, FILE_LIMITS);
    expect(files).toEqual([]);
    expect(skipped).toHaveLength(5);
  });

  it('are limited in number and depth', async () => {
    const root = temporaryFolder();
    for (const name of ['1', '2', '3', '4']) writeFileSync(join(root, name), '');
    const limits = { files: 3, entries: 100, depth: 4 };
    expect(await collectFiles(root, limits)).toMatchObject({ tooMany: true, files: { length: 3 } });
    expect(await collectFiles(root, { ...limits, files: 9, entries: 3 })).toMatchObject({ tooMany: true });
    mkdirSync(join(root, 'a/b/c/d/e'), { recursive: true });
    expect((await collectFiles(root, { ...limits, files: 9 })).skipped).toHaveLength(1);
  });
});
