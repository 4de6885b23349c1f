import { ConnectionFailed } from '../errors/errors.ts';
import { pause } from '../http/pause.ts';
import { requestOf, type AnyOptions } from '../http/request.ts';
import { retryDelay } from '../http/retry-delay.ts';
import type { Settings } from '../http/settings.ts';
import { EventParser, type ServerSentEvent } from './server-sent-events.ts';
import { openText } from './streamed-text.ts';

/** The service says so when it wants another time. */
const RECONNECT_AFTER_MS = 1_000;
/** Nothing follows the event that Last-Event-ID names. */
const NOTHING_FOLLOWS = 204;

export interface EventSource {
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
