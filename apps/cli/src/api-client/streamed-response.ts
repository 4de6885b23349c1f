import { failureOf, send, type ApiRequest } from './api-call.ts';
import type { ApiConnection } from './connection.ts';

/**
 * The text of a response in pieces while it arrives. @throws Unavailable when nothing arrives for `idleMs`, when the connection is cut,
 * or when the service is unavailable
 */
export const streamedResponse = async function* (
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
export const TEXT_IDLE_TIMEOUT_MS = 30_000;

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
