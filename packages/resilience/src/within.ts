import pTimeout from 'p-timeout';

/**
 * What the work gives if it settles within so many milliseconds; else what `late` gives or throws. The work is not
 * stopped: it may go on, and nobody learns of its result.
 *
 *     await within(500, consumer.delete(), () => undefined); // waits no longer
 *     await within(500, ask(), () => { throw new Error('no answer within 500 ms'); });
 */
export const within = <Value, Late>(
  ms: number,
  work: Promise<Value> | Value,
  late: () => Late,
): Promise<Value | Late> =>
  pTimeout<Value, Late>(Promise.resolve(work), { milliseconds: Math.max(ms, 1), fallback: late });
