import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { followRun } from './follow-run.ts';
import { endSentence, progressLine, progressSentence } from './progress-line.ts';
import type { Client } from '../api-client/client.ts';
import type { Screen } from '../output/screen.ts';
import { errorLines, hasEnded, outputLines, warningLines } from '../api-client/run-responses.ts';
import type { ShownRun } from '../api-client/run-responses.ts';

/** Without a terminal, one line for each tenth of the work. */
const STEP = 0.1;

/** Shows a run until it has ended, and returns the exit code for its end. Waits while the service is unavailable. */
export const watchRun = async (client: Client, run: string, json: boolean): Promise<ExitCode> => {
  const { screen } = client;
  let shown: ShownRun | undefined;
  let code: ExitCode = EXIT.done;
  for await (const now of followRun(client, run)) {
    code = exitCodeOf(now);
    if (json) {
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

const printEnd = (run: ShownRun, screen: Screen): void => {
  const warnings = warningLines(run).map((line) => `warning: ${line}`);
  for (const line of [endSentence(run), ...errorLines(run), ...warnings, ...outputLines(run)])
    screen.print(line);
};

const differs = (before: ShownRun | undefined, now: ShownRun): boolean =>
  before === undefined || JSON.stringify(before) !== JSON.stringify(now);

const isWorthALine = (before: ShownRun | undefined, now: ShownRun): boolean =>
  before === undefined || before.status !== now.status || now.progress - before.progress >= STEP;

const exitCodeOf = (run: ShownRun): ExitCode => {
  if (run.status === 'success') return EXIT.done;
  return run.status === 'cancelled' ? EXIT.cancelled : EXIT.negative;
};
