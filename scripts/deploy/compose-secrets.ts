/**
 * Makes the secrets of docker-compose.yml and docker-compose.cluster.yml in deploy/secrets, or the folder of RUNLEDGER_SECRETS:
 * `node scripts/run.mjs --omit=dev scripts/deploy/compose-secrets.ts`. Existing secrets are kept, and the broker's permissions are written
 * again: run it after an upgrade. It also lets all users read what compose files mount of the repository. More arguments go to
 * "runledger broker-config", such as --executor gpu-2 or --rotate gateway. That command alone makes keys that only its user can read, and no
 * container runs as that user.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readConfig } from '@runledger/service-kit/config';
import { programFile } from '@runledger/service-kit/program-file';
import { Type } from 'typebox';
import { makeMountedReadable } from './mounted-files.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CLI = join(ROOT, 'apps', 'cli', 'src', 'main.ts');
/** The name of the executor in docker-compose.yml. */
const EXECUTOR = 'gpu-1';
const AUTHORITY_KEY = 'authority.key';
/** The brokers of docker-compose.cluster.yml, and where its containers have these files and the log. */
const BROKERS = ['--nodes', '3', '--installed-at', '/etc/nats', '--store', '/data'];

/**
 * A container sees a secret with its mode here, and runs as another user. So all users may read the file, and the mode of the
 * folder keeps the other users of this machine out.
 */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o444;

/** Returns the files that were there and have changed. Containers that run have the old ones. */
export const makeComposeSecrets = async (
  folder: string,
  brokerOptions: readonly string[] = [],
): Promise<readonly string[]> => {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  await chmod(folder, FOLDER_MODE);
  const before = await contentsOf(folder);
  const keep = (name: string, made: string): Promise<string> => keepSecret(join(folder, name), made);

  // A key file has at most 1024 characters of base64.
  await keep('mongodb-keyfile', randomBytes(558).toString('base64'));
  await keep('mongodb-root-password', randomBytes(24).toString('hex'));
  const password = await keep('mongodb-password', randomBytes(24).toString('hex'));
  await keep('mongodb-url', `mongodb://gateway:${password}@mongodb:27017/runledger?replicaSet=rs0`);
  await keep('grafana-password', randomBytes(18).toString('base64url'));
  await keep('health-token', randomBytes(32).toString('hex'));
  await keep('webhook-secret-keys', randomBytes(32).toString('base64'));
  await makeBrokerConfig(join(folder, 'nats'), brokerOptions);
  const after = await contentsOf(folder);
  return [...before.keys()].filter((path) => after.get(path) !== before.get(path)).toSorted();
};

/** Of each file, by its path in the folder. */
const contentsOf = async (folder: string): Promise<ReadonlyMap<string, string>> => {
  const contents = new Map<string, string>();
  for (const path of await filesIn(folder)) contents.set(path, await readFile(join(folder, path), 'utf8'));
  return contents;
};

const filesIn = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
};

/** The secret that was stored first wins, even against a concurrent start. */
const keepSecret = async (path: string, made: string): Promise<string> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  await writeFile(draft, `${made}\n`, { flag: 'wx' });
  try {
    await chmod(draft, FILE_MODE);
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  return (await readFile(path, 'utf8')).trim();
};

const makeBrokerConfig = async (folder: string, options: readonly string[]): Promise<void> => {
  const args = [
    programFile(CLI),
    'broker-config',
    '--out',
    folder,
    '--executor',
    EXECUTOR,
    ...BROKERS,
    ...options,
  ];
  await promisify(execFile)(process.execPath, args);
  for (const path of await filesIn(folder)) {
    // No container lets brokers into the cluster.
    if (basename(path) !== AUTHORITY_KEY) await chmod(join(folder, path), FILE_MODE);
  }
};

/** A container keeps the file that was there when it started: a reload would read the old one again. */
const restart = (changed: readonly string[]): string =>
  `Changed: ${changed.join(', ')}. A running broker does not know it yet: docker compose restart nats. ` +
  'Of three brokers, restart one after the other, each when the one before is healthy. ' +
  'After --rotate, restart the services with the new key too.\n';

const settingsSchema = Type.Object({
  RUNLEDGER_SECRETS: Type.String({ default: 'deploy/secrets', description: 'the folder of the secrets' }),
});

if (import.meta.main) {
  const folder = resolve(ROOT, readConfig(settingsSchema, process.env).RUNLEDGER_SECRETS);
  await makeMountedReadable(ROOT);
  const changed = await makeComposeSecrets(folder, process.argv.slice(2));
  process.stdout.write(
    `The secrets of docker-compose.yml are in ${relative(process.cwd(), folder) || '.'}. Keep a copy of webhook-secret-keys: ` +
      'without it, the signing secrets of webhooks are unreadable.\n',
  );
  if (changed.length > 0) process.stdout.write(restart(changed));
}
