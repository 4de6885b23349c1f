import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseJson } from '@runledger/event-log/read/stored-message';
import type { Endpoint } from '../endpoint.ts';

export interface Gathering<Response> {
  /** How long responses are awaited in all. */
  readonly totalMs: number;
  /** It is over when none came for so long after the one before. */
  readonly quietMs: number;
  /** The most responses. */
  readonly most: number;
  /** Whether these are all that can come; without it nobody knows. */
  readonly isAll?: (gathered: readonly Response[]) => boolean;
}

const utf8 = new TextEncoder();

/**
 * Sends one request to all who respond to it, and gives what came in time. Empty when nobody responds. A response that does not match the
 * schema is logged and left out.
 */
export const gatherResponses = async <Request, Response>(
  log: EventLog,
  { subject, description, parseResponse }: Endpoint<Request, Response>,
  request: Request,
  { totalMs, quietMs, most, isAll = () => false }: Gathering<Response>,
): Promise<Response[]> => {
  // A client that is not connected would keep the request in memory.
  if (!log.connected()) return [];
  const gathered: Response[] = [];
  const deadline = performance.now() + totalMs;
  try {
    const messages = await log.nc.requestMany(subject, utf8.encode(JSON.stringify(request)), {
      strategy: 'stall',
      maxWait: totalMs,
      stall: quietMs,
    });
    for await (const message of messages) {
      const response = parseResponse(parseJson(message.data));
      if (response !== undefined) gathered.push(response);
      else log.logger.warn({ subject }, `a response with ${description} does not match its schema`);
      // The driver's own time begins again with each message.
      if (gathered.length >= most || isAll(gathered) || performance.now() >= deadline) break;
    }
  } catch (error) {
    log.logger.debug({ err: error, subject }, `no more responses with ${description}`);
  }
  return gathered;
};
