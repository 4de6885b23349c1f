import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { getegid, geteuid } from 'node:process';
import { cardDevices, cardGroups } from '../card-devices.ts';
import { realPaths, visiblePaths, type VisiblePaths } from '../view/real-paths.ts';
import { pathsWithout, systemPaths } from './hidden-paths.ts';
import { MEMORY_FOLDERS, SHARED_MEMORY } from './mounts.ts';
import { isInNamespace, isViewless, type Isolation, type View } from './isolation.ts';
import type { NamedUser } from './names.decide.ts';
import type { Openable } from './landlock.ts';
import type { Exposed } from './seccomp.ts';
import type { SupervisorSetup } from './restrict-supervisor.ts';
import type { User } from './users.ts';

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`);
const TERMINALS = ['/dev/ptmx', '/dev/pts'];
const NOTHING = { paths: [], links: [], crossed: [] };

/** What a supervisor does to itself at its start, before it takes a program. */
export const supervisorSetup = (
  isolation: Isolation,
  view: View,
  folder: string,
  user: User | null,
): SupervisorSetup['isolation'] => {
  if (isolation.kind === 'off' && user === null) return null;
  if (user !== null) for (const path of view.writable) mustBeWritable(path, user);
  // bubblewrap gives them a /tmp of their own.
  const scratch = isolation.kind === 'bubblewrap' ? [] : view.scratch.map(scratchFolder);
  const hasOwnMounts = isolation.kind !== 'bubblewrap' && isolation.containment.kind === 'namespace';
  const shown = visiblePaths({ readable: view.readable, writable: [folder, ...view.writable] });
  const writable = [...shown.writable, ...realPaths(scratch)];
  return {
    openable: openableOf(isolation, view, { shown, scratch }),
    mounts: hasOwnMounts
      ? {
          reached: user === null ? NOTHING : { ...shown, paths: [...shown.readable, ...writable] },
          writable: isViewless(isolation) ? null : writable,
          named: namedUser(user, folder),
        }
      : null,
    memoryFolders: memoryFolders(isolation, hasOwnMounts),
    user:
      user === null
        ? null
        : { ...user, groups: view.cards ? cardGroups() : [], isItsOwn: isolation.users.kind === 'each' },
    exposed: isolation.unfiltered === null ? exposedBy(isolation, view) : null,
  };
};

/** Null for root, which has a name. `user`: null for that of the executor. */
export const namedUser = (user: User | null, home: string): NamedUser | null => {
  const { uid, gid } = user ?? { uid: geteuid?.() ?? 0, gid: getegid?.() ?? 0 };
  return uid === 0 ? null : { uid, gid, home };
};

/** @throws with what to do: a program would fail in the middle of its run */
const mustBeWritable = (path: string, { uid, gid }: User): void => {
  const found = statSync(path);
  const asOwner = found.uid === uid && (found.mode & 0o200) !== 0;
  const asMember = found.gid === gid && (found.mode & 0o020) !== 0;
  if (asOwner || asMember || (found.mode & 0o002) !== 0) return;
  throw new Error(
    `${path} is writable for its entry, but not for the user ${uid}:${gid} of its programs: ` +
      'set EXECUTOR_RUN_AS to a user who owns it, or let everybody write there (chmod o+w)',
  );
};

const memoryFolders = ({ kind }: Isolation, hasOwnMounts: boolean): readonly string[] => {
  if (kind === 'bubblewrap') return MEMORY_FOLDERS;
  return hasOwnMounts ? [SHARED_MEMORY] : [];
};

const exposedBy = (isolation: Isolation, { network }: View): Exposed => ({
  paths: isolation.kind !== 'bubblewrap',
  // Where it has mounts of its own they are read-only, and another user owns nothing.
  attributes: !isInNamespace(isolation) && isolation.users.kind === 'executor',
  processes: !isInNamespace(isolation),
  network: isolation.kind !== 'bubblewrap' && network !== 'host',
});

const openableOf = (
  isolation: Isolation,
  view: View,
  { shown, scratch }: { readonly shown: VisiblePaths; readonly scratch: readonly string[] },
): Openable | null => {
  // Where they are those of the machine, a program with the user of somebody who is signed in would read what that person types.
  const hasTerminals = isInNamespace(isolation) || isolation.users.kind === 'each';
  const devices = [...DEVICES, ...(hasTerminals ? TERMINALS : []), ...(view.cards ? cardDevices() : [])];
  switch (isolation.kind) {
    case 'bubblewrap':
      // The same paths once more. What is hidden below them is covered.
      return {
        readable: [...realPaths(systemPaths()), '/proc', ...shown.readable],
        writable: [...shown.writable, ...MEMORY_FOLDERS],
        shared: [],
        scratch: [],
        devices,
        ports: null,
      };
    case 'landlock':
      return {
        readable: [...pathsWithout(systemPaths(), isolation.hidden), '/proc', ...shown.readable],
        writable: [...shown.writable, ...(isInNamespace(isolation) ? [SHARED_MEMORY] : [])],
        shared: [SHARED_MEMORY].filter((path) => !isInNamespace(isolation) && existsSync(path)),
        scratch,
        devices,
        ports: view.network === 'host' ? null : [],
      };
    case 'none':
    case 'off':
      return null;
  }
};

/** Whoever knows a path in it may use that path; only the executor sees what is there. @throws when something else is there */
const scratchFolder = (path: string): string => {
  mkdirSync(path, { recursive: true });
  const folder = realpathSync(path);
  // One of another user is as that user made it.
  if (statSync(folder).uid === geteuid?.()) chmodSync(folder, NAMES_ARE_HIDDEN);
  return folder;
};

const NAMES_ARE_HIDDEN = 0o1733;
