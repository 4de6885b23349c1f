import type { DeliveryAttemptPhases, DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { unlessAborted } from '@runledger/resilience/abort';
import type { CallbackAddresses } from '@runledger/webhooks/resolve-callback';
import { createSecureContext } from 'node:tls';
import { Connections } from './connections.ts';
import { exchange, type OutgoingRequest, reasonOfStatus, type ReceiverResponse } from './exchange.ts';
import {
  limitTime,
  failureOfEnd,
  failureOf,
  type Failure,
  startStopwatch,
  type Stopwatch,
} from '@runledger/webhooks/failure-reason';
import {
  allowedAddresses,
  openRoute,
  routeTo,
  type RouteParts,
} from '@runledger/webhooks/checked-connection';
import { readProxy } from '@runledger/webhooks/proxy-tunnel';

export interface SendResult {
  readonly reason: DeliveryAttemptResult;
  /** For people: what happened, without secrets and without the URL's path and query. */
  readonly message: string;
  readonly status: number | null;
  /** The header Retry-After as received. */
  readonly retry_after: string | null;
  readonly phases: DeliveryAttemptPhases;
  /** The first 2 KiB of the body as text; null without a response, and from an address that is not public. */
  readonly answer: string | null;
}

export interface Sender extends AsyncDisposable {
  /**
   * One attempt: one POST. Never rejects because of a receiver, and always ends in time. An aborted signal ends it as
   * `interrupted`, unless the status has arrived: then the status counts.
   */
  send(outgoing: OutgoingRequest, signal: AbortSignal): Promise<SendResult>;
}

export interface SenderOptions {
  readonly resolve: (url: URL, signal: AbortSignal) => Promise<CallbackAddresses>;
  /** Checks every address before a connection, and the peer after it. */
  readonly mayConnect: (host: string, address: string, port: number) => boolean;
  /** `http://user:password@host:port` or https: everything goes through it by CONNECT. */
  readonly proxy?: URL;
  /** For the whole attempt, from the name to the end of the body. */
  readonly withinMs: number;
}

/** @throws {RangeError} for an invalid proxy */
export const openSender = (options: SenderOptions): Sender => {
  const { resolve, mayConnect, proxy, withinMs } = options;
  const connections = new Connections();
  const closing = new AbortController();
  const sending = new Set<Promise<SendResult>>();
  const routes: RouteParts = {
    mayConnect,
    proxy: proxy && readProxy(proxy),
    secureContext: createSecureContext({ minVersion: 'TLSv1.2' }),
  };

  const send = async (outgoing: OutgoingRequest, signal: AbortSignal): Promise<SendResult> => {
    const { url } = outgoing;
    const clock = startStopwatch('dns');
    using limit = limitTime(withinMs, [signal, closing.signal]);
    try {
      limit.signal.throwIfAborted();
      const found = await unlessAborted(resolve(url, limit.signal), limit.signal);
      const route = routeTo(url, allowedAddresses(found));
      const open = { ...routes, clock, signal: limit.signal };
      const answer = await exchange(outgoing, {
        connections,
        key: route.key,
        open: () => openRoute(route, open),
        clock,
        signal: limit.signal,
      });
      return answered(answer, found.kind === 'allowed' && found.arePublic, url, clock);
    } catch (error) {
      return failed(
        limit.ended === undefined
          ? failureOf(error, clock.stage, url.host)
          : failureOfEnd(limit.ended, clock.stage, url.host, withinMs),
        clock,
      );
    }
  };

  return {
    send: async (outgoing, signal) => {
      const one = send(outgoing, signal);
      sending.add(one);
      try {
        return await one;
      } finally {
        sending.delete(one);
      }
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.all(sending);
      await connections.close();
    },
  };
};

const answered = (
  { status, retry_after, answer }: ReceiverResponse,
  isPublic: boolean,
  url: URL,
  clock: Stopwatch,
): SendResult => {
  const reason = reasonOfStatus(status);
  const advice = reason === 'redirect' ? ' Redirects are not followed: give the final URL.' : '';
  return {
    reason,
    message: `${url.host} answered ${status}.${advice}`,
    status,
    retry_after,
    phases: clock.phases(),
    answer: isPublic ? answer : null,
  };
};

const failed = ({ reason, message }: Failure, clock: Stopwatch): SendResult => ({
  reason,
  message,
  status: null,
  retry_after: null,
  phases: clock.phases(),
  answer: null,
});
