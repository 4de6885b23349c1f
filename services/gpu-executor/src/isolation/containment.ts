import { execFile } from 'node:child_process';
import { getuid } from 'node:process';
import { promisify } from 'node:util';
import type { Users } from './users.ts';

/**
 * How the processes of a run are kept together. In a PID namespace the kernel kills everything that the program started when
 * the supervisor ends, and programs share memory by keys with nobody else. In a process group, a process that moved to its own session must be
 * found by its mark.
 */
export type Containment =
  | { readonly kind: 'namespace'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'group'; readonly why: string };

export const processGroup = (why: string): Containment => ({ kind: 'group', why });

/**
 * Tries once, at the start, whether this machine lets the executor make PID namespaces. `/proc` must be mounted again in the
 * namespace: with the outer one, a program that reads `/proc/<its own pid>` would find the entry of another process.
 */
export const probeContainment = async ({ kind }: Users): Promise<Containment> => {
  // The supervisor changes its mounts, and then gives up the right to.
  const inUserNamespace = ['--user', '--map-current-user', '--keep-caps', ...NAMESPACE_OPTIONS];
  // In a user namespace there is no other user to become.
  const ways = [
    ...(kind !== 'executor' || getuid?.() === 0 ? [NAMESPACE_OPTIONS] : []),
    ...(kind === 'executor' ? [inUserNamespace] : []),
  ];
  const refusals: string[] = [];
  for (const args of ways) {
    const refusal = await whyNoNamespace('unshare', [...args, '--']);
    if (refusal === null) return { kind: 'namespace', command: 'unshare', args: [...args, '--'] };
    refusals.push(refusal);
  }
  return processGroup(refusals.join('; '));
};

const NAMESPACE_OPTIONS = ['--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

/** Null when the command makes a PID namespace whose `/proc` is its own, else why it does not. */
export const whyNoNamespace = async (command: string, args: readonly string[]): Promise<string | null> => {
  try {
    const test = ['/bin/sh', '-c', 'echo $$ && read -r pid rest </proc/self/stat && echo $pid'];
    const { stdout } = await promisify(execFile)(command, [...args, ...test], { cwd: '/', timeout: 10_000 });
    return stdout.trim() === '1\n1' ? null : `${command} made no PID namespace`;
  } catch (error) {
    return whatItSaid(error) ?? `${command} failed`;
  }
};

/** The message of a failed command repeats all of its arguments before that. */
const whatItSaid = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return (said === '' ? error.message : said).replaceAll(/\s+/g, ' ').slice(0, 300);
};
