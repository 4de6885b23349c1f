import { CommandError } from '../output/command-error.ts';
import { answerOf, isSuccess, refusal, send, Unavailable, type ApiRequest } from './api-call.ts';
import { explainNoAnswer } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';

/**
 * What `read` makes of the body of a response while it arrives; it calls `onData` for everything that arrives.
 * @throws Unavailable when nothing arrives for `idleMs`, when the connection is cut, or when the service is unavailable
 */
export const streamedResponse = async function* <Item>(
  connection: ApiConnection,
  request: ApiRequest,
  idleMs: number,
  read: (body: AsyncIterable<string>, onData: () => void) => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const abort = new AbortController();
  const timeout = setTimeout(() => abort.abort(new Error(`it sent nothing for ${idleMs / 1_000} s`)), idleMs);
  try {
    const response = await send(connection, request, abort.signal);
    if (!isSuccess(response)) throw refusal(connection, await answerOf(response));
    yield* read(response, () => timeout.refresh());
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new Unavailable(explainNoAnswer(connection, error));
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
  for await (const piece of streamedResponse(connection, request, TEXT_IDLE_TIMEOUT_MS, pieces))
    text += piece;
  return text;
};

const pieces = async function* (body: AsyncIterable<string>, onData: () => void): AsyncGenerator<string> {
  for await (const piece of body) {
    onData();
    yield piece;
  }
};

/** The lines of a body, as they arrive. An end without a line end is left out. */
export const linesOf = async function* (
  body: AsyncIterable<string>,
  onData: () => void,
): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of body) {
    onData();
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
};
