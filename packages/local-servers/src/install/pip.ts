import { runCommand } from '../process/run-command.ts';
import type { CommandResult } from '../process/run-command.ts';

/** A way to call pip: a program and its first arguments. */
export type Pip = readonly [file: string, ...args: string[]];

const WAYS: readonly Pip[] = [['python3', '-m', 'pip'], ['pip3'], ['pip']];

/** The first pip that runs. python3 may have no pip, and the pip on PATH may belong to another Python. */
export const findPip = async (env: NodeJS.ProcessEnv): Promise<Pip | undefined> => {
  for (const pip of WAYS) {
    const version = await callPip(pip, ['--version'], { env, withinMs: 30_000 });
    if (version.ok) return pip;
  }
  return undefined;
};

export const callPip = (
  [file, ...first]: Pip,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly withinMs: number },
): Promise<CommandResult> => {
  // A prompt would wait forever, and the notice about a newer pip would hide the reason of a failure.
  const env = { ...options.env, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  return runCommand(file, [...first, ...args], { ...options, env });
};
