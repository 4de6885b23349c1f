import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The files and folders of the repository that compose files mount, and that are the same for every installation. */
export const MOUNTED = [
  'deploy/grafana',
  'deploy/mongodb/replica-set.mongodb.js',
  'deploy/nats/nats.conf',
  'deploy/prometheus',
] as const;

const READABLE_FILE = 0o444;
const READABLE_FOLDER = 0o555;

/**
 * Lets every user read them: a container sees them with their modes here, and runs as another user. After a checkout under umask 077 only
 * their owner could.
 * @throws the system's error, such as EPERM, where the mode must change and this user may not change it
 */
export const makeMountedReadable = async (root: string): Promise<void> => {
  for (const path of MOUNTED) await makeReadable(join(root, path));
};

const makeReadable = async (path: string): Promise<void> => {
  const found = await stat(path);
  const needed = found.isDirectory() ? READABLE_FOLDER : READABLE_FILE;
  if ((found.mode & needed) !== needed) await chmod(path, (found.mode & 0o777) | needed);
  if (!found.isDirectory()) return;
  for (const name of await readdir(path)) await makeReadable(join(path, name));
};
