import { createHmac, randomBytes } from 'node:crypto';
import { createZstdCompress } from 'node:zlib';
import type { SliceFact, SliceGap, SliceHeader, SliceLine } from '@runledger/contracts/slices/slice';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { takeSlice } from '@runledger/event-log/slices/take-slice';
import { sleep } from '@runledger/resilience/abort';
import { counted } from '@runledger/contracts/counted';
import type { Screen } from '../../output/screen.ts';
import type { Capture } from './capture-options.ts';
import { writeOutput, type OutputTarget } from '../../output/write-output.ts';

interface CaptureContext {
  readonly log: EventLog;
  readonly screen: Pick<Screen, 'hint'>;
  readonly target: OutputTarget;
  readonly signal: AbortSignal;
}

/** Writes the facts of a time to a compressed file, without the content of runs, and says what the log no longer holds of it. */
export const capture = async (
  { log, screen, target, signal }: CaptureContext,
  { rate, ...wanted }: Capture,
): Promise<void> => {
  const counts = { RUNS: 0, FLEET: 0, bytes: 0 };
  const gaps: SliceGap[] = [];
  let header: SliceHeader | undefined;
  let first: SliceFact | undefined;
  const slice = takeSlice(log, { ...wanted, pseudonym: newPseudonym(), pace: atRate(rate, signal) });
  const noted = async function* (): AsyncGenerator<string> {
    for await (const lines of slice) {
      for (const line of lines) {
        if (line.kind === 'fact') counts[line.stream] += 1;
        if (line.kind === 'fact' && line.stream === 'RUNS') first ??= line;
        else if (line.kind === 'gap') gaps.push(line);
        else if (line.kind === 'header') header = line;
      }
      yield textOf(lines);
    }
  };
  counts.bytes = await writeOutput(target, noted(), { signal, through: createZstdCompress() });
  screen.hint(
    `Captured ${counted(counts.RUNS, 'fact')} of runs and ${counted(counts.FLEET, 'fact')} of executors from ${wanted.from} to ${wanted.to}, and what came before, in ${counts.bytes} bytes.`,
  );
  for (const gap of gaps) screen.hint(gapText(gap));
  if (counts.RUNS === 0 && header) screen.hint(nothingText(header));
  else if (first && gaps.some(({ stream }) => stream === 'RUNS'))
    screen.hint(`The first fact of a run in the slice is of ${first.time}.`);
};

const textOf = (lines: readonly SliceLine[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

const gapText = ({ stream, first_sequence, last_sequence }: SliceGap): string =>
  stream === 'RUNS'
    ? `The log no longer holds positions ${first_sequence} to ${last_sequence} of RUNS, which may be of that time: facts expire.`
    : `The log no longer holds positions ${first_sequence} to ${last_sequence} of FLEET: executors that registered then and never again are not in the slice.`;

const nothingText = ({ streams: { RUNS } }: SliceHeader): string =>
  `The log holds no fact of a run of that time. It begins at position ${RUNS.first_sequence}: runledger history of its oldest run tells since when.`;

/** Nobody can say what the text was: the key of the hash is forgotten. */
const newPseudonym = (): ((text: string) => string) => {
  const key = randomBytes(32);
  return (text) => createHmac('sha256', key).update(text).digest('base64url').slice(0, 16);
};

/** Waits whenever more messages were read than the time since its beginning allows. */
const atRate = (rate: number, signal: AbortSignal): ((messages: number) => Promise<void>) => {
  const begun = performance.now();
  let read = 0;
  return async (messages) => {
    read += messages;
    const earlyMs = (read / rate) * 1_000 - (performance.now() - begun);
    if (earlyMs > 1) await sleep(earlyMs, signal);
  };
};
