import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Replaces netcat for the scripts on a machine without busybox. */
const NETCAT = `#!/bin/bash
exec 3<>"/dev/tcp/\${@: -2:1}/\${@: -1}" && cat >&3 && cat <&3
`;

/** The PATH of the image of the broker, with the commands of busybox; without busybox, that of the machine, with netcat. */
export const commandsIn = async (folder: string, path = ''): Promise<string> => {
  await mkdir(folder);
  const { error } = spawnSync('busybox', ['--install', '-s', folder]);
  if (error === undefined) return folder;
  await writeFile(join(folder, 'nc'), NETCAT, { mode: 0o700 });
  return `${folder}:${path}`;
};
