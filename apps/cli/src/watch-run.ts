import { setTimeout as pause } from 'node:timers/promises';
import { EXIT } from './explained.ts';
import type { ExitCode } from './explained.ts';
import { endSentence, progressLine, progressSentence } from './progress-line.ts';
import { Unavailable } from './run-api.ts';
import type { RunApi } from './run-api.ts';
import type { Screen } from './screen.ts';
import { hasEnded, outputLines } from './shown-run.ts';
import type { ShownRun } from './shown-run.ts';

const ASK_EVERY_MS = 250;
/** Where lines cannot be drawn over, a line for every tenth of the work. */
const STEP = 0.1;
const PATIENCE_MS = 60_000;

/** Shows a run until it has ended, and gives the exit code that says how. A service that is away is waited for. */
export const watchRun = async (
  api: RunApi,
  run: string,
  screen: Screen,
  json: boolean,
): Promise<ExitCode> => {
  let shown: ShownRun | undefined;
  for (;;) {
    const now = await getPatiently(api, run, screen);
    const ended = hasEnded(now);
    if (json) {
      if (differs(shown, now)) screen.printJson(now);
    } else if (!ended) {
      screen.redraw(progressLine(now, screen.columns()));
      if (!screen.isTerminal && isWorthALine(shown, now)) screen.print(progressSentence(now));
    }
    if (ended) {
      if (!json) for (const line of [endSentence(now), ...outputLines(now)]) screen.print(line);
      if (!json && now.status === 'failed') screen.hint(`See why with: runledger history ${run}`);
      return exitCodeOf(now);
    }
    if (json || screen.isTerminal || isWorthALine(shown, now)) shown = now;
    await pause(ASK_EVERY_MS);
  }
};

const getPatiently = async (api: RunApi, run: string, screen: Screen): Promise<ShownRun> => {
  const deadline = performance.now() + PATIENCE_MS;
  for (let told = false; ; told = true) {
    try {
      return await api.get(run);
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > deadline) throw error;
      if (!told) screen.hint(`${error.message}\nAsking again for up to ${PATIENCE_MS / 1000} s.`);
      await pause(ASK_EVERY_MS * 4);
    }
  }
};

const differs = (before: ShownRun | undefined, now: ShownRun): boolean =>
  before === undefined || JSON.stringify(before) !== JSON.stringify(now);

const isWorthALine = (before: ShownRun | undefined, now: ShownRun): boolean =>
  before === undefined || before.status !== now.status || now.progress - before.progress >= STEP;

const exitCodeOf = (run: ShownRun): ExitCode => {
  if (run.status === 'success') return EXIT.done;
  return run.status === 'cancelled' ? EXIT.cancelled : EXIT.runFailed;
};
