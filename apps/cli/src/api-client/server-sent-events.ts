import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, EventSourceParser } from 'eventsource-parser';
import type { Transformer } from 'node:stream/web';

/** An event, or undefined for a comment, which keeps the connection alive. */
export type ServerSentEvent = EventSourceMessage | undefined;

/** In characters. The last fact of a run holds its outputs. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/** The events of a response. `onData` is called for everything that arrives. */
export const serverSentEvents = (
  { body }: Response,
  onData: () => void,
): AsyncIterable<ServerSentEvent> | readonly ServerSentEvent[] =>
  body?.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream(parserOf(onData))) ?? [];

const parserOf = (onData: () => void): Transformer<string, ServerSentEvent> => {
  let parser: EventSourceParser | undefined;
  return {
    start: (out) => {
      parser = createParser({
        onEvent: (message) => out.enqueue(message),
        onComment: () => out.enqueue(undefined),
        onError: (error) => {
          if (error.type === 'max-buffer-size-exceeded') out.error(error);
        },
        maxBufferSize: MAX_EVENT_LENGTH,
      });
    },
    transform: (text) => {
      onData();
      parser?.feed(text);
    },
  };
};
