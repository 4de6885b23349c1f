import { newUuid, orgId, runId, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { openBreakers, type Breakers } from '../../../src/breaker/breakers.ts';
import type { AfterTry, FinalDelivery } from '../../../src/delivering/final-delivery.ts';
import { openDesk, type Desk } from '../../../src/delivering/run-desk.ts';
import { openDispatcher, type Dispatcher } from '../../../src/dispatch/dispatcher.ts';
import type { Sent } from '../../../src/core/receivers/receiver.ts';

/** A try that is being made; the test ends it. */
interface Try<Answer> {
  readonly run: RunId;
  /** Of a final one. */
  readonly delivery: FinalDelivery | undefined;
  /** Of an intermediate one. */
  readonly atLeast: number | undefined;
  readonly at: number;
  end(answer: Answer): void;
}

export interface WatchedDesk {
  readonly desk: Desk;
  readonly dispatcher: Dispatcher;
  readonly breakers: Breakers;
  readonly finals: Try<AfterTry>[];
  readonly intermediates: Try<Sent>[];
  /** Sequences of finals' sources, and what became of them, in that order. */
  readonly putOff: number[];
  readonly settled: number[];
  /** Sequences of RUNS and ACTIVITY that intermediate ones came from. */
  readonly told: number[];
  /** Ends what is being set aside; at once when it is undefined. */
  setAside: (() => Promise<void>) | undefined;
  close(): void;
}

const ORG = orgId(newUuid());
export const ORIGIN = 'https://receiver.example';
export const aRun = (): RunKey => ({ org_id: ORG, run_id: runId(newUuid()) });

export const finalOf = (
  key: RunKey,
  sequence: number,
  { round = 1, kind = 'fact' }: { round?: number; kind?: FinalDelivery['source']['kind'] } = {},
): FinalDelivery => ({
  key,
  origin: ORIGIN,
  round,
  tries: 0,
  due_at: null,
  expires_at: '2026-01-07T00:00:00.000Z',
  source: { kind, sequence },
  careful: false,
});

/** A real desk at a real dispatcher. What it sends, and where it sets things aside, is made up. */
export const watchedDesk = ({ most = 100 } = {}): WatchedDesk => {
  const breakers = openBreakers({ now: () => Date.now() });
  const dispatcher = openDispatcher({
    breakers,
    most,
    clock: () => Date.now(),
    refill: () => Promise.resolve(false),
  });
  const begin = <Answer>(
    tries: Try<Answer>[],
    about: Pick<Try<Answer>, 'run' | 'delivery' | 'atLeast'>,
  ): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    tries.push({ ...about, at: Date.now(), end: resolve });
    return promise;
  };
  const watched: Omit<WatchedDesk, 'desk'> = {
    dispatcher,
    breakers,
    finals: [],
    intermediates: [],
    putOff: [],
    settled: [],
    told: [],
    setAside: undefined,
    close: () => {
      dispatcher.close();
      breakers.close();
    },
  };
  const desk = openDesk({
    dispatcher,
    clock: () => Date.now(),
    tryFinal: (delivery) => begin(watched.finals, { run: delivery.key.run_id, delivery, atLeast: undefined }),
    tryIntermediate: ({ run_id }, atLeast) =>
      begin(watched.intermediates, { run: run_id, delivery: undefined, atLeast }),
    putOff: async ({ source }) => {
      watched.putOff.push(source.sequence);
      await watched.setAside?.();
    },
    settle: ({ source }) => void watched.settled.push(source.sequence),
    settleIntermediate: ({ runs, activity }) => void watched.told.push(...runs, ...activity),
  });
  return Object.assign(watched, { desk });
};
