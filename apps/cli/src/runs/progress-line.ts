import { plain, shorten } from '../output/plain-text.ts';
import type { ShownRun } from '../api-client/run-responses.ts';

const BAR = 30;

/** A run in one line: `[############..................]  40 %  running  row 200/500`. */
export const progressLine = (run: ShownRun, columns: number): string => {
  const fraction = Math.min(1, Math.max(0, run.progress));
  const full = Math.round(fraction * BAR);
  const percent = `${Math.floor(fraction * 100)} %`.padStart(5);
  const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`;
  // A line as wide as the terminal would wrap, and could not be replaced.
  return shorten(`${bar} ${percent}  ${statusWords(run)}`, columns - 1);
};

/** The same without a terminal: `running 40 % (row 200/500)`. */
export const progressSentence = (run: ShownRun): string => {
  const live = liveWords(run);
  return `${run.status} ${Math.floor(run.progress * 100)} %${live === '' ? '' : ` (${live})`}`;
};

export const endSentence = (run: ShownRun): string => {
  const took = run.duration === null ? '' : ` after ${run.duration.toFixed(1)} s`;
  const reason = run.end_reason ?? null;
  const why = reason === null || reason === 'completed' ? '' : ` (${reason})`;
  return `${run.status}${why}${took}`;
};

const statusWords = (run: ShownRun): string => `${run.status}  ${liveWords(run)}`.trimEnd();

/** Empty if the live status repeats the status. */
const liveWords = ({ status, live_status }: ShownRun): string => {
  const live = plain(live_status ?? '');
  return live === status ? '' : live;
};
