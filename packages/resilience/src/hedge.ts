export interface HedgeOptions {
  /** How long the first request has before a second is sent; each further one waits twice as long. In milliseconds. */
  readonly afterMs: number;
  /** How many requests are sent at most, the first included. */
  readonly requests: number;
}

/**
 * Sends a request again while no response has come, and goes on waiting for the earlier ones: one of several replicas may be frozen,
 * or only slow. The first response or error counts. The request must be safe to repeat, and end by itself.
 * Known as hedged requests: https://research.google/pubs/the-tail-at-scale/
 */
export const hedge = <Value>(
  { afterMs, requests }: HedgeOptions,
  request: () => Promise<Value>,
): Promise<Value> => {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  let timer: NodeJS.Timeout | undefined;
  const send = (left: number, waitMs: number): void => {
    if (left > 1) timer = setTimeout(send, waitMs, left - 1, waitMs * 2);
    request()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  };
  send(requests, afterMs);
  return promise;
};
