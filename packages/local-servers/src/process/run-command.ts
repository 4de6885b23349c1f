import { execFile } from 'node:child_process';

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
