import { setTimeout as pause } from 'node:timers/promises';
import { Unavailable } from '../api-client/api-call.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import type { RunApi } from '../api-client/run-api.ts';
import type { RunEventNotice } from '../api-client/run-events.ts';
import type { Screen } from '../output/screen.ts';
import { hasEnded } from '../api-client/run-responses.ts';
import type { ShownRun } from '../api-client/run-responses.ts';

const RECONNECT_AFTER_MS = 1_000;

/**
 * The run now, and again after each change, until it has ended. Its events trigger the reads. After a disconnect the
 * stream continues after the last fact. While the service is unavailable, the command waits.
 */
export const followRun = async function* (
  api: RunApi,
  run: string,
  screen: Screen,
): AsyncGenerator<ShownRun> {
  const read = (): Promise<ShownRun> => retryForAMinute(() => api.get(run), screen);
  let shown = await read();
  yield shown;
  let after: string | undefined;
  for (;;) {
    if (hasEnded(shown)) return;
    for await (const event of untilDisconnected(api.events(run, after))) {
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
  shown: ShownRun,
  { progress, live_status }: Extract<RunEventNotice, { kind: 'progress' }>,
): ShownRun => (progress < shown.progress ? shown : { ...shown, progress, live_status });
