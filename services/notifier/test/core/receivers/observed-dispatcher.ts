import type { DeliveryAttemptResult } from '@runledger/contracts/deliveries/attempt-result';
import { afterEach, beforeEach, vi } from 'vitest';
import { openBreakers, type Breakers } from '../../../src/breaker/breakers.ts';
import { openDispatcher, type Dispatcher } from '../../../src/dispatch/dispatcher.ts';
import { nameOf, type Item, type Receiver, type Sent } from '../../../src/core/receivers/receiver.ts';

export const SECOND = 1_000;

/** The clock and all timers stand still until `pass`. */
export const useStoppedTime = (): void => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
};

export const pass = async (ms = 0): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

export const receiver = (origin: string, org_id = 'org'): Receiver => ({
  org_id,
  origin: `https://${origin}.example`,
});

/** Something to send that keeps count of what was done with it. */
export interface Sending extends Item {
  begun: number;
  ended: number;
  putOffs: number;
  /** Answers the try that is being made. */
  end(sent: Sent): void;
}

/** How long a receiver takes, and what it answers; undefined when the test answers itself. */
export type Behaviour = () => { readonly afterMs: number; readonly sent: Sent } | undefined;

export interface Watched {
  readonly breakers: Breakers;
  readonly dispatcher: Dispatcher;
  /** Everything that was begun, in that order. */
  readonly begun: Sending[];
  /** Parked finals by the name of their receiver, as the log would hold them. */
  readonly parked: Map<string, Sending[]>;
  /** Refills that are going on now, at most so far, and of all. */
  readonly refills: { now: number; most: number; all: number };
  submit(to: Receiver, how?: { readonly final?: boolean; readonly behaviour?: Behaviour }): Sending;
  submitMany(count: number, to: Receiver, how?: { readonly behaviour?: Behaviour }): Sending[];
  /** Reports failures to the breaker until it opens. */
  trip(key: string): void;
  close(): void;
}

export const answers =
  (sent: DeliveryAttemptResult, afterMs = 5): Behaviour =>
  () => ({ afterMs, sent });

/** A real dispatcher on real breakers, with receivers and a log made up. */
export const watchedDispatcher = ({ most = 100, readMs = 1 } = {}): Watched => {
  const breakers = openBreakers({ now: () => Date.now() });
  const parked: Watched['parked'] = new Map();
  const refills = { now: 0, most: 0, all: 0 };
  const begun: Sending[] = [];

  const refill = async (to: Receiver, count: number): Promise<boolean> => {
    refills.now += 1;
    refills.all += 1;
    refills.most = Math.max(refills.most, refills.now);
    await new Promise((resolve) => setTimeout(resolve, readMs));
    refills.now -= 1;
    const there = parked.get(nameOf(to)) ?? [];
    for (const item of there.splice(0, count)) dispatcher.submit(item);
    return there.length > 0;
  };
  const dispatcher = openDispatcher({ breakers, most, clock: () => Date.now(), refill });

  const make = (to: Receiver, final: boolean, behaviour: Behaviour): Sending => {
    let answer = Promise.withResolvers<Sent>();
    const item: Sending = {
      receiver: to,
      final,
      begun: 0,
      ended: 0,
      putOffs: 0,
      send: async () => {
        item.begun += 1;
        begun.push(item);
        answer = Promise.withResolvers();
        const does = behaviour();
        if (does) setTimeout(() => answer.resolve(does.sent), does.afterMs);
        const sent = await answer.promise;
        item.ended += 1;
        return sent;
      },
      putOff: () => {
        item.putOffs += 1;
        if (!final) return;
        const there = parked.get(nameOf(to));
        if (there) there.push(item);
        else parked.set(nameOf(to), [item]);
      },
      end: (sent) => answer.resolve(sent),
    };
    return item;
  };
  const submit: Watched['submit'] = (to, { final = true, behaviour = () => undefined } = {}) => {
    const item = make(to, final, behaviour);
    dispatcher.submit(item);
    return item;
  };
  return {
    breakers,
    dispatcher,
    begun,
    parked,
    refills,
    submit,
    submitMany: (count, to, how) => Array.from({ length: count }, () => submit(to, how)),
    trip: (key) => {
      for (let failures = 0; failures < 5; failures += 1)
        breakers.report(key, breakers.ticket(key), 'failure');
    },
    close: () => {
      dispatcher.close();
      breakers.close();
    },
  };
};

/** Those that are being sent now. */
export const inFlight = (items: readonly Sending[]): Sending[] =>
  items.filter((item) => item.begun > item.ended);

/** Answers all that are being sent. */
export const endAll = async (items: readonly Sending[], sent: Sent): Promise<void> => {
  for (const item of inFlight(items)) item.end(sent);
  await pass();
};
