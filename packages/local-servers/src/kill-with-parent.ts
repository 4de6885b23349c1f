import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Kills a child when this process dies, even by `kill -9`: a small shell reads from a pipe that only this process holds, and the
 * pipe closes when this process ends. The kernel's `PR_SET_PDEATHSIG` needs a tool that not every machine has, and takes
 * effect when the starting *thread* ends.
 */
export const killWithParent = (
  child: ChildProcess,
  /** `group`: the process group that a detached child leads. */
  reach: 'process' | 'group' = 'process',
): void => {
  const { pid } = child;
  if (pid === undefined) return;
  const target = reach === 'group' ? -pid : pid;
  const watcher = spawn(
    '/bin/sh',
    ['-c', 'read -r ended || kill -KILL "$1"', 'kill-with-parent', String(target)],
    {
      // A separate process group, so that neither Ctrl-C nor a signal to our group ends the watcher first.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  // Without the watcher, the child could outlive this process. So it must not run.
  watcher.once('error', () => child.kill('SIGKILL'));
  watcher.stdin.on('error', () => undefined);
  child.once('exit', () => watcher.stdin.end('ended\n'));
};
