import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface OtherCheckout extends AsyncDisposable {
  readonly path: string;
}

/** A commit of this repository in a folder of its own, with its packages. @throws when there is no such commit, or npm fails */
export const checkOut = async (repository: string, commit: string): Promise<OtherCheckout> => {
  const folder = await mkdtemp(join(tmpdir(), 'runledger-compare-'));
  const path = join(folder, 'checkout');
  const git = (...args: string[]): Promise<unknown> => run('git', ['-C', repository, ...args]);
  await git('worktree', 'add', '--detach', path, commit);
  const remove = async (): Promise<void> => {
    await git('worktree', 'remove', '--force', path);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: path });
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
};
