import { execFile } from 'node:child_process';
import { arch, cpus, release, totalmem } from 'node:os';
import { promisify } from 'node:util';

const GIB = 1_024 ** 3;

/** What the figures depend on. */
export const machineOf = (): Readonly<Record<string, string | number>> => ({
  processors: cpus().length,
  model: cpus()[0]?.model ?? arch(),
  memory_gib: Math.round(totalmem() / GIB),
  kernel: release(),
  node: process.version,
});

/** Of the checkout, with `+` when it has changes; `unknown` without git. */
export const commitOf = async (checkout: string): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)('git', ['describe', '--always', '--dirty=+'], {
      cwd: checkout,
    });
    return stdout.trim();
  } catch {
    return 'unknown';
  }
};
