import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface CommandCost {
  readonly wallMs: number;
  /** Of all its processes. */
  readonly processorMs: number;
  readonly stdout: string;
}

/** What a command takes from its start to its end, in ms, measured by bash. @throws when it fails */
export const commandCost = async (
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandCost> => {
  const script = `TIMEFORMAT='%R %U %S'; time "$@"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script, 'bash', ...command], { env });
  const [wall = 0, user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { stdout, wallMs: wall * 1_000, processorMs: (user + system) * 1_000 };
};
