import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isExecutable } from '../install/executables.ts';
import { runCommand } from '../process/run-command.ts';

/** The oldest nats-server that works. */
export const OLDEST = { major: 2, minor: 14 };

export type CheckedBinary =
  | { readonly ok: true; readonly version: string; readonly sha256: string }
  | { readonly ok: false; readonly why: string };

/** Whether a file is a nats-server that is new enough. With `sha256`, it is not run unless its bytes have that SHA-256, in hex. */
export const checkBinary = async (
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
