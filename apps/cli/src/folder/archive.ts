import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { MAX_CODE_BYTES, MAX_CODE_FILES, MAX_UNPACKED_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import { CommandError, plain } from '../command/command-error.ts';
import { contentOf, sizeOf, tooLarge, type FolderFile } from './folder-files.ts';

/** What is at each path: the mode and the SHA-256 of a file, or where a link leads. Equal words are equal contents. */
export type Contents = ReadonlyMap<string, string>;

export interface Archive {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly contents: Contents;
}

/** Another level, or another release of zstd, gives other bytes for the same contents. */
const LEVEL = 9;
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * Packs files of a folder. Only paths, contents and whether a file can be executed have a part in it, so that the same files give the same
 * bytes on each machine.
 *
 * @throws CommandError
 */
export const packed = async (folder: string, files: readonly FolderFile[]): Promise<Archive> => {
  const contents = new Map<string, string>();
  const tar = pack();
  const whole = buffer(tar);
  try {
    for (const file of files) contents.set(file.path, await packFile(tar, folder, file));
    tar.finalize();
  } catch (error) {
    tar.destroy();
    await whole.catch(() => undefined);
    throw error;
  }
  // At once: how a stream is divided may change what zstd makes of it.
  const bytes = await compress(await whole, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  if (bytes.byteLength > MAX_CODE_BYTES)
    throw tooLarge(
      `Packed it has ${sizeOf(bytes.byteLength)}, more than the ${sizeOf(MAX_CODE_BYTES)} that can be deployed`,
      files,
    );
  return { bytes, sha256: sha256Of(bytes), contents };
};

const packFile = async (tar: Pack, folder: string, file: FolderFile): Promise<string> => {
  const common = { name: file.path, mtime: new Date(0), uid: 0, gid: 0, uname: '', gname: '' };
  if (file.kind === 'link') {
    await added(tar, { ...common, type: 'symlink', mode: 0o777, linkname: file.target });
    return linkWords(file.target);
  }
  const mode = file.executable ? 0o755 : 0o644;
  const content = await contentOf(folder, file.path);
  await added(tar, { ...common, type: 'file', mode }, content);
  return fileWords(mode, sha256Of(content));
};

const added = (tar: Pack, header: Partial<Header> & Pick<Header, 'name'>, content?: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => (error ? reject(error) : resolve());
    if (content === undefined) tar.entry(header, done);
    else tar.entry(header, content, done);
  });

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const linkWords = (target: string): string => `link ${target}`;
const fileWords = (mode: number, sha256: string): string => `${mode.toString(8)} ${sha256}`;

/** A header of 512 bytes for each file, one for a long name with the name itself, and an incomplete block. */
const MAX_TAR_BYTES = MAX_UNPACKED_CODE_BYTES + MAX_CODE_FILES * 4_096;

/** What an archive of a version has. @throws CommandError for bytes that are none */
export const contentsOf = async (archive: Uint8Array): Promise<Contents> => {
  const contents = new Map<string, string>();
  try {
    const tar = await decompress(archive, { maxOutputLength: MAX_TAR_BYTES });
    for await (const entry of Readable.from([tar]).pipe(extract())) {
      const { name, type, mode, linkname } = entry.header;
      const content = await buffer(entry);
      if (type === 'symlink') contents.set(name, linkWords(linkname));
      else if (type === 'file') contents.set(name, fileWords(mode, sha256Of(content)));
    }
    return contents;
  } catch (error) {
    const why = error instanceof Error ? plain(error.message) : String(error);
    throw new CommandError(`The archive of the present version cannot be read: ${why}.`);
  }
};
