import { setTimeout as pause } from 'node:timers/promises';
import type { ServerSentEvent } from '@runledger/client/source';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { parseJson } from '@runledger/contracts/json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { EXIT, type ExitCode } from '../command/command-error.ts';
import {
  outputLines,
  errorLines,
  endSentence,
  progressLine,
  progressSentence,
  hasEnded,
  isWorthALine,
  warningLines,
  RunResponse,
} from './run-response.ts';
import type { Client } from '../command/command-context.ts';
import type { Screen } from '../command/screen.ts';
import { at, retryForAMinute } from '../api/api-call.ts';
import { Unavailable } from '../api/api-problem.ts';
import type { ApiConnection } from '../api/connection.ts';
import { COMMENT, eventStream, notUnderstood } from '../api/streams.ts';

/** Shows a run until it has ended, and returns the exit code for its end. Waits while the service is unavailable. */
export const watchRun = async (client: Client, run: string): Promise<ExitCode> => {
  const { screen } = client;
  let shown: RunResponse | undefined;
  let code: ExitCode = EXIT.done;
  for await (const now of followRun(client, run)) {
    code = exitCodeOf(now);
    if (screen.isJson()) {
      if (differs(shown, now)) screen.printJson(now);
      shown = now;
    } else if (hasEnded(now)) {
      printEnd(now, screen);
      if (code === EXIT.negative) screen.hint(`Its log: runledger logs ${run}`);
    } else if (screen.isTerminal) screen.redraw(progressLine(now, screen.columns()));
    else if (isWorthALine(shown, now)) {
      screen.print(progressSentence(now));
      shown = now;
    }
  }
  return code;
};

const printEnd = (run: RunResponse, screen: Screen): void => {
  const warnings = warningLines(run).map((line) => `warning: ${line}`);
  for (const line of [endSentence(run), ...errorLines(run), ...warnings, ...outputLines(run)])
    screen.print(line);
};

const differs = (before: RunResponse | undefined, now: RunResponse): boolean =>
  before === undefined || JSON.stringify(before) !== JSON.stringify(now);

const exitCodeOf = (run: RunResponse): ExitCode => {
  if (run.status === 'success') return EXIT.done;
  return run.status === 'cancelled' ? EXIT.cancelled : EXIT.negative;
};

const RECONNECT_AFTER_MS = 1_000;

/**
 * The run now, and again after each change, until it has ended. Its events trigger the reads. After a disconnect the
 * stream continues after the last fact. While the service is unavailable, the command waits.
 */
export const followRun = async function* (
  { connection, call, screen }: Client,
  run: string,
): AsyncGenerator<RunResponse> {
  const read = (): Promise<RunResponse> =>
    retryForAMinute(() => call(RunResponse, { method: 'GET', path: at`/run/${run}` }), screen);
  let shown = await read();
  yield shown;
  let after: string | undefined;
  for (;;) {
    if (hasEnded(shown)) return;
    for await (const event of untilDisconnected(runEvents(connection, run, after))) {
      switch (event.kind) {
        case 'fact':
          after = event.id;
          // A stream starts with the first fact. This one is older than the run that was read.
          if (event.time < shown.updated_at) continue;
          shown = await read();
          break;
        case 'progress':
          shown = withProgress(shown, event);
          break;
        case 'nothing_new':
          // The queue position changes without a fact.
          if (shown.status !== 'queued') continue;
          shown = await read();
      }
      yield shown;
      if (hasEnded(shown)) return;
    }
    await pause(RECONNECT_AFTER_MS);
    shown = await read();
    yield shown;
  }
};

const Fact = Type.Pick(RunFactEvent, ['time']);
const Progress = Type.Pick(RunProgressEvent, ['progress', 'live_status']);

/** What matters of an event: a new fact, the progress of the run, or that the service still answers. */
type RunEventNotice =
  | { readonly kind: 'nothing_new' }
  | { readonly kind: 'fact'; readonly id: string; readonly time: string }
  | { readonly kind: 'progress'; readonly progress: number; readonly live_status: string | null };

/** The events of a run after the one with the id `after`. @throws as `eventStream` */
const runEvents = async function* (
  connection: ApiConnection,
  run: string,
  after: string | undefined,
): AsyncGenerator<RunEventNotice> {
  for await (const message of eventStream(connection, { path: at`/run/${run}/events` }, after)) {
    const notice = noticeOf(message);
    if (notice !== undefined) yield notice;
  }
};

/** Undefined for a kind of event that this release does not know. */
const noticeOf = ({ event, id, data }: ServerSentEvent): RunEventNotice | undefined => {
  if (event === COMMENT) return { kind: 'nothing_new' };
  if (event !== 'fact' && event !== 'progress') return undefined;
  const body = parseJson(data);
  if (event === 'fact' && id !== undefined && Value.Check(Fact, body))
    return { kind: 'fact', id, time: body.time };
  if (event === 'progress' && Value.Check(Progress, body))
    return { kind: 'progress', progress: body.progress, live_status: body.live_status };
  throw notUnderstood();
};

const untilDisconnected = async function* (
  events: AsyncIterable<RunEventNotice>,
): AsyncGenerator<RunEventNotice> {
  try {
    yield* events;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
};

/** The run that was read may be ahead of the first events of the stream. A new attempt starts with a fact. */
const withProgress = (
  shown: RunResponse,
  { progress, live_status }: Extract<RunEventNotice, { kind: 'progress' }>,
): RunResponse => (progress < shown.progress ? shown : { ...shown, progress, live_status });
