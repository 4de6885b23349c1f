import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startService, type ServiceState } from '@runledger/standalone/service-process';
import type { EndKind } from './outages.ts';
import type { RunningProcess } from './part.ts';

export type ServiceName = 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';

export interface ServiceOptions {
  readonly name: string;
  readonly service: ServiceName;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** Longer than the deadline of the services themselves. */
const STOP_WITHIN_MS = 30_000;
const POLL_EVERY_MS = 100;

/** Starts a service as its container does: from its `main.ts`, with only its own environment. */
export const runningService = async ({
  name,
  service,
  env,
  logFile,
}: ServiceOptions): Promise<RunningProcess> => {
  const main = fileURLToPath(new URL(`../../../../services/${service}/src/main.ts`, import.meta.url));
  const started = startService({
    name,
    main,
    env,
    logFile,
    stopWithinMs: STOP_WITHIN_MS,
    print: () => undefined,
    diesWithParent: true,
  });
  const { pid, state } = started;
  if (pid === undefined) throw new Error(`${name} did not start: ${await started.ended}`);
  let wasReady = false;
  const ready = async (): Promise<void> => {
    while (state().kind === 'starting') await pause(POLL_EVERY_MS);
    wasReady = state().kind === 'listening';
  };
  const beingReady = ready();
  return {
    pid,
    untilReady: () => beingReady,
    ended: started.ended.then((how) => ({ how, endKind: endKindOf(how, started.state(), wasReady) })),
    kill: started.kill,
    stop: started.stop,
  };
};

const endKindOf = (how: string, state: ServiceState, wasReady: boolean): EndKind => {
  const code = state.kind === 'ended' ? state.code : null;
  if (code !== null) return code === 0 ? 'clean' : 'gave up';
  // Before a service handles signals, SIGTERM ends it at once. It has not begun any work then.
  return !wasReady && how === 'was killed by SIGTERM' ? 'clean' : 'killed';
};
