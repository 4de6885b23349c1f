import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unpackArchive, unpackCode, type UnpackLimits } from '../../src/code/unpack-code.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';
import { archiveOf, zipOf, type Archive, type TarEntry } from './versions.ts';

const never = new AbortController().signal;
const FEW: UnpackLimits = { files: 5, bytes: 1_000 };

const unpacked = async (
  { bytes }: Pick<Archive, 'bytes'>,
  limits?: UnpackLimits,
): Promise<{ readonly refused: string | null; readonly folder: string; readonly above: string }> => {
  const above = temporaryFolder();
  const archive = join(above, 'archive');
  writeFileSync(archive, bytes);
  const folder = join(temporaryFolder(), '.');
  return { refused: await unpackCode(archive, folder, never, limits), folder, above };
};

const link = (linkname: string): TarEntry => ({ type: 'symlink', linkname });

describe('an archive with code', () => {
  it('is unpacked with its folders, links inside, and one of two modes', async () => {
    const { refused, folder } = await unpacked(
      await archiveOf({
        './': { type: 'directory' },
        'run.sh': { content: 'x', mode: 0o4751 },
        'a/b/deep.py': { content: 'y', mode: 0o600 },
        'a/link': link('../run.sh'),
        'a/again': link('link'),
      }),
    );
    expect(refused).toBeNull();
    expect(lstatSync(join(folder, 'run.sh')).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(folder, 'a/b/deep.py')).mode & 0o7777).toBe(0o644);
    expect(lstatSync(join(folder, 'a/b')).mode & 0o7777).toBe(0o755);
    expect(readFileSync(join(folder, 'a/again'), 'utf8')).toBe('x');
    expect(readlinkSync(join(folder, 'a/link'))).toBe('../run.sh');
  });

  it.each<readonly [string, readonly (readonly [string, TarEntry])[], string]>([
    ['with ..', [['../out', 'x']], 'is not below its folder'],
    ['with .. in the middle', [['a/../../out', 'x']], 'is not below its folder'],
    ['with an absolute path', [['/tmp/out', 'x']], 'is not below its folder'],
    ['with an absolute link', [['a', link('/etc/passwd')]], 'links must be relative'],
    ['with a link out', [['a/b', link('../../out')]], 'leads out of its folder'],
    [
      'with links that lead out together',
      [
        ['d/e/f', 'x'],
        ['up', link('d/e')],
        ['out', link('up/../../..')],
      ],
      'leads out of its folder',
    ],
    [
      'with a chain that leads out by another link',
      [
        ['one', link('two/..')],
        ['two', link('.')],
      ],
      'leads out of its folder',
    ],
    ['with a link to itself', [['a', link('a')]], 'through more than 40 links'],
    [
      'that writes through a link',
      [
        ['a', link('.')],
        ['a/b', 'x'],
      ],
      'which is a link and no folder',
    ],
    ['with a hard link', [['a', { type: 'link', linkname: 'b' }]], 'neither a file nor a folder'],
    ['with a device', [['a', { type: 'character-device' }]], 'neither a file nor a folder'],
    ['with a pipe', [['a', { type: 'fifo' }]], 'neither a file nor a folder'],
    [
      'with names that differ by case only',
      [
        ['Readme', 'x'],
        ['README', 'y'],
      ],
      'differ by case only',
    ],
    [
      'with folders that differ by case only',
      [
        ['src/a', 'x'],
        ['Src/b', 'y'],
      ],
      'differ by case only',
    ],
    [
      'with a file twice',
      [
        ['a', 'x'],
        ['a', 'y'],
      ],
      'has "a" twice',
    ],
    ['with a name that no name may be', [['a\nb', 'x']], 'a character that no name may have'],
    [
      'with too many files',
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, ''] as const),
      'more than 5 files',
    ],
    ['with too many bytes', [['a', 'x'.repeat(1_001)]], 'more than 1000 bytes'],
  ])('%s is refused, and nothing is outside of its folder', async (_, entries, why) => {
    const { refused, above } = await unpacked(await archiveOf(entries), FEW);
    expect(refused).toContain(why);
    expect(readdirSync(above)).toEqual(['archive']);
  });

  it.each([
    ['that says less than it has', zstdCompressSync(Buffer.alloc(64 * 1024 ** 2)), 'more than 1000 bytes'],
    ['that is no archive', Buffer.from('no archive'), 'is not a tar archive that is compressed with zstd'],
    [
      'that is no tar',
      zstdCompressSync(Buffer.alloc(1024, 'x')),
      'is not a tar archive that is compressed with zstd',
    ],
  ])('%s is refused at once', async (_, bytes, why) => {
    const { refused } = await unpacked({ bytes }, FEW);
    expect(refused).toContain(why);
  });

  it('that is cut is refused', async () => {
    const { bytes } = await archiveOf({ a: 'x'.repeat(900) });
    const { refused } = await unpacked({ bytes: bytes.subarray(0, -8) }, FEW);
    expect(refused).toContain('is not a tar archive that is compressed with zstd');
  });
});

describe('an archive of any kind', () => {
  const of = async (bytes: Buffer): Promise<{ readonly refused: string | null; readonly folder: string }> => {
    const archive = join(temporaryFolder(), 'archive');
    writeFileSync(archive, bytes);
    const folder = temporaryFolder();
    return { refused: await unpackArchive(archive, folder, 'The archive', never), folder };
  };

  it('is unpacked', async () => {
    const packed = (await archiveOf({ 'a/b.py': 'x' })).bytes;
    const tar = zstdDecompressSync(packed);
    for (const bytes of [packed, gzipSync(tar), zipOf({ 'a/b.py': 'x' })]) {
      const { refused, folder } = await of(bytes);
      expect(refused).toBeNull();
      expect(readFileSync(join(folder, 'a/b.py'), 'utf8')).toBe('x');
    }
  });

  it.each<readonly [string, Buffer, string]>([
    [
      'is none',
      Buffer.from('text'),
      'The archive is neither a tar archive, compressed with gzip or zstd, nor a zip',
    ],
    ['is empty', Buffer.alloc(0), 'The archive is neither a tar archive'],
    ['is a tar without compression', Buffer.alloc(1024), 'The archive is neither a tar archive'],
    ['is cut off', zipOf({ a: 'x' }).subarray(0, 40), 'The archive cannot be read: '],
    ['leads out', zipOf({ '../out': 'x' }), 'The archive cannot be read: '],
    ['has an absolute path', zipOf({ '/out': 'x' }), 'The archive cannot be read: '],
    [
      'has names that differ by case',
      zipOf({ a: 'x', A: 'y' }),
      'The archive has "a" and "A", whose names differ',
    ],
    ['has something below a file', zipOf({ a: 'x', 'a/b': 'y' }), 'The archive has something below "a"'],
  ])('that %s is refused', async (_, bytes, why) => {
    expect((await of(bytes)).refused).toContain(why);
  });
});
