import { setTimeout as delay } from 'node:timers/promises';
import {
  describeExit,
  launchProcess,
  type Exit,
  type ManagedProcess,
  type ProcessSpec,
} from './managed-process.ts';

/** A child process that is a ready server. It is killed when this process dies, even by `kill -9`. */
export interface ServerProcess extends ManagedProcess {
  readonly pid: number;
}

export interface ServerSpec<Ready> extends Pick<ProcessSpec, 'file' | 'args' | 'env' | 'onLine'> {
  /** For messages. */
  readonly name: string;
  /** Called until it gives a value; undefined means not ready. */
  readonly ready: (pid: number) => Promise<Ready | undefined>;
  /** Output of the server outside its standard output, for the message about a failed start. */
  readonly moreOutput?: () => Promise<string>;
}

/** Reading a large store takes time. */
const READY_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 20;

/** Starts a server and waits until it is ready. @throws Error with the server's last lines, if it does not become ready */
export const startServer = async <Ready>(
  spec: ServerSpec<Ready>,
): Promise<{ readonly server: ServerProcess; readonly ready: Ready }> => {
  const { name, moreOutput } = spec;
  const launched = launchProcess({ ...spec, diesWithParent: true });
  const { pid } = launched;
  if (pid === undefined) {
    throw new Error(`${name} cannot start: ${(await launched.exited).failure}`);
  }

  const ready = await whenReady(() => spec.ready(pid), launched.exited);
  if (ready.kind === 'ready') return { server: { ...launched, pid }, ready: ready.value };
  await launched.stop();
  const what =
    ready.kind === 'exited'
      ? `${name} ended before it was ready (${describeExit(ready.exit)})`
      : `${name} was not ready after ${READY_WITHIN_MS / 1000} s and was stopped`;
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
): Promise<Outcome<Ready>> => {
  const deadline = performance.now() + READY_WITHIN_MS;
  const ended = exited.then((exit) => ({ kind: 'exited', exit }) as const);
  while (performance.now() < deadline) {
    const asked = ask().then((value) => ({ kind: 'asked', value }) as const);
    const answer = await Promise.race([ended, asked]);
    if (answer.kind === 'exited') return answer;
    if (answer.value !== undefined) return { kind: 'ready', value: answer.value };
    await delay(POLL_EVERY_MS);
  }
  return { kind: 'late' };
};
