import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

export type CommandResult =
  | { readonly ok: true; readonly stdout: string }
  | { readonly ok: false; readonly why: string };

/** Runs a program to its end. If it cannot run, fails or takes too long, the result says why. */
export const runCommand = (
  file: string,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly withinMs: number },
): Promise<CommandResult> =>
  new Promise((resolve) => {
    const limits = { timeout: options.withinMs, killSignal: 'SIGKILL', maxBuffer: 4 * 1024 * 1024 } as const;
    execFile(file, args, { env: options.env, ...limits }, (error, stdout, stderr) => {
      resolve(error === null ? { ok: true, stdout } : { ok: false, why: whyItFailed(error, stderr, stdout) });
    });
  });

const whyItFailed = (
  error: Error & { readonly killed?: boolean; readonly code?: unknown },
  stderr: string,
  stdout: string,
): string => {
  if (error.killed === true) return 'it was stopped: it took too long or printed too much';
  const output = (stderr.trim() || stdout.trim()).split('\n').slice(-6).join('\n');
  const status = typeof error.code === 'number' ? `exit status ${error.code}` : String(error.code);
  return output === '' ? status : `${status}: ${output}`;
};

/** The first executable file of this name in the absolute folders of `PATH`. */
export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
};

export const isExecutable = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
};
