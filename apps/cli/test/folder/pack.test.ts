import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { MAX_CODE_FILES, MAX_UNPACKED_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { extract, type Header } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { contentsOf, packed } from '../../src/folder/archive.ts';
import { filesOf } from '../../src/folder/folder-files.ts';
import { codeFolder, writeFiles } from '../fixtures/code-folder.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const packing = async (folder: string) => packed(folder, (await filesOf(folder)).files);
const pathsOf = async (folder: string): Promise<string[]> =>
  (await filesOf(folder)).files.map(({ path }) => path);

const entriesOf = async (archive: Uint8Array): Promise<[Header, Buffer][]> => {
  const entries: [Header, Buffer][] = [];
  for await (const entry of Readable.from([zstdDecompressSync(archive)]).pipe(extract()))
    entries.push([entry.header, await buffer(entry)]);
  return entries;
};

describe('the archive of a folder', () => {
  it('has the same bytes for the same files, whenever and by whomever they were written', async () => {
    const files = { 'b/deep/two.py': 'two', 'a.py': 'one', 'B.txt': '', 'ä/ö.txt': 'umlauts', 'b.py': 'x' };
    const one = codeFolder(files);
    chmodSync(join(one, 'a.py'), 0o755);
    symlinkSync('a.py', join(one, 'link.py'));
    const other = temporaryFolder();
    symlinkSync('a.py', join(other, 'link.py'));
    writeFiles(other, Object.fromEntries(Object.entries(files).toReversed()));
    for (const path of Object.keys(files)) {
      chmodSync(join(other, path), 0o600);
      utimesSync(join(other, path), 1, 1);
    }
    chmodSync(join(other, 'a.py'), 0o711);
    mkdirSync(join(other, 'empty'));
    const [first, second] = [await packing(one), await packing(other)];
    expect(second.sha256).toBe(first.sha256);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    const entries = await entriesOf(first.bytes);
    expect(entries.map(([{ name, mode }]) => [name, mode.toString(8)])).toEqual([
      ['B.txt', '644'],
      ['a.py', '755'],
      ['b.py', '644'],
      ['b/deep/two.py', '644'],
      ['link.py', '777'],
      ['ä/ö.txt', '644'],
    ]);
    for (const [{ uid, gid, uname, gname, mtime }] of entries)
      expect([uid, gid, uname, gname, mtime.getTime()]).toEqual([0, 0, '', '', 0]);
  });

  it('is what tar of the system unpacks', async () => {
    const long = `${'folder/'.repeat(30)}${'n'.repeat(120)}.py`;
    const folder = codeFolder({ [long]: 'long', 'run.sh': '#!/bin/sh\n' });
    chmodSync(join(folder, 'run.sh'), 0o755);
    symlinkSync('run.sh', join(folder, 'link'));
    const { bytes } = await packing(folder);
    const unpacked = temporaryFolder();
    execFileSync('tar', ['-xf', '-'], { cwd: unpacked, input: zstdDecompressSync(bytes) });
    expect(readFileSync(join(unpacked, long), 'utf8')).toBe('long');
    expect((await packing(unpacked)).sha256).toBe((await packing(folder)).sha256);
  });

  it('unpacks to what was packed', async () => {
    const names = fc
      .stringMatching(/^[a-z0-9äé._-]{1,12}$/)
      .filter((name) => !/^\.\.?$|^(?:venv|\.env)$|\.pyc$/.test(name));
    const files = fc.uniqueArray(
      fc.record({
        path: fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => ['top', ...parts].join('/')),
        content: fc.uint8Array({ maxLength: 2_000 }),
        executable: fc.boolean(),
      }),
      { maxLength: 12, selector: ({ path }) => path.normalize('NFC').toLowerCase() },
    );
    await fc.assert(
      fc.asyncProperty(files, async (all) => {
        // A folder has no file's name.
        const wanted = all.filter(({ path }) => !all.some((other) => other.path.startsWith(`${path}/`)));
        const folder = codeFolder(Object.fromEntries(wanted.map(({ path, content }) => [path, content])));
        for (const { path, executable } of wanted) if (executable) chmodSync(join(folder, path), 0o700);
        const archive = await packing(folder);
        const found = await entriesOf(archive.bytes);
        expect(found.map(([{ name, mode }, content]) => [name, mode, content.toString('hex')])).toEqual(
          wanted
            .toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
            .map(({ path, content, executable }) => [
              path,
              executable ? 0o755 : 0o644,
              Buffer.from(content).toString('hex'),
            ]),
        );
        expect(await contentsOf(archive.bytes)).toEqual(archive.contents);
      }),
      { numRuns: casesOf(30) },
    );
  });

  it('has contents that are the same however they are compressed', async () => {
    const { bytes, contents } = await packing(codeFolder({ 'a.py': 'one', 'b/c.py': 'two' }));
    const other = zstdCompressSync(zstdDecompressSync(bytes), {
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
    });
    expect(other.equals(bytes)).toBe(false);
    expect(await contentsOf(other)).toEqual(contents);
  });

  it('refuses bytes that are no archive', async () => {
    await expect(contentsOf(Buffer.from('nonsense'))).rejects.toThrow('cannot be read');
  });
});

