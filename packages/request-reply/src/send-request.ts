import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseJson } from '@runledger/event-log/read/stored-message';
import type { Endpoint } from './endpoint.ts';

const utf8 = new TextEncoder();

/** Undefined when nobody responds, nobody does in time, or the response does not match its schema. */
export const sendRequest = async <Request, Response>(
  log: EventLog,
  { subject, description, parseResponse }: Endpoint<Request, Response>,
  request: Request,
  withinMs: number,
): Promise<Response | undefined> => {
  // A client that is not connected would keep the request in memory.
  if (!log.connected()) return undefined;
  try {
    const data = utf8.encode(JSON.stringify(request));
    const message = await log.nc.request(subject, data, { timeout: withinMs });
    const response = parseResponse(parseJson(message.data));
    if (response === undefined)
      log.logger.warn({ subject }, `a response with ${description} does not match its schema`);
    return response;
  } catch (error) {
    log.logger.debug({ err: error, subject }, `no response with ${description}`);
    return undefined;
  }
};
