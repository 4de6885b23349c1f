import type { DeliveryAttemptPhases } from '@runledger/contracts/events/webhook-event';
import { performance } from 'node:perf_hooks';

/** The stage of an attempt. Reaching the egress proxy is part of the phase `connect`, but fails for other reasons. */
export type Stage = keyof DeliveryAttemptPhases | 'proxy';

/** One stage at a time. A stage that is entered again (a second connection) adds to its phase. */
export interface Stopwatch {
  readonly stage: Stage;
  enter(stage: Stage): void;
  /** Measured until now, including the current stage. */
  phases(): DeliveryAttemptPhases;
}

export const startStopwatch = (first: Stage): Stopwatch => {
  const measured: { -readonly [Phase in keyof DeliveryAttemptPhases]: DeliveryAttemptPhases[Phase] } = {
    dns: null,
    connect: null,
    tls: null,
    wait: null,
    body: null,
  };
  let stage = first;
  let since = performance.now();

  const count = (): void => {
    const now = performance.now();
    const phase = stage === 'proxy' ? 'connect' : stage;
    measured[phase] = (measured[phase] ?? 0) + (now - since) / 1_000;
    since = now;
  };

  return {
    get stage() {
      return stage;
    },
    enter: (next) => {
      count();
      stage = next;
    },
    phases: () => {
      count();
      return {
        dns: rounded(measured.dns),
        connect: rounded(measured.connect),
        tls: rounded(measured.tls),
        wait: rounded(measured.wait),
        body: rounded(measured.body),
      };
    },
  };
};

const rounded = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds * 1_000) / 1_000;
