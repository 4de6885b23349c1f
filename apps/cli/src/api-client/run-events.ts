import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, EventSourceParser } from 'eventsource-parser';
import type { Transformer } from 'node:stream/web';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { Unavailable, answerOf, at, refusal, send } from './api-call.ts';
import { explainSilence } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { CommandError } from '../output/command-error.ts';
import { parseJson } from '../options/parse-json.ts';

/** Comments come every 15 s: a connection that says nothing for so long is dead. */
const SILENT_FOR_MS = 45_000;
/** In characters; the last fact has the outputs. */
const LONGEST_EVENT = 4 * 1024 * 1024;

const Fact = Type.Pick(RunFactEvent, ['time']);
const Progress = Type.Pick(RunProgressEvent, ['progress', 'live_status']);

/** What a watcher needs of an event: that there is a fact, how far the run is, or that the service is still there. */
export type WatchedEvent =
  | { readonly kind: 'nothing_new' }
  | { readonly kind: 'fact'; readonly id: string; readonly time: string }
  | { readonly kind: 'progress'; readonly progress: number; readonly live_status: string | null };

/**
 * The events of a run behind the one with the id `after`, until the service ends the stream: nothing follows, or it
 * wants to be asked again. @throws Unavailable when the connection is cut or the service is away
 */
export type RunEvents = (run: string, after: string | undefined) => AsyncIterable<WatchedEvent>;

export const runEvents = (connection: ApiConnection): RunEvents =>
  async function* (run, after) {
    const gone = new AbortController();
    const silence = setTimeout(
      () => gone.abort(new Error(`it said nothing for ${SILENT_FOR_MS / 1_000} s`)),
      SILENT_FOR_MS,
    );
    try {
      const headers = after === undefined ? {} : { 'last-event-id': after };
      const request = { method: 'GET', path: at`/run/${run}/events`, headers } as const;
      const response = await send(connection, request, gone.signal);
      if (!response.ok) throw refusal(connection, await answerOf(response));
      for await (const heard of heardFrom(response, () => silence.refresh())) {
        const event = eventOf(heard);
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new Unavailable(explainSilence(connection, error));
    } finally {
      clearTimeout(silence);
      gone.abort();
    }
  };

/** A message, or undefined for a comment, which keeps the connection alive. */
type Heard = EventSourceMessage | undefined;

const heardFrom = ({ body }: Response, onHeard: () => void): AsyncIterable<Heard> | readonly Heard[] =>
  body?.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream(parsing(onHeard))) ?? [];

const parsing = (onHeard: () => void): Transformer<string, Heard> => {
  let parser: EventSourceParser | undefined;
  return {
    start: (out) => {
      parser = createParser({
        onEvent: (message) => out.enqueue(message),
        onComment: () => out.enqueue(undefined),
        onError: (error) => {
          if (error.type === 'max-buffer-size-exceeded') out.error(error);
        },
        maxBufferSize: LONGEST_EVENT,
      });
    },
    transform: (text) => {
      onHeard();
      parser?.feed(text);
    },
  };
};

/** Undefined for a kind that this release does not know. */
const eventOf = (heard: Heard): WatchedEvent | undefined => {
  if (heard === undefined) return { kind: 'nothing_new' };
  const { event, id, data } = heard;
  if (event !== 'fact' && event !== 'progress') return undefined;
  const told = parseJson(data);
  if (event === 'fact' && id !== undefined && Value.Check(Fact, told))
    return { kind: 'fact', id, time: told.time };
  if (event === 'progress' && Value.Check(Progress, told))
    return { kind: 'progress', progress: told.progress, live_status: told.live_status };
  throw new CommandError(
    'The events of the run are none that this release understands. Use the same release of both.',
  );
};
