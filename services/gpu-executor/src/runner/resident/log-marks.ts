import { within } from '@runledger/resilience/within';

/**
 * What a program writes into its log between the runs: at `ready`, when a run begins, and when it has ended. The mark is a text that nobody
 * else knows, so no line of a log is taken for one.
 */
export type LogPoint = 'ready' | `run ${string}` | `done ${string}`;

/** Where a stream of a program is, by its marks. Without marks it stays where it begins. */
export type LogSection = 'loading' | 'between' | { readonly run_id: string };

export interface MarkedStream {
  take(line: string): void;
  /** Gives on what is held. */
  end(): void;
  section(): LogSection;
  /** Resolves when this point was the last one, or a few seconds later: a program may not come to it. */
  until(point: LogPoint): Promise<void>;
}

/** A process that was killed, or a run that closed its streams, leaves none. */
const MARK_WITHIN_MS = 5_000;

/** Gives each line of a stream on, with the section that it is in. A mark has a line for itself, with an empty one before it that is not given on. */
export const markedStream = (
  mark: string,
  onLine: (line: string, section: LogSection) => void,
): MarkedStream => {
  let section: LogSection = 'loading';
  let last = '';
  let isHeld = false;
  let waiting: { readonly point: LogPoint; readonly resolve: () => void } | null = null;

  const pass = (point: string): void => {
    const [word, run_id = ''] = point.split(' ');
    section = word === 'run' ? { run_id } : 'between';
    last = point;
    if (waiting?.point === point) waiting.resolve();
  };

  return {
    take: (line) => {
      if (line.startsWith(`${mark} `)) {
        isHeld = false;
        return pass(line.slice(mark.length + 1));
      }
      if (isHeld) onLine('', section);
      isHeld = line === '';
      if (!isHeld) onLine(line, section);
    },
    end: () => {
      if (isHeld) onLine('', section);
      isHeld = false;
    },
    section: () => section,
    until: async (point) => {
      if (last === point) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { point, resolve };
      await within(MARK_WITHIN_MS, promise, () => undefined);
      waiting = null;
    },
  };
};
