import { CommandError } from '../output/command-error.ts';
import type { ApiRequest } from './api-call.ts';
import type { ApiConnection } from './connection.ts';
import { serverSentEvents, type ServerSentEvent } from '../http/server-sent-events.ts';
import { streamedResponse } from './streamed-response.ts';

/** Comments come every 15 s: a connection without data for this long is dead. */
const IDLE_TIMEOUT_MS = 45_000;

/**
 * The events of a stream after the one with the id `after`. The service ends the stream when no more events follow, or
 * when the client should connect again. @throws Unavailable when the connection is cut or the service is unavailable
 */
export const eventStream = (
  connection: ApiConnection,
  request: Pick<ApiRequest, 'path' | 'query'>,
  after: string | undefined,
): AsyncGenerator<ServerSentEvent> => {
  const headers = after === undefined ? {} : { 'last-event-id': after };
  return streamedResponse(
    connection,
    { method: 'GET', headers, ...request },
    IDLE_TIMEOUT_MS,
    serverSentEvents,
  );
};

/** An event that this release does not understand. */
export const notUnderstood = (): CommandError =>
  new CommandError(
    'This release does not understand the events of the run. Use the same release of the command and the service.',
  );
