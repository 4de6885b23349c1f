import { MAX_CODE_FILES, MAX_UNPACKED_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import { messageOf } from '@runledger/resilience/errors';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdDecompress } from 'node:zlib';
import { extract, type Header } from 'tar-stream';

export interface UnpackLimits {
  /** Files, folders and links. */
  readonly files: number;
  /** Of all files. */
  readonly bytes: number;
}

const LIMITS: UnpackLimits = { files: MAX_CODE_FILES, bytes: MAX_UNPACKED_CODE_BYTES };

/**
 * Unpacks an archive that anybody may have made into an empty folder. Null, or in one sentence why it cannot be unpacked: then the folder is of no use.
 * Nothing is ever written outside of it, or through a link.
 * @throws errors of the disk
 */
export const unpackCode = async (
  archive: string,
  folder: string,
  stop: AbortSignal,
  limits = LIMITS,
): Promise<string | null> => {
  const files = extract();
  const unpacking = new Unpacking(folder, limits);
  // Headers and padding count too, and what follows the last file.
  const most = limits.bytes + (limits.files + 1) * MOST_BESIDE_A_FILE;
  const reading = pipeline(
    createReadStream(archive),
    createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } }),
    atMost(most, limits),
    files,
    { signal: stop },
  );
  reading.catch(() => undefined);
  try {
    for await (const entry of files) await unpacking.take(entry);
    await reading;
    await unpacking.makeLinks();
    return null;
  } catch (error) {
    files.destroy();
    // The first error of the pipeline says more than that its last stream is closed.
    const cause =
      error instanceof Refused
        ? error
        : await reading.then(
            () => error,
            (first: unknown) => first,
          );
    if (error instanceof Refused) return error.message;
    if (cause instanceof Refused) return cause.message;
    if (stop.aborted) return 'It was stopped.';
    for (const each of [error, cause]) if (each instanceof Error && 'syscall' in each) throw each;
    return `The code of the version is not a tar archive that is compressed with zstd: ${messageOf(cause)}.`;
  }
};

/** 128 MiB, which is what zstd itself takes at most without being told. */
const MAX_WINDOW_LOG = 27;
/** A header, a long name with its own header, and what fills the last block. */
const MOST_BESIDE_A_FILE = 4_096;
/** As the contract has it for paths below the folder. */
const MAX_PATH = 512;
const MAX_LINKS = 40;

class Refused extends Error {
  override readonly name = 'Refused';
}

const tooLarge = ({ bytes }: UnpackLimits): Refused =>
  new Refused(
    `The code of the version has more than ${bytes} bytes when it is unpacked. Weights belong into "models".`,
  );

/** Ends a bomb early. */
const atMost = (most: number, limits: UnpackLimits): Transform => {
  let bytes = 0;
  return new Transform({
    transform: (piece: Buffer, _encoding, done) => {
      bytes += piece.byteLength;
      if (bytes > most) done(tooLarge(limits));
      else done(null, piece);
    },
  });
};

interface TarEntry extends AsyncIterable<unknown> {
  readonly header: Header;
  resume(): unknown;
}

type Kind = 'file' | 'folder' | 'link';

class Unpacking {
  readonly #folder: string;
  readonly #limits: UnpackLimits;
  /** By their paths below the folder. */
  readonly #made = new Map<string, Kind>();
  /** As a disk that does not distinguish cases, or ways to write a letter, has them. */
  readonly #folded = new Map<string, string>();
  readonly #links = new Map<string, string>();
  #bytes = 0;

