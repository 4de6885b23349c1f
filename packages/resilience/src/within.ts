import pTimeout from 'p-timeout';

/**
 * The result of the work if it settles within this many milliseconds; else what `late` returns or throws. The work is not
 * cancelled: it may continue, and its result is dropped.
 *
 *     await within(500, consumer.delete(), () => undefined); // waits at most half a second
 *     await within(500, ask(), () => { throw new Error('no response within 500 ms'); });
 */
export const within = <Value, Late>(
  ms: number,
  work: Promise<Value> | Value,
  late: () => Late,
): Promise<Value | Late> =>
  pTimeout<Value, Late>(Promise.resolve(work), { milliseconds: Math.max(ms, 1), fallback: late });
