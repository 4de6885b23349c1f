import type { LogLine } from '../runner.ts';

const MAX_BYTES = 64 * 1024;
const MAX_LINE = 1_000;

/** What a program writes while it has no run goes to the executor's own log: the first lines of it. */
export const debugLines = (
  log: { debug(fields: object, message: string): void },
  what: object,
): ((line: LogLine) => void) => {
  let room = MAX_BYTES;
  return ({ stream, line }) => {
    if (room <= 0 || line === '') return;
    room -= line.length;
    log.debug({ ...what, stream, line: line.slice(0, MAX_LINE) }, 'a line of a program without a run');
    if (room <= 0) log.debug(what, 'further lines before the next run are not logged');
  };
};
