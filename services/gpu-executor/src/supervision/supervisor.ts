// The process between the executor and the program of one run. It leads the run's process group (or is the first
// process of the run's own PID namespace) and holds one end of a pipe to the executor: when the executor dies in any way,
// the run dies.
//
// The pipe is descriptor 3. The executor sends one line of JSON, what to start, then a byte for SIGTERM; the end of the pipe means
// SIGKILL. The supervisor sends one line of JSON: how the program ended. After the program no process of the run stays alive.
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { parseStart, type Ending } from './supervisor-messages.ts';

const ownNamespace = process.pid === 1;
const executor = new Socket({ fd: 3 });

/** The kernel kills a PID namespace with its first process; a group is killed in one step, this process included. */
const killEverything = (): void => {
  if (ownNamespace) process.exit();
  process.kill(0, 'SIGKILL');
};

const terminate = (): void => {
  try {
    process.kill(ownNamespace ? -1 : 0, 'SIGTERM');
  } catch {
    // No process is left to signal; the end of the program will follow.
  }
};

const report = (ending: Ending): void => {
  executor.write(`${JSON.stringify(ending)}\n`, killEverything);
};

const start = (line: string): void => {
  const { command, args, env } = parseStart(line);
  const program = spawn(command, args, { env, stdio: 'inherit' });
  program.once('error', (error: NodeJS.ErrnoException) =>
    report({ kind: 'not_started', code: error.code ?? error.message }),
  );
  program.once('exit', (code, signal) => report({ kind: 'exited', code, signal }));
};

// These signals are for the program; this process must outlive it.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined);

let received = '';
let started = false;
executor.setEncoding('utf8');
executor.on('data', (chunk: string) => {
  if (started) return terminate();
  received += chunk;
  const end = received.indexOf('\n');
  if (end === -1) return;
  started = true;
  start(received.slice(0, end));
  if (received.length > end + 1) terminate();
});
executor.once('end', killEverything);
executor.once('error', killEverything);
