import { EventParser, type ServerSentEvent } from '@runledger/client/source';
import { CommandError } from '../output/command-error.ts';
import type { ApiRequest } from './api-call.ts';
import { explainNoAnswer, Unavailable } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { streamedResponse } from './streamed-response.ts';

/** The name of a comment, which says only that the service still answers. */
export const COMMENT = '';

/** Comments come every 15 s: a connection without data for this long is dead. */
const IDLE_TIMEOUT_MS = 45_000;

/**
 * The events of a stream after the one with the id `after`, and its comments. The service ends the stream when no
 * more events follow, or when the client should connect again. @throws Unavailable when the connection is cut or the service is unavailable
 */
export const eventStream = async function* (
  connection: ApiConnection,
  request: Omit<ApiRequest, 'method'>,
  after: string | undefined,
): AsyncGenerator<ServerSentEvent> {
  const headers = after === undefined ? {} : { 'last-event-id': after };
  const parser = new EventParser({ comments: true });
  const pieces = streamedResponse(connection, { method: 'GET', headers, ...request }, IDLE_TIMEOUT_MS);
  try {
    for await (const piece of pieces) yield* parser.feed(piece);
  } catch (error) {
    // An event that is too long.
    throw error instanceof CommandError ? error : new Unavailable(explainNoAnswer(connection, error));
  }
};

/** An event that this release does not understand. */
export const notUnderstood = (): CommandError =>
  new CommandError(
    'This release does not understand the events of the run. Use the same release of the command and the service.',
  );
