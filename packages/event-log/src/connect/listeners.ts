/** Functions to call at an event. */
export interface Listeners {
  /** Returns a function that removes it. */
  readonly add: (listener: () => void) => () => void;
  readonly call: () => void;
}

export const listeners = (): Listeners => {
  const all = new Set<() => void>();
  return {
    add: (listener) => {
      all.add(listener);
      return () => void all.delete(listener);
    },
    call: () => all.forEach((listener) => listener()),
  };
};
