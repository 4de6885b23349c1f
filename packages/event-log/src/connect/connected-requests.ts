import { TimeoutError, type NatsConnection } from '@nats-io/transport-node';
import { within } from '@runledger/resilience/within';

/** The connection was lost before the response came. The request may or may not have had its effect. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

export interface ConnectedRequests {
  /** The connection is lost: requests that wait for a response end with ConnectionLost. */
  readonly lost: (why: string) => void;
  /** There is a connection again, or never will be. */
  readonly back: () => void;
}

const DEFAULT_TIMEOUT_MS = 1_000;

/**
 * Makes the requests of a connection end with it, and wait for the next one. The driver leaves them to their timeouts, and drops what
 * is sent before it begins to connect again.
 */
export const connectRequests = (nc: NatsConnection): ConnectedRequests => {
  const waiting = new Set<(error: Error) => void>();
  let outage: PromiseWithResolvers<void> | undefined;
  const request = nc.request.bind(nc);
  nc.request = async (subject, payload, options) => {
    if (outage) {
      await within(options?.timeout ?? DEFAULT_TIMEOUT_MS, outage.promise, () => {
        throw new TimeoutError();
      });
    }
    const ended = Promise.withResolvers<never>();
    waiting.add(ended.reject);
    try {
      return await Promise.race([request(subject, payload, options), ended.promise]);
    } finally {
      waiting.delete(ended.reject);
    }
  };
  return {
    lost: (why) => {
      outage ??= Promise.withResolvers();
      for (const end of waiting) end(new ConnectionLost(why));
    },
    back: () => {
      outage?.resolve();
      outage = undefined;
    },
  };
};
