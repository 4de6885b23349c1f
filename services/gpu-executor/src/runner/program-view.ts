import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute } from 'node:path';
import type { GpuSlot } from '../gpu/gpu-slots.ts';
import { realPath } from '../isolation/hidden-paths.ts';
import type { View } from '../isolation/isolation.ts';
import type { OperatorCommand } from './operator-command.ts';

/** What the process of a command may see: what the command names itself, and what its operator adds. */
export const programView = (
  {
    command,
    args,
    env,
    cwd,
    readable = [],
    writable = [],
    network = 'outgoing',
    resources = {},
  }: OperatorCommand,
  { device, libraries = [] }: Pick<GpuSlot, 'device' | 'libraries'>,
): View => ({
  readable: [
    ...toolFolders(command),
    ...args,
    ...SEARCHED_FOLDERS.flatMap((variable) => (env[variable] ?? '').split(delimiter)),
    ...(cwd === undefined ? [] : [cwd]),
    ...libraries,
    ...readable,
  ].filter((path) => isAbsolute(path) && path !== '/' && realPath(path) !== null),
  writable: writable.filter((path) => realPath(path) !== null),
  scratch: [],
  network,
  cards: device !== '',
  resources,
});

/** The command, and where it is installed, such as the virtual environment of a Python and the version of Python behind it. */
const toolFolders = (command: string): string[] =>
  [command, realPath(command) ?? command].flatMap((file) => {
    const installed = dirname(dirname(file));
    return TOOL_FOLDERS.has(basename(dirname(file))) && installed !== homedir() ? [file, installed] : [file];
  });

/** Variables of an entry that name folders with its programs and libraries. */
const SEARCHED_FOLDERS = ['PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH'];
const TOOL_FOLDERS = new Set(['bin', 'shims']);
