import { EventParser, type ServerSentEvent } from '@runledger/client/source';
import { CommandError } from '../command/command-error.ts';
import { type ApiRequest, failureOf, send } from './api-call.ts';
import { explainNoAnswer, Unavailable } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';

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
  request: {
    readonly path: string;
    readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  },
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

/**
 * The text of a response in pieces while it arrives. @throws Unavailable when nothing arrives for `idleMs`, when the connection is cut,
 * or when the service is unavailable
 */
const streamedResponse = async function* (
  connection: ApiConnection,
  request: ApiRequest,
  idleMs: number,
): AsyncGenerator<string> {
  const abort = new AbortController();
  const timeout = setTimeout(() => abort.abort(new Error(`it sent nothing for ${idleMs / 1_000} s`)), idleMs);
  try {
    const { body } = await send(connection, request, abort);
    const decoder = new TextDecoder();
    for await (const bytes of body ?? []) {
      timeout.refresh();
      yield decoder.decode(bytes, { stream: true });
    }
  } catch (error) {
    throw failureOf(connection, error);
  } finally {
    clearTimeout(timeout);
    abort.abort();
  }
};

/** Without any data for this long, the connection is dead. */
const TEXT_IDLE_TIMEOUT_MS = 30_000;

/** The body of a response that is text. @throws as `streamedResponse` */
export const textResponse = async (connection: ApiConnection, request: ApiRequest): Promise<string> => {
  let text = '';
  for await (const piece of streamedResponse(connection, request, TEXT_IDLE_TIMEOUT_MS)) text += piece;
  return text;
};

/** The lines of a body, as they arrive. An end without a line end is left out. @throws as `streamedResponse` */
export const linesOf = async function* (
  connection: ApiConnection,
  request: ApiRequest,
): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of streamedResponse(connection, request, TEXT_IDLE_TIMEOUT_MS)) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
};