describe('the files of a folder', () => {
  it('are those that no ignore file names, of the folder or below it', async () => {
    const folder = codeFolder({
      '.gitignore': '*.log\n/data/\n!keep.log\ntemp\n',
      '.runledgerignore': 'notes/\n!data/\n',
      'predict.py': '',
      'Data/a': '',
      'data2/keep.log': '',
      'run.log': '',
      'keep.log': '',
      'notes/a.md': '',
      'src/.gitignore': '!run.log\n*.bin\n',
      'src/run.log': '',
      'src/w.bin': '',
      'src/temp/x': '',
      'w.bin': '',
    });
    expect(await pathsOf(folder)).toEqual([
      '.gitignore',
      '.runledgerignore',
      'Data/a',
      'data2/keep.log',
      'keep.log',
      'predict.py',
      'src/.gitignore',
      'src/run.log',
      'w.bin',
    ]);
  });

  it('are never those of tools, and never the secrets beside the code', async () => {
    const folder = codeFolder({
      'predict.py': '',
      '.env': 'KEY=secret',
      'sub/.env': 'KEY=secret',
      '.git/config': '',
      'node_modules/x/index.js': '',
      'src/__pycache__/a.pyc': '',
      'src/b.pyc': '',
      '.venv/bin/python': '',
      'venv/bin/python': '',
      '.runledger/x': '',
      '.DS_Store': '',
      '.runledgerignore': '!.env\n!.git\n',
    });
    expect(await filesOf(folder)).toMatchObject({
      files: [{ path: '.runledgerignore' }, { path: 'predict.py' }],
      leftOut: expect.arrayContaining(['.env', 'sub/.env']),
    });
  });

  it.each(['/etc/passwd', '../beside', 'sub/../../beside'])(
    'are refused with a link to %s',
    async (target) => {
      const folder = codeFolder({ 'sub/a.py': '' });
      symlinkSync(target, join(folder, 'link'));
      await expect(filesOf(folder)).rejects.toThrow(
        `link is a link to ${target}, which leads out of the folder: it would lead nowhere on another machine. Copy the file, or add it to .runledgerignore.`,
      );
      writeFileSync(join(folder, '.runledgerignore'), 'link\n');
      expect(await pathsOf(folder)).toEqual(['.runledgerignore', 'sub/a.py']);
    },
  );

  it('are refused with a link that leads out over another one', async () => {
    const folder = codeFolder({ 'code/sub/a.py': '', 'code/p/q/b.py': '', outside: '' });
    symlinkSync('../../sub', join(folder, 'code/p/q/d'));
    symlinkSync('d/../../outside', join(folder, 'code/p/q/e'));
    await expect(filesOf(join(folder, 'code'))).rejects.toThrow(
      'p/q/e is a link to d/../../outside, which leads out',
    );
  });

  it('may be links that stay inside, also to what is not there', async () => {
    const folder = codeFolder({ 'sub/a.py': '' });
    symlinkSync('../sub', join(folder, 'sub/again'));
    symlinkSync('sub/none', join(folder, 'link'));
    expect((await filesOf(folder)).files).toEqual([
      { kind: 'link', path: 'link', target: 'sub/none' },
      { kind: 'file', path: 'sub/a.py', executable: false, bytes: 0 },
      { kind: 'link', path: 'sub/again', target: '../sub' },
    ]);
  });

  it('are refused with a socket', async () => {
    const folder = codeFolder({ 'a.py': '' });
    const server = createServer().listen(join(folder, 's'));
    await once(server, 'listening');
    await expect(filesOf(folder)).rejects.toThrow('s cannot be packed: it is neither a file nor a folder.');
    server.close();
  });

  it.each([
    ['Readme.md', 'README.md'],
    ['Data/a', 'data/b'],
    ['é'.normalize('NFC'), 'é'.normalize('NFD')],
  ])('are refused when a disk could not hold both %s and %s', async (one, other) => {
    const folder = codeFolder({ [one]: '', [other]: '' });
    // A disk of that kind has one of them only.
    if (readdirSync(folder).length < 2) return;
    await expect(filesOf(folder)).rejects.toThrow('the disk of a Mac or of Windows cannot hold both');
  });

  it('are at most so many', async () => {
    const folder = codeFolder({ 'predict.py': '' });
    mkdirSync(join(folder, 'frames'));
    for (let index = 0; index < MAX_CODE_FILES; index += 1)
      writeFileSync(join(folder, 'frames', String(index)), '');
    await expect(filesOf(folder)).rejects.toThrow(
      /^The folder has more than 10000 files. Most of those that were looked at are in frames\/ \(\d+\).*\.runledgerignore/,
    );
  });

  // 65 MiB that nothing compresses.
  it.runIf(IS_NIGHTLY)('have at most so many bytes, unpacked and packed', async () => {
    const folder = codeFolder({ 'predict.py': 'x', 'a.bin': '', 'b.bin': 'bb', 'c.bin': 'ccc' });
    truncateSync(join(folder, 'a.bin'), MAX_UNPACKED_CODE_BYTES);
    await expect(filesOf(folder)).rejects.toThrow(
      'The folder is too large. It has 256 MiB, more than the 256 MiB that can be deployed. The largest files: a.bin (256 MiB), c.bin (3 bytes), b.bin (2 bytes). Move weights to [models], or add what the code does not need to .runledgerignore.',
    );
    writeFileSync(join(folder, 'a.bin'), randomBytes(65 * 1024 ** 2));
    await expect(packing(folder)).rejects.toThrow(
      /^The folder is too large. Packed it has 65 MiB, more than the 64 MiB/,
    );
  });
});
