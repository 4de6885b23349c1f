import { ConnectionFailed, RunledgerError } from '../errors.ts';
import { pause, retryDelay } from './retries.ts';
import { requestOf, type AnyOptions } from './request.ts';
import type { Settings } from './settings.ts';
import { EventParser, type ServerSentEvent } from './server-sent-events.ts';
import { isPage, foreignSuccess } from './refusal.ts';
import { failureOf, openResponse, type ApiRequest } from './exchange.ts';

/** The service says so when it wants another time. */
const RECONNECT_AFTER_MS = 1_000;
/** Nothing follows the event that Last-Event-ID names. */
const NOTHING_FOLLOWS = 204;

interface EventSource {
  readonly path: string;
  readonly options: AnyOptions;
  /** The id of the last event that is known. */
  readonly after: string | undefined;
  /** Nothing follows it. */
  readonly isLast: (event: ServerSentEvent) => boolean;
}

/**
 * The events of a stream. After a lost connection it continues behind the last event. Failures count in a row: whatever arrives
 * begins another count. @throws RunledgerError, the reason of the signal
 */
export const resumedEvents = async function* (
  settings: Settings,
  { path, options, after, isLast }: EventSource,
): AsyncGenerator<ServerSentEvent> {
  let last = after;
  let failures = 0;
  for (;;) {
    const parser = new EventParser();
    let isEmpty = true;
    try {
      const headers = { ...options.headers, accept: 'text/event-stream', 'last-event-id': last };
      const { status, pieces } = await openText(
        settings,
        requestOf(settings, 'GET', path, { ...options, headers }),
      );
      if (status === NOTHING_FOLLOWS) return;
      for await (const piece of pieces) {
        [isEmpty, failures] = [false, 0];
        for (const event of parser.feed(piece)) {
          last = event.id ?? last;
          yield event;
          if (isLast(event)) return;
        }
      }
      if (isEmpty) throw new ConnectionFailed(`The stream at ${path} ended before anything came.`);
    } catch (error) {
      failures += 1;
      const delay = retryDelay(error, {
        failures,
        retries: settings.retries,
        idempotent: true,
        chance: Math.random(),
      });
      if (delay === undefined) throw error;
      await pause(delay, options.signal);
      continue;
    }
    await pause(parser.retryMs ?? RECONNECT_AFTER_MS, options.signal);
  }
};

/** Comments come every 15 s: a connection without data for this long is dead. */
const IDLE_TIMEOUT_MS = 45_000;

interface StreamedText {
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
