import type { EventLog } from './event-log.ts';

/** Opens one for each log, at the first call. */
export const perLog = <Opened>(open: (log: EventLog) => Opened): ((log: EventLog) => Opened) => {
  const opened = new WeakMap<EventLog, { readonly one: Opened }>();
  return (log) => {
    const present = opened.get(log) ?? { one: open(log) };
    opened.set(log, present);
    return present.one;
  };
};
