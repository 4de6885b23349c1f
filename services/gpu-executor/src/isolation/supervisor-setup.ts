import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { geteuid } from 'node:process';
import { cardDevices } from './card-devices.ts';
import { pathsWithout, realPath, systemFolders } from './hidden-paths.ts';
import { MEMORY_FOLDERS, SHARED_MEMORY } from './memory-folders.ts';
import type { Isolation, View } from './isolation.ts';
import type { SupervisorSetup } from './restrict-supervisor.ts';

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'pts'].map(
  (name) => `/dev/${name}`,
);

/** What a supervisor does to itself at its start, before it takes a program. */
export const supervisorSetup = (
  isolation: Isolation,
  view: View,
  folder: string,
): SupervisorSetup['isolation'] => {
  switch (isolation.kind) {
    case 'bubblewrap':
      return { openable: null, memoryFolders: MEMORY_FOLDERS };
    case 'landlock':
      return {
        openable: {
          readable: [...pathsWithout(systemFolders(), isolation.hidden), '/proc', ...targets(view.readable)],
          writable: [folder, ...targets(view.writable)],
          shared: [SHARED_MEMORY].filter((path) => existsSync(path)),
          scratch: view.scratch.map(scratchFolder),
          devices: [...DEVICES, ...(view.cards ? cardDevices() : [])],
          ports: view.network === 'host' ? null : [],
        },
        memoryFolders: [],
      };
    case 'none':
      // What programs of another user start gets no other rights either.
      return isolation.user === null ? null : { openable: null, memoryFolders: [] };
  }
};

/** Landlock knows files, not the links to them. */
const targets = (paths: readonly string[]): readonly string[] =>
  paths.map(realPath).filter((path) => path !== null);

/** Whoever knows a path in it may use that path; only the executor sees what is there. @throws when something else is there */
const scratchFolder = (path: string): string => {
  mkdirSync(path, { recursive: true });
  const folder = realpathSync(path);
  // One of another user is as that user made it.
  if (statSync(folder).uid === geteuid?.()) chmodSync(folder, NAMES_ARE_HIDDEN);
  return folder;
};

const NAMES_ARE_HIDDEN = 0o1733;
