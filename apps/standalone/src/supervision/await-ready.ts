import { setTimeout as pause } from 'node:timers/promises';
import { EXIT_CONFIG } from './service-process.ts';
import type { ServiceState } from './service-process.ts';

const ASK_EVERY_MS = 50;
const ANSWER_WITHIN_MS = 2_000;

export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** Waits until a service says that it is ready; it may end and be started again meanwhile. */
export const awaitReady = async (
  service: { readonly name: string; readonly logFile: string; readonly state: () => ServiceState },
  withinMs: number,
  stopping: AbortSignal,
): Promise<Ready> => {
  const deadline = performance.now() + withinMs;
  let last = 'it did not say where it listens';
  while (performance.now() < deadline) {
    stopping.throwIfAborted();
    const state = service.state();
    switch (state.kind) {
      case 'starting':
        break;
      case 'ended':
        if (state.code === EXIT_CONFIG)
          return { ok: false, why: `${service.name} refuses its settings; see the lines above.` };
        last = `it ${state.how}`;
        break;
      case 'listening': {
        const answer = await askReadiness(state.health);
        if (answer === undefined) return { ok: true };
        last = answer;
      }
    }
    await pause(ASK_EVERY_MS);
  }
  return {
    ok: false,
    why: `${service.name} was not ready within ${withinMs / 1000} s: ${last}. Its log is ${service.logFile}.`,
  };
};

/** Why it is not ready, or undefined when it is. */
const askReadiness = async (health: string): Promise<string | undefined> => {
  try {
    const answer = await fetch(new URL('/readyz', health), { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const body = await answer.text();
    return answer.ok ? undefined : `/readyz answers ${answer.status}: ${body.slice(0, 500)}`;
  } catch (error) {
    return `/readyz does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
};
