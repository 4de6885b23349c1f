import type { Socket } from 'node:net';
import type { OpenChecked } from '@runledger/webhooks/outgoing/checked-connection';
import { failureOf, failureOfEnd, type Failure } from '@runledger/webhooks/outgoing/failure-reason';
import { startStopwatch } from '@runledger/webhooks/outgoing/stopwatch';
import { limitTime } from '@runledger/webhooks/outgoing/time-limit';

/** Why a program gets no connection: the status of the answer, and a sentence for its author. */
export interface Refusal {
  readonly status: number;
  readonly why: string;
}

/** A connection to host and port of a URL. `client` is the connection of the program: nothing is opened for one that is gone. */
export type ConnectOutgoing = (url: URL, client: Socket) => Promise<Socket | Refusal>;

const CONNECT_WITHIN_MS = 30_000;

/** Never rejects. */
export const connectOutgoing =
  (open: OpenChecked): ConnectOutgoing =>
  async (url, client) => {
    const gone = new AbortController();
    const abort = (): void => gone.abort();
    client.once('close', abort);
    if (client.destroyed) abort();
    using limit = limitTime(CONNECT_WITHIN_MS, [gone.signal]);
    const clock = startStopwatch('dns');
    try {
      // Path and user are for the server alone.
      const socket = await open(new URL(url.origin), clock, limit.signal);
      socket.on('error', () => undefined);
      return socket;
    } catch (error) {
      return refusalOf(
        limit.ended === undefined
          ? failureOf(error, clock.stage, url.host)
          : failureOfEnd(limit.ended, clock.stage, url.host, CONNECT_WITHIN_MS),
      );
    } finally {
      client.off('close', abort);
    }
  };

const refusalOf = ({ reason, message }: Failure): Refusal => {
  if (reason === 'forbidden')
    return { status: 403, why: `A program may not connect to this address: ${message}` };
  return { status: reason === 'connect_timed_out' ? 504 : 502, why: message };
};
