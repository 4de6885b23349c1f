import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/**
 * Makes a child die when this process dies, even by `kill -9`: a small shell waits at the other end of a pipe that
 * only this process holds, and the end of the pipe is the end of this process. The kernel's own way
 * (`PR_SET_PDEATHSIG`) needs a tool that not every machine has, and fires when the starting *thread* ends.
 */
export const killWithParent = (child: ChildProcess, pid: number): void => {
  const watcher = spawn(
    '/bin/sh',
    ['-c', 'read -r ended || kill -KILL "$1"', 'kill-with-parent', String(pid)],
    {
      // Its own process group, so that neither Ctrl-C nor a kill of ours takes the watcher first.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  // Without its watcher the child could be left behind: it must not run then.
  watcher.once('error', () => child.kill('SIGKILL'));
  watcher.stdin.on('error', () => undefined);
  child.once('exit', () => watcher.stdin.end('ended\n'));
};
