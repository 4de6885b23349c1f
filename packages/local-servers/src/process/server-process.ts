import { setTimeout as delay } from 'node:timers/promises';
import { describeExit, launchProcess } from './managed-process.ts';
import type { Exit, ManagedProcess, ProcessSpec } from './managed-process.ts';

/** A server that runs as a child process and is ready. It dies with this process, however this process dies. */
export interface ServerProcess extends ManagedProcess {
  readonly pid: number;
}

export interface ServerSpec<Ready> extends Pick<ProcessSpec, 'file' | 'args' | 'env'> {
  /** How messages call it. */
  readonly name: string;
  /** Asked again and again until it answers; undefined means not yet. */
  readonly ready: (pid: number) => Promise<Ready | undefined>;
  readonly readyWithinMs?: number;
  /** What the server wrote elsewhere than to its standard output, for the message about a failed start. */
  readonly moreOutput?: () => Promise<string>;
}

const READY_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 20;

/** Starts a server and waits until it is ready. A server that does not become ready is an error with its own last lines. */
export const startServer = async <Ready>(
  spec: ServerSpec<Ready>,
): Promise<{ readonly server: ServerProcess; readonly ready: Ready }> => {
  const { name, readyWithinMs = READY_WITHIN_MS, moreOutput } = spec;
  const launched = launchProcess({ ...spec, diesWithParent: true });
  const { pid } = launched;
  if (pid === undefined) {
    throw new Error(`${name} cannot be started: ${(await launched.exited).failure}`);
  }

  const ready = await whenReady(() => spec.ready(pid), launched.exited, readyWithinMs);
  if (ready.kind === 'ready') return { server: { ...launched, pid }, ready: ready.value };
  await launched.stop();
  const what =
    ready.kind === 'exited'
      ? `${name} ended before it was ready (${describeExit(ready.exit)})`
      : `${name} was not ready after ${readyWithinMs / 1000} s and was stopped`;
  const output = `${(await moreOutput?.()) ?? ''}\n${launched.tail()}`.trim();
  throw new Error(`${what}. ${output === '' ? 'It printed nothing.' : `Its last lines:\n${output}`}`);
};

type Outcome<Ready> =
  | { readonly kind: 'ready'; readonly value: Ready }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'late' };

const whenReady = async <Ready>(
  ask: () => Promise<Ready | undefined>,
  exited: Promise<Exit>,
  withinMs: number,
): Promise<Outcome<Ready>> => {
  const deadline = performance.now() + withinMs;
  const ended = exited.then((exit) => ({ kind: 'exited', exit }) as const);
  while (performance.now() < deadline) {
    const asked = ask().then((value) => ({ kind: 'asked', value }) as const);
    const answer = await Promise.race([ended, asked]);
    if (answer.kind === 'exited') return answer;
    if (answer.value !== undefined) return { kind: 'ready', value: answer.value };
    await delay(ASK_EVERY_MS);
  }
  return { kind: 'late' };
};
