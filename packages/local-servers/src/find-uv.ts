import { findOnPath, isExecutable } from './run-command.ts';
import { keptPath, keptProgram, type ProgramRelease, type WheelProgram } from './wheel-program.ts';
import { hashOf } from './find-nats-server.ts';

const UV_WHEEL: WheelProgram = { package: 'uv', program: 'uv', megabytes: 18 };

/** The uv that is downloaded if the machine has none. */
const UV_RELEASE: ProgramRelease = {
  version: '0.13.9',
  builds: [
    {
      platform: 'linux-x64',
      wheelSha256: 'd7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19',
      binarySha256: 'b73acdf73b96c3ac9e56d2fa933427b3ee6a901e3cce6ba1e3ecb3f91ca0d86a',
    },
    {
      platform: 'linux-arm64',
      wheelSha256: '5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe',
      binarySha256: 'bbecb5ac518030bb5e84f1999c577228460192832ac24a92bd772735682979f4',
    },
  ],
};

/** The uv on PATH, else that in the cache, else a download; or why there is none. The last two have the checksum of the release. */
export const findUv = async (
  env: NodeJS.ProcessEnv,
  onProgress: (sentence: string) => void = () => undefined,
): Promise<{ readonly ok: true; readonly path: string } | { readonly ok: false; readonly why: string }> => {
  const path = await findOnPath('uv', env);
  if (path !== undefined) return { ok: true, path };
  return keptProgram(UV_WHEEL, { release: UV_RELEASE, env, onProgress, check });
};

/** Where `findUv` puts a download; undefined where there is none to download, or PATH has one. */
export const uvToDownload = async (env: NodeJS.ProcessEnv): Promise<string | undefined> =>
  (await findOnPath('uv', env)) === undefined ? (await keptPath(UV_WHEEL, UV_RELEASE, env))?.path : undefined;

const check = async (
  path: string,
  expected: string,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }> => {
  if (!(await isExecutable(path)))
    return { ok: false, why: `${path} is not a program that this user can run` };
  const hashed = await hashOf(path);
  if (!hashed.ok) return hashed;
  return hashed.sha256 === expected
    ? { ok: true }
    : { ok: false, why: `its SHA-256 is ${hashed.sha256} and not ${expected}, so it is another program` };
};
