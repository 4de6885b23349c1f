import { runCommand } from '../process/run-command.ts';

export interface Python {
  readonly path: string;
  /** For example `3.11`. */
  readonly version: string;
}

type Version = readonly [major: number, minor: number];

/** A Python in this range on `PATH`: `python3` if it is in the range, else the newest with a number in its name. */
export const findPython = async (
  env: NodeJS.ProcessEnv,
  range: { readonly oldest: Version; readonly newest: Version },
): Promise<Python | undefined> => {
  const [major, newest] = range.newest;
  const oldest = range.oldest[1];
  const numbered = Array.from(
    { length: newest - oldest + 1 },
    (_, back) => `python${major}.${newest - back}`,
  );
  // python3 first: the default Python of a machine is more likely to have pip.
  for (const name of ['python3', ...numbered]) {
    const script = 'import sys; print(*sys.version_info[:2], sys.executable)';
    const answer = await runCommand(name, ['-c', script], { env, withinMs: 10_000 });
    const [, itsMajor, minor, path] = (answer.ok && /^(\d+) (\d+) (.+)/.exec(answer.stdout)) || [];
    if (path === undefined || Number(itsMajor) !== major) continue;
    if (Number(minor) >= oldest && Number(minor) <= newest) return { path, version: `${itsMajor}.${minor}` };
  }
  return undefined;
};
