import type { LogLine, ProgressReport, RunData } from '../runner.ts';
import { reportAfter } from './progress-line.ts';
import type { OutputEntries } from './output-values.ts';
import type { LostOutput, ProgramMessage, ProgramReport } from './program-messages.ts';

/** The messages of a program so far: its last progress, and its text outputs. */
export interface CollectedMessages {
  take(message: ProgramMessage): void;
  /** What is drawn over itself, as a bar of tqdm is: progress, until the program reports its own. */
  draw(drawing: string): void;
  data(): RunData;
  /** Why the data is incomplete; null when it is complete. */
  lost(): LostOutput | null;
}

export const collectMessages = (
  onProgress: (report: ProgressReport) => void,
  onLog: (line: LogLine) => void,
  /** Bytes of all outputs as JSON. */
  limit: number,
): CollectedMessages => {
  let last: ProgressReport = { progress: 0, live_status: null };
  let reportsItself = false;
  let lost: LostOutput | null = null;
  let bytes = 0;
  const collected = new Map<string, string[]>();

  const collect = (entries: OutputEntries): void => {
    bytes += jsonSize(entries);
    if (bytes > limit) {
      const why = `its outputs are larger than ${limit / 1024} KiB as JSON`;
      lost ??= { kind: 'output_too_large', why, line: '' };
      return;
    }
    for (const [kind, values] of entries) collected.set(kind, [...(collected.get(kind) ?? []), ...values]);
  };

  const progress = (message: ProgramReport): void => {
    if (message.progress === undefined && message.liveStatus === undefined) return;
    reportsItself = true;
    last = {
      progress: Math.max(last.progress, message.progress ?? 0),
      live_status: message.liveStatus ?? last.live_status,
    };
    onProgress(last);
  };

  return {
    take: (message) => {
      switch (message.kind) {
        case 'log':
          for (const line of message.lines) onLog({ stream: 'stdout', line });
          break;
        case 'bad_output':
          lost ??= message.lost;
          return;
        case 'report':
          progress(message);
          if (message.output !== undefined) collect(message.output);
      }
      if (message.notice !== undefined) onLog({ stream: 'runner', line: message.notice });
    },
    draw: (drawing) => {
      const next = reportsItself ? last : reportAfter(last, drawing);
      if (next === last) return;
      last = next;
      onProgress(last);
    },
    data: () => Object.fromEntries(collected),
    lost: () => lost,
  };
};

const jsonSize = (entries: OutputEntries): number => Buffer.byteLength(JSON.stringify(entries));
