import { execFileSync } from 'node:child_process';
import { chownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { describe, expect, it } from 'vitest';
import { FILE_LIMITS, collectFiles, identityOf } from '../../src/runners/output-files.ts';
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
    const { files, refused } = await collectFiles(root, FILE_LIMITS);
    expect(files.map(({ filename }) => filename)).toEqual(['own', 'own-again']);
    expect(refused).toEqual([
      { path: 'hard', why: expect.stringContaining('it is a second name of a file of another user') },
    ]);
  });

  it('include no links, no pipes and no files with invalid names: all but pipes are refused', async () => {
    const root = temporaryFolder();
    symlinkSync('/etc/passwd', join(root, 'passwd'));
    symlinkSync('/etc', join(root, 'etc'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    writeFileSync(join(root, 'new\nline'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), '');
    const { files, skipped, refused } = await collectFiles(root, FILE_LIMITS);
    expect(files).toEqual([]);
    expect(skipped).toEqual([{ path: 'pipe', why: 'it is neither a regular file nor a folder' }]);
    expect(refused).toHaveLength(4);
    expect(refused).toEqual(
      expect.arrayContaining(
        ['passwd', 'etc'].map((path) => ({ path, why: expect.stringContaining('it is a link') })),
      ),
    );
  });

  it('are limited in number and depth', async () => {
    const root = temporaryFolder();
    for (const name of ['1', '2', '3', '4']) writeFileSync(join(root, name), '');
    const limits = { files: 3, entries: 100, depth: 4 };
    const { files, tooMany } = await collectFiles(root, limits);
    expect(files.map(({ filename }) => filename)).toEqual(['1', '2', '3']);
    expect(tooMany).toBe('it left 4 files, and a run may have 3 output files');
    expect((await collectFiles(root, { ...limits, files: 4 })).tooMany).toBeNull();
    expect((await collectFiles(root, { ...limits, files: 9, entries: 3 })).tooMany).toContain(
      'more than 3 files and folders',
    );
    mkdirSync(join(root, 'a/b/c/d/e'), { recursive: true });
    expect((await collectFiles(root, { ...limits, files: 9 })).refused).toEqual([
      { path: 'a/b/c/d/e', why: 'it lies deeper than 4 folders' },
    ]);
  });
});
