/**
 * Makes the profile of docker-compose.isolation.yml in deploy/docker/seccomp.json from the default profile of Docker Engine:
 * `node scripts/run.mjs --omit=dev scripts/deploy/seccomp-profile.ts DEFAULT_JSON`. It allows what bubblewrap needs, and forbids what the default
 * profile forbids beyond that. The default one changes with the engine, which does not say it: it is in its sources, profiles/seccomp/default.json.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isJsonObject, parseJson } from '@runledger/contracts/json';

const PROFILE = join(import.meta.dirname, '..', '..', 'deploy', 'docker', 'seccomp.json');
/** What makes namespaces and what is in them. Only capabilities of such a namespace let a process mount, and only there. */
const OF_NAMESPACES = ['clone', 'mount', 'pivot_root', 'setns', 'umount2', 'unshare'];

/** @throws when the text is no profile that forbids what it does not name */
export const allowNamespaces = (profile: string): string => {
  const given = parseJson(profile);
  if (!isJsonObject(given) || !Array.isArray(given.syscalls) || given.defaultAction !== 'SCMP_ACT_ERRNO')
    throw new Error(
      'This is not the default profile of Docker Engine: it has no "syscalls", or another "defaultAction" than "SCMP_ACT_ERRNO". ' +
        'Take profiles/seccomp/default.json of moby/moby, at the version of your engine.',
    );
  const rule = { names: OF_NAMESPACES, action: 'SCMP_ACT_ALLOW' };
  return `${JSON.stringify({ ...given, syscalls: [...given.syscalls, rule] }, null, 2)}\n`;
};

if (import.meta.main) {
  const [path] = process.argv.slice(2);
  if (path === undefined) {
    process.stderr.write('Give the path of the default profile of Docker Engine.\n');
    process.exit(2);
  }
  await writeFile(PROFILE, allowNamespaces(await readFile(path, 'utf8')));
  process.stdout.write(`The profile is in ${relative(process.cwd(), PROFILE)}.\n`);
}
