import { setTimeout as pause } from 'node:timers/promises';
import { Unavailable } from '../api-client/api-call.ts';
import { retryWhileUnavailable } from '../api-client/retry-while-unavailable.ts';
import type { RunApi } from '../api-client/run-api.ts';
import type { RunEventNotice } from '../api-client/run-events.ts';
import type { Screen } from '../output/screen.ts';
import { hasEnded } from '../api-client/run-responses.ts';
import type { ShownRun } from '../api-client/run-responses.ts';

const COME_BACK_AFTER_MS = 1_000;

/**
 * The run as it is, and again at each change of it, until it has ended. The stream says when to read it; one that is cut
 * is resumed behind the last fact, and a service that is away is waited for.
 */
export const followRun = async function* (
  api: RunApi,
  run: string,
  screen: Screen,
): AsyncGenerator<ShownRun> {
  const read = (): Promise<ShownRun> => retryWhileUnavailable(() => api.get(run), screen);
  let shown = await read();
  yield shown;
  let after: string | undefined;
  for (;;) {
    if (hasEnded(shown)) return;
    for await (const event of untilCut(api.events(run, after))) {
      switch (event.kind) {
        case 'fact':
          after = event.id;
          // A stream begins with the first fact, and this one is older than what was read.
          if (event.time < shown.updated_at) continue;
          shown = await read();
          break;
        case 'progress':
          shown = withProgress(shown, event);
          break;
        case 'nothing_new':
          // Its place in the queue changes without a fact about it.
          if (shown.status !== 'queued') continue;
          shown = await read();
      }
      yield shown;
      if (hasEnded(shown)) return;
    }
    await pause(COME_BACK_AFTER_MS);
    shown = await read();
    yield shown;
  }
};

const untilCut = async function* (events: AsyncIterable<RunEventNotice>): AsyncGenerator<RunEventNotice> {
  try {
    yield* events;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
};

/** What was read may be further than what the stream began with; another attempt begins with a fact. */
const withProgress = (
  shown: ShownRun,
  { progress, live_status }: Extract<RunEventNotice, { kind: 'progress' }>,
): ShownRun => (progress < shown.progress ? shown : { ...shown, progress, live_status });
