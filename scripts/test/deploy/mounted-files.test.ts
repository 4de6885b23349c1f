import { chmodSync, cpSync, globSync, statSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeMountedReadable, MOUNTED } from '../../deploy/mounted-files.ts';
import { listOf, readCompose, servicesOf } from './read-compose.ts';
import { members, ROOT } from './workspaces.ts';

const SECRETS = './deploy/secrets';

/** The paths of the repository that a compose file mounts, but for the secrets, which have modes of their own. */
const mountedBy = (file: string): string[] => {
  const compose = readCompose(file);
  const configs = Object.values(members(compose['configs'] ?? {})).map((each) =>
    String(members(each)['file']),
  );
  const volumes = [...servicesOf(compose).values()].flatMap((service) =>
    listOf(service, 'volumes').map((volume) => volume.split(':')[0] ?? ''),
  );
  return [...configs, ...volumes]
    .filter((path) => path.startsWith('./') && !path.startsWith(SECRETS))
    .map((path) => path.slice(2));
};

const modesOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    globSync('**', { cwd: folder }).map((path) => {
      const found = statSync(join(folder, path));
      return [path, (found.mode & (found.isDirectory() ? 0o555 : 0o444)).toString(8)];
    }),
  );

describe('what compose files mount of the repository', () => {
  it('is all known', () => {
    const mounted = globSync('docker-compose*.yml', { cwd: ROOT }).flatMap(mountedBy);
    expect(mounted).not.toEqual([]);
    const unknown = mounted.filter(
      (path) => !MOUNTED.some((each) => path === each || path.startsWith(`${each}/`)),
    );
    expect(unknown).toEqual([]);
  });

  it('can be read by every user, after a checkout under umask 077', async () => {
    await using temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-mounted-'));
    for (const path of MOUNTED) cpSync(join(ROOT, path), join(temporary.path, path), { recursive: true });
    const paths = globSync('**', { cwd: temporary.path });
    for (const path of paths) {
      const copy = join(temporary.path, path);
      chmodSync(copy, statSync(copy).isDirectory() ? 0o700 : 0o600);
    }
    await makeMountedReadable(temporary.path);
    const modes = modesOf(temporary.path);
    // Folders above them do not count: what is mounted is the file itself.
    for (const above of ['.', 'deploy', 'deploy/mongodb', 'deploy/nats']) delete modes[above];
    expect(new Set(Object.values(modes))).toEqual(new Set(['444', '555']));
    expect(Object.keys(modes)).toEqual(expect.arrayContaining([...MOUNTED]));
  });
});
