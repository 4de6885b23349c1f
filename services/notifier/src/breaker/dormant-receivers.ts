import type { Receiver } from '../core/breakers/breaker.ts';
import { openWakeList } from './wake-list.ts';

/** Receivers without an opossum breaker: open ones that sleep until their time has come, and those that wait for a probe. */
export interface DormantReceivers {
  /** How many of them are open. */
  readonly open: number;
  get(key: string): Receiver | undefined;
  /** An open one is woken when its time has come. */
  put(key: string, receiver: Receiver): void;
  delete(key: string): void;
  /** No timer is left. */
  close(): void;
}

interface DormantOptions {
  readonly now: () => number;
  readonly wakeEveryMs: number;
  readonly most: number;
  readonly onDue: (key: string, receiver: Receiver) => void;
  /** The oldest had to go, and counts as healthy from now on. */
  readonly onForgotten: (key: string) => void;
}

export const openDormantReceivers = (options: DormantOptions): DormantReceivers => {
  const { now, most, onDue, onForgotten } = options;
  /** In the order in which they went to sleep. */
  const receivers = new Map<string, Receiver>();

  const alarm = openWakeList({
    now,
    everyMs: options.wakeEveryMs,
    wake: (key) => {
      const receiver = receivers.get(key);
      // Whoever is told of another one may have put this one to sleep anew.
      if (receiver?.state.kind === 'open' && receiver.state.until <= now()) onDue(key, receiver);
    },
  });

  const remove = (key: string): void => {
    const state = receivers.get(key)?.state;
    if (state?.kind === 'open') alarm.delete(key, state.until);
    receivers.delete(key);
  };

  const forgetOldest = (): void => {
    const [oldest] = receivers.keys();
    if (oldest === undefined) return;
    remove(oldest);
    onForgotten(oldest);
  };

  return {
    get open() {
      return alarm.size;
    },
    get: (key) => receivers.get(key),
    put: (key, receiver) => {
      remove(key);
      receivers.set(key, receiver);
      if (receiver.state.kind === 'open') alarm.add(key, receiver.state.until);
      if (receivers.size > most) forgetOldest();
    },
    delete: remove,
    close: () => {
      alarm.close();
      receivers.clear();
    },
  };
};
