import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, ParseError } from 'eventsource-parser';

/** An event, or undefined for a comment, which keeps the connection alive. */
export type ServerSentEvent = EventSourceMessage | undefined;

/** In characters. The last fact of a run holds its outputs. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/** The events of the body of a response. `onData` is called for everything that arrives. @throws ParseError for one that is too long */
export const serverSentEvents = async function* (
  body: AsyncIterable<string>,
  onData: () => void,
): AsyncGenerator<ServerSentEvent> {
  const events: ServerSentEvent[] = [];
  let tooLong: ParseError | undefined;
  const parser = createParser({
    onEvent: (message) => events.push(message),
    onComment: () => events.push(undefined),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') tooLong = error;
    },
    maxBufferSize: MAX_EVENT_LENGTH,
  });
  for await (const piece of body) {
    onData();
    parser.feed(piece);
    yield* events.splice(0);
    if (tooLong) throw tooLong;
  }
};
