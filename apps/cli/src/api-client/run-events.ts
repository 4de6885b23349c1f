import { parseJson } from '@runledger/contracts/json';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { at } from './api-call.ts';
import type { ApiConnection } from './connection.ts';
import { eventStream, notUnderstood } from './event-stream.ts';
import type { ServerSentEvent } from '../http/server-sent-events.ts';

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
    for await (const message of eventStream(connection, { path: at`/run/${run}/events` }, after)) {
      const notice = noticeOf(message);
      if (notice !== undefined) yield notice;
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
  throw notUnderstood();
};
