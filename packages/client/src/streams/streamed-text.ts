import { RunledgerError } from '../errors/errors.ts';
import { isPage } from '../errors/foreign-answer.ts';
import { foreignSuccess } from '../errors/refusal.ts';
import { failureOf, openResponse, type ApiRequest } from '../http/exchange.ts';
import type { Settings } from '../http/settings.ts';

/** Comments come every 15 s: a connection without data for this long is dead. */
const IDLE_TIMEOUT_MS = 45_000;

export interface StreamedText {
  readonly status: number;
  /** As they arrive. Leaving the loop ends the request. @throws ConnectionFailed, the reason of the signal */
  readonly pieces: AsyncIterable<string>;
}

/** A response whose body is text that is read while it arrives. @throws as `openResponse` */
export const openText = async (settings: Settings, request: ApiRequest): Promise<StreamedText> => {
  const { response, asked, limit } = await openResponse(settings, request);
  if (isPage(response.headers)) {
    limit.close();
    // Nobody reads it, so nobody waits for its end.
    response.body?.cancel().catch(() => undefined);
    throw foreignSuccess(response, asked, '');
  }
  const pieces = async function* (): AsyncGenerator<string> {
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        limit.extend(IDLE_TIMEOUT_MS);
        const read = await reader?.read();
        if (!read || read.done) return;
        yield decoder.decode(read.value, { stream: true });
      }
    } catch (error) {
      throw failureOf(settings, request, error);
    } finally {
      limit.close();
      // An error of the connection was thrown already.
      await reader?.cancel().catch(() => undefined);
    }
  };
  return { status: response.status, pieces: pieces() };
};

/** In characters. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;

/** The lines of a text. An end without a line end is left out: it was cut off. @throws RunledgerError for a line that is too long */
export const linesOf = async function* (pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH)
      throw new RunledgerError(`The service sent a line of more than ${MAX_LINE_LENGTH} characters.`);
    yield* lines;
  }
};
