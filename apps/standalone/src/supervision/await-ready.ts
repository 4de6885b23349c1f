import { setTimeout as pause } from 'node:timers/promises';
import { healthTokenHeader } from '@runledger/service-kit/health-token';
import { messageOf } from '@runledger/resilience/errors';
import { EXIT_CONFIG, type ServiceState } from './service-process.ts';

const POLL_EVERY_MS = 50;
const ANSWER_WITHIN_MS = 2_000;

export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface StartedService {
  readonly name: string;
  readonly logFile: string;
  /** With it, `/readyz` says what is missing. */
  readonly healthToken: string;
  readonly state: () => ServiceState;
}

/** Waits until a service is ready. It may end and start again meanwhile. */
export const awaitReady = async (
  service: StartedService,
  withinMs: number,
  stopping: AbortSignal,
): Promise<Ready> => {
  const deadline = performance.now() + withinMs;
  let last = 'it has not reported its address';
  while (performance.now() < deadline) {
    stopping.throwIfAborted();
    const state = service.state();
    switch (state.kind) {
      case 'starting':
        break;
      case 'ended':
        if (state.code === EXIT_CONFIG)
          return { ok: false, why: `${service.name} refused its settings: see the lines above.` };
        last = `it ${state.how}`;
        break;
      case 'listening': {
        const answer = await readinessProblem(state.health, service.healthToken);
        if (answer === undefined) return { ok: true };
        last = answer;
      }
    }
    await pause(POLL_EVERY_MS);
  }
  return {
    ok: false,
    why: `${service.name} was not ready within ${withinMs / 1000} s: ${last}. Its log is ${service.logFile}.`,
  };
};

/** Why the service is not ready; undefined if it is. */
const readinessProblem = async (health: string, token: string): Promise<string | undefined> => {
  try {
    const answer = await fetch(new URL('/readyz', health), {
      headers: healthTokenHeader(token),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const body = await answer.text();
    return answer.ok ? undefined : `/readyz answered ${answer.status}: ${body.slice(0, 500)}`;
  } catch (error) {
    return `/readyz did not answer: ${messageOf(error)}`;
  }
};