  constructor(folder: string, limits: UnpackLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** Its content is read to its end, or not at all. */
  async take(entry: TarEntry): Promise<void> {
    const { name, type, size, mode, linkname } = entry.header;
    const path = pathOf(name);
    switch (type) {
      case 'directory':
        if (path !== '') await this.#makeFolder(path);
        entry.resume();
        return;
      case 'symlink':
        await this.#makeParent(path);
        this.#add(path, 'link');
        this.#links.set(path, linkname);
        entry.resume();
        return;
      case 'file':
      case 'contiguous-file':
        await this.#makeFile(path, size, (mode & 0o111) === 0 ? 0o644 : 0o755, entry);
        return;
      case 'link':
      case 'character-device':
      case 'block-device':
      case 'fifo':
        break;
    }
    // Whatever else there is in an archive.
    throw new Refused(
      `The code of the version has ${JSON.stringify(name)}, which is neither a file nor a folder nor a symbolic link: ${type}.`,
    );
  }

  /** At the end: until then none leads anywhere. */
  async makeLinks(): Promise<void> {
    for (const [path, target] of this.#links) {
      this.#mustStayInside(path, target);
      await symlink(target, join(this.#folder, path));
    }
  }

  async #makeFile(path: string, size: number, mode: number, content: AsyncIterable<unknown>): Promise<void> {
    await this.#makeParent(path);
    this.#add(path, 'file');
    this.#bytes += size;
    if (this.#bytes > this.#limits.bytes) throw tooLarge(this.#limits);
    const at = join(this.#folder, path);
    await pipeline(content, createWriteStream(at, { flags: 'wx', mode }));
    await chmod(at, mode);
  }

  async #makeParent(path: string): Promise<void> {
    if (path === '') throw new Refused('The code of the version has a file without a name.');
    const parent = dirname(path);
    if (parent !== '.') await this.#makeFolder(parent);
  }

  async #makeFolder(path: string): Promise<void> {
    const made = this.#made.get(path);
    if (made === 'folder') return;
    if (made !== undefined)
      throw new Refused(
        `The code of the version has something below ${JSON.stringify(path)}, which is a ${made} and no folder.`,
      );
    await this.#makeParent(path);
    this.#add(path, 'folder');
    await mkdir(join(this.#folder, path));
    await chmod(join(this.#folder, path), 0o755);
  }

  #add(path: string, kind: Kind): void {
    const folded = path.normalize('NFC').toLowerCase();
    const other = this.#folded.get(folded);
    if (other !== undefined)
      throw new Refused(
        other === path
          ? `The code of the version has ${JSON.stringify(path)} twice.`
          : `The code of the version has ${JSON.stringify(other)} and ${JSON.stringify(path)}, whose names differ by case only.`,
      );
    this.#folded.set(folded, path);
    this.#made.set(path, kind);
    if (this.#made.size > this.#limits.files)
      throw new Refused(`The code of the version has more than ${this.#limits.files} files and folders.`);
  }

  /** As the kernel follows it, with all links on the way. */
  #mustStayInside(path: string, target: string): void {
    const what = `The code of the version has the link ${JSON.stringify(path)}, which leads`;
    let followed = 0;
    const follow = (from: readonly string[], [part, ...rest]: readonly string[]): readonly string[] => {
      if (part === undefined) return from;
      if (part === '' || part === '.') return follow(from, rest);
      if (part === '..') {
        if (from.length === 0) throw new Refused(`${what} out of its folder.`);
        return follow(from.slice(0, -1), rest);
      }
      const next = this.#links.get([...from, part].join('/'));
      if (next === undefined) return follow([...from, part], rest);
      followed += 1;
      if (followed > MAX_LINKS) throw new Refused(`${what} through more than ${MAX_LINKS} links.`);
      return follow(from, [...partsOf(next), ...rest]);
    };
    const partsOf = (to: string): readonly string[] => {
      if (to === '' || to.startsWith('/') || to.includes('\0') || to.length > MAX_PATH)
        throw new Refused(`${what} to ${JSON.stringify(to.slice(0, MAX_PATH))}: links must be relative.`);
      return to.split('/');
    };
    follow(path.split('/').slice(0, -1), partsOf(target));
  }
}

/** Below the folder, without `.` and empty parts. */
const pathOf = (name: string): string => {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const path = parts.join('/');
  const isOutside = name.startsWith('/') || parts.includes('..');
  if (isOutside)
    throw new Refused(`The code of the version has ${JSON.stringify(name)}, which is not below its folder.`);
  if (path.length > MAX_PATH || /[\p{Cc}\\]/u.test(path) || parts.some(isTooLong))
    throw new Refused(
      `The code of the version has the name ${JSON.stringify(name.slice(0, MAX_PATH))}, which is too long or has a character that no name may have.`,
    );
  return path;
};

const isTooLong = (part: string): boolean => Buffer.byteLength(part) > 255;
