import { MAX_CODE_FILES, MAX_UNPACKED_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import { messageOf } from '@runledger/resilience/errors';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, open, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { openPromise } from 'yauzl';

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
export const unpackCode = (
  archive: string,
  folder: string,
  stop: AbortSignal,
  limits = LIMITS,
): Promise<string | null> =>
  unpack(new Unpacking(folder, limits), 'The code of the version', stop, () =>
    tarEntries(archive, {
      decompress: zstd(),
      limits,
      stop,
      otherwise: 'is not a tar archive that is compressed with zstd',
    }),
  );

/** The same of what servers of code give away: a tar with gzip or zstd, or a zip. `what` begins the sentence. */
export const unpackArchive = async (
  archive: string,
  folder: string,
  what: string,
  stop: AbortSignal,
): Promise<string | null> => {
  const begin = await firstBytes(archive);
  const begins = (...bytes: readonly number[]): boolean =>
    begin.subarray(0, bytes.length).equals(Buffer.from(bytes));
  const entries = begins(0x50, 0x4b)
    ? () => zipEntries(archive)
    : () =>
        tarEntries(archive, {
          decompress: begins(0x1f, 0x8b) ? createGunzip() : zstd(),
          limits: LIMITS,
          stop,
          otherwise: 'is neither a tar archive, compressed with gzip or zstd, nor a zip archive',
        });
  return unpack(new Unpacking(folder, LIMITS), what, stop, entries);
};

const unpack = async (
  unpacking: Unpacking,
  what: string,
  stop: AbortSignal,
  entries: () => AsyncIterable<ArchiveEntry>,
): Promise<string | null> => {
  try {
    for await (const entry of entries()) await unpacking.take(entry);
    await unpacking.makeLinks();
    return null;
  } catch (error) {
    if (error instanceof Refused) return `${what} ${error.message}`;
    if (stop.aborted) return 'It was stopped.';
    if (error instanceof Error && 'syscall' in error) throw error;
    return `${what} cannot be read: ${messageOf(error)}.`;
  }
};

const firstBytes = async (archive: string): Promise<Buffer> => {
  await using file = await open(archive);
  return (await file.read(Buffer.alloc(4), 0, 4, 0)).buffer;
};

const zstd = (): Transform =>
  createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } });

interface TarToRead {
  readonly decompress: Transform;
  readonly limits: UnpackLimits;
  readonly stop: AbortSignal;
  /** What is wrong with a file that is something else. */
  readonly otherwise: string;
}

/** @throws {Refused} when it is no tar that is compressed like that */
const tarEntries = async function* (
  archive: string,
  { decompress, limits, stop, otherwise }: TarToRead,
): AsyncGenerator<ArchiveEntry> {
  const files = extract();
  // Headers and padding count too, and what follows the last file.
  const most = limits.bytes + (limits.files + 1) * MOST_BESIDE_A_FILE;
  const reading = pipeline(createReadStream(archive), decompress, atMost(most, limits), files, {
    signal: stop,
  });
  reading.catch(() => undefined);
  try {
    yield* files;
    await reading;
  } catch (error) {
    files.destroy();
    // The first error of the pipeline says more than that its last stream is closed.
    const cause = await reading.then(
      () => error,
      (first: unknown) => first,
    );
    for (const each of [cause, error]) {
      if (each instanceof Refused || (each instanceof Error && 'syscall' in each)) throw each;
    }
    throw new Refused(`${otherwise}: ${messageOf(cause)}.`);
  } finally {
    files.destroy();
  }
};

/** Its library refuses content that is longer than its entry says, and paths that lead out. */
const zipEntries = async function* (archive: string): AsyncGenerator<ArchiveEntry> {
  const zip = await openPromise(archive);
  try {
    for await (const entry of zip.eachEntry()) {
      const { fileName: name, uncompressedSize: size, externalFileAttributes } = entry;
      // Those of the system that made it, where it was one with modes.
      const mode = externalFileAttributes >>> 16;
      const isLink = (mode & FILE_TYPE) === LINK;
      const read = (): Promise<Readable> => zip.openReadStreamPromise(entry);
      const type = isLink ? 'symlink' : name.endsWith('/') ? 'directory' : 'file';
      if (isLink && size > MAX_PATH)
        throw new Refused(`has the link ${JSON.stringify(name)}, which is too long.`);
      const linkname = isLink ? await text(await read()) : '';
      yield {
        header: { name, type, size, mode: mode & 0o777, linkname },
        resume: () => undefined,
        [Symbol.asyncIterator]: async function* () {
          yield* await read();
        },
      };
    }
  } finally {
    zip.close();
  }
};

/** Of a mode of POSIX. */
const FILE_TYPE = 0o170000;
const LINK = 0o120000;

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
  new Refused(`has more than ${bytes} bytes when it is unpacked. Weights belong into "models".`);

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

interface ArchiveEntry extends AsyncIterable<unknown> {
  readonly header: Pick<Header, 'name' | 'type' | 'size' | 'mode' | 'linkname'>;
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
  async take(entry: ArchiveEntry): Promise<void> {
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
      `has ${JSON.stringify(name)}, which is neither a file nor a folder nor a symbolic link: ${type}.`,
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
    if (path === '') throw new Refused('has a file without a name.');
    const parent = dirname(path);
    if (parent !== '.') await this.#makeFolder(parent);
  }

  async #makeFolder(path: string): Promise<void> {
    const made = this.#made.get(path);
    if (made === 'folder') return;
    if (made !== undefined)
      throw new Refused(`has something below ${JSON.stringify(path)}, which is a ${made} and no folder.`);
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
          ? `has ${JSON.stringify(path)} twice.`
          : `has ${JSON.stringify(other)} and ${JSON.stringify(path)}, whose names differ by case only.`,
      );
    this.#folded.set(folded, path);
    this.#made.set(path, kind);
    if (this.#made.size > this.#limits.files)
      throw new Refused(`has more than ${this.#limits.files} files and folders.`);
  }

  /** As the kernel follows it, with all links on the way. */
  #mustStayInside(path: string, target: string): void {
    const what = `has the link ${JSON.stringify(path)}, which leads`;
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
  if (isOutside) throw new Refused(`has ${JSON.stringify(name)}, which is not below its folder.`);
  if (path.length > MAX_PATH || /[\p{Cc}\\]/u.test(path) || parts.some(isTooLong))
    throw new Refused(
      `has the name ${JSON.stringify(name.slice(0, MAX_PATH))}, which is too long or has a character that no name may have.`,
    );
  return path;
};

const isTooLong = (part: string): boolean => Buffer.byteLength(part) > 255;
