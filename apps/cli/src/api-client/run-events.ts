import { parseJson } from '@runledger/contracts/json';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { CommandError } from '../output/command-error.ts';
import { Unavailable, answerOf, at, refusal, send } from './api-call.ts';
import { explainNoAnswer } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { ServerSentEvent } from './server-sent-events.ts';

/** Comments come every 15 s: a connection without data for this long is dead. */
const IDLE_TIMEOUT_MS = 45_000;

const Fact = Type.Pick(RunFactEvent, ['time']);
const Progress = Type.Pick(RunProgressEvent, ['progress', 'live_status']);

/** What a subscriber needs of an event: a new fact, the progress of the run, or that the service still answers. */
export type RunEventNotice =
  | { readonly kind: 'nothing_new' }
  | { readonly kind: 'fact'; readonly id: string; readonly time: string }
  | { readonly kind: 'progress'; readonly progress: number; readonly live_status: string | null };

/**
 * The events of a run after the one with the id `after`. The service ends the stream when no more events follow, or
 * when the client should connect again. @throws Unavailable when the connection is cut or the service is unavailable
 */
export type RunEvents = (run: string, after: string | undefined) => AsyncIterable<RunEventNotice>;

export const runEvents = (connection: ApiConnection): RunEvents =>
  async function* (run, after) {
    const abort = new AbortController();
    const timeout = setTimeout(
      () => abort.abort(new Error(`it sent nothing for ${IDLE_TIMEOUT_MS / 1_000} s`)),
      IDLE_TIMEOUT_MS,
    );
    try {
      const headers = after === undefined ? {} : { 'last-event-id': after };
      const request = { method: 'GET', path: at`/run/${run}/events`, headers } as const;
      const response = await send(connection, request, abort.signal);
      if (!response.ok) throw refusal(connection, await answerOf(response));
      for await (const message of serverSentEvents(response, () => timeout.refresh())) {
        const notice = noticeOf(message);
        if (notice !== undefined) yield notice;
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new Unavailable(explainNoAnswer(connection, error));
    } finally {
      clearTimeout(timeout);
      abort.abort();
    }
  };

/** Undefined for a kind of event that this release does not know. */
const noticeOf = (message: ServerSentEvent): RunEventNotice | undefined => {
  if (message === undefined) return { kind: 'nothing_new' };
  const { event, id, data } = message;
  if (event !== 'fact' && event !== 'progress') return undefined;
  const body = parseJson(data);
  if (event === 'fact' && id !== undefined && Value.Check(Fact, body))
    return { kind: 'fact', id, time: body.time };
  if (event === 'progress' && Value.Check(Progress, body))
    return { kind: 'progress', progress: body.progress, live_status: body.live_status };
  throw new CommandError(
    'This release does not understand the events of the run. Use the same release of the command and the service.',
  );
};
