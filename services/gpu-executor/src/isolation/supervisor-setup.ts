import { existsSync } from 'node:fs';
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
          devices: [...DEVICES, ...(view.cards ? cardDevices() : [])],
          network: view.network,
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
