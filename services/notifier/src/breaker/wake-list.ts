/** Keys that are to be woken at a time of their own, by one timer for all of them. */
export interface WakeList {
  readonly size: number;
  add(key: string, at: number): void;
  /** With the time that it was added with. */
  delete(key: string, at: number): void;
  /** No timer is left. */
  close(): void;
}

interface WakeListOptions {
  readonly now: () => number;
  /** Keys are woken together at multiples of this, never early: so a list of any length has few times to look through. */
  readonly everyMs: number;
  readonly wake: (key: string) => void;
}

export const openWakeList = ({ now, everyMs, wake }: WakeListOptions): WakeList => {
  const slots = new Map<number, Set<string>>();
  let size = 0;
  let armed: { readonly slot: number; readonly timer: NodeJS.Timeout } | undefined;

  const slotOf = (at: number): number => Math.ceil(at / everyMs);

  const disarm = (): void => {
    clearTimeout(armed?.timer);
    armed = undefined;
  };

  const arm = (slot: number): void => {
    disarm();
    const timer = setTimeout(wakeDue, Math.max(1, slot * everyMs - now()));
    timer.unref();
    armed = { slot, timer };
  };

  const wakeDue = (): void => {
    armed = undefined;
    const current = now();
    const due = [...slots].filter(([slot]) => slot * everyMs <= current);
    for (const [slot, keys] of due) {
      slots.delete(slot);
      size -= keys.size;
    }
    // Before anybody is told: what a listener throws must not leave the others asleep for ever.
    if (slots.size > 0) arm(slots.keys().reduce((one, other) => Math.min(one, other)));
    for (const [, keys] of due) for (const key of keys) wake(key);
  };

  return {
    get size() {
      return size;
    },
    add: (key, at) => {
      const slot = slotOf(at);
      const keys = slots.get(slot) ?? new Set();
      slots.set(slot, keys.add(key));
      size += 1;
      if (armed === undefined || slot < armed.slot) arm(slot);
    },
    delete: (key, at) => {
      const slot = slotOf(at);
      const keys = slots.get(slot);
      if (keys?.delete(key) !== true) return;
      size -= 1;
      if (keys.size === 0) slots.delete(slot);
    },
    close: () => {
      disarm();
      slots.clear();
      size = 0;
    },
  };
};
