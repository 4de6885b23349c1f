import { liveStatus, type ProgressReport } from '../runner.ts';

/** What a line says about the progress of a prediction or a program. */
export interface LineProgress {
  /** From 0 to 1. */
  readonly progress: number;
  /** Null when the line names nothing but a share. */
  readonly status: string | null;
}

/** `Sampling:  12%|███▌      | 3/20 [00:01<00:07,  2.1it/s]`, as tqdm draws it. */
const BAR =
  /^(?<title>[^%|]*?)[:\s]*(?<percent>\d{1,3}(?:\.\d+)?)\s?%\|[^|]*\|?\s*(?<count>\d[^\s[]*\/[^\s[]+)?/u;
/** `step 3/20`, `Iteration 3 of 20`. */
const COUNT =
  /\b(?:steps?|iterations?|iter|epochs?|batch|frames?|images?|tiles?|chunks?|rows?|samples?)[\s:#]+(?<done>\d{1,9})\s*(?:\/|of)\s*(?<all>\d{1,9})\b/iu;

/** Null when the line says nothing about it. No line that is longer than a bar or a count with its title is looked at. */
export const readProgressLine = (line: string): LineProgress | null => {
  if (line.length > MAX_LINE) return null;
  return readBar(line) ?? readCount(line);
};

const MAX_LINE = 1_000;

const readBar = (line: string): LineProgress | null => {
  const { title = '', percent, count } = BAR.exec(line)?.groups ?? {};
  if (percent === undefined || Number(percent) > 100) return null;
  const status = [title.trim(), count].filter((part) => part !== undefined && part !== '').join(' ');
  return { progress: Number(percent) / 100, status: status === '' ? null : status };
};

const readCount = (line: string): LineProgress | null => {
  const { done, all } = COUNT.exec(line)?.groups ?? {};
  if (done === undefined || Number(all) === 0 || Number(done) > Number(all)) return null;
  return { progress: Number(done) / Number(all), status: line.trim() };
};

/** The same report when the line says nothing new. It never goes back. */
export const reportAfter = (before: ProgressReport, line: string): ProgressReport => {
  const read = readProgressLine(line);
  if (read === null) return before;
  const progress = Math.max(before.progress, read.progress);
  const live_status = read.status === null ? before.live_status : liveStatus(read.status);
  return progress === before.progress && live_status === before.live_status
    ? before
    : { progress, live_status };
};
