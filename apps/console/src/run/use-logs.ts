import type { LogItem } from '../api/schemas.ts';
import { useEffect, useState } from 'react';
import { streams } from '../api/runledger.ts';

/** Of what a page shows. The whole log is in the download. */
const MOST_LINES = 2_000;
/** A program may write thousands of lines a second; the page is painted this often. */
const PAINT_EVERY_MS = 150;

export interface Logs {
  readonly items: readonly LogItem[];
  /** More lines came than are shown: these are the last ones. */
  readonly isCut: boolean;
  readonly isLive: boolean;
}

const NOTHING: Logs = { items: [], isCut: false, isLive: true };

/** The log of a run, as it is written. */
export const useLogs = (runId: string): Logs => {
  const [logs, setLogs] = useState(NOTHING);
  useEffect(() => {
    setLogs(NOTHING);
    const stop = new AbortController();
    let waiting: LogItem[] = [];
    const paint = (isLive: boolean): void => {
      const added = waiting;
      waiting = [];
      setLogs(({ items, isCut }) => {
        const all = [...items, ...added];
        return { items: all.slice(-MOST_LINES), isCut: isCut || all.length > MOST_LINES, isLive };
      });
    };
    const timer = setInterval(() => waiting.length > 0 && paint(true), PAINT_EVERY_MS);
    const follow = async (): Promise<void> => {
      const options = { follow: true, tail: MOST_LINES, signal: stop.signal };
      for await (const item of streams.runs.logs(runId, options)) {
        waiting.push(item);
        if (waiting.length > MOST_LINES) waiting = waiting.slice(-MOST_LINES);
      }
      clearInterval(timer);
      paint(false);
    };
    // What is refused, such as a session that has ended, the query of the run shows.
    void follow().catch(() => undefined);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [runId]);
  return logs;
};
